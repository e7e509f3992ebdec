"""TensorFlow's ParameterServerStrategy: `distributed_tensorflow.py SECONDS TASK...`.

TF_CONFIG names the cluster and this process. The chief prints rows a second
of all workers, as JSON lines; workers and servers run until they are ended.
"""

import json
import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["GRPC_FAIL_FAST"] = "use_caller"

import rows
import tensorflow as tf

SECONDS, TASKS = float(sys.argv[1]), sys.argv[2:]
BATCH, RATE = 100, 0.01
# Steps in one call that the chief schedules: it is the chief, not the
# workers, that single steps would time.
STEPS = 16
# A worker's rows travel to it inside the graph: fewer keep that short, and
# cost the workers no time.
ROWS = 10_000


def dense(*sizes):
    layers = [
        (tf.Variable(tf.random.normal((n, m), stddev=0.05)), tf.Variable(tf.zeros(m)))
        for n, m in zip(sizes, sizes[1:])
    ]

    def forward(values):
        for at, (matrix, bias) in enumerate(layers):
            values = tf.matmul(values, matrix) + bias
            if at + 1 < len(layers):
                values = tf.nn.relu(values)
        return values

    return forward, [variable for layer in layers for variable in layer]


def lenet():
    first = tf.Variable(tf.random.normal((5, 5, 1, 6), stddev=0.05))
    second = tf.Variable(tf.random.normal((5, 5, 6, 16), stddev=0.05))
    biases = tf.Variable(tf.zeros(6)), tf.Variable(tf.zeros(16))
    head, variables = dense(400, 120, 84, 10)

    def stage(values, kernel, bias, padding):
        values = tf.nn.conv2d(values, kernel, 1, padding)
        return tf.nn.max_pool2d(tf.nn.relu(values + bias), 2, 2, "VALID")

    def forward(values):
        values = stage(tf.reshape(values, [-1, 28, 28, 1]), first, biases[0], "SAME")
        values = stage(values, second, biases[1], "VALID")
        return head(tf.reshape(values, [-1, 400]))

    return forward, [first, second, *biases, *variables]


MODELS = {
    "softmax": lambda: dense(784, 10),
    "logistic": lambda: dense(784, 1),
    "mlp-128": lambda: dense(784, 128, 10),
    "mlp-128-128": lambda: dense(784, 128, 128, 10),
    "lenet5": lenet,
}


def measure(task, strategy, coordinator):
    with strategy.scope():
        forward, variables = MODELS[task]()

    def batches():
        data = rows.dense(ROWS, 784) if task == "logistic" else rows.mnist()
        values, labels = tf.constant(data[0][:ROWS]), tf.constant(data[1][:ROWS], tf.float32)
        order = tf.data.Dataset.range(ROWS).shuffle(ROWS).repeat()
        chosen = order.batch(BATCH, drop_remainder=True)
        return chosen.map(lambda at: (tf.gather(values, at), tf.gather(labels, at))).prefetch(2)

    def loss_of(values, labels):
        answers = forward(values)
        if task == "logistic":
            return tf.nn.sigmoid_cross_entropy_with_logits(labels, answers[:, 0])
        return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), answers)

    def replica(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(loss_of(*batch))
        for variable, slope in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(RATE * slope)
        return loss

    @tf.function
    def steps(iterator):
        total = 0.0
        for _ in range(STEPS):
            total += strategy.run(replica, args=(next(iterator),))
        return total

    data = coordinator.create_per_worker_dataset(batches)
    iterator = iter(data)

    def block(calls):
        for _ in range(calls):
            coordinator.schedule(steps, args=(iterator,))
        coordinator.join()

    begun = time.perf_counter()
    block(8)
    begun = time.perf_counter()
    block(8)
    calls = max(2, int(0.3 * 8 / (time.perf_counter() - begun)))
    rates = []
    begun = time.perf_counter()
    while len(rates) < 3 or time.perf_counter() - begun < SECONDS:
        start = time.perf_counter()
        block(calls)
        rates.append(calls * STEPS * BATCH / (time.perf_counter() - start))
    found = statistics.median(rates)
    rows.tell(task=task, variant="ParameterServerStrategy (async)", rows_per_s=found)


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if role in ("worker", "ps"):
        server = tf.distribute.Server(
            resolver.cluster_spec(),
            job_name=resolver.task_type,
            task_index=resolver.task_id,
            protocol="grpc",
            start=True,
        )
        server.join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    rows.tell(peer=f"TensorFlow {tf.__version__}")
    for task in TASKS:
        measure(task, strategy, coordinator)
    os._exit(0)


main()
