"""Reference values for mixtures of Student's t distributions.

    python mixture.py

writes mixture.json next to this file, with the versions it used.
"""

import json
import pathlib
import sys

import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.stats import t as student

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(3)
cases = []
for freedom, parts in [(7.0, 1), (10.0, 80), (42.0, 80), (300.0, 12), (10.0, 3)]:
    weights = rng.dirichlet(np.ones(parts))
    means = rng.normal(2.0, 0.5, parts)
    scales = np.exp(rng.normal(-1.0, 0.7, parts))
    if parts == 3:  # Two narrow peaks far apart and a wide one.
        means, scales = np.array([-40.0, 0.0, 60.0]), np.array([1e-3, 5.0, 0.1])

    def cdf(x):
        return float(weights @ student.cdf((x - means) / scales, freedom))

    levels = [5e-5, 0.005, 0.025, 0.1, 0.5, 0.9, 0.975, 0.995, 0.99995]
    low, high = float((means - 1e4 * scales).min()), float((means + 1e4 * scales).max())
    at = [float(x) for x in rng.normal(2, 2, 6)]
    cases.append({
        "freedom": freedom, "weights": weights.tolist(), "means": means.tolist(), "scales": scales.tolist(),
        "levels": levels,
        "quantiles": [brentq(lambda x, p=p: cdf(x) - p, low, high, xtol=1e-13, rtol=1e-15, maxiter=500) for p in levels],
        "at": at, "below": [cdf(x) for x in at],
    })
json.dump(
    {"versions": {"python": sys.version.split()[0], "numpy": np.__version__, "scipy": scipy.__version__}, "cases": cases},
    open(HERE / "mixture.json", "w"),
    indent=1,
)
