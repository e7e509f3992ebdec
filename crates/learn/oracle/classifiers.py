"""Reference values for the classifiers of paceline-learn.

Run with Python 3 and the packages named in the output ("versions"):

    python classifiers.py

writes classifiers.json next to this file. Features are rounded to single
precision, which is what the classifiers take.
"""

import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

HERE = pathlib.Path(__file__).parent
SEEDS = range(10)


def single(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def linear():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((90, 7)) * [1, 2, 0.5, 1, 1, 3, 1]
    x[rng.uniform(size=x.shape) < 0.45] = 0
    x = single(np.round(x, 4))
    score = x @ rng.standard_normal((7, 3)) + 0.8 * rng.standard_normal((90, 3)) + [0.5, 0, -0.5]
    labels = score.argmax(axis=1)
    out = {"x": x.tolist(), "labels": labels.tolist(), "cases": []}
    for classes in [2, 3]:
        y = np.minimum(labels, classes - 1)
        for cost in [0.1, 1.0, 10.0]:
            for bias in [0.0, 1.0, 2.0]:
                scaling = {"fit_intercept": bias > 0, "intercept_scaling": bias if bias > 0 else 1.0}
                fits = {}
                for loss in ["hinge", "squared_hinge"]:
                    fits[loss] = LinearSVC(loss=loss, C=cost, dual=True, tol=1e-11, max_iter=10**7, random_state=0, **scaling)
                if classes == 2:
                    fits["logistic"] = LogisticRegression(solver="liblinear", C=cost, tol=1e-12, max_iter=10**5, **scaling)
                for loss, model in fits.items():
                    model.fit(x, y)
                    out["cases"].append(
                        {
                            "loss": loss,
                            "classes": classes,
                            "cost": cost,
                            "bias": bias,
                            "coef": model.coef_.tolist(),
                            "intercept": np.atleast_1d(model.intercept_).tolist() if bias > 0 else [0.0] * len(model.coef_),
                        }
                    )
    return out


def kernel():
    x, y = make_blobs(150, 4, centers=3, cluster_std=2.5, center_box=(-4, 4), random_state=5)
    x = single(np.round(x / 3, 4))
    at, _ = make_blobs(60, 4, centers=3, cluster_std=3.5, center_box=(-4, 4), random_state=5)
    at = single(np.round(at / 3, 4))
    out = {"x": x.tolist(), "labels": y.tolist(), "at": at.tolist(), "cases": []}
    settings = [
        ("rbf", {"gamma": 0.5}, 1.0),
        ("rbf", {"gamma": 0.05}, 100.0),
        ("linear", {}, 0.5),
        ("poly", {"gamma": 0.3, "coef0": 1.0, "degree": 3}, 1.0),
    ]
    for name, options, cost in settings:
        model = SVC(kernel=name, C=cost, tol=1e-9, decision_function_shape="ovo", **options).fit(x, y)
        out["cases"].append(
            {
                "kernel": name,
                "options": options,
                "cost": cost,
                "support": model.n_support_.tolist(),
                "decisions": model.decision_function(at).tolist(),
                "predicted": model.predict(at).tolist(),
            }
        )
    return out


def digits():
    """Handwritten digits: even rows train, odd rows test."""
    x, y = load_digits(return_X_y=True)
    x, y = x[:1000], y[:1000]
    train, test = slice(0, None, 2), slice(1, None, 2)
    forest = [
        RandomForestClassifier(100, random_state=seed, n_jobs=2).fit(x[train], y[train]).score(x[test], y[test])
        for seed in SEEDS
    ]
    svc = SVC(C=5, gamma=0.001).fit(x[train], y[train])
    return {
        "x": x.astype(int).ravel().tolist(),
        "labels": y.tolist(),
        "forest": float(np.mean(forest)),
        "forest_sd": float(np.std(forest, ddof=1)),
        "svc": float(svc.score(x[test], y[test])),
        "svc_support": svc.n_support_.tolist(),
    }


def main():
    with warnings.catch_warnings():
        # Tolerances are below what the solvers can tell apart in double precision.
        warnings.simplefilter("ignore")
        reference = {
            "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
            "linear": linear(),
            "kernel": kernel(),
            "digits": digits(),
        }
    text = json.dumps(reference, separators=(",", ":"))
    (HERE / "classifiers.json").write_text(text.replace('},{', '},\n{').replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
