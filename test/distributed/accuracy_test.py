#!/usr/bin/env python3
#===- accuracy_test.py - Asynchronous workers learn as much as one -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains three networks with asynchronous workers and a parameter server, and with TensorFlow.

usage: accuracy_test.py --run=WEIR-RUN --compiler=WEIRC --out=FOLDER [--workers=2] [--steps=N]
         [--networks=digits,transformer,recommender]     (in a Python that has TensorFlow)

Graphs are TensorFlow's own, with variables, and the optimizers' slots, on /job:ps/task:0, and a
step of each worker on its task (figure 7 of the white paper). TensorFlow takes as many steps of the
first worker as all workers take together, one after the other, and then looks at what was kept
back. Workers do so in each step. Their accuracy is at most two points lower.
"""
import argparse
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import workers_test  # noqa: E402

v1 = tf.compat.v1
PS = "/job:ps/task:0"
BATCH = 32
STEPS = {"digits": 800, "transformer": 800, "recommender": 600}


class Network:
    """Inputs and classes to learn and to be asked, and what computes logits."""

    def __init__(self, name):
        self.rng = np.random.default_rng(5)
        self.name, self.variables = name, {}
        self.x, self.y = getattr(self, name + "_rows")()
        self.kept = len(self.x) // 5
        self.logits = getattr(self, name)

    def weight(self, name, *shape):
        if name not in self.variables:
            fan = np.prod(shape[:-1]) if len(shape) > 1 else 1e6
            start = (self.rng.standard_normal(shape) / np.sqrt(fan)).astype("f4")
            with tf.device(PS):
                self.variables[name] = v1.get_variable(name, initializer=start, use_resource=True)
        return self.variables[name]

    def dense(self, name, x, width):
        return (tf.tensordot(x, self.weight(name + "/w", x.shape[-1], width), 1)
                + self.weight(name + "/b", width))

    # The digits of the tests, moved and with noise.
    def digits_rows(self):
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits")
        images = np.load(os.path.join(here, "samples.npy")).reshape(-1, 8, 8)
        classes = np.fromfile(os.path.join(here, "samples.u8"), np.uint8)
        classes = classes[:len(images)] if len(classes) >= len(images) else None
        picked = self.rng.integers(0, len(images), 2000)
        moved = np.stack([np.roll(images[i], self.rng.integers(-1, 2), 1) for i in picked])
        noise = 0.1 * self.rng.standard_normal(moved.shape) * images.std()
        return (moved + noise).astype("f4")[..., None], classes[picked].astype("i4")

    def digits(self, x):
        for k, channels in ((1, 8), (2, 16)):
            w = self.weight(f"conv{k}", 3, 3, x.shape[-1], channels)
            x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME")), 2, 2, "VALID")
        return self.dense("out", tf.reshape(x, [-1, 64]), 10)

    # The class is that of the token which stands behind the last one's first occurrence.
    def transformer_rows(self):
        x = self.rng.integers(0, 16, [4000, 12])
        first = np.argmax(x == x[:, -1:], 1)
        x[first == 11, 3] = x[first == 11, 11]
        first = np.argmax(x == x[:, -1:], 1)
        return x.astype("i4"), x[np.arange(4000), first + 1].astype("i4")

    def transformer(self, x):
        h = tf.gather(self.weight("tokens", 16, 48), x) + self.weight("places", 12, 48)
        before = tf.concat([tf.zeros_like(h[:, :1]), h[:, :-1]], 1)
        for k in range(2):
            q, key = self.dense(f"q{k}", h, 48), self.dense(f"k{k}", before, 48)
            v = self.dense(f"v{k}", h, 48)
            scores = tf.nn.softmax(tf.matmul(q, key, transpose_b=True) / np.sqrt(48.0))
            h = h + self.dense(f"o{k}", tf.matmul(scores, v), 48)
            h = h + self.dense(f"down{k}", tf.nn.relu(self.dense(f"up{k}", h, 96)), 48)
        return self.dense("out", h[:, -1], 16)

    # Who likes what, by hidden traits.
    def recommender_rows(self):
        user, item = self.rng.integers(0, 50, 8000), self.rng.integers(0, 50, 8000)
        traits = self.rng.standard_normal([2, 50, 3])
        return (np.stack([user, item], 1).astype("i4"),
                ((traits[0, user] * traits[1, item]).sum(1) > 0).astype("i4"))

    def recommender(self, x):
        user = tf.gather(self.weight("users", 50, 16), x[:, 0])
        item = tf.gather(self.weight("items", 50, 16), x[:, 1])
        h = tf.concat([user, item, user * item], 1)
        return self.dense("out", tf.nn.relu(self.dense("deep", h, 32)), 2)

    def optimizer(self):
        return (v1.train.AdagradOptimizer(0.3) if self.name == "recommender"
                else v1.train.AdamOptimizer(0.004))


def build(name, workers):
    """The graph; each worker takes rows of its own, in an order of its own."""
    network = Network(name)
    graph = tf.Graph()
    with graph.as_default(), tf.device(PS):
        optimizer = network.optimizer()
        learned = len(network.x) - network.kept
        for i in range(workers):
            count = v1.get_variable(f"count_{i}", initializer=np.int32(0), use_resource=True)
            with tf.device(f"/job:worker/task:{i}"):
                order = tf.constant(np.random.default_rng(i).permutation(learned).astype("i4"))
                at = (count.read_value() * BATCH + tf.range(BATCH)) % learned
                rows = tf.gather(order, at)
                x = tf.gather(tf.constant(network.x[:learned]), rows)
                y = tf.gather(tf.constant(network.y[:learned]), rows)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=y, logits=network.logits(x)))
                weights = list(network.variables.values())
                gradients = tf.gradients(loss, weights)
            moved = optimizer.apply_gradients(list(zip(gradients, weights)))
            with tf.control_dependencies([moved]):
                counted = count.assign_add(1, read_value=False)
            with tf.device(f"/job:worker/task:{i}"), tf.control_dependencies([counted]):
                found = tf.argmax(network.logits(tf.constant(network.x[learned:])), 1)
                right = tf.equal(tf.cast(found, tf.int32), network.y[learned:])
                tf.identity(tf.reduce_mean(tf.cast(right, tf.float32)), f"accuracy_{i}")
        with tf.control_dependencies([v1.global_variables_initializer()]):
            tf.identity(tf.constant(0), "inited")
    return graph


def with_tensorflow(graph, steps):
    """Accuracy after so many steps of the first worker."""
    plain = graph.as_graph_def()
    for node in plain.node:
        node.device = ""
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(plain, name="")
        session.run("inited:0")
        for _ in range(steps):
            accuracy = session.run("accuracy_0:0")
    return float(accuracy)


def with_weir(options, name, graph, steps):
    """Accuracies that the workers find in their last steps."""
    model, program = (os.path.join(options.out, name + end) for end in (".pb", ".so"))
    with open(model, "wb") as file:
        file.write(graph.as_graph_def().SerializeToString())
    flags = ["--entry=init", "--fetch=inited"]
    for i in range(options.workers):
        flags += [f"--entry=step_{i}", f"--fetch=accuracy_{i}=accuracy"]
    workers_test.compile_graph(options, model, flags, program)

    def command(task):
        if task == "ps:0":
            return []
        i = int(task.split(":")[1])
        return (["--run=init"] * (i == 0)
                + [f"--run=step_{i}", f"--steps={steps}", "--own-steps"])

    outputs = workers_test.Job(options, program, options.workers, command).wait()
    return [workers_test.value(outputs[f"worker:{i}"], "accuracy")[0]
            for i in range(options.workers)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--networks", default=",".join(STEPS))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name in options.networks.split(","):
        steps = options.steps or STEPS[name]
        graph = build(name, options.workers)
        alone = with_tensorflow(graph, steps * options.workers)
        together = with_weir(options, name, graph, steps)
        print(f"{name}: {options.workers} workers of {steps} steps find "
              + ", ".join(f"{100 * a:.1f} %" for a in together)
              + f"; TensorFlow after {steps * options.workers} steps {100 * alone:.1f} %", flush=True)
        if max(together) < alone - 0.02:
            sys.exit(f"{name}: asynchronous workers learn less")
        if alone < 0.85:
            sys.exit(f"{name}: nothing was learned that could be lost")


if __name__ == "__main__":
    main()
