"""Makes linear_models.json: fits, ANOVA tables, VIF and influence by statsmodels.

Needs datasets.json. Versions are recorded in the output.
"""
import json
import re
import warnings

import numpy as np
import pandas as pd
import patsy
import scipy
import scipy.stats
import statsmodels
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

warnings.filterwarnings("ignore")

# (data, formula, ANOVA types, columns to wrap in C(…, Sum) for type III)
CASES = [
    ("balanced", "y ~ a", "123", "a"),
    ("balanced", "y ~ a + b", "123", "ab"),
    ("balanced", "y ~ a * b", "123", "ab"),
    ("balanced", "y ~ a + b + c", "123", "abc"),
    ("balanced", "y ~ (a + b + c)**2", "123", "abc"),
    ("balanced", "y ~ a * b * c", "123", "abc"),
    ("balanced", "y ~ a - 1", "1", "a"),
    ("balanced", "y ~ 0 + a:b", "1", "ab"),
    ("balanced", "y ~ a:b", "1", "ab"),
    ("balanced", "y ~ a + a:b", "1", "ab"),
    ("balanced", "y ~ a / b", "1", "ab"),
    ("balanced", "y ~ a * b * c - a:b:c", "123", "abc"),
    ("unbalanced", "y ~ a", "123", "a"),
    ("unbalanced", "y ~ a + b", "123", "ab"),
    ("unbalanced", "y ~ b + a", "123", "ab"),
    ("unbalanced", "y ~ a * b", "123", "ab"),
    ("unbalanced", "y ~ a + b + c", "123", "abc"),
    ("unbalanced", "y ~ (a + b + c)**2", "123", "abc"),
    ("unbalanced", "y ~ a * b * c", "123", "abc"),
    ("unbalanced", "y ~ c * b", "123", "bc"),
    ("unbalanced", "log(y + 20) ~ a * b", "123", "ab"),
    ("missing_cell", "y ~ a + b", "123", "ab"),
    ("missing_cell", "y ~ b + a", "123", "ab"),
    ("missing_cell", "y ~ a", "123", "a"),
    ("slopes", "y ~ x", "12", ""),
    ("slopes", "y ~ x + z", "12", ""),
    ("slopes", "y ~ g", "123", "g"),
    ("slopes", "y ~ x + g", "2", "g"),
    ("slopes", "y ~ g + x", "123", "g"),
    ("slopes", "y ~ g * x", "123", "g"),
    ("slopes", "y ~ g * x + z", "23", "g"),
    ("slopes", "y ~ x:g", "1", "g"),
    ("slopes", "y ~ g:x - 1", "1", "g"),
    ("slopes", "y ~ x - 1", "1", ""),
    ("slopes", "y ~ x + z - 1", "1", ""),
    ("slopes", "log(w) ~ g * x", "123", "g"),
    ("slopes", "sqrt(w) ~ x + log(z)", "12", ""),
    ("slopes", "log10(w) ~ log2(z) + exp(x / 10)", "12", ""),
    ("slopes", "y ~ x + I(x**2) + I(x * z)", "12", ""),
    ("slopes", "I(y / 2 - 1) ~ x * z", "12", ""),
    ("two_level", "time ~ nodes + batch + rate + epochs", "123", ""),
    ("two_level", "time ~ (nodes + batch + rate + epochs)**2", "12", ""),
    ("two_level", "time ~ nodes * batch * rate * epochs", "12", ""),
    ("two_level", "time ~ C(nodes) * C(batch)", "123", "C"),
    ("two_level", "time ~ C(nodes) * C(batch) * C(rate)", "123", "C"),
    ("two_level", "time ~ nodes + epochs + rate * batch", "12", ""),
    ("near_singular", "y ~ x1 + x2", "12", ""),
    ("large_offset", "y ~ t", "123", "t"),
    ("curve", "y ~ x", "12", ""),
    ("curve", "y ~ x + I(x**2)", "12", ""),
    ("curve", "y ~ C(x)", "123", "C"),
    ("curve", "log(t) ~ x", "12", ""),
    ("curve", "t ~ x + I(x**2) + I(x**3)", "1", ""),
    ("gaps", "y ~ x", "12", ""),
    ("gaps", "y ~ x + k", "2", "k"),
    ("gaps", "y ~ k * x", "123", "k"),
]


