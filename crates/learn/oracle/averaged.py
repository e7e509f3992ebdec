"""Reference values for the averaged Gaussian process of paceline-learn.

Run with Python 3 and the packages named in the output ("versions"):

    python averaged.py

writes averaged.json next to this file. Everything is computed the long way: the
full matrix over all runs, and a new fit for whatever is left out.
"""

import json
import pathlib
import sys

import numpy as np
import scipy
from scipy.linalg import cho_factor, cho_solve

HERE = pathlib.Path(__file__).parent


def kernel(za, zb, groups, theta, lengths):
    a, ell = np.exp(theta[0]), np.exp(theta[2 : 2 + lengths])
    d2 = np.zeros((len(za), len(zb)))
    for column, group in enumerate(groups):
        d2 += np.subtract.outer(za[:, column], zb[:, column]) ** 2 / ell[group] ** 2
    r = np.sqrt(5 * d2)
    return 10 + a**2 * za @ zb.T + (1 + r + r**2 / 3) * np.exp(-r)


def noise(z, theta, lengths):
    b = theta[2 + lengths :]
    h = theta[1] + (z @ b if len(b) else np.zeros(len(z)))
    return np.exp(2 * np.clip(h, -6, 3))


def fit(z, y, groups, theta, lengths):
    k = kernel(z, z, groups, theta, lengths) + np.diag(noise(z, theta, lengths))
    factor = cho_factor(k, lower=True)
    alpha = cho_solve(factor, y)
    q = y @ alpha
    n = len(y)
    log = -np.log(np.diag(factor[0])).sum() - 0.5 * (n + 2) * np.log1p(q)
    return factor, alpha, q, log


def predict(z, y, at, groups, theta, lengths):
    factor, alpha, q, _ = fit(z, y, groups, theta, lengths)
    k = kernel(at, z, groups, theta, lengths)
    own = np.diag(kernel(at, at, groups, theta, lengths))
    explained = np.einsum("ij,ji->i", k, cho_solve(factor, k.T))
    scale2 = (1 + q) / (len(y) + 2) * (own - explained + noise(at, theta, lengths))
    return k @ alpha, scale2


def table(rng, cells, replicates, levels):
    """Two numbers and a word, some cells more than once."""
    x = np.column_stack([rng.standard_normal(cells), rng.choice([-1.2, 0.0, 1.2], cells)])
    word = rng.integers(0, levels, cells)
    x = np.column_stack([x, np.eye(levels)[word]])
    rows = np.repeat(np.arange(cells), rng.integers(1, replicates + 1, cells))
    x = x[rows]
    y = 3 + np.sin(2 * x[:, 0]) + 0.7 * x[:, 1] + x[:, 2] + 0.2 * rng.standard_normal(len(rows))
    return x, y


def fixed():
    rng = np.random.default_rng(7)
    cases = []
    groups = [0, 1, 2, 2, 2]
    for unequal in [False, True]:
        for cells, replicates in [(6, 1), (9, 3), (14, 2)]:
            x, y = table(rng, cells, replicates, 3)
            centre, mean, unit = x.mean(0), y.mean(), y.std()
            z, s = x - centre, (y - mean) / unit
            theta = [0.4, -1.1, 0.3, 0.9, -0.2] + ([0.2, -0.3, 0.1, 0.4, -0.2] if unequal else [])
            theta = np.array(theta)
            _, _, q, log = fit(z, s, groups, theta, 3)
            at = np.vstack([z[:2], rng.standard_normal((3, 2)) @ np.eye(2, 5), [[30.0, -4, 0, 0, 0]]])
            predicted = predict(z, s, at, groups, theta, 3)
            left, cell = [], []
            for i in range(len(s)):
                keep = np.arange(len(s)) != i
                m, v = predict(z[keep], s[keep], z[[i]], groups, theta, 3)
                left.append([m[0], v[0]])
                keep = ~(z == z[i]).all(1)
                m, v = predict(z[keep], s[keep], z[[i]], groups, theta, 3)
                cell.append([m[0], v[0]])
            cases.append({
                "x": x.tolist(), "y": y.tolist(), "groups": groups, "theta": theta.tolist(),
                "log_density": log, "misfit": q,
                "at": (at + centre).tolist(), "mean": predicted[0].tolist(), "squared_scale": predicted[1].tolist(),
                "left_out": left, "cell_left_out": cell,
            })
    return cases


def importance():
    """Posterior moments of the coordinates by weighting draws from the prior."""
    rng = np.random.default_rng(11)
    x = np.array([[-1.5], [-0.9], [-0.9], [-0.1], [0.6], [0.6], [1.3], [1.6]])
    y = np.array([0.3, 1.1, 1.3, 1.9, 1.4, 2.6, 3.9, 2.2])
    z, s = x - x.mean(0), (y - y.mean()) / y.std()
    out = []
    for unequal in [False, True]:
        mean = np.array([0, np.log(0.3), np.log(2)] + ([0.0] if unequal else []))
        sd = np.array([1.2, 1.2, 1] + ([0.35] if unequal else []))
        logs, thetas = [], []
        for _ in range(60):
            theta = mean + sd * rng.standard_normal((10_000, len(mean)))
            a, h, ell = np.exp(theta[:, 0]), theta[:, 1], np.exp(theta[:, 2])
            r = np.sqrt(5) * np.abs(np.subtract.outer(z[:, 0], z[:, 0]))[None] / ell[:, None, None]
            k = 10 + a[:, None, None] ** 2 * (z @ z.T)[None] + (1 + r + r**2 / 3) * np.exp(-r)
            e = h[:, None] + (theta[:, 3:] @ z.T if unequal else 0.0)
            k[:, np.arange(len(s)), np.arange(len(s))] += np.exp(2 * np.clip(e, -6, 3))
            chol = np.linalg.cholesky(k)
            white = np.linalg.solve(chol, np.broadcast_to(s[:, None], (len(k), len(s), 1)))[..., 0]
            logs.append(-np.log(np.diagonal(chol, axis1=1, axis2=2)).sum(1) - 0.5 * (len(s) + 2) * np.log1p((white**2).sum(1)))
            thetas.append(theta)
        logs, thetas = np.concatenate(logs), np.concatenate(thetas)
        w = np.exp(logs - logs.max())
        w /= w.sum()
        m = w @ thetas
        out.append({
            "x": x.tolist(), "y": y.tolist(), "unequal": unequal, "effective": 1 / (w**2).sum(),
            "mean": m.tolist(), "deviation": np.sqrt(w @ (thetas - m) ** 2).tolist(),
        })
    return out


json.dump(
    {
        "versions": {"python": sys.version.split()[0], "numpy": np.__version__, "scipy": scipy.__version__},
        "fixed": fixed(),
        "importance": importance(),
    },
    open(HERE / "averaged.json", "w"),
    indent=1,
)
