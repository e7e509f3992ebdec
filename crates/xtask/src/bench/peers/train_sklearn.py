"""Classical learners of scikit-learn: `train_sklearn.py rows|fits FRACTION`, as JSON lines.

`rows` descends by single rows, `fits` fits whole models. FRACTION of the rows,
below 1 for a quick look.
"""

import sys
import time
import warnings

import numpy as np
import rows
import sklearn
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

FRACTION = float(sys.argv[2])
warnings.filterwarnings("ignore")


def timed(work):
    begun = time.perf_counter()
    made = work()
    return made, time.perf_counter() - begun


def sparse(count, width, entries):
    random = np.random.default_rng(rows.SEED)
    columns = random.integers(width, size=(count, entries), dtype=np.int32)
    columns.sort(axis=1)
    values = random.standard_normal(count * entries)
    starts = np.arange(0, count * entries + 1, entries, dtype=np.int32)
    table = csr_matrix((values, columns.ravel(), starts), (count, width))
    plane = random.standard_normal(width)
    return table, (table @ plane > 0).astype(np.int64)


def by_gradient():
    count = int(100_000 * FRACTION)
    data = sparse(count, 10_000, 50)
    for task, loss in (("sparse-logistic", "log_loss"), ("linear-svm", "hinge")):
        epochs = 5
        model = SGDClassifier(loss=loss, alpha=1e-6, max_iter=epochs, tol=None, random_state=1)
        _, seconds = timed(lambda: model.fit(*data))
        rows.tell(task=task, variant="SGDClassifier", rows_per_s=epochs * count / seconds)


def fitted(task, variant, model, count, **more):
    images, labels = rows.mnist()
    count = int(count * FRACTION)
    images, labels = images[:count], labels[:count]
    model, seconds = timed(lambda: model.fit(images, labels))
    test, answers = rows.mnist("t10k")
    found = {"accuracy": model.score(test, answers)}
    for name, read in more.items():
        found[name] = read(model, images, labels)
    rows.tell(task=task, variant=variant, seconds=seconds, **found)


def squared_hinge(model, images, labels):
    """LIBLINEAR's primal, summed over the classes; the bias is a weight."""
    sides = np.where(labels[:, None] == np.arange(rows.CLASSES), 1.0, -1.0)
    slack = np.maximum(0, 1 - sides * model.decision_function(images))
    weights = np.square(model.coef_).sum() + np.square(model.intercept_).sum()
    return weights / 2 + model.C * np.square(slack).sum()


def main():
    rows.tell(peer=f"scikit-learn {sklearn.__version__}")
    if sys.argv[1] == "rows":
        by_gradient()
        return
    linear = LinearSVC(C=0.01, loss="squared_hinge", dual=True, random_state=1)
    fitted("linear", "LinearSVC (LIBLINEAR)", linear, 10_000, objective=squared_hinge)
    fitted("svm", "SVC (LIBSVM)", SVC(C=5, gamma=0.02, cache_size=1000), 10_000)
    forest = RandomForestClassifier(100, n_jobs=2, random_state=1)
    fitted("forest", "RandomForestClassifier", forest, 60_000)


main()
