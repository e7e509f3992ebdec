"""Two samples compared as SciPy compares them.

Writes two_samples.json next to this file. Made with Python 3.11.7, NumPy 2.4.6
and SciPy 1.17.1. The seed fixes the data; the data are in the JSON as well.

The interval of the ratio is found by its definition: the ratios at which the t
statistic of mean(b) - r mean(a) is critical, by bisection. Rank sums with ties
are compared over all arrangements (`permutation_test`), those without with
`mannwhitneyu(method="exact")`, large ones with `method="asymptotic"`.
"""

import json
import pathlib
import sys

import numpy as np
import scipy
import scipy.optimize
import scipy.stats as st

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(17)

SAMPLES = {
    "ten and ten": (rng.normal(12, 0.4, 10), rng.normal(12.5, 0.9, 10)),
    "no difference": (rng.normal(3, 0.2, 8), rng.normal(3, 0.2, 8)),
    "unequal sizes": (rng.normal(100, 5, 5), rng.normal(90, 20, 14)),
    "far apart": (rng.normal(1, 0.001, 6), rng.normal(2, 0.001, 7)),
    "skewed": (rng.lognormal(0, 1, 9), rng.lognormal(1, 1, 7)),
    "ties": (np.array([1.0, 2, 2, 3, 3, 3]), np.array([2.0, 3, 4, 4, 5])),
    "one does not vary": (np.array([5.0, 5, 5, 5]), np.array([4.0, 4.5, 6, 7])),
    "two and two": (np.array([1.0, 1.5]), np.array([1.4, 2.6])),
    "large": (rng.normal(0.5, 1, 80).round(1), rng.normal(0.8, 1, 70).round(1)),
}


def ratio(a, b, df):
    t = st.t.ppf(0.975, df)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if a.mean() ** 2 <= t * t * va:
        return None
    excess = lambda r: (b.mean() - r * a.mean()) ** 2 - t * t * (vb + r * r * va)
    middle = b.mean() / a.mean()
    width = 1e-9 + abs(middle)
    find = lambda sign: next(
        scipy.optimize.brentq(excess, middle, middle + sign * width * 2.0**k, xtol=1e-14, rtol=1e-14)
        for k in range(-40, 60)
        if excess(middle + sign * width * 2.0**k) > 0
    )
    return [middle, find(-1), find(1)]


cases = []
for name, (a, b) in SAMPLES.items():
    welch = st.ttest_ind(b, a, equal_var=False)
    interval = welch.confidence_interval(0.95)
    if len(a) + len(b) > 100:
        ranks, method = st.mannwhitneyu(b, a, alternative="two-sided", method="asymptotic"), "asymptotic"
        p = ranks.pvalue
    elif len(np.unique(np.concatenate([a, b]))) == len(a) + len(b):
        ranks, method = st.mannwhitneyu(b, a, alternative="two-sided", method="exact"), "exact"
        p = ranks.pvalue
    else:
        ranks, method = st.mannwhitneyu(b, a, alternative="two-sided"), "permutations"
        rank = lambda x, y: st.rankdata(np.concatenate([x, y]))[: len(x)].sum()
        p = st.permutation_test((b, a), rank, permutation_type="independent", n_resamples=np.inf).pvalue
    cases.append({
        "name": name,
        "first": a.tolist(),
        "second": b.tolist(),
        "welch": [float(welch.statistic), float(welch.df), float(welch.pvalue), float(interval.low), float(interval.high)],
        "ratio": ratio(a, b, welch.df),
        "u": float(ranks.statistic),
        "rank_p": float(p),
        "rank_method": method,
    })
versions = {"python": sys.version.split()[0], "numpy": np.__version__, "scipy": scipy.__version__}
(HERE / "two_samples.json").write_text(json.dumps({"versions": versions, "cases": cases}) + "\n")
