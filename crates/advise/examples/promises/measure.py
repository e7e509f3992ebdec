"""The measured tables of `cargo xtask bench promises`: fits of scikit-learn, timed
by their own CPU time, so that other work on the machine disturbs them less.

    python measure.py

writes data/fits-*.csv next to this file and says on which machine. Each run has
its own seed and its own division of the data.
"""

import csv
import itertools
import pathlib
import random
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent / "data"


def measured(name, factors, replicates, model, data):
    x, y = data
    cells = [dict(zip(factors, levels)) for levels in itertools.product(*factors.values())]
    runs = [(cell, seed) for cell in cells for seed in range(replicates)]
    random.Random(1).shuffle(runs)
    with open(HERE / f"fits-{name}.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([*factors, "time", "accuracy"])
        for cell, seed in runs:
            a, b, c, d = train_test_split(x, y, test_size=0.3, random_state=seed)
            learner = model(seed, **cell)
            begun = time.process_time()
            learner.fit(a, c)
            spent = time.process_time() - begun
            out.writerow([*cell.values(), f"{spent:.5g}", f"{learner.score(b, d):.4f}"])


DIGITS = load_digits(return_X_y=True)
WIDE = make_classification(4000, 60, n_informative=20, n_classes=3, flip_y=0.05, random_state=0)

measured(
    "forest",
    {"trees": [10, 20, 40, 80], "depth": [3, 6, 12], "features": ["sqrt", "all"]},
    5,
    lambda seed, trees, depth, features: RandomForestClassifier(
        trees, max_depth=depth, max_features=None if features == "all" else features, random_state=seed, n_jobs=1
    ),
    DIGITS,
)
measured(
    "network",
    {"batch_size": [32, 64, 128, 256], "hidden": [16, 48], "optimizer": ["sgd", "adam"], "epochs": [5, 20]},
    4,
    lambda seed, batch_size, hidden, optimizer, epochs: MLPClassifier(
        (hidden,), solver=optimizer, batch_size=batch_size, max_iter=epochs, random_state=seed, tol=0, n_iter_no_change=1000
    ),
    (DIGITS[0] / 16, DIGITS[1]),
)
class Part:
    """A learner that sees only its first rows."""

    def __init__(self, rows, learner):
        self.rows, self.learner = rows, learner

    def fit(self, x, y):
        self.learner.fit(x[: self.rows], y[: self.rows])

    def score(self, x, y):
        return self.learner.score(x, y)


measured(
    "svm",
    {"cost": [0.1, 1, 10], "gamma": [0.001, 0.01, 0.1], "rows": [500, 1000, 2000]},
    5,
    lambda seed, cost, gamma, rows: Part(rows, SVC(C=cost, gamma=gamma)),
    WIDE,
)
measured(
    "linear",
    {"alpha": [1e-5, 1e-4, 1e-3, 1e-2], "epochs": [5, 20, 80], "loss": ["hinge", "log_loss", "modified_huber"]},
    5,
    lambda seed, alpha, epochs, loss: SGDClassifier(loss=loss, alpha=alpha, max_iter=epochs, tol=None, random_state=seed),
    WIDE,
)
