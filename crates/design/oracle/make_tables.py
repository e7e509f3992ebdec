"""Writes tables.json: what pyDOE3, NumPy and SciPy say about some designs.

    pip install pyDOE3==1.6.2 numpy==2.4.6 scipy==1.17.1
    python make_tables.py > tables.json
"""

import itertools
import json
import struct

import numpy
import pyDOE3
import scipy
from scipy import stats

# Letters of words: ours leave out I, pyDOE3's do not.
LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def ours(word):
    return "".join(LETTERS[ord(c) - ord("a")] for c in word)


def signs(rows):
    return sorted("".join("+" if x > 0 else "-" for x in row) for row in rows)


def fraction(generator):
    """A design of pyDOE3 by its generator string, e.g. `a b c abc`."""
    columns = generator.split()
    rows = pyDOE3.fracfact(generator)
    k = len(columns)
    chains, _ = pyDOE3.fracfact_aliasing(rows)
    # Every chain of aliases times its first member is the defining relation.
    chain = next(c.split(" = ") for c in chains if c.startswith("a ="))
    words = {"".join(sorted(set("a") ^ set(effect))) for effect in chain} - {""}
    low = []
    for c in chains:
        short = [ours(effect) for effect in c.split(" = ") if len(effect) <= 2]
        if len(short) > 1:
            low.append(sorted(short))
    base = [c for c in columns if len(c) == 1]
    order = {c: i for i, c in enumerate(columns)}
    # pyDOE3 names the base factors by letter, in column order.
    generators = [
        f"{LETTERS[order[c]]} = {ours(c)}" for c in columns if len(c) > 1
    ]
    assert base == [chr(ord("a") + i) for i in range(len(base))], generator
    return {
        "factors": k,
        "generators": generators,
        "runs": len(rows),
        "rows": signs(rows),
        "resolution": min(len(w) for w in words),
        "word_lengths": [sum(len(w) == n for w in words) for n in range(k + 1)],
        "words": sorted(ours(w) for w in words),
        "aliases": sorted(low),
    }


FRACTIONS = [
    "a b ab",
    "a b c abc",
    "a b c ab ac",
    "a b c ab ac bc abc",
    "a b c d abcd",
    "a b c d abc bcd",
    "a b c d abc abd acd",
    "a b c d abc abd acd bcd",
    "a b c d e abcde",
    "a b c d e abc abde",
    "a b c d e abc abd acde",
]

# pyDOE3's aliasing lists all 2^15 effects of 15 factors, so the words of the
# saturated fraction are counted from its columns instead.
SATURATED = "a b c d ab ac bc abc ad bd abd cd acd bcd abcd"


def constant_products(rows):
    """How many products of n columns are constant, for n from 0; the empty one is not counted."""
    runs, k = rows.shape
    counts = [0] * (k + 1)
    for subset in range(1, 2**k):
        chosen = [i for i in range(k) if subset >> i & 1]
        if abs(rows[:, chosen].prod(axis=1).sum()) == runs:
            counts[len(chosen)] += 1
    return counts


def composite(factors, face):
    rows = pyDOE3.ccdesign(factors, center=(0, 1), alpha="r", face=face)
    return sorted([round(float(x), 12) + 0.0 for x in row] for row in rows)


def behnken(factors):
    rows = pyDOE3.bbdesign(factors, center=1)
    return sorted([float(x) + 0.0 for x in row] for row in rows)


def power(columns, term, contribution, size, sd, alpha):
    """The F test of `term`: its columns against the model without them."""
    n = len(contribution)
    full = numpy.column_stack([numpy.ones(n)] + [c for cs in columns.values() for c in cs])
    rest = numpy.column_stack(
        [numpy.ones(n)] + [c for name, cs in columns.items() if name != term for c in cs]
    )
    mu = size * numpy.asarray(contribution)
    residual = mu - rest @ numpy.linalg.lstsq(rest, mu, rcond=None)[0]
    noncentrality = residual @ residual / sd**2
    df1 = numpy.linalg.matrix_rank(full) - numpy.linalg.matrix_rank(rest)
    df2 = n - numpy.linalg.matrix_rank(full)
    critical = stats.f.isf(alpha, df1, df2)
    return float(stats.ncf.sf(critical, df1, df2, noncentrality))


