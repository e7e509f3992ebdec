"""Tail probabilities of the distributions in this crate, to 25 digits.

Writes tails.json next to this file, in about two minutes. Numbers are strings, because the inputs
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
    """P by its series or Q by its fraction, whichever converges, in 50 digits."""
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


def noncentral_f():
    for d1, d2, lam in [(1, 20, 0), (1, 20, 4.5), (3, 36, 10), (2.5, 7.5, 1), (5, 294, 40), (1, 289, 200), (4, 10, 1e-3)]:
        for f in [1e-3, 0.2, 1, 2.5, 6, 15, 60, 400]:
            half = mp.mpf(lam) / 2
            r = mp.mpf(f) * mp.mpf(d1) / mp.mpf(d2)
            x, y = r / (1 + r), 1 / (1 + r)
            lower = upper = mp.mpf(0)
            j = 0
            weight = mp.exp(-half)
            while True:
                low, up = beta_tails(mp.mpf(d1) / 2 + j, mp.mpf(d2) / 2, x, y)
                lower += weight * low
                upper += weight * up
                j += 1
                weight *= half / j
                if weight == 0 or (j > half and weight < mp.mpf("1e-40") * min(lower, upper)):
                    break
            add("noncentral_f", [d1, d2, lam], f, lower, upper)


def shapes():
    for shape, rate in [(0.2, 3), (1, 0.25), (4, 1), (77.7, 1e-3)]:
        for z in [0.01, 0.5, 1, 3, 30]:
            x = z * shape / rate
            add("gamma", [shape, rate], x, *gamma_tails(mp.mpf(shape), mp.mpf(x) * mp.mpf(rate)))
    for mean in [0.1, 3, 50.5, 2000]:
        for count in {0, 1, 5, int(mean), int(2 * mean + 3), 200}:
            lower, upper = gamma_tails(mp.mpf(count + 1), mp.mpf(mean))
            add("poisson", [mean], count, upper, lower)


def studentized_range():
    """The double integral by the trapezoidal rule with half the step of the
    crate and 35 digits. With two groups the result is also compared with t."""
    with mp.workdps(35):
        for groups, df, q in [(2, 5, 3.6), (3, 1, 20), (3, 2, 1), (3, 10, 3.877), (4, 20, 0.8), (4, 20, 3.958), (4, 20, 25),
                              (6, 289, 4.06), (6, 289, 40), (10, 7.5, 5.5), (20, 3.3, 9), (50, 60, 6), (100, 30, 7), (5, 5000, 12)]:
            v, k, Q = mp.mpf(df), groups, mp.mpf(q)
            log_scale = mp.log(2) + v / 2 * mp.log(v / 2) - mp.loggamma(v / 2)
            hz, hu = mp.mpf("0.08"), min(mp.mpf("0.06"), mp.mpf("0.3") / mp.sqrt(2 * v))
            grid = [i * hz for i in range(-int(38 / hz), int(9 / hz))]
            inner = [(z, mp.npdf(z), mp.ncdf(-z)) for z in grid]

            def range_sf(w):
                total = mp.mpf(0)
                for z, density, above in inner:
                    if z < -w - 10 and w < 27 or density * above ** (k - 1) < mp.mpf("1e-330"):
                        continue
                    ratio = mp.ncdf(-z - w) / above
                    total -= density * above ** (k - 1) * mp.expm1((k - 1) * mp.log1p(-ratio))
                return k * total * hz

            centre = -mp.log1p(Q * Q / (2 * v)) / 2
            total = mp.mpf(0)
            for direction in (1, -1):
                i = 0 if direction == 1 else 1
                while True:
                    u = centre + direction * i * hu
                    term = mp.exp(log_scale + v * u - v / 2 * mp.exp(2 * u))
                    term = term if term < mp.mpf("1e-330") else term * range_sf(Q * mp.exp(u))
                    total += term
                    i += 1
                    if term < total * mp.mpf("1e-20"):
                        break
            upper = total * hu
            add("studentized_range", [groups, df], q, 1 - upper, upper)


if __name__ == "__main__":
    cross_check()
    normal()
    student()
    chi_squared()
    fisher()
    noncentral_f()
    shapes()
    studentized_range()
    out = {
        "versions": {"python": sys.version.split()[0], "mpmath": mp.__version__},
        "cases": CASES,
    }
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(out, indent=0) + "\n")
