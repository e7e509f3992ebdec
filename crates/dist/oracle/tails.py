"""Tail probabilities of the distributions in this crate, to 25 digits.

Writes tails.json next to this file, in a few seconds. Numbers are strings, because the inputs
must reach the tests to the last bit. Made with Python 3.11.7, mpmath 1.4.1.
"""

import json
import pathlib
import sys

import mpmath as mp

mp.mp.dps = 50
EPS = mp.mpf(10) ** -48
CASES = []


def add(dist, params, x, lower, upper):
    if upper < mp.mpf("1e-300") or lower < mp.mpf("1e-300"):
        # Beyond the range that the crate promises; keep only the larger tail.
        lower = lower if lower >= mp.mpf("1e-300") else None
        upper = upper if upper >= mp.mpf("1e-300") else None
    CASES.append({
        "dist": dist,
        "params": [repr(float(p)) for p in params],
        "x": repr(float(x)),
        "cdf": None if lower is None else mp.nstr(lower, 25),
        "sf": None if upper is None else mp.nstr(upper, 25),
    })


def gamma_tails(a, x):
    """P by its series or Q by its fraction, whichever converges, in 50 digits.

    The smaller tail keeps more than 25 digits wherever it exceeds 1e-20; below
    that the other tail is the one computed.
    """
    weight = mp.exp(a * mp.log(x) - x - mp.loggamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while term > total * EPS:
            n += 1
            term *= x / n
            total += term
        lower = weight * total
        return lower, 1 - lower
    upper = weight / lentz(x + 1 - a, lambda i: (-i * (i - a), x + 2 * i + 1 - a))
    return 1 - upper, upper


def lentz(first, terms):
    """first + a1/(b1 + a2/(b2 + ...)) by the modified Lentz method."""
    value = c = first
    d = mp.mpf(0)
    i = 0
    while True:
        i += 1
        num, den = terms(i)
        d = 1 / (den + num * d)
        c = den + num / c
        value *= c * d
        if num == 0 or abs(c * d - 1) < EPS:
            return value


def beta_lower(a, b, x, y):
    def terms(i):
        m = i // 2
        if i % 2 == 0:
            return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1

    log_weight = a * mp.log(x) + b * mp.log(y) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)
    return mp.exp(log_weight) / a / lentz(mp.mpf(1), terms)


def beta_tails(a, b, x, y):
    """I_x(a, b) and its complement; x + y = 1, both given in full precision."""
    if x < (a + 1) / (a + b + 2):
        lower = beta_lower(a, b, x, y)
        return lower, 1 - lower
    upper = beta_lower(b, a, y, x)
    return 1 - upper, upper


def cross_check():
    """The fractions above against mpmath's own functions where those are quick."""
    for a, x in [(0.05, 2), (3.5, 1.25), (3.5, 20), (40, 80)]:
        a, x = mp.mpf(a), mp.mpf(x)
        assert abs(gamma_tails(a, x)[1] / mp.gammainc(a, x, mp.inf, regularized=True) - 1) < 1e-30
    for a, b, x in [(0.05, 2, 0.25), (3.5, 1.25, 0.75), (40, 80, 0.5), (5, 0.5, 0.125)]:
        a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
        assert abs(beta_tails(a, b, x, 1 - x)[0] / mp.betainc(a, b, 0, x, regularized=True) - 1) < 1e-30


def normal():
    for x in [0, 1e-12, 1e-3, 0.1, 0.5, 1, 1.5, 1.96, 2.5, 3, 5, 7.5, 10, 15, 20, 25, 30, 35, 37, -0.3, -1, -4, -12, -37]:
        X = mp.mpf(x)
        add("normal", [], x, mp.erfc(-X / mp.sqrt(2)) / 2, mp.erfc(X / mp.sqrt(2)) / 2)


def student():
    for df in [0.01, 0.1, 0.5, 1, 1.7, 2, 3, 5, 7.25, 10, 30, 100, 289, 1234.5, 1e4, 1e6, 1e8, 1e10]:
        for t in [-30, -2, 0, 1e-9, 0.01, 0.7, 1, 2, 4, 8, 16, 30, 36, 100, 1e4, 1e10, 1e40]:
            if df > 1e3 and abs(t) > 100:
                continue
            v, T = mp.mpf(df), mp.mpf(t)
            x, y = v / (v + T * T), T * T / (v + T * T)
            if T == 0:
                lower = upper = mp.mpf(1) / 2
            else:
                # x carries df/2: its lower tail is twice the outer tail of t.
                outer, inner = beta_tails(v / 2, mp.mpf(1) / 2, x, y)
                lower, upper = 1 - outer / 2, outer / 2
                if T < 0:
                    lower, upper = upper, lower
            add("student_t", [df], t, lower, upper)


def chi_squared():
    for df in [0.001, 0.1, 0.5, 1, 2, 3, 4.5, 7, 10, 31, 100, 289, 1000.5, 1e4, 1e6, 1e8, 1e9]:
        v = mp.mpf(df)
        sd = mp.sqrt(2 * v)
        points = [df * f for f in (1e-6, 1e-3, 0.1, 0.5, 0.9, 1, 1.1, 2, 5, 20)] if df < 1e4 else []
        points += [float(v + k * sd) for k in (-30, -10, -3, -1, 0.01, 1, 3, 10, 30) if v + k * sd > 0]
        if df < 30:
            points += [40, 200, 700, 1300]
        for x in points:
            add("chi_squared", [df], x, *gamma_tails(v / 2, mp.mpf(x) / 2))


def fisher():
    dfs = [(0.01, 3), (0.1, 0.2), (0.5, 0.5), (1, 1), (1, 10), (1, 289), (2, 7), (3, 12.5), (3.7, 1e6), (5, 5),
           (10, 289), (31, 288), (100, 3), (300, 300), (1e3, 1), (1e4, 1e4), (1e6, 12), (1e6, 1e6), (2, 1e8), (1e8, 1e8)]
    for d1, d2 in dfs:
        a, b = mp.mpf(d1) / 2, mp.mpf(d2) / 2
        if min(d1, d2) >= 1e4:
            sd = float(mp.sqrt(2 / mp.mpf(d1) + 2 / mp.mpf(d2)))
            points = [1 + k * sd for k in (-20, -5, -1, 0, 1, 5, 20)]
        else:
            points = [1e-8, 1e-3, 0.1, 0.5, 1, 1.5, 3, 8, 20, 64.030983, 150, 400]
            if min(d1, d2) < 50 and max(d1, d2) < 1e5:
                points += [1e4, 1e8]
        for f in points:
            r = mp.mpf(f) * mp.mpf(d1) / mp.mpf(d2)
            x, y = r / (1 + r), 1 / (1 + r)
            add("fisher_f", [d1, d2], f, *beta_tails(a, b, x, y))


if __name__ == "__main__":
    cross_check()
    normal()
    student()
    chi_squared()
    fisher()
    out = {
        "versions": {"python": sys.version.split()[0], "mpmath": mp.__version__},
        "cases": CASES,
    }
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(out, indent=0) + "\n")
