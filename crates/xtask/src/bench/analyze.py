"""Times one analysis of variance with statsmodels, its import excluded.

usage: analyze.py TABLE FORMULA REPEATS

Prints one line: the versions, then the least time in seconds to read the table,
fit the formula by least squares and print the type I analysis of variance with
the coefficients' intervals.
"""

import sys
import time

import pandas
import statsmodels
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

path, formula, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
least = float("inf")
for _ in range(repeats):
    start = time.perf_counter()
    table = pandas.read_csv(path)
    fit = smf.ols(formula, table).fit()
    str(anova_lm(fit, typ=1)), str(fit.conf_int()), fit.rsquared
    least = min(least, time.perf_counter() - start)
print(f"statsmodels {statsmodels.__version__}, pandas {pandas.__version__}|{least}")
