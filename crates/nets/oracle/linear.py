"""Optima of regularised linear classifiers, for crates/nets/tests/linear.rs.

scikit-learn 1.9.1, numpy 2.4.6. Writes linear.json beside this file.

The penalty is decay / 2 · |w|² on all parameters, the bias included, as the
trainer applies it: the bias is the weight of a column of ones. The objective is
the mean loss plus the penalty, hence C = 1 / (decay · rows).
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

ROWS, WIDTH, DECAY = 120, 6, 0.01

random = np.random.default_rng(20)
rows = np.round(random.normal(size=(ROWS, WIDTH)) * [1, 2, 0.5, 1, 1, 1], 3)
rows[random.random(rows.shape) < 0.3] = 0.0
rows[7] = 0.0
truth = np.array([1.5, -0.5, 2.0, 0.0, -1.0, 0.3])
labels = (rows @ truth + 0.4 + random.logistic(size=ROWS) > 0).astype(int)
with_ones = np.hstack([rows, np.ones((ROWS, 1))])

strength = 1 / (DECAY * ROWS)
logistic = LogisticRegression(
    C=strength, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
).fit(with_ones, labels)
squared_hinge = LinearSVC(
    C=strength, fit_intercept=False, dual=False, tol=1e-12, max_iter=100000
).fit(with_ones, labels)

oracle = {
    "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
    "decay": DECAY,
    "width": WIDTH,
    "rows": rows.ravel().tolist(),
    "labels": labels.tolist(),
    "logistic": logistic.coef_[0].tolist(),
    "squared_hinge": squared_hinge.coef_[0].tolist(),
}
path = pathlib.Path(__file__).with_name("linear.json")
path.write_text(json.dumps(oracle) + "\n")
