"""MXNet's kvstore: `distributed_mxnet.py KIND SECONDS TASK...`.

KIND is dist_sync or dist_async. DMLC_ROLE names this process; scheduler and
server serve inside the import. Rank 0 prints rows a second of all workers,
as JSON lines.
"""

import sys

import numpy as np

# MXNet 1.9 still asks for a name that newer NumPy has removed.
np.bool = bool

import mxnet as mx
import rows
from mxnet import autograd, gluon
from mxnet.gluon import nn

KIND, SECONDS, TASKS = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
BATCH, RATE = 100, 0.01


def dense(*sizes):
    net = nn.HybridSequential()
    for at, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        last = at + 2 == len(sizes)
        net.add(nn.Dense(outputs, in_units=inputs, activation=None if last else "relu"))
    return net


def lenet():
    net = nn.HybridSequential()
    net.add(
        nn.HybridLambda(lambda F, x: F.reshape(x, (-1, 1, 28, 28))),
        nn.Conv2D(6, 5, padding=2, in_channels=1, activation="relu"),
        nn.MaxPool2D(2),
        nn.Conv2D(16, 5, in_channels=6, activation="relu"),
        nn.MaxPool2D(2),
        nn.Flatten(),
        dense(400, 120, 84, 10),
    )
    return net


MODELS = {
    "softmax": lambda: dense(784, 10),
    "logistic": lambda: dense(784, 1),
    "mlp-128": lambda: dense(784, 128, 10),
    "mlp-128-128": lambda: dense(784, 128, 128, 10),
    "lenet5": lenet,
}


def measure(task, store, first_key):
    data = rows.dense(60_000, 784) if task == "logistic" else rows.mnist()
    values, labels = (part[store.rank :: store.num_workers] for part in data)
    values, labels = mx.nd.array(values), mx.nd.array(labels)
    net = MODELS[task]()
    net.initialize(mx.init.Normal(0.05))
    net.hybridize(static_alloc=True, static_shape=True)
    if task == "logistic":
        loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    else:
        loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize(static_alloc=True, static_shape=True)
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    keys = [str(first_key + at) for at in range(len(parameters))]
    store.init(keys, [p.data() for p in parameters])
    order = rows.Order(len(values), BATCH)
    total = mx.nd.zeros(1)

    def step():
        chosen = mx.nd.array(order.take())
        with autograd.record():
            loss = loss_of(net(values.take(chosen)), labels.take(chosen))
        loss.backward()
        store.push(keys, [p.grad() for p in parameters])
        store.pull(keys, [p.data() for p in parameters])
        total[:] += loss.mean()
        total.wait_to_read()
        for p in parameters:
            p.data().wait_to_read()

    def agree(calls):
        """What rank 0 says, since only its value initializes a key."""
        said = mx.nd.array([calls])
        store.init(f"calls of {task}", said)
        store.pull(f"calls of {task}", said)
        return int(said.asscalar())

    found = rows.rate_together(step, BATCH * store.num_workers, SECONDS, agree)
    if store.rank == 0:
        rows.tell(task=task, variant=KIND, rows_per_s=found)
    return first_key + len(keys)


def main():
    mx.random.seed(rows.SEED)
    store = mx.kv.create(KIND)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=RATE, rescale_grad=1 / BATCH))
    if store.rank == 0:
        rows.tell(peer=f"MXNet {mx.__version__}")
    key = 0
    for task in TASKS:
        key = measure(task, store, key)


main()
