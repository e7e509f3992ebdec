"""Softmax regression by synchronous SGD on Spark, the way BigDL trains: every
iteration is one job, every task takes its share of the batch, the driver steps.

Submitted by the study beside it; needs numpy on the executors. The last line is a
JSON object with the results.
"""
import argparse
import json
import time

import numpy as np
from pyspark.sql import SparkSession


def rows(seed, count, features, classes):
    """Noisy rows of `classes` directions: the labels need more than one step."""
    directions = np.random.default_rng(1).normal(size=(features, classes))
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(count, features))
    y = np.argmax(x @ directions + chance.normal(scale=2.0, size=(count, classes)), axis=1)
    return x, y


def gradient(x, y, weights):
    scores = x @ weights
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1.0
    return x.T @ p


parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=60_000)
parser.add_argument("--features", type=int, default=128)
parser.add_argument("--classes", type=int, default=10)
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--learning-rate", type=float, required=True)
parser.add_argument("--batch-size", type=int, required=True)
parser.add_argument("--partitions", type=int, nargs=2, metavar=("EXECUTORS", "CORES"), required=True)
parser.add_argument("--seed", type=int, default=7)
args = parser.parse_args()

spark = SparkSession.builder.appName("softmax").getOrCreate()
sc = spark.sparkContext
parts = args.partitions[0] * args.partitions[1]
own = args.rows // parts
shape = (args.features, args.classes)
data = sc.parallelize(range(parts), parts).map(lambda i: rows(args.seed + i, own, *shape)).cache()
data.count()

began = time.monotonic()
weights = np.zeros(shape)
share = max(1, args.batch_size // parts)
steps = max(1, own // share)
for epoch in range(args.epochs):
    for step in range(steps):
        sent = sc.broadcast(weights)
        at = slice(step * share, (step + 1) * share)
        total = data.map(lambda d: gradient(d[0][at], d[1][at], sent.value)).sum()
        weights = weights - args.learning_rate * total / (share * parts)
        sent.unpersist()
train_s = time.monotonic() - began

x, y = rows(10_000, 5_000, *shape)
accuracy = float((np.argmax(x @ weights, axis=1) == y).mean())
spark.stop()
print(json.dumps({"train_s": train_s, "test_accuracy": accuracy, "steps": args.epochs * steps}))
