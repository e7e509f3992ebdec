"""Event files as the real writers make them, and what they hold.

tensorboard 2.21.0, tensorboardX 2.6.5, numpy 2.4.6, protobuf 7.36.2, Python 3.11.
Run in this directory; writes *.tfevents and expected.json.
"""

import glob
import json
import os
import shutil

import numpy as np
import tensorboardX
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.compat.tensorflow_stub import dtypes
from tensorboard.plugins.histogram import metadata as histogram
from tensorboard.plugins.scalar import metadata as scalar
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

WALL = 1_700_000_000.0


def keep(folder, name):
    (path,) = glob.glob(os.path.join(folder, "*tfevents*"))
    shutil.copy(path, name)
    shutil.rmtree(folder)


# tensorboardX, and PyTorch's SummaryWriter alike: simple_value.
writer = tensorboardX.SummaryWriter("x")
for step in range(20):
    writer.add_scalar("Loss/train", 1 / (step + 1), step, walltime=WALL + step)
    if step % 5 == 4:
        writer.add_scalar("Accuracy/test", 0.9 + step / 1000, step, walltime=WALL + step)
        writer.add_histogram("weights", np.arange(10), step, walltime=WALL + step)
writer.add_text("note", "hello", 3, walltime=WALL)
writer.add_image("picture", np.zeros((3, 8, 8)), 3, walltime=WALL)
writer.add_scalar("nan", float("nan"), 7, walltime=WALL)
writer.close()
keep("x", "tensorboardx.tfevents")

# TensorFlow 2 and Keras: tensors with the metadata of the plugin.
writer = EventFileWriter("tf2")


def event(step, summary):
    writer.add_event(
        event_pb2.Event(wall_time=WALL + step, step=step, summary=summary)
    )


def tensor(tag, value, kind, metadata=None):
    made = summary_pb2.Summary()
    metadata = metadata or scalar.create_summary_metadata(None, None)
    proto = tensor_util.make_tensor_proto(value, dtype=kind)
    made.value.add(tag=tag, tensor=proto, metadata=metadata)
    return made


for step in range(5):
    event(step, tensor("epoch_loss", 2.0 / (step + 1), dtypes.float32))
event(5, tensor("double", 0.1, dtypes.float64))
event(6, tensor("int32", -3, dtypes.int32))
event(7, tensor("int64", 2**40, dtypes.int64))
event(8, tensor("half", np.float16(0.333), dtypes.float16))
of_histogram = histogram.create_summary_metadata(None, None)
event(9, tensor("spread", np.ones((4, 3)), dtypes.float64, of_histogram))
event(9, tensor("one of a histogram", np.float64(3.0), dtypes.float64, of_histogram))
content = summary_pb2.Summary()
value = content.value.add(tag="content")
value.tensor.dtype = 1
value.tensor.tensor_shape.SetInParent()
value.tensor.tensor_content = np.float32(0.75).tobytes()
event(10, content)
several = summary_pb2.Summary()
several.value.add(tag="a", simple_value=1.0)
several.value.add(tag="b", simple_value=2.0)
event(11, several)
writer.close()
keep("tf2", "tensorflow2.tfevents")

expected = {}
for name in ["tensorboardx", "tensorflow2"]:
    read = event_accumulator.EventAccumulator(f"{name}.tfevents", size_guidance={"scalars": 0})
    read.Reload()
    rows = []
    for tag in read.Tags()["scalars"]:
        rows += [[tag, e.step, e.wall_time, repr(float(e.value))] for e in read.Scalars(tag)]
    for tag in read.Tags()["tensors"]:
        metadata = read.summary_metadata.get(tag)
        plugin = metadata.plugin_data.plugin_name if metadata else ""
        if plugin not in ("", "scalars"):
            continue
        for e in read.Tensors(tag):
            array = tensor_util.make_ndarray(e.tensor_proto)
            if array.ndim == 0 and array.dtype.kind in "fi":
                rows.append([tag, e.step, e.wall_time, repr(float(array))])
    expected[name] = rows
with open("expected.json", "w") as file:
    json.dump(expected, file, indent=1)
    file.write("\n")
