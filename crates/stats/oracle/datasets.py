"""Makes datasets.json: small tables with every kind of trouble a linear model meets.

Seeded, so that a rerun with the same numpy gives the same file.
"""
import json

import numpy as np


def factorial(**levels):
    grid = np.array(np.meshgrid(*levels.values(), indexing="ij"), dtype=object)
    flat = grid.reshape(len(levels), -1)
    return {name: list(flat[i]) for i, name in enumerate(levels)}


def repeat(columns, times):
    return {name: [v for v in values for _ in range(times)] for name, values in columns.items()}


def take(columns, keep):
    return {name: [values[i] for i in keep] for name, values in columns.items()}


def main():
    rng = np.random.default_rng(20260417)
    sets = {}

    def effect(labels, spread):
        names = sorted(set(labels))
        table = {name: rng.normal(0, spread) for name in names}
        return np.array([table[x] for x in labels])

    # Balanced three-way layout, three replicates.
    d = repeat(factorial(a=["a1", "a2", "a3"], b=["b1", "b2"], c=["c1", "c2", "c3", "c4"]), 3)
    ab = [x + y for x, y in zip(d["a"], d["b"])]
    d["y"] = list(10 + effect(d["a"], 2) + effect(d["b"], 1) + effect(ab, 1) + rng.normal(0, 1, len(ab)))
    sets["balanced"] = d

    # The same with rows lost at random: every cell kept, sizes unequal.
    n = len(d["y"])
    keep = [i for i in range(n) if i % 3 == 0 or rng.random() < 0.55]
    sets["unbalanced"] = take(d, keep)

    # A two-way layout without the cell a3,b2.
    d = repeat(factorial(a=["a1", "a2", "a3"], b=["b1", "b2", "b3"]), 4)
    d["y"] = list(5 + effect(d["a"], 2) + effect(d["b"], 2) + rng.normal(0, 1, len(d["a"])))
    keep = [i for i in range(len(d["y"])) if not (d["a"][i] == "a3" and d["b"][i] == "b2") and i % 7 != 0]
    sets["missing_cell"] = take(d, keep)

    # Groups with a slope each.
    n = 60
    g = [["red", "green", "blue"][k] for k in rng.integers(0, 3, n)]
    x = rng.uniform(1, 9, n)
    z = rng.normal(50, 10, n)
    slope = {"red": 1.0, "green": 2.5, "blue": -0.5}
    y = 3 + np.array([slope[k] for k in g]) * x + 0.1 * z + rng.normal(0, 1, n)
    sets["slopes"] = {"g": g, "x": list(x), "z": list(z), "y": list(y), "w": list(np.exp(y / 10))}

    # Two-level design in natural units, two replicates.
    d = repeat(factorial(nodes=[1, 4], batch=[64, 256], rate=[0.001, 0.01], epochs=[1, 3]), 2)
    d = {k: [float(v) for v in vs] for k, vs in d.items()}
    y = (5 - 0.3 * np.array(d["nodes"]) + 0.01 * np.array(d["batch"]) - 200 * np.array(d["rate"])
         + 0.9 * np.array(d["rate"]) * np.array(d["batch"]) + rng.normal(0, 0.5, len(d["nodes"])))
    d["time"] = list(y)
    sets["two_level"] = d

    # One column is the sum of two others, one is twice another.
    n = 40
    x1, x2 = rng.normal(0, 1, n), rng.normal(0, 1, n)
    x1, x2 = np.round(x1, 3), np.round(x2, 3)
    sets["collinear"] = {
        "x1": list(x1), "x2": list(x2), "x3": list(x1 + x2), "x4": list(2 * x1),
        "y": list(1 + x1 - 2 * x2 + rng.normal(0, 0.3, n)),
    }

    # Nearly so: the difference is one part in a million.
    x3 = x1 + x2 + 1e-6 * rng.normal(0, 1, n)
    sets["near_singular"] = {"x1": list(x1), "x2": list(x2), "x3": list(x3), "y": sets["collinear"]["y"]}

    # Seven digits shared by every response.
    d = repeat(factorial(t=["t1", "t2", "t3", "t4"]), 6)
    d["y"] = list(1e7 + effect(d["t"], 1) + np.round(rng.normal(0, 1, len(d["t"])), 3))
    sets["large_offset"] = d

    # A curve, with replicated settings.
    x = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3)
    sets["curve"] = {"x": list(x), "y": list(2 + 3 * x - 0.4 * x**2 + rng.normal(0, 0.4, len(x))),
                     "t": list(np.exp(1 + 0.3 * x + rng.normal(0, 0.2, len(x))))}

    # Missing values in response and predictors.
    n = 30
    x = rng.uniform(0, 5, n)
    k = [["u", "v"][i] for i in rng.integers(0, 2, n)]
    y = 1 + 2 * x + np.array([0.0 if v == "u" else 1.5 for v in k]) + rng.normal(0, 0.5, n)
    x, y = list(x), list(y)
    y[3] = None
    x[7] = None
    x[20] = None
    k[11] = None
    sets["gaps"] = {"x": x, "k": k, "y": y}

    with open("datasets.json", "w") as f:
        json.dump(sets, f, indent=0)
        f.write("\n")


main()
