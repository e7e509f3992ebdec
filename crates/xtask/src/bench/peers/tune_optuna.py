"""Optuna's side of `cargo xtask bench tune`: its TPE sampler, as it is by
default, on the problems of `crates/advise/examples/bench_tune.rs`.

`tune_optuna.py check CHECKS` compares every cost of a file of JSON lines with
this script's own; `tune_optuna.py SEEDS [TRAININGS.csv]` searches. Either prints
JSON lines.
"""

import csv
import json
import math
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def branin(at):
    x, y = at
    bend = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return bend * bend + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def learning_rate(at):
    if at[0] > 1.0:
        return 6.0
    return min(0.3 + 0.06 * math.log(at[0] / 0.03) ** 2, 2.3)


def mixed(at):
    optimizer = int(at[0])
    rate = [0.5, 0.08, 0.02, 0.003][optimizer]
    batch = [256.0, 128.0, 32.0, 64.0][optimizer]
    floor = [0.60, 0.48, 0.52, 0.40][optimizer]
    a, b = math.log(at[1] / rate), math.log(at[2] / batch)
    return floor + min(0.05 * a * a + 0.04 * b * b + 0.02 * a * b, 2.0)


def step(at):
    batch, threads = at
    if batch * (1 + 0.25 * threads) > 700:
        return 90.0
    return 20 + 400 / batch + 30 / threads + 1.2 * threads


def plateau(at):
    away = ((at[0] - 0.27) / 0.13) ** 2 + ((at[1] - 0.68) / 0.16) ** 2
    return 1 - 0.9 * math.exp(-0.5 * away)


def real(low, high, log=False):
    return lambda trial, name: trial.suggest_float(name, low, high, log=log)


def whole(low, high, log=False):
    return lambda trial, name: trial.suggest_int(name, low, high, log=log)


def category(count):
    return lambda trial, name: trial.suggest_categorical(name, list(range(count)))


def levels(values):
    # Numbers in a list have an order, which Optuna knows by their places.
    return lambda trial, name: values[trial.suggest_int(name, 0, len(values) - 1)]


def problems(trainings):
    found = {
        "Branin": ([real(-5, 10), real(0, 15)], 40, 0.0, branin, 0.397887357729738),
        "noisy learning rate": ([real(1e-5, 10, True)], 30, 0.1, learning_rate, 0.3),
        "mixed with categories": (
            [category(4), real(1e-4, 3, True), levels([16.0, 32.0, 64.0, 128.0, 256.0, 512.0])],
            40,
            0.0,
            mixed,
            0.4,
        ),
        "step": ([whole(8, 1024, True), whole(1, 16)], 40, 0.0, step, None),
        "plateau": ([real(0, 1), real(0, 1)], 40, 0.0, plateau, 0.1),
    }
    least = min(step((b, t)) for b in range(8, 1025) for t in range(1, 17))
    found["step"] = (*found["step"][:4], least)
    if trainings:
        with open(trainings, newline="") as file:
            rows = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]
        table = {tuple(row[:-1]): row[-1] for row in rows}
        columns = [sorted({row[at] for row in rows}) for at in range(len(rows[0]) - 1)]
        dimensions = [category(len(columns[0]))] + [levels(column) for column in columns[1:]]
        cost = lambda at: table[tuple(float(value) for value in at)]
        found["real training"] = (dimensions, 30, 0.0, cost, min(table.values()))
    return found


def search(problem, seed):
    import random

    dimensions, runs, noise, cost, least = problem
    scatter = random.Random(seed)
    places = {}

    def objective(trial):
        at = [suggest(trial, str(number)) for number, suggest in enumerate(dimensions)]
        places[trial.number] = at
        return cost(at) * math.exp(noise * scatter.gauss(0, 1))

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=runs)
    return cost(places[study.best_trial.number]) - least, runs


def main():
    print(json.dumps({"peer": f"Optuna {optuna.__version__}"}))
    if sys.argv[1] == "check":
        found = problems(sys.argv[3] if len(sys.argv) > 3 else None)
        with open(sys.argv[2]) as lines:
            for line in map(json.loads, lines):
                own = found[line["problem"]][3](line["at"])
                print(json.dumps({"problem": line["problem"], "apart": abs(own - line["cost"])}))
        return
    found = problems(sys.argv[2] if len(sys.argv) > 2 else None)
    for name, problem in found.items():
        for seed in range(1, int(sys.argv[1]) + 1):
            regret, runs = search(problem, seed)
            print(json.dumps({"problem": name, "seed": seed, "runs": runs, "regret": regret}), flush=True)


main()
