"""scikit-learn's side of `cargo xtask bench promises`, on Paceline's divisions.

    python promises.py DATA-FOLDER LINES TABLES

LINES are those that Paceline's side printed: each names a table, the runs to learn
from and the runs to judge by. Responses enter by their logarithm where Paceline's
do, so that nobody is ahead by the scale.
"""

import csv
import json
import multiprocessing
import pathlib
import sys
import warnings

import numpy as np
import sklearn
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import KFold

warnings.simplefilter("ignore")
FOLDER, LINES, TABLES = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
COVERAGE = 0.95


def by_ratio(values):
    return values.min() > 0 and values.max() >= 2 * values.min()


def read(name):
    with open(FOLDER / f"{name}.csv") as file:
        rows = list(csv.DictReader(file))
    factors = list(rows[0])[:-2]
    return [[row[f] for row in rows] for f in factors], np.array([float(row["time"]) for row in rows])


def encode(columns, train, rows):
    """Numbers, by their logarithm where they span a factor of two, standardised on
    the runs to learn from; words as 0 and 1."""
    out = []
    for column in columns:
        try:
            known = np.array([float(column[r]) for r in train])
            asked = np.array([float(column[r]) for r in rows])
        except ValueError:
            for word in sorted({column[r] for r in train}):
                out.append([float(column[r] == word) for r in rows])
            continue
        if by_ratio(known):
            known, asked = np.log2(known), np.log2(np.maximum(asked, 1e-9))
        out.append((asked - known.mean()) / (known.std() or 1.0))
    return np.array(out).T


def process(x, y, at, seed):
    kernel = ConstantKernel(1, (1e-3, 1e3)) * Matern(np.ones(x.shape[1]), (1e-2, 1e3), nu=2.5) + WhiteKernel(0.1, (1e-6, 10))
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed).fit(x, y)
    mean, deviation = model.predict(at, return_std=True)
    return mean, mean - 1.959964 * deviation, mean + 1.959964 * deviation


def boosting(x, y, at, seed):
    return GradientBoostingRegressor(random_state=seed).fit(x, y).predict(at), None, None


def forest(x, y, at, seed):
    """CV+ (Barber, Candès, Ramdas and Tibshirani 2021) around a forest."""
    make = lambda: RandomForestRegressor(40, random_state=seed, n_jobs=1)
    low, high = [], []
    for train, test in KFold(min(5, len(y)), shuffle=True, random_state=seed).split(x):
        model = make().fit(x[train], y[train])
        there = model.predict(at)
        for residual in np.abs(y[test] - model.predict(x[test])):
            low.append(there - residual)
            high.append(there + residual)
    n = len(y)
    rank = int(np.ceil(COVERAGE * (n + 1)))
    low, high = np.sort(low, 0), np.sort(high, 0)
    if rank > n:  # Too few residuals: the widest that there are.
        return make().fit(x, y).predict(at), low[0], high[-1]
    return make().fit(x, y).predict(at), low[n - rank], high[rank - 1]


def judge(line):
    columns, times = read(line["set"])
    train, test = line["train"], line["test"]
    y = times[train]
    log = by_ratio(y)
    y = np.log(y) if log else y
    x, at = encode(columns, train, train), encode(columns, train, test)
    back = lambda v: None if v is None else (np.exp(np.clip(v, -700, 700)) if log else v).tolist()
    out = []
    for name, learner in [("GP", process), ("boosting", boosting), ("forest CV+", forest)]:
        value, low, high = learner(x, y, at, line["table"])
        out.append(json.dumps({
            "kind": "peer", "who": name, "set": line["set"], "n": line["n"], "table": line["table"],
            "value": back(value), "low": back(low), "high": back(high), "truth": times[test].tolist(),
        }))
    return out


if __name__ == "__main__":
    print(json.dumps({"peer": f"scikit-learn {sklearn.__version__}"}))
    with open(LINES) as file:
        lines = [json.loads(line) for line in file]
    lines = [l for l in lines if l["kind"] == "prediction" and l["n"] <= 40 and l["table"] < TABLES]
    with multiprocessing.Pool() as pool:
        for found in pool.imap_unordered(judge, lines, chunksize=4):
            print("\n".join(found), flush=True)
