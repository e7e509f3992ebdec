"""Exact intervals for shares, and counts of events of unequal probability.

Writes shares.json next to this file. Made with Python 3.11.7, SciPy 1.17.1, numpy 2.4.6.
"""

import json
import pathlib

import numpy as np
from scipy import stats

INTERVALS = []
for of in [1, 2, 3, 7, 10, 20, 40, 137, 1000]:
    for kept in sorted({0, 1, of // 3, of // 2, of - 1, of}):
        for coverage in [0.5, 0.8, 0.95, 0.99]:
            found = stats.binomtest(kept, of).proportion_ci(coverage, method="exact")
            INTERVALS.append([kept, of, coverage, float(found.low), float(found.high)])

COUNTS = []
chance = np.random.default_rng(20261116)
for size in [1, 2, 5, 12, 40, 150]:
    for low in [0.05, 0.6, 0.95]:
        p = chance.uniform(low, 1.0, size).round(4)
        counts = sorted({0, size // 4, size // 2, size - 1, size})
        distribution = stats.poisson_binom(p)
        COUNTS.append({
            "p": p.tolist(),
            "counts": counts,
            "cdf": [float(distribution.cdf(k)) for k in counts],
        })

target = pathlib.Path(__file__).with_suffix(".json")
target.write_text(json.dumps({"intervals": INTERVALS, "counts": COUNTS}) + "\n")
