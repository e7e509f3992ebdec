"""Reference values for the tests of paceline-learn.

Run with Python 3 and the packages named in the output ("versions"):

    python reference.py

writes reference.json next to this file. Features are rounded to single
precision, because scikit-learn's trees compare them so.
"""

import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_friedman1
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Lasso, Ridge
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.tree import DecisionTreeRegressor

SEEDS = range(20)
HERE = pathlib.Path(__file__).parent


def single(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def folds_of(rows, seed):
    """Five folds; the number of the fold of each row."""
    fold = np.arange(rows) % 5
    np.random.default_rng(seed).shuffle(fold)
    return fold


def linear():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((40, 6)) * [1, 10, 0.1, 1, 5, 1] + [0, 100, 0, 5, 0, -3]
    y = x @ [2, -0.3, 20, 0, 0, 1] + 7 + rng.standard_normal(40)
    out = {"x": x.tolist(), "y": y.tolist(), "ridge": [], "lasso": []}
    for alpha in [1e-6, 0.1, 1.0, 100.0]:
        for intercept in [True, False]:
            m = Ridge(alpha=alpha, fit_intercept=intercept, solver="svd").fit(x, y)
            out["ridge"].append(
                {"penalty": alpha, "intercept": intercept, "coef": m.coef_.tolist(), "constant": float(m.intercept_)}
            )
    for alpha in [0.001, 0.1, 1.0]:
        for intercept in [True, False]:
            m = Lasso(alpha=alpha, fit_intercept=intercept, tol=1e-15, max_iter=10**7)
            with warnings.catch_warnings():
                # The tolerance is below what the gap can reach in double precision.
                warnings.simplefilter("ignore")
                m.fit(x, y)
            out["lasso"].append(
                {"penalty": alpha, "intercept": intercept, "coef": m.coef_.tolist(), "constant": float(m.intercept_)}
            )
    return out


def gaussian_process():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, (30, 3))
    y = np.sin(x[:, 0]) + 0.1 * x[:, 1] + 0.1 * rng.standard_normal(30)
    at = rng.uniform(-1, 11, (15, 3))
    cases = []
    for variance, scales, noise in [(1.5, [2.0], 0.02), (0.8, [1.5, 8.0, 30.0], 0.01), (3.0, [4.0], 1e-4)]:
        kernel = ConstantKernel(variance) * Matern(scales if len(scales) > 1 else scales[0], nu=2.5)
        gp = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(x, y)
        mean, sd = gp.predict(at, return_std=True)
        cases.append(
            {
                "variance": variance,
                "length_scales": scales,
                "noise": noise,
                "mean": mean.tolist(),
                "variance_at": (sd**2).tolist(),
                "log_marginal_likelihood": float(gp.log_marginal_likelihood_value_),
            }
        )
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * Matern([5.0] * 3, (0.1, 1e3), nu=2.5) + WhiteKernel(0.01, (1e-8, 1))
    fitted = GaussianProcessRegressor(kernel, alpha=0, normalize_y=False, n_restarts_optimizer=20, random_state=0).fit(
        x, y
    )
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "at": at.tolist(),
        "cases": cases,
        "fitted_log_marginal_likelihood": float(fitted.log_marginal_likelihood_value_),
    }


def trees():
    """Trees over all features and over the first alone.

    scikit-learn breaks ties between features at random. Where ten seeds predict
    the same, the tree is unique.
    """
    rng = np.random.default_rng(5)
    x = single(rng.standard_normal((120, 4)))
    # Targets are whole numbers: sums are exact in any order of addition.
    y = np.round(1000 * (np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + 0.3 * rng.standard_normal(120)))
    at = single(rng.standard_normal((200, 4)))
    shapes = [{}, {"max_depth": 4}, {"min_samples_leaf": 5}, {"min_samples_split": 12, "max_depth": 7}]
    cases = []
    for criterion in ["squared_error", "absolute_error"]:
        for features in [1, 4]:
            for shape in shapes:
                fits = [
                    DecisionTreeRegressor(criterion=criterion, random_state=seed, **shape).fit(x[:, :features], y)
                    for seed in range(10)
                ]
                predicted = [fit.predict(at[:, :features]) for fit in fits]
                cases.append(
                    {
                        "criterion": criterion,
                        "features": features,
                        "shape": shape,
                        "unique": all(np.allclose(p, predicted[0]) for p in predicted),
                        "leaves": int(fits[0].get_n_leaves()),
                        "train_error": float(np.mean((fits[0].predict(x[:, :features]) - y) ** 2)),
                        "predicted": predicted[0].tolist(),
                    }
                )
    return {"x": x.tolist(), "y": y.tolist(), "at": at.tolist(), "cases": cases}


def clusters():
    x, _ = make_blobs(200, 3, centers=6, cluster_std=1.6, random_state=4)
    x = np.round(x, 6)
    inertia = [
        {"clusters": k, "inertia": float(KMeans(k, n_init=50, random_state=0, tol=0, max_iter=1000).fit(x).inertia_)}
        for k in [2, 4, 6]
    ]
    return {"x": x.tolist(), "cases": inertia}


def anomalies():
    rng = np.random.default_rng(6)
    usual = rng.standard_normal((400, 4)) @ rng.standard_normal((4, 4))
    odd = rng.uniform(-4, 4, (25, 4)) @ rng.standard_normal((4, 4))
    x = np.round(np.vstack([usual, odd]), 6)
    label = np.r_[np.zeros(400), np.ones(25)]
    auc = [roc_auc_score(label, -IsolationForest(n_estimators=100, random_state=s).fit(x).score_samples(x)) for s in SEEDS]
    return {"x": x.tolist(), "odd": 25, "auc": float(np.mean(auc)), "sd": float(np.std(auc, ddof=1))}


def classes():
    x, y = make_blobs(300, 5, centers=4, cluster_std=3.5, random_state=8)
    x = single(np.round(x, 4))
    fold = folds_of(len(y), 12)
    scores = []
    for seed in SEEDS:
        predicted = np.empty(len(y), dtype=int)
        for k in range(5):
            test = fold == k
            model = RandomForestClassifier(100, random_state=seed, n_jobs=2).fit(x[~test], y[~test])
            predicted[test] = model.predict(x[test])
        scores.append(accuracy_score(y, predicted))
    return {
        "x": x.tolist(),
        "labels": y.tolist(),
        "fold": fold.tolist(),
        "accuracy": float(np.mean(scores)),
        "sd": float(np.std(scores, ddof=1)),
    }


def importance():
    x, y = make_friedman1(200, 7, noise=0.5, random_state=1)
    x = single(x)
    ridge = Ridge(alpha=1.0).fit(x, y)
    found = permutation_importance(ridge, x, y, scoring="r2", n_repeats=2000, random_state=0)
    return {"x": x.tolist(), "y": y.tolist(), "mean": found.importances_mean.tolist()}


def main():
    reference = {
        "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__},
        "linear": linear(),
        "gaussian_process": gaussian_process(),
        "trees": trees(),
        "clusters": clusters(),
        "anomalies": anomalies(),
        "classes": classes(),
        "importance": importance(),
    }
    text = json.dumps(reference, separators=(",", ":"))
    (HERE / "reference.json").write_text(text.replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
