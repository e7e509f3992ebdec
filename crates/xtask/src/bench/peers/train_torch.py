"""Training steps with PyTorch: `train_torch.py SECONDS THREADS`, as JSON lines."""

import sys

import rows
import torch
from torch import nn
from torch.nn import functional

SECONDS, THREADS = float(sys.argv[1]), int(sys.argv[2])


class Recurrent(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.table = nn.Embedding(rows.VOCABULARY, 128, sparse=sparse)
        self.lstm = nn.LSTM(128, 128, batch_first=True)
        self.head = nn.Linear(128, 2)

    def forward(self, tokens):
        states, _ = self.lstm(self.table(tokens))
        return self.head(states[:, -1])


def dense(*sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet():
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        dense(400, 120, 84, 10),
    )


def sgd(model, fused):
    if fused:
        return torch.optim.SGD(model.parameters(), 0.01, foreach=True)
    return torch.optim.SGD(model.parameters(), 0.01)


def measure(task, variant, model, data, batch, fused):
    values, labels = map(torch.from_numpy, data)
    optimizer = sgd(model, fused)
    order = rows.Order(len(values), batch)
    total = torch.zeros(())

    def step():
        chosen = torch.from_numpy(order.take())
        loss = functional.cross_entropy(model(values.index_select(0, chosen)), labels[chosen])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    rows.tell(task=task, variant=variant, rows_per_s=rows.rate(step, batch, SECONDS))


def main():
    torch.set_num_threads(THREADS)
    torch.manual_seed(rows.SEED)
    rows.tell(peer=f"PyTorch {torch.__version__.split('+')[0]}")
    images = rows.mnist()
    for fused in (False, True):
        variant = "eager, foreach" if fused else "eager"
        for task, model, batch in (
            ("softmax", dense(784, 10), 128),
            ("mlp-128", dense(784, 128, 10), 128),
            ("mlp-128-128", dense(784, 128, 128, 10), 128),
            ("lenet5", lenet(), 64),
        ):
            measure(task, variant, model, images, batch, fused)
    words = rows.tweets()
    measure("lstm", "eager", Recurrent(False), words, 64, True)
    measure("lstm", "eager, sparse table", Recurrent(True), words, 64, False)


main()
