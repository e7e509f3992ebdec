"""Training steps with TensorFlow: `train_tensorflow.py SECONDS THREADS`, as JSON lines.

Plain and compiled by XLA; one step per call, and sixteen where their graph
stays small.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import rows
import tensorflow as tf

SECONDS, THREADS = float(sys.argv[1]), int(sys.argv[2])
RATE = 0.01


def weight(*shape):
    return tf.Variable(tf.random.normal(shape, stddev=0.05, seed=rows.SEED))


def dense(*sizes):
    layers = [(weight(n, m), tf.Variable(tf.zeros(m))) for n, m in zip(sizes, sizes[1:])]

    def forward(values):
        for at, (matrix, bias) in enumerate(layers):
            values = tf.matmul(values, matrix) + bias
            if at + 1 < len(layers):
                values = tf.nn.relu(values)
        return values

    return forward, [variable for layer in layers for variable in layer]


def lenet():
    first, second = weight(5, 5, 1, 6), weight(5, 5, 6, 16)
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


def lstm():
    table, own, before = weight(rows.VOCABULARY, 128), weight(128, 512), weight(128, 512)
    bias = tf.Variable(tf.zeros(512))
    head, variables = dense(128, 2)

    def forward(tokens):
        # All steps' inputs in one product; the steps are unrolled.
        words = tf.reshape(tf.gather(table, tf.transpose(tokens)), [-1, 128])
        inputs = tf.reshape(tf.matmul(words, own) + bias, [rows.TOKENS, -1, 512])
        state = cell = tf.zeros([tf.shape(tokens)[0], 128])
        for at in range(rows.TOKENS):
            gates = inputs[at] + tf.matmul(state, before)
            enter, keep, leave, new = tf.split(gates, 4, axis=1)
            cell = tf.sigmoid(keep) * cell + tf.sigmoid(enter) * tf.tanh(new)
            state = tf.sigmoid(leave) * tf.tanh(cell)
        return head(state)

    return forward, [table, own, before, bias, *variables]


def measure(task, variant, model, data, batch, steps, compiled):
    forward, variables = model()
    values, labels = tf.constant(data[0]), tf.constant(data[1])
    order = rows.Order(len(data[0]), batch)
    total = tf.Variable(0.0)

    @tf.function(jit_compile=compiled)
    def train(chosen):
        for at in range(steps):
            picked = chosen[at * batch : (at + 1) * batch]
            with tf.GradientTape() as tape:
                logits = forward(tf.gather(values, picked))
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    tf.gather(labels, picked), logits
                )
                loss = tf.reduce_mean(losses)
            for variable, slope in zip(variables, tape.gradient(loss, variables)):
                if isinstance(slope, tf.IndexedSlices):
                    change = tf.IndexedSlices(RATE * slope.values, slope.indices)
                    variable.scatter_sub(change)
                else:
                    variable.assign_sub(RATE * slope)
            total.assign_add(loss)

    def step():
        train(tf.constant(order.take(steps)))

    try:
        found = rows.rate(step, steps * batch, SECONDS)
    except (tf.errors.OpError, ValueError) as error:
        rows.tell(task=task, variant=variant, failed=str(error).splitlines()[0])
        return
    rows.tell(task=task, variant=variant, rows_per_s=found)


def main():
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    rows.tell(peer=f"TensorFlow {tf.__version__}")
    images, words = rows.mnist(), rows.tweets()
    for compiled in (False, True):
        way = "XLA" if compiled else "plain"
        for task, model, data, batch, largest in (
            ("softmax", lambda: dense(784, 10), images, 128, 16),
            ("mlp-128", lambda: dense(784, 128, 10), images, 128, 16),
            ("mlp-128-128", lambda: dense(784, 128, 128, 10), images, 128, 16),
            ("lenet5", lenet, images, 64, 16 if not compiled else 1),
            ("lstm", lstm, words, 64, 1),
        ):
            measure(task, f"{way}, 1 step", model, data, batch, 1, compiled)
            if largest > 1:
                measure(task, f"{way}, {largest} steps", model, data, batch, largest, compiled)


main()
