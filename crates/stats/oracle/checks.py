"""Hypothesis tests as SciPy, statsmodels and R compute them.

Writes checks.json next to this file: one case per test and data set. Made with
Python 3.11.7, NumPy 2.4.6, SciPy 1.17.1, statsmodels 0.15.0, pandas, R 4.2.2
with lmtest 0.9.40. The seed fixes the data; the data are in the JSON as well.
"""

import itertools
import json
import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import scipy
import scipy.integrate
import scipy.stats as st
import statsmodels
import statsmodels.formula.api as smf
from statsmodels.stats.diagnostic import het_breuschpagan, normal_ad
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.stattools import durbin_watson

HERE = pathlib.Path(__file__).parent
CASES = []
rng = np.random.default_rng(20240229)


def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def case(test, data, source, given, **expected):
    CASES.append({
        "test": test,
        "data": data,
        "source": source,
        "given": {key: plain(value) for key, value in given.items()},
        "expected": {key: plain(value) for key, value in expected.items()},
    })


def r(expression, **vectors):
    """Numbers that R computes from vectors or lists of vectors."""
    def literal(value):
        if isinstance(value, list) and not np.isscalar(value[0]):
            return "list(" + ",".join(literal(v) for v in value) + ")"
        return "c(" + ",".join(repr(float(v)) for v in value) + ")"

    lines = [f"{name} <- {literal(list(value))}" for name, value in vectors.items()]
    lines.append(f'cat(sprintf("%.17g", unlist({expression})))')
    out = subprocess.run(["Rscript", "-"], input="\n".join(lines), capture_output=True, text=True, check=True)
    return [float(word) for word in out.stdout.split()]


GROUPS = {
    "balanced normal": [rng.normal(10 + d, 2, 12) for d in (0, 0.5, 2)],
    "unbalanced normal": [rng.normal(5, 1, 7), rng.normal(6, 1, 11), rng.normal(5.5, 1, 4), rng.normal(9, 1, 9)],
    "unequal variances": [rng.normal(0, s, n) for s, n in ((0.1, 15), (1, 8), (10, 20))],
    "skewed": [rng.lognormal(m, 1, 10) for m in (0, 0.3, 1.5)],
    "ties": [rng.integers(0, 5, n).astype(float) for n in (9, 14, 6)],
    "large offset": [(1e6 + rng.normal(d, 0.01, 8)).round(4) for d in (0, 0.02)],
    "tiny": [np.array([1.0, 2.5]), np.array([3.0, 3.25]), np.array([9.0, 7.5])],
    "far apart": [rng.normal(d, 1e-3, 6) for d in (0, 1, 2, 3)],
}



def centred(groups):
    """The same groups nearer to zero. The subtraction is exact, and every test
    is invariant under it; far from zero SciPy and statsmodels round the means."""
    return [v - 1e6 for v in groups] if min(map(np.min, groups)) > 9e5 else groups


SAMPLES = {
    "normal 20": rng.normal(3, 2, 20),
    "normal 500": rng.normal(0, 1, 500),
    "normal 5000": rng.normal(0, 1, 5000).round(6),
    "uniform 100": rng.uniform(0, 1, 100),
    "exponential 60": rng.exponential(2, 60),
    "heavy tails 80": rng.standard_t(2, 80),
    "three": np.array([1.0, 1.5, 4.0]),
    "four": np.array([2.0, 2.1, 2.3, 9.0]),
    "five": np.array([0.5, -1.0, 2.0, 0.25, 0.75]),
    "eleven": rng.normal(0, 1, 11),
    "twelve": rng.normal(0, 1, 12),
    "ties 40": rng.integers(0, 6, 40).astype(float),
    "large offset": (1e7 + rng.normal(0, 1, 30)).round(4),
}


def paper():
    """The residuals of the model that paper 002 fits."""
    table = pd.read_csv(HERE / "spark_bigdl_cost.csv")
    formula = ("cost ~ nodes + executors + cores + epochs + learning_rate + epochs:learning_rate + batch_size"
               " + epochs:batch_size + learning_rate:batch_size + epochs:learning_rate:batch_size")
    fit = smf.ols(formula, table).fit()
    return np.asarray(fit.resid), np.asarray(fit.model.exog), table


def normality(residuals):
    for name, x in [*SAMPLES.items(), ("paper 002 residuals", residuals)]:
        w, p = st.shapiro(x)
        case("shapiro_wilk", name, "scipy", {"values": x}, statistic=w, p=p)
        if len(x) >= 8:
            a, p = normal_ad(x - 1e7 if x.min() > 9e6 else x)  # exact; see centred()
            if np.isfinite(a):
                case("anderson_darling", name, "statsmodels", {"values": x}, statistic=a, p=p)
            else:
                # statsmodels takes the logarithm of a tail that underflows.
                z = np.sort((x - x.mean()) / x.std(ddof=1))
                i = np.arange(1, len(x) + 1)
                a = -len(x) - np.sum((2 * i - 1) / len(x) * (st.norm.logcdf(z) + st.norm.logsf(z[::-1])))
                case("anderson_darling", name, "scipy logsf", {"values": x}, statistic=a)
    for name in ("normal 20", "uniform 100", "four", "eleven"):
        w, p = r("shapiro.test(x)[c('statistic','p.value')]", x=SAMPLES[name])
        case("shapiro_wilk", name, "R", {"values": SAMPLES[name]}, statistic=w, p=p)


