"""Ray Tune running `true` with subprocess, one trial at a time: prints a name and seconds.

Arguments: the number of trials, a folder for its results.
"""

import subprocess
import sys
import time

import ray
from ray import train, tune

trials, folder = int(sys.argv[1]), sys.argv[2]


def objective(config):
    start = time.perf_counter()
    subprocess.run(["true"], check=True)
    return {"seconds": time.perf_counter() - start}


ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
run_config = getattr(tune, "RunConfig", None) or train.RunConfig
tuner = tune.Tuner(
    tune.with_resources(objective, {"cpu": 1}),
    param_space={"a": tune.choice([1, 2])},
    tune_config=tune.TuneConfig(num_samples=trials, max_concurrent_trials=1),
    run_config=run_config(verbose=0, storage_path=folder),
)
start = time.perf_counter()
results = tuner.fit()
seconds = time.perf_counter() - start
assert len(results) == trials and not results.errors
print(f"Ray Tune {ray.__version__}, one at a time|{seconds}")
