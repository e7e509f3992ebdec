"""How well scikit-learn's ensembles predict three tables.

Run with Python 3 and the packages named in the output ("versions"):

    python ensembles.py

writes ensembles.json next to this file. Features are rounded to single
precision, because scikit-learn's trees compare them so.
"""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score

SEEDS = range(20)
HERE = pathlib.Path(__file__).parent


def single(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def cluster_runs():
    """A BigDL-like full factorial: batch size, CPUs, jobs, network, three replicates.

    Seconds = steps * (0.002 + 0.00004 * batch / cpus^0.7) * contention * noise,
    where steps = 60000 / batch * 5 and contention = 1 + 0.12 * (cpus * jobs - 1)
    on the slow network and 1 + 0.05 * (cpus * jobs - 1) on the fast one; the
    noise is log-normal with a standard deviation of 3%.
    """
    rng = np.random.default_rng(3)
    rows, seconds = [], []
    for batch in [64, 128, 256, 512]:
        for cpus in [1, 2, 4, 8]:
            for jobs in [1, 2, 3]:
                for fast in [0, 1]:
                    for _ in range(3):
                        steps = 60000 / batch * 5
                        slope = 0.05 if fast else 0.12
                        contention = 1 + slope * (cpus * jobs - 1)
                        step = 0.002 + 0.00004 * batch / cpus**0.7
                        rows.append([batch, cpus, jobs, fast, cpus * jobs])
                        seconds.append(steps * step * contention * np.exp(0.03 * rng.standard_normal()))
    return np.array(rows, dtype=float), np.array(seconds)


def folds_of(rows, seed):
    """Five folds; the number of the fold of each row."""
    fold = np.arange(rows) % 5
    np.random.default_rng(seed).shuffle(fold)
    return fold


def out_of_fold_r2(make, x, y, fold):
    """R2 of the out-of-fold predictions, averaged over the seeds."""
    scores = []
    for seed in SEEDS:
        predicted = np.empty(len(y))
        for k in range(5):
            test = fold == k
            predicted[test] = make(seed).fit(x[~test], y[~test]).predict(x[test])
        scores.append(r2_score(y, predicted))
    return {"mean": float(np.mean(scores)), "sd": float(np.std(scores, ddof=1))}


ENSEMBLES = {
    "forest_squared": lambda s: RandomForestRegressor(100, random_state=s, n_jobs=2),
    "forest_squared_third": lambda s: RandomForestRegressor(
        100, max_features=0.34, min_samples_leaf=2, random_state=s, n_jobs=2
    ),
    "forest_absolute": lambda s: RandomForestRegressor(
        50, criterion="absolute_error", max_depth=8, random_state=s, n_jobs=2
    ),
    "boost_squared": lambda s: GradientBoostingRegressor(random_state=s),
    "boost_squared_half": lambda s: GradientBoostingRegressor(
        n_estimators=150, subsample=0.5, max_depth=4, min_samples_leaf=3, random_state=s
    ),
    "boost_absolute": lambda s: GradientBoostingRegressor(loss="absolute_error", subsample=0.8, random_state=s),
    "boost_huber": lambda s: GradientBoostingRegressor(loss="huber", subsample=0.8, random_state=s),
}


def ensembles(name, x, y):
    fold = folds_of(len(y), 11)
    print(name, flush=True)
    r2 = {}
    for learner, make in ENSEMBLES.items():
        r2[learner] = out_of_fold_r2(make, x, y, fold)
        print(" ", learner, r2[learner], flush=True)
    return {"name": name, "x": x.tolist(), "y": y.tolist(), "fold": fold.tolist(), "r2": r2}


def main():
    diabetes = load_diabetes(scaled=False)
    friedman = make_friedman1(300, 10, noise=1.0, random_state=0)
    reference = {
        "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__},
        "tables": [
            ensembles("diabetes", single(diabetes.data), diabetes.target),
            ensembles("friedman1", single(friedman[0]), np.round(friedman[1], 6)),
            ensembles("cluster", *map(lambda a: np.round(a, 6), cluster_runs())),
        ],
    }
    text = json.dumps(reference, separators=(",", ":"))
    (HERE / "ensembles.json").write_text(text.replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
