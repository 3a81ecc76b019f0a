#!/usr/bin/env python3
#===- keras_curves.py - 300 steps beside TensorFlow --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains what tf.saved_model.save wrote (a train_step signature), and TensorFlow does, too.

usage: keras_curves.py WEIR_RUN FOLDER [NAME...] [--steps=300] [--tsv=FILE] [--svg=FILE]
       (in a Python that has TensorFlow)

The same weights, batches and steps, dropout by the same masks. Two bars, each said of every
model: losses agree within 1e-5 of their size, at step 50 and at all steps up to it; or, of a
model whose steps make of the smallest difference a large one, they are no further apart than twice
what TensorFlow is from itself where each weight begins one unit in the last place off: one draw of
which way, or, of a model that misses the first bar, the furthest of four, since one path of many
says little of how far they part. A model that meets neither up to step 50 fails.
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np

import keras_steps
from curves import draw, losses_of

tf, keras, layers = keras_steps.tf, keras_steps.keras, keras_steps.layers
ROWS = 96
BATCH = 8
BAR = 1e-5
missed, strict = [], []
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits")


def option(name, otherwise):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), otherwise)


def is_reference():
    return bool(option("reference", ""))


def digits(rng):
    del rng
    images = np.fromfile(os.path.join(DIGITS, "samples.f32"), "<f4").reshape(-1, 8, 8, 1)
    labels = np.fromfile(os.path.join(DIGITS, "samples.u8"), np.uint8)
    model = keras.Sequential([
        keras.Input([8, 8, 1]), layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(), layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(), layers.Flatten(), layers.Dense(32, "relu"), layers.Dense(10)])
    return (model, keras.optimizers.Adam(0.002),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            images[:ROWS], labels[:ROWS].astype(np.int64))


