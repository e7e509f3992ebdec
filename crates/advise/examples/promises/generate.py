"""The generated tables of `cargo xtask bench promises`.

    python generate.py

writes data/<name>.csv next to this file; NumPy's PCG64 makes the same files
everywhere. Each table is a design whose settings were all run several times, with
what is said of it below; none of the laws is one that Paceline fits.
"""

import csv
import itertools
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent / "data"


def grid(**factors):
    names = list(factors)
    return names, [dict(zip(names, levels)) for levels in itertools.product(*factors.values())]


def write(name, names, cells, replicates, law, seed):
    """`law` gives time and accuracy of one run."""
    rng = np.random.default_rng(seed)
    rows = []
    for cell in cells:
        for _ in range(replicates):
            time, accuracy = law(rng, **cell)
            rows.append([cell[n] for n in names] + [f"{time:.6g}", f"{min(accuracy, 0.9999):.5f}"])
    rng.shuffle(rows)
    with open(HERE / f"{name}.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names + ["time", "accuracy"])
        out.writerows(rows)


def accuracy(rng, batch, base=0.975, noise=0.002):
    return base - 0.009 * np.log2(batch / 32) ** 1.3 + noise * rng.standard_normal()


def amdahl(rng, workers, batch, sync):
    """A serial part, a parallel part, a barrier; 6% of scatter."""
    steps = 60000 / batch
    step = 0.004 + 0.00035 * batch / workers + (0.002 * np.log2(workers) if sync == "bsp" else 0)
    return (12 + steps * step * 3) * np.exp(0.06 * rng.standard_normal()), accuracy(rng, batch) - (
        0.004 * np.log2(workers) if sync == "async" else 0
    )


def heavy(rng, executors, memory, batch):
    """Student's t with three degrees of freedom on the logarithm."""
    time = 400 / executors**0.8 * (1 + 8 / memory) * (1 + batch / 900)
    return time * np.exp(0.09 * rng.standard_t(3)), accuracy(rng, batch, noise=0.004)


def cliff(rng, batch, width, cache):
    """Three and a half times as slow once a batch does not fit into the cache."""
    need = batch * width / 1000
    slow = 3.5 if need > cache else 1.0
    return 20 * slow * (1 + need / 40) * np.exp(0.05 * rng.standard_normal()), accuracy(
        rng, batch, 0.92 + 0.012 * np.log2(width / 64), 0.003
    )


def unequal(rng, workers, batch):
    """Scatter of 2% with one worker and of 24% with eight."""
    scatter = {1: 0.02, 2: 0.05, 4: 0.11, 8: 0.24}[workers]
    time = 30 + 900 / workers**0.85 * (1 + 60 / batch)
    return time * np.exp(scatter * rng.standard_normal()), accuracy(rng, batch)


def queueing(rng, cpus, jobs, batch):
    """Jobs that wait for one disk: batch size, CPUs and jobs act together."""
    load = min(0.93, 0.02 * cpus * jobs * (1 + 64 / batch))
    step = 0.03 + 0.06 * batch / 256 / cpus**0.7 + 0.008 / (1 - load)
    return 20000 / batch * step * np.exp(0.05 * rng.standard_normal()), accuracy(rng, batch)


def categories(rng, model, optimizer, cache, workers):
    """Words that have no order, and that do not simply multiply."""
    base = {"mlp": 20, "lenet": 55, "lstm": 140, "svm": 9}[model]
    step = {"sgd": 1.0, "adam": 1.35, "lbfgs": 2.2}[optimizer]
    stored = {"none": 1.0, "disk": 0.8}[cache] if model != "lstm" else 1.0
    score = {"mlp": 0.93, "lenet": 0.97, "lstm": 0.95, "svm": 0.91}[model]
    score += {"sgd": -0.01, "adam": 0.0, "lbfgs": 0.006}[optimizer]
    return base * step * stored / workers**0.6 * np.exp(0.08 * rng.standard_normal()), score + 0.004 * rng.standard_normal()


def stragglers(rng, workers, batch, backup):
    """One run in twelve meets a slow machine and takes up to two and a half times as long."""
    time = 25 + 500 / workers * (1 + 40 / batch)
    hit = rng.random() < (0.08 if backup == "off" else 0.03)
    return time * np.exp(0.03 * rng.standard_normal()) * (rng.uniform(1.4, 2.5) if hit else 1), accuracy(rng, batch)


def steady(rng, rate, depth, features):
    """Times between 80 and 140 s: no logarithm, equal scatter of 4 s."""
    time = 90 + 3 * depth + 10 * np.sin(2 * np.log10(rate) + 1) + (8 if features == "all" else 0)
    return time + 4 * rng.standard_normal(), 0.9 - 0.03 * (np.log10(rate) + 2) ** 2 + 0.006 * depth + 0.003 * rng.standard_normal()


def noise_alone(rng, threads, pages, governor):
    """Hardly an effect, 20% of scatter."""
    return 60 * (1 + 0.02 * np.log2(threads)) * np.exp(0.2 * rng.standard_normal()), 0.9 + 0.003 * np.log2(pages) + 0.01 * rng.standard_normal()


def optimum(rng, partitions, block, compression):
    """Too few and too many partitions are both slow."""
    away = np.log2(partitions / (24 if compression == "lz4" else 48))
    time = 70 * (1 + 0.22 * away**2) * (1 + 0.1 * abs(np.log2(block / 64)))
    return time * np.exp(0.07 * rng.standard_normal()), 0.88 + 0.01 * np.log2(block / 16) - 0.004 * away + 0.004 * rng.standard_normal()


def two_machines(rng, batch, precision, workers):
    """Every run lands on one of two kinds of machine, 30% apart."""
    time = 200 / workers**0.9 * (1.6 if precision == "f32" else 1.0) * (1 + 50 / batch)
    return time * (1.3 if rng.random() < 0.4 else 1.0) * np.exp(0.02 * rng.standard_normal()), accuracy(
        rng, batch, 0.97 if precision == "f32" else 0.965
    )


def retrograde(rng, nodes, chunk, retries, shuffle):
    """The universal scalability law beyond its peak; two factors do nothing."""
    time = 600 * (1 + 0.06 * (nodes - 1) + 0.012 * nodes * (nodes - 1)) / nodes
    return time * (1 + 0.15 * (chunk == 64)) * np.exp(0.06 * rng.standard_normal()), 0.91 + 0.02 * (chunk == 64) - 0.002 * nodes + 0.004 * rng.standard_normal()


def main():
    HERE.mkdir(exist_ok=True)
    write("amdahl", *grid(workers=[1, 2, 4, 8], batch=[32, 64, 128, 256, 512], sync=["bsp", "async"]), 5, amdahl, 101)
    write("heavy-tails", *grid(executors=[1, 2, 4, 8], memory=[2, 4, 8], batch=[32, 128, 512]), 6, heavy, 102)
    write("cliff", *grid(batch=[32, 64, 128, 256], width=[64, 128, 256], cache=[8, 16, 32]), 5, cliff, 103)
    write("unequal-spread", *grid(workers=[1, 2, 4, 8], batch=[32, 64, 128, 256, 512]), 8, unequal, 104)
    write("queueing", *grid(cpus=[1, 2, 4, 8], jobs=[1, 3, 5], batch=[64, 128, 256]), 5, queueing, 105)
    write(
        "categories",
        *grid(model=["mlp", "lenet", "lstm", "svm"], optimizer=["sgd", "adam", "lbfgs"], cache=["none", "disk"], workers=[1, 4]),
        4, categories, 106,
    )
    write("stragglers", *grid(workers=[2, 4, 8, 16], batch=[32, 64, 128, 256], backup=["on", "off"]), 6, stragglers, 107)
    write("steady", *grid(rate=[0.001, 0.003, 0.01, 0.03, 0.1], depth=[2, 4, 6], features=["all", "half"]), 6, steady, 108)
    write("noise-alone", *grid(threads=[1, 2, 4, 8], pages=[4, 64], governor=["a", "b", "c"]), 8, noise_alone, 109)
    write("optimum", *grid(partitions=[8, 16, 32, 64, 128], block=[32, 64, 128], compression=["lz4", "none"]), 6, optimum, 110)
    write("two-machines", *grid(batch=[32, 64, 128, 256], precision=["f32", "bf16"], workers=[1, 2, 4, 8]), 6, two_machines, 111)
    write("retrograde", *grid(nodes=[1, 2, 4, 8, 12, 16], chunk=[16, 64], retries=[1, 3], shuffle=["sort", "hash"]), 5, retrograde, 112)
    write("unequal-cells", *grid(workers=[1, 2, 4, 8], batch=[64, 256]), 60, unequal, 113)


main()