def powers():
    out = []
    # 2^3 twice, all two-factor interactions.
    rows = numpy.array(list(itertools.product([-1.0, 1.0], repeat=3)) * 2)
    columns = {str(i): [rows[:, i]] for i in range(3)}
    for i, j in itertools.combinations(range(3), 2):
        columns[f"{i}:{j}"] = [rows[:, i] * rows[:, j]]
    for size in [0.5, 1.5, 3.0]:
        value = power(columns, "0", rows[:, 0] / 2, size, 1.0, 0.05)
        out.append({"design": "2^3 twice", "term": "0", "size": size, "power": value})
        value = power(columns, "0:1", rows[:, 0] * rows[:, 1] / 2, size, 1.0, 0.05)
        out.append({"design": "2^3 twice", "term": "0:1", "size": size, "power": value})
    # A category of three and a number of two levels, three times, main effects.
    cells = [(a, b) for b in range(2) for a in range(3)] * 3
    first = numpy.array([[1, 0], [0, 1], [-1, -1]], float)[[a for a, _ in cells]]
    second = numpy.array([-1.0, 1.0])[[b for _, b in cells]]
    columns = {"0": [first[:, 0], first[:, 1]], "1": [second]}
    pair = numpy.array([0.5, -0.5, 0.0])[[a for a, _ in cells]]
    for size in [0.5, 1.5, 3.0]:
        value = power(columns, "0", pair, size, 1.0, 0.05)
        out.append({"design": "3x2 three times", "term": "0", "size": size, "power": value})
        value = power(columns, "1", second / 2, size, 1.0, 0.05)
        out.append({"design": "3x2 three times", "term": "1", "size": size, "power": value})
    # A face-centred composite of two factors with five centre points, quadratic.
    cube = list(itertools.product([-1.0, 1.0], repeat=2))
    axis = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)]
    rows = numpy.array(cube + axis + [(0.0, 0.0)] * 5)
    x, y = rows[:, 0], rows[:, 1]
    columns = {"0": [x], "1": [y], "0:1": [x * y], "0^2": [x * x], "1^2": [y * y]}
    for size in [0.5, 1.5, 3.0]:
        value = power(columns, "0", x / 2, size, 1.0, 0.05)
        out.append({"design": "face-centred", "term": "0", "size": size, "power": value})
        value = power(columns, "0^2", x * x, size, 1.0, 0.05)
        out.append({"design": "face-centred", "term": "0^2", "size": size, "power": value})
    return out


def chacha8(key, stream):
    """64-bit words of ChaCha with 8 rounds, 64-bit counter and stream."""

    def quarter(s, a, b, c, d):
        for x, y, z, r in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            s[z] ^= s[x]
            s[z] = ((s[z] << r) | (s[z] >> (32 - r))) & 0xFFFFFFFF

    counter = 0
    while True:
        state = list(struct.unpack("<4I", b"expand 32-byte k"))
        state += struct.unpack("<8I", key)
        state += [counter & 0xFFFFFFFF, counter >> 32, stream & 0xFFFFFFFF, stream >> 32]
        block = state[:]
        for _ in range(4):
            for i in range(4):
                quarter(block, i, i + 4, i + 8, i + 12)
            for i in range(4):
                quarter(block, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        words = [(a + b) & 0xFFFFFFFF for a, b in zip(block, state)]
        for low, high in zip(words[::2], words[1::2]):
            yield low | high << 32
        counter += 1


def shuffle(seed, count):
    words = chacha8(struct.pack("<Q", seed) + bytes(24), 1)
    items = list(range(count))
    for last in range(count - 1, 0, -1):
        bound = last + 1
        fair = 2**64 - 1 - (2**64 - 1) % bound
        draw = next(w for w in words if w < fair)
        other = draw % bound
        items[last], items[other] = items[other], items[last]
    return items


print(
    json.dumps(
        {
            "versions": {
                "pyDOE3": pyDOE3.__version__,
                "numpy": numpy.__version__,
                "scipy": scipy.__version__,
            },
            "fractions": [fraction(g) for g in FRACTIONS],
            "saturated": signs(pyDOE3.fracfact(SATURATED)),
            "saturated_words": constant_products(pyDOE3.fracfact(SATURATED)),
            "composites": {
                f"{face}{k}": composite(k, face) for face in ["ccc", "cci", "ccf"] for k in [2, 3, 4]
            },
            "behnken": {str(k): behnken(k) for k in [3, 4, 5]},
            "powers": powers(),
            "shuffles": {str(seed): shuffle(seed, 40) for seed in [0, 1, 2**64 - 1]},
        },
        indent=1,
    )
)