def groups_differ():
    for name, g in GROUPS.items():
        given = {"groups": [list(map(float, v)) for v in g]}
        g = centred(g)
        k, n = len(g), sum(map(len, g))
        f, p = st.f_oneway(*g)
        case("one_way_anova", name, "scipy", given, statistic=f, df1=k - 1, df2=n - k, p=p)
        h, p = st.kruskal(*g)
        case("kruskal_wallis", name, "scipy", given, statistic=h, df=k - 1, p=p)
        if all(np.ptp(v) > 0 for v in g):
            t, p = st.bartlett(*g)
            case("bartlett", name, "scipy", given, statistic=t, df=k - 1, p=p)
            w = anova_oneway(g, use_var="unequal", welch_correction=True)
            case("welch_anova", name, "statsmodels", given, statistic=w.statistic, df1=w.df_num, df2=w.df_denom, p=w.pvalue)
        if name != "tiny":
            for test, center in (("levene", "mean"), ("brown_forsythe", "median")):
                w, p = st.levene(*g, center=center)
                case(test, name, "scipy", given, statistic=w, df1=k - 1, df2=n - k, p=p)
        if name in ("unbalanced normal", "unequal variances", "ties"):
            x, by = np.concatenate(g), np.concatenate([[i] * len(v) for i, v in enumerate(g)])
            s, d1, d2, p = r("oneway.test(x ~ factor(by))[c('statistic','parameter','p.value')]", x=x, by=by)
            case("welch_anova", name, "R", given, statistic=s, df1=d1, df2=d2, p=p)
            s, d, p = r("kruskal.test(x, factor(by))[c('statistic','parameter','p.value')]", x=x, by=by)
            case("kruskal_wallis", name, "R", given, statistic=s, df=d, p=p)
            s, d, p = r("bartlett.test(x, factor(by))[c('statistic','parameter','p.value')]", x=x, by=by)
            case("bartlett", name, "R", given, statistic=s, df=d, p=p)


def skip_draws():
    """Draws of cases that are gone: the data of later ones stay what they were."""
    rng.normal(0, 1, 5), rng.normal(0.8, 1, 40)
    for n in (20, 3, 200):
        rng.normal(0, 1, n), rng.normal(0, 1, n)


def pairs():
    for name, g in GROUPS.items():
        given = {"groups": [list(map(float, v)) for v in g]}
        g = centred(g)
        if name == "tiny":
            continue  # SciPy's quadrature does not converge with one degree of freedom
        for test, equal in (("tukey_hsd", True), ("games_howell", False)):
            res = st.tukey_hsd(*g, equal_var=equal)
            ci = res.confidence_interval(0.95)
            index = list(itertools.combinations(range(len(g)), 2))
            # SciPy subtracts the second mean from the first.
            case(test, name, "scipy", given,
                 difference=[-res.statistic[i, j] for i, j in index],
                 p=[res.pvalue[i, j] for i, j in index],
                 lower=[-ci.high[i, j] for i, j in index],
                 upper=[-ci.low[i, j] for i, j in index])


def corrections():
    for name, p in (("spread", rng.uniform(0, 0.2, 15)), ("tiny", 10.0 ** -rng.uniform(1, 60, 9)),
                    ("ties", np.array([0.01, 0.04, 0.01, 0.5, 1.0, 0.0])), ("one", np.array([0.03]))):
        given = {"p_values": p}
        case("holm", name, "statsmodels", given, corrected=multipletests(p, method="holm")[1])
        case("holm", name, "R", given, corrected=r("list(p.adjust(p,'holm'))", p=p))


def imhof(eigenvalues, x):
    """P(Σ (λ - x) z² < 0), Imhof (Biometrika 48, 1961)."""
    c = eigenvalues - x

    def integrand(u):
        if u == 0:
            return 0.5 * c.sum()
        theta = 0.5 * np.arctan(c * u).sum()
        rho = np.exp(0.25 * np.log1p((c * u) ** 2).sum())
        return np.sin(theta) / (u * rho)

    total, end = 0.0, 0.0
    for _ in range(400):
        part, _err = scipy.integrate.quad(integrand, end, end + 1.0 if end < 50 else 1.5 * end, epsabs=1e-15, epsrel=1e-13, limit=500)
        end = end + 1.0 if end < 50 else 1.5 * end
        total += part
        if abs(part) < 1e-14:
            break
    return 0.5 - total / np.pi


