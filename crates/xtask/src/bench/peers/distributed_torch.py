"""One worker of PyTorch's DDP over gloo: `distributed_torch.py SECONDS TASK...`.

The launcher's environment names rank, world and place of meeting. Rank 0
prints rows a second of all workers, as JSON lines.
"""

import sys
import warnings

import rows
import torch
import torch.distributed as group
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

SECONDS, TASKS = float(sys.argv[1]), sys.argv[2:]
BATCH = 100
warnings.filterwarnings("ignore")


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


MODELS = {
    "softmax": lambda: dense(784, 10),
    "logistic": lambda: dense(784, 1),
    "mlp-128": lambda: dense(784, 128, 10),
    "mlp-128-128": lambda: dense(784, 128, 128, 10),
    "lenet5": lenet,
}


def measure(task):
    data = rows.dense(60_000, 784) if task == "logistic" else rows.mnist()
    rank, world = group.get_rank(), group.get_world_size()
    values, labels = (torch.from_numpy(part[rank::world].copy()) for part in data)
    model = DistributedDataParallel(MODELS[task]())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    order = rows.Order(len(values), BATCH)
    total = torch.zeros(())

    def loss_of(chosen):
        answers, wanted = model(values.index_select(0, chosen)), labels[chosen]
        if task == "logistic":
            return functional.binary_cross_entropy_with_logits(answers[:, 0], wanted.float())
        return functional.cross_entropy(answers, wanted)

    def step():
        loss = loss_of(torch.from_numpy(order.take()))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    found = rows.rate_together(step, BATCH * world, SECONDS, agree)
    if rank == 0:
        rows.tell(task=task, variant="DDP over gloo", rows_per_s=found)


def agree(calls):
    """Every rank does as many steps as rank 0 says."""
    said = torch.tensor([calls])
    group.broadcast(said, 0)
    return int(said)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(rows.SEED)
    group.init_process_group("gloo")
    if group.get_rank() == 0:
        rows.tell(peer=f"PyTorch {torch.__version__.split('+')[0]}")
    for task in TASKS:
        measure(task)
    group.barrier()
    group.destroy_process_group()


main()
