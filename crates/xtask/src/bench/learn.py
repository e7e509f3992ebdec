"""The tasks of `bench_learn` with scikit-learn, as JSON lines."""

import json
import sys
import time
import warnings

import numpy as np
import sklearn
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold

warnings.filterwarnings("ignore")
tables = json.load(open(sys.argv[1]))["tables"]
(diabetes, friedman, cluster) = [(np.array(t["x"]), np.array(t["y"])) for t in tables]


def report(task, repetitions, work):
    least = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - start)
    print(json.dumps({"task": task, "seconds": least}), flush=True)


def forest(trees, criterion="squared_error"):
    return RandomForestRegressor(trees, criterion=criterion, random_state=1, n_jobs=2)


def candidates(x):
    low, high = x.min(axis=0), x.max(axis=0)
    i, j = np.arange(10_000)[:, None], np.arange(x.shape[1])
    return low + (high - low) * (i * (2 * j + 3) % 9973 / 9973)


for criterion in ["squared", "absolute"]:
    for name, (x, y) in [("diabetes", diabetes), ("cluster", cluster)]:
        report(
            f"fit forest {criterion}, 500 trees, {name}", 2, lambda: forest(500, f"{criterion}_error").fit(x, y)
        )
boosting = GradientBoostingRegressor(n_estimators=500, random_state=1)
for name, (x, y) in [("diabetes", diabetes), ("cluster", cluster)]:
    report(f"fit boosting squared, 500 trees, {name}", 3, lambda: boosting.fit(x, y))
x, y = cluster
grid = {"max_depth": [4, 8, None], "min_samples_leaf": [1, 2], "max_features": [1.0, 0.5]}
search = GridSearchCV(
    RandomForestRegressor(100, random_state=1),
    grid,
    scoring="neg_mean_squared_error",
    cv=KFold(5, shuffle=True, random_state=1),
    n_jobs=2,
    refit=False,
)
# The first search starts the worker processes; only the second is like ours.
report("grid search, 12 forests x 5 folds, cluster", 2, lambda: search.fit(x, y))
row = x[100:101]
# One thread: for one row, handing trees to two takes longer than walking them.
model = forest(500).fit(x, y).set_params(n_jobs=1)
report("predict 1 row, forest of 500", 30, lambda: model.predict(row))
report("predict 1 row, boosting of 500", 200, lambda: boosting.predict(row))
for name, (x, y) in [("cluster", cluster), ("friedman1", friedman)]:
    model = forest(2000).fit(x, y)
    rows = candidates(x)
    report(f"predict 10,000 rows, forest of 2,000, {name}", 3, lambda: model.predict(rows))
print(json.dumps({"peer": f"scikit-learn {sklearn.__version__}, numpy {np.__version__}"}))
