"""Optuna running `true` with subprocess: prints a name and seconds for each storage.

Arguments: the number of trials, a folder for the journal. The random sampler is
Optuna's quickest.
"""

import os
import subprocess
import sys
import time

import optuna
from optuna.storages import InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend

trials, folder = int(sys.argv[1]), sys.argv[2]
optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    level = trial.suggest_categorical("a", [1, 2])
    start = time.perf_counter()
    subprocess.run(["true"], check=True, env={**os.environ, "A": str(level)})
    return time.perf_counter() - start


storages = {
    "in memory": InMemoryStorage(),
    "journal file": JournalStorage(JournalFileBackend(os.path.join(folder, "journal.log"))),
}
for name, storage in storages.items():
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=storage, sampler=sampler)
    start = time.perf_counter()
    study.optimize(objective, n_trials=trials)
    seconds = time.perf_counter() - start
    assert len(study.trials) == trials
    print(f"Optuna {optuna.__version__}, {name}|{seconds}")