def resnet18(rng, activation="relu"):
    """The residual network of 18 layers for small images, with a quarter of its channels."""
    def active(x):
        return layers.Activation(activation)(x)

    def normal(x):
        return layers.BatchNormalization()(x)

    def block(x, channels, stride):
        y = active(normal(layers.Conv2D(channels, 3, stride, padding="same",
                                        use_bias=False)(x)))
        y = normal(layers.Conv2D(channels, 3, padding="same", use_bias=False)(y))
        if stride != 1:
            x = normal(layers.Conv2D(channels, 1, stride, use_bias=False)(x))
        return active(x + y)
    feed = keras.Input([32, 32, 3])
    x = active(normal(layers.Conv2D(16, 3, padding="same", use_bias=False)(feed)))
    for channels, stride in ((16, 1), (32, 2), (64, 2), (128, 2)):
        x = block(block(x, channels, stride), channels, 1)
    model = keras.Model(feed, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
    return (model, keras.optimizers.SGD(0.01, momentum=0.9),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            rng.standard_normal([ROWS, 32, 32, 3]).astype(np.float32),
            keras_steps.classes(rng, 10))


def smooth18(rng):
    """The same with an activation that has no kink, which no rounding can cross."""
    return resnet18(rng, "silu")


MODELS = {"digits": digits, "transformer": keras_steps.transformer, "lstm": keras_steps.lstm,
          "recommender": keras_steps.recommender, "resnet18": resnet18, "smooth18": smooth18}


def apart(a, b):
    return [abs(p - q) / max(abs(q), 1e-3) for p, q in zip(a, b)]


def nudged(folder, name, steps, seed):
    """TensorFlow's own losses, with weights one unit in the last place off."""
    done = subprocess.run([sys.executable, __file__, "", folder, name, f"--steps={steps}",
                           f"--reference={seed}"], capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def nudge(model):
    rng = np.random.default_rng(int(option("reference", "")))
    for variable in model.trainable_variables:
        value = variable.numpy()
        towards = np.where(rng.random(value.shape) < 0.5, -np.inf, np.inf).astype(value.dtype)
        variable.assign(np.nextafter(value, towards))


def run(weir_run, folder, name, steps):
    keras.utils.set_random_seed(7)
    keras_steps.BATCH = ROWS
    model, optimizer, loss, x, y = MODELS[name](np.random.default_rng(11))
    if is_reference():
        nudge(model)
    trainer = keras_steps.Trainer(model, optimizer, loss)
    data = {f"x{i}": v for i, v in enumerate(x if isinstance(x, list) else [x])}
    names = list(data)
    data["y"] = y

    def body(**feeds):
        inputs = [feeds[n] for n in names]
        return trainer.step(inputs if isinstance(x, list) else inputs[0], feeds["y"])

    specs = {n: tf.TensorSpec([BATCH, *v.shape[1:]], v.dtype, n) for n, v in data.items()}
    step = tf.function(body).get_concrete_function(**specs)
    trainer.body = tf.function(body)
    data_of = [{n: tf.constant(v[at:at + BATCH]) for n, v in data.items()}
               for at in range(0, ROWS, BATCH)]
    if is_reference():
        print(json.dumps([float(step(**data_of[s % len(data_of)])["loss"]) for s in range(steps)]))
        return [], []
    where, summary = os.path.join(folder, name), os.path.join(folder, name + ".events")
    shutil.rmtree(where, ignore_errors=True)
    shutil.rmtree(summary, ignore_errors=True)
    tf.saved_model.save(trainer, where, signatures={"train_step": step})
    np.savez(f"{folder}/{name}.npz", **data)
    done = subprocess.run(
        [weir_run, where, "--entry=train_step", "--run=train_step", f"--steps={steps}",
         f"--batch={BATCH}", f"--input={folder}/{name}.npz", f"--summary={summary}",
         f"--output={folder}/{name}.out.npz"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-3000:]}")
    mine, theirs = losses_of(summary), []
    for s in range(steps):
        theirs.append(float(step(**data_of[s % len(data_of)])["loss"]))
    if len(mine) != steps:
        sys.exit(f"{name}: found {len(mine)} losses for {steps} steps")
    far = apart(mine, theirs)
    draws = 1 if max(far[:50]) <= BAR else 4
    paths = [apart(nudged(folder, name, steps, 3 + i), theirs) for i in range(draws)]
    self = [max(at) for at in zip(*paths)]
    last, own = min(50, steps), 2 * max(self[:50])
    at, up_to = far[last - 1], max(far[:50])
    verdicts = (f"{BAR:.0e} at step {last}: {'met' if at <= BAR else 'missed'}, "
                f"up to it: {'met' if up_to <= BAR else 'missed'}; "
                f"{own:.1e} (twice TensorFlow's from itself): {'met' if up_to <= own else 'missed'}")
    if up_to <= BAR:
        strict.append(name)
    elif up_to > own:
        missed.append(name)
    print(f"{name}: loss {mine[0]:.4f} to {mine[-1]:.4f} in {steps} steps, TensorFlow's to "
          f"{theirs[-1]:.4f}; apart by {at:.1e} at step {last}, at most {up_to:.1e} up to there, "
          f"{max(far):.1e} at all; TensorFlow from itself {max(self[:50]):.1e}, {max(self):.1e}\n"
          f"  {verdicts}", flush=True)
    return mine, theirs


def main():
    tool, folder, *names = [a for a in sys.argv[1:] if not a.startswith("--")]
    os.makedirs(folder, exist_ok=True)
    tool = shutil.which(tool) or os.path.abspath(tool)
    steps = int(option("steps", "300"))
    curves = {n: run(tool, folder, n, steps) for n in names or MODELS}
    if is_reference():
        return
    if option("svg", ""):
        draw(option("svg", ""), curves)
    if option("tsv", ""):
        with open(option("tsv", ""), "w") as out:
            out.write("step\t" + "\t".join(f"{n} weir\t{n} tensorflow" for n in curves) + "\n")
            for s in range(steps):
                out.write(f"{s + 1}\t" + "\t".join(f"{a[s]:.7g}\t{b[s]:.7g}"
                                                   for a, b in curves.values()) + "\n")
    print(f"within {BAR:.0e} at every step up to 50: {', '.join(strict) or 'none'}; of others by "
          "TensorFlow's own distance: "
          f"{', '.join(n for n in curves if n not in strict and n not in missed) or 'none'}")
    if missed:
        sys.exit("too far apart up to step 50: " + ", ".join(missed))


main()
