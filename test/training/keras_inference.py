#!/usr/bin/env python3
#===- keras_inference.py - Training what Keras exported to infer ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains an exported inference model by --train, and the Keras model itself.

usage: keras_inference.py WEIR_RUN FOLDER     (in a Python that has TensorFlow)

The exported graph has batch normalisation as arithmetic with running statistics, and says of
each variable whether it is trained. Losses agree step by step, running statistics at the end.
"""
import os
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from curves import losses_of  # noqa: E402

keras = tf.keras
STEPS, BATCH, ROWS, RATE = 40, 16, 80, 0.05


def main():
    run_tool, folder = shutil.which(sys.argv[1]) or os.path.abspath(sys.argv[1]), sys.argv[2]
    shutil.rmtree(folder + "/events", ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(4)
    layers = keras.layers
    model = keras.Sequential([
        keras.Input([8, 8, 1]), layers.Conv2D(4, 3, padding="same", use_bias=False),
        layers.BatchNormalization(), layers.ReLU(), layers.Conv2D(8, 3, strides=2),
        layers.Flatten(), layers.Dense(12, use_bias=False), layers.BatchNormalization(),
        layers.Activation("tanh"), layers.Dense(5)])
    model.export(folder + "/model", format="tf_saved_model", verbose=False)
    x = rng.standard_normal([ROWS, 8, 8, 1]).astype(np.float32)
    y = rng.integers(0, 5, ROWS).astype(np.int64)
    np.savez(folder + "/data.npz", keras_tensor=x, labels=y)
    done = subprocess.run(
        [run_tool, folder + "/model", "--train=cross_entropy:output_0,labels",
         f"--optimizer=sgd,lr={RATE}", f"--steps={STEPS}", f"--batch={BATCH}",
         f"--input={folder}/data.npz", f"--summary={folder}/events", f"--save={folder}/saved/m"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    mine = losses_of(folder + "/events")
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for s in range(STEPS):
        at = s % (ROWS // BATCH) * BATCH
        with tf.GradientTape() as tape:
            loss = loss_of(y[at:at + BATCH], model(x[at:at + BATCH], training=True))
        for v, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            v.assign_sub(RATE * g)
        if abs(mine[s] - float(loss)) > 1e-5 * float(loss):
            sys.exit(f"step {s + 1}: loss {mine[s]}, Keras's {float(loss)}")
    reader = tf.train.load_checkpoint(folder + "/saved/m")
    names = sorted(n for n in reader.get_variable_to_shape_map() if not n.startswith("optimizer/"))
    for v in model.variables:
        near = [n for n in names if n == v.path or n.startswith(v.path + "_")]
        if not near or np.max(np.abs(reader.get_tensor(near[0]) - v.numpy())) > 1e-4:
            sys.exit(f"{v.path} differs, or is not among {names}")
    print(f"exported: loss {mine[0]:.4f} to {mine[-1]:.4f} in {STEPS} steps, as Keras's; "
          f"{len(model.variables)} variables")


if __name__ == "__main__":
    main()