def summed(formula, columns):
    left, right = formula.split("~")
    if columns == "C":
        return left + "~" + re.sub(r"C\((\w+)\)", r"C(\1, Sum)", right)
    for column in columns:
        right = re.sub(rf"\b{column}\b", f"C({column}, Sum)", right)
    return left + "~" + right


def plain(term):
    return re.sub(r"C\((\w+), Sum\)", r"\1", term)


def number(value):
    value = float(value)
    return value if np.isfinite(value) else None


def table(frame):
    rows = []
    for term, row in frame.iterrows():
        rows.append({
            "term": term,
            "df": number(row["df"]),
            "sum_sq": number(row["sum_sq"]),
            "f": number(row["F"]),
            "p": number(row["PR(>F)"]),
        })
    return rows


def variance_inflation_factor(exog, i):
    """As statsmodels had it up to 0.14; 0.15 gives 1 for the intercept."""
    rest = np.delete(exog, i, axis=1)
    return 1 / (1 - sm.OLS(exog[:, i], rest).fit().rsquared)


def main():
    with open("datasets.json") as f:
        sets = json.load(f)
    env = {name: getattr(np, name) for name in ["log", "log2", "log10", "sqrt", "exp"]}
    cases = []
    for data, formula, types, factors in CASES:
        frame = pd.DataFrame(sets[data])
        globals().update(env)
        fit = smf.ols(formula, frame).fit()
        interval = fit.conf_int(0.05)
        case = {
            "data": data,
            "formula": formula,
            "observations": int(fit.nobs),
            "residual_df": int(fit.df_resid),
            "model_df": int(fit.df_model),
            "coefficients": [
                {"name": name, "estimate": number(fit.params[name]), "se": number(fit.bse[name]),
                 "t": number(fit.tvalues[name]), "p": number(fit.pvalues[name]),
                 "lower": number(interval.loc[name, 0]), "upper": number(interval.loc[name, 1])}
                for name in fit.params.index
            ],
            "r_squared": fit.rsquared, "adjusted_r_squared": fit.rsquared_adj,
            "f": number(fit.fvalue), "f_p": number(fit.f_pvalue),
            "aic": fit.aic, "bic": fit.bic, "log_likelihood": fit.llf,
            "condition_number": float(fit.condition_number), "rss": fit.ssr,
            "anova": {},
        }
        for kind in types:
            if kind == "3":
                model = smf.ols(summed(formula, factors), frame).fit()
            else:
                model = fit
            rows = table(anova_lm(model, typ=int(kind)))
            for row in rows:
                row["term"] = plain(row["term"]) if factors != "C" else re.sub(r", Sum\)", ")", row["term"])
            case["anova"][kind] = rows
        exog = fit.model.exog
        if "Intercept" in fit.params.index and exog.shape[1] > 1:
            case["vif"] = [number(variance_inflation_factor(exog, i)) for i in range(exog.shape[1])]
        influence = fit.get_influence()
        case["leverage"] = [number(v) for v in influence.hat_matrix_diag]
        case["cooks"] = [number(v) for v in influence.cooks_distance[0]]
        case["studentized"] = [number(v) for v in influence.resid_studentized_external]
        cases.append(case)
    out = {
        "versions": {"statsmodels": statsmodels.__version__, "patsy": patsy.__version__,
                     "numpy": np.__version__, "scipy": scipy.__version__},
        "cases": cases,
    }
    with open("linear_models.json", "w") as f:
        json.dump(out, f, indent=0)
        f.write("\n")
    print(len(cases), "cases")


main()