def regression(residuals, exog, table):
    designs = {}
    for n, k in ((12, 1), (15, 3), (60, 2), (150, 6)):
        x = np.column_stack([np.ones(n)] + [rng.normal(0, 1 + 100 * j, n) for j in range(k)])
        e = rng.normal(0, 1, n) * (1 + np.abs(x[:, 1]))
        for t in range(1, n):
            e[t] += 0.4 * e[t - 1]
        y = x @ np.arange(1, k + 2) + e
        designs[f"{n} runs, {k} regressors"] = (y - x @ np.linalg.lstsq(x, y, rcond=None)[0], x)
    designs["trend of 30"] = (lambda t: (rng.normal(0, 1, 30), np.column_stack([np.ones(30), t])))(np.arange(30.0))
    e, x = designs["trend of 30"]
    designs["trend of 30"] = (e - x @ np.linalg.lstsq(x, e, rcond=None)[0], x)
    designs["paper 002"] = (residuals, exog)
    for name, (e, x) in designs.items():
        n = len(e)
        given = {"residuals": e, "columns": x.T}
        lm, p, f, fp = het_breuschpagan(e, x)
        # The paper's columns span nine orders of magnitude; statsmodels solves
        # the auxiliary regression by a pseudo-inverse.
        case("breusch_pagan", name, "statsmodels", given, lagrange=lm, lagrange_p=p, f=f, f_p=fp, df=x.shape[1] - 1)
        q, _ = np.linalg.qr(x)
        a = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        a[0, 0] = a[-1, -1] = 1
        complement = scipy.linalg.null_space((q).T)
        eigenvalues = np.linalg.eigvalsh(complement.T @ a @ complement)
        d = durbin_watson(e)
        case("durbin_watson", name, "statsmodels and Imhof's integral", given, statistic=d, p_positive=imhof(eigenvalues, d))
        if n <= 60:
            names = [f"x{j}" for j in range(1, x.shape[1])]
            vectors = {nm: x[:, j + 1] for j, nm in enumerate(names)}
            d_r, p_r = r(f"{{library(lmtest); dwtest(y ~ {'+'.join(names)}, exact=TRUE, iterations=200)[c('statistic','p.value')]}}", y=e, **vectors)
            case("durbin_watson", name, "R lmtest", given, statistic=d_r, p_positive=p_r)


def f_of(y, small, large):
    rss = lambda m: float(np.sum((y - m @ np.linalg.lstsq(m, y, rcond=None)[0]) ** 2))
    a, b = rss(small), rss(large)
    df1, df2 = large.shape[1] - small.shape[1], len(y) - large.shape[1]
    return (a - b) / df1 / (b / df2)


def permutations():
    """Every arrangement, so that the shuffled p-value has an exact value to
    approach."""
    x = np.array([1.0, 2, 3, 4, 5, 6, 7])
    z = np.array([0.0, 1, 0, 1, 1, 0, 1])
    y = np.array([2.1, 3.9, 3.2, 6.4, 6.5, 6.1, 9.6])
    small, large = np.column_stack([np.ones(7), x]), np.column_stack([np.ones(7), x, z])
    fitted = small @ np.linalg.lstsq(small, y, rcond=None)[0]
    f = f_of(y, small, large)
    hits = [f_of(fitted + np.array(o), small, large) >= f * (1 - 1e-10) for o in itertools.permutations(y - fitted)]
    case("freedman_lane", "seven values", "all 5040 arrangements",
         {"response": y, "kept": small.T, "added": z[None, :]}, statistic=f, p=float(np.mean(hits)))


def lenth_by_definition():
    """Lenth (1989), written out; base R and SciPy do not have it."""
    for name, effects in (("2^4 example", np.array([21.6, 3.1, 9.9, 14.6, 0.1, -18.1, 16.6, 2.4, -0.4, -1.1, 1.9, 4.1, -1.6, -2.6, 1.4])),
                          ("seven", np.array([0.2, -0.3, 5.0, 0.1, -0.4, 0.25, 4.0]))):
        s0 = 1.5 * np.median(np.abs(effects))
        pse = 1.5 * np.median(np.abs(effects)[np.abs(effects) < 2.5 * s0])
        m = len(effects)
        case("lenth", name, "definition with SciPy's t", {"effects": effects}, pse=pse,
             margin=st.t.ppf(0.975, m / 3) * pse, simultaneous=st.t.ppf((1 + 0.95 ** (1 / m)) / 2, m / 3) * pse,
             p=2 * st.t.sf(np.abs(effects) / pse, m / 3))
        case("half_normal_quantiles", name, "scipy", {"count": m}, quantiles=st.halfnorm.ppf((np.arange(1, m + 1) - 0.5) / m))


if __name__ == "__main__":
    residuals, exog, table = paper()
    normality(residuals)
    groups_differ()
    skip_draws()
    pairs()
    corrections()
    regression(residuals, exog, table)
    permutations()
    lenth_by_definition()
    versions = {"python": sys.version.split()[0], "numpy": np.__version__, "scipy": scipy.__version__,
                "statsmodels": statsmodels.__version__, "pandas": pd.__version__,
                "R": "4.2.2", "lmtest": "0.9.40"}
    (HERE / "checks.json").write_text(json.dumps({"versions": versions, "cases": CASES}) + "\n")
