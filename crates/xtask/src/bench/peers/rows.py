"""The rows that peers train on, their order, and how a peer is timed.

Runs under Python 3.8, which MXNet needs.
"""

import collections
import gzip
import json
import re
import statistics
import time

import numpy as np

CLASSES = 10
TOKENS = 30
VOCABULARY = 5000
SEED = 1


def mnist(part="train"):
    """Images of 784 values from 0 to 1, and their classes."""

    def idx(name, header):
        own = (part, name) == ("train", "images-idx3")
        folder = "crates/mnist/data" if own else "crates/data/data/mnist"
        with gzip.open(f"{folder}/{part}-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    images = idx("images-idx3", 16).reshape(-1, 784).astype(np.float32) / 255
    return images, idx("labels-idx1", 8).astype(np.int64)


def tweets():
    """Rows of 30 words as numbers, padded on the left with 0, and two classes."""
    texts, labels = [], []
    with open("crates/data/data/tweets/tweets_GroundTruth.txt", encoding="utf-8") as file:
        for line in file:
            _, rating, text = line.rstrip("\n").split("\t", 2)
            texts.append(re.findall(r"[a-z0-9]+", text.lower().replace("'", "")))
            labels.append(float(rating) > 0)
    counts = collections.Counter(word for text in texts for word in text)
    numbers = {word: n + 2 for n, (word, _) in enumerate(counts.most_common(VOCABULARY - 2))}
    rows = np.zeros((len(texts), TOKENS), np.int64)
    for row, text in zip(rows, texts):
        words = [numbers.get(word, 1) for word in text[-TOKENS:]]
        if words:
            row[-len(words) :] = words
    return rows, np.array(labels, np.int64)


def dense(rows, width):
    """Normal values and two classes that a plane tells apart but for noise."""
    random = np.random.default_rng(SEED)
    values = random.standard_normal((rows, width), np.float32)
    plane = random.standard_normal(width, np.float32)
    chance = 1 / (1 + np.exp(-2 * (values @ plane) / np.sqrt(width)))
    return values, (random.random(rows) < chance).astype(np.int64)


class Order:
    """Batches of row numbers, shuffled anew for each epoch."""

    def __init__(self, rows, batch):
        self.rows, self.batch = rows, batch
        self.random = np.random.default_rng(SEED)
        self.place = rows

    def take(self, batches=1):
        count = batches * self.batch
        if self.place + count > self.rows:
            self.order = self.random.permutation(self.rows)
            self.place = 0
        taken = self.order[self.place : self.place + count]
        self.place += count
        return taken


def rate(step, rows, seconds):
    """Rows a second: the median over blocks of a tenth of a second."""
    begun = time.perf_counter()
    calls = 0
    while calls < 3 or time.perf_counter() - begun < 0.3:
        step()
        calls += 1
    each = (time.perf_counter() - begun) / calls
    calls = max(1, int(0.1 / each))
    rates = []
    begun = time.perf_counter()
    while len(rates) < 3 or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        for _ in range(calls):
            step()
        rates.append(calls * rows / (time.perf_counter() - start))
    return statistics.median(rates)


def rate_together(step, rows, seconds, agree):
    """As `rate`, where all workers take the same number of steps: `agree`
    returns rank 0's number to everybody."""
    for _ in range(20):
        step()
    start = time.perf_counter()
    for _ in range(20):
        step()
    calls = agree(max(1, int(0.1 * 20 / (time.perf_counter() - start))))
    rates = []
    for _ in range(max(3, int(seconds / 0.1))):
        start = time.perf_counter()
        for _ in range(calls):
            step()
        rates.append(calls * rows / (time.perf_counter() - start))
    return statistics.median(rates)


def tell(**fields):
    """One line for the benchmark."""
    print(json.dumps(fields), flush=True)
