#!/usr/bin/env python3
#===- step_times.py - How long a training step takes ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Times training steps of weir-run --train in turn with TensorFlow's graphs.

usage: step_times.py WEIR_RUN FOLDER [--batches=1,32,128] [--threads=2] [NAME...]
       (in a Python that has TensorFlow)

The models of curves.py with Adam, and `residual`, a small residual network that Keras exports. A
figure is the median over a round's steps, then over three rounds, each of which times one
after the other. The last column is weir's share of TensorFlow's time.
"""
import os
import re
import shutil
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import curves  # noqa: E402

keras = tf.keras
ROUNDS, SECONDS = 3, 1.5


def option(name, otherwise):
    given = [a.split("=")[1] for a in sys.argv if a.startswith(f"--{name}=")]
    return given[0] if given else otherwise


def from_curves(name, batch, folder):
    curves.ROWS = curves.BATCH = batch
    w, nodes, inputs, outputs, forward, x, y, *rest = curves.RUNS[name][0](
        np.random.default_rng(5))
    model = f"{folder}/{name}.onnx"
    curves.write_model(model, nodes, w, inputs, outputs)
    trained = sorted(rest[0] if rest else set(w))
    p = {k: tf.Variable(w[k]) for k in trained}
    optimizer = keras.optimizers.Adam(0.001)
    optimizer.build(list(p.values()))

    @tf.function
    def step(xs, ys):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=ys, logits=forward(p, xs)))
        optimizer.apply_gradients(zip(tape.gradient(loss, list(p.values())), p.values()))
        return loss
    feed = "x" if x.dtype == np.float32 else "tokens"
    flags = ["--train=cross_entropy:logits,labels",
             "--trainable=^(" + "|".join(trained) + ")$", f"--shape={feed}="
             + "x".join(map(str, x.shape))]
    return model, flags, {feed: x, "labels": y.astype(np.int64)}, step


def residual(name, batch, folder):
    layers = keras.layers

    def block(x, channels, stride):
        y = layers.Conv2D(channels, 3, stride, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(channels, 3, padding="same", use_bias=False)(y)
        y = layers.BatchNormalization()(y)
        if stride != 1:
            x = layers.Conv2D(channels, 1, stride, use_bias=False)(x)
            x = layers.BatchNormalization()(x)
        return layers.ReLU()(x + y)
    feed = keras.Input([32, 32, 3], name="x")
    x = layers.Conv2D(32, 3, padding="same", use_bias=False)(feed)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for channels, stride in ((32, 1), (64, 2), (128, 2)):
        x = block(x, channels, stride)
    model = keras.Model(feed, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
    model.export(f"{folder}/{name}", format="tf_saved_model", verbose=False)
    optimizer = keras.optimizers.Adam(0.001)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(xs, ys):
        with tf.GradientTape() as tape:
            loss = loss_of(ys, model(xs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    rng = np.random.default_rng(5)
    data = {"x": rng.standard_normal([batch, 32, 32, 3]).astype(np.float32),
            "labels": rng.integers(0, 10, batch).astype(np.int64)}
    return (f"{folder}/{name}", ["--train=cross_entropy:output_0,labels",
                                 f"--shape=x={batch}x32x32x3"], data, step)


def measure(tool, folder, name, batch, threads):
    build = residual if name == "residual" else from_curves
    model, flags, data, step = build(name, batch, folder)
    np.savez(f"{folder}/{name}.npz", **data)
    feeds = [tf.constant(v) for v in data.values()]
    for _ in range(3):
        step(*feeds)
    start = time.perf_counter()
    step(*feeds).numpy()
    steps = max(5, min(200, int(SECONDS / (time.perf_counter() - start))))
    figures = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [tool, model, *flags, "--optimizer=adam", "--run=train_step", f"--threads={threads}",
             f"--input={folder}/{name}.npz", f"--repeat={steps}",
             f"--output={folder}/{name}.out.npz"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: {done.stderr[-2000:]}")
        mine = float(re.search(r"median_ms=([0-9.]+)", done.stdout)[1])
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            step(*feeds).numpy()
            times.append(1e3 * (time.perf_counter() - start))
        figures.append((mine, float(np.median(times))))
    mine, theirs = (float(np.median(column)) for column in zip(*figures))
    print(f"| {name} | {batch} | {mine:.3g} | {theirs:.3g} | {mine / theirs:.2f} |", flush=True)


def main():
    tool, folder, *names = [a for a in sys.argv[1:] if not a.startswith("--")]
    tool, threads = shutil.which(tool) or os.path.abspath(tool), int(option("threads", "2"))
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    os.makedirs(folder, exist_ok=True)
    print("| model | batch | weir, ms | TensorFlow, ms | share |\n|---|---|---|---|---|")
    for name in names or ("cnn", "transformer", "lstm", "residual"):
        for batch in map(int, option("batches", "1,32,128").split(",")):
            measure(tool, folder, name, batch, threads)


if __name__ == "__main__":
    main()
