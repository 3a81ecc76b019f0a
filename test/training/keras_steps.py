#!/usr/bin/env python3
#===- keras_steps.py - Training steps as Keras writes them ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compiles train_step signatures (tf.function, GradientTape, Keras optimizers) as they are.

usage: keras_steps.py WEIR_RUN FOLDER [NAME...]     (in a Python that has TensorFlow)

Each model is saved before its first step, with the signature train_step. TensorFlow then
trains on, and so does weir-run, on the same batch; losses agree step by step, and the
variables at the end.
"""
import os
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

keras = tf.keras
layers = keras.layers
STEPS = 12
BATCH = 8


def classes(rng, count):
    return rng.integers(0, count, BATCH).astype(np.int64)


def mlp(rng):
    model = keras.Sequential([keras.Input([12]), layers.Dense(16, "relu"), layers.Dense(4)])
    return (model, keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            rng.standard_normal([BATCH, 12]).astype(np.float32), classes(rng, 4))


def cnn(rng):
    # A bias before batch normalisation has a gradient of rounding alone.
    model = keras.Sequential([
        keras.Input([8, 8, 1]), layers.Conv2D(8, 3, padding="same", use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(), layers.MaxPooling2D(),
        layers.Conv2D(12, 3, strides=2, padding="same", use_bias=False),
        layers.BatchNormalization(), layers.ReLU(), layers.GlobalAveragePooling2D(),
        layers.Dense(10)])
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 40)
    return (model, keras.optimizers.Adam(schedule),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            rng.standard_normal([BATCH, 8, 8, 1]).astype(np.float32), classes(rng, 10))


def lstm(rng):
    model = keras.Sequential([keras.Input([10], dtype="int32"), layers.Embedding(20, 8),
                              layers.LSTM(12, return_sequences=True), layers.GRU(8),
                              layers.Dense(20)])
    return (model, keras.optimizers.RMSprop(0.01, momentum=0.5),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            rng.integers(0, 20, [BATCH, 10]).astype(np.int32), classes(rng, 20))


def transformer(rng):
    tokens = keras.Input([10], dtype="int32")
    x = layers.Embedding(24, 16)(tokens)
    y = layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(x + y)
    y = layers.Dense(16)(layers.Dense(32, "gelu")(x))
    x = layers.Dropout(0.2)(layers.LayerNormalization()(x + y))
    model = keras.Model(tokens, layers.Dense(24)(x))
    return (model, keras.optimizers.AdamW(0.01, weight_decay=0.02, global_clipnorm=0.5),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            rng.integers(0, 24, [BATCH, 10]).astype(np.int32),
            rng.integers(0, 24, [BATCH, 10]).astype(np.int64))


def recommender(rng):
    """A cross network beside a deep one, over embeddings whose gradients are rows."""
    wide, ids = keras.Input([6]), keras.Input([3], dtype="int32")
    x0 = layers.Concatenate()([wide, layers.Flatten()(layers.Embedding(50, 4)(ids))])
    x = x0
    for _ in range(2):
        x = x0 * layers.Dense(18)(x) + x
    deep = layers.Dense(8, "relu")(layers.Dense(16, "relu")(x0))
    model = keras.Model([wide, ids], layers.Dense(1, "sigmoid")(layers.Concatenate()([x, deep])))
    return (model, keras.optimizers.Adagrad(0.05), keras.losses.BinaryCrossentropy(),
            [rng.standard_normal([BATCH, 6]).astype(np.float32),
             rng.integers(0, 50, [BATCH, 3]).astype(np.int32)],
            rng.integers(0, 2, [BATCH, 1]).astype(np.float32))


MODELS = {f.__name__: f for f in (mlp, cnn, lstm, transformer, recommender)}


class Trainer(tf.Module):
    def __init__(self, model, optimizer, loss):
        super().__init__()
        self.model, self.optimizer, self.loss = model, optimizer, loss
        optimizer.build(model.trainable_variables)
        # Seeds of layers that draw belong to no module of TensorFlow's.
        self.seeds = [v.value for v in model.variables if "seed_generator" in v.path]

    def step(self, inputs, labels):
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(inputs, training=True))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}


def run(weir_run, folder, name):
    keras.utils.set_random_seed(7)
    rng = np.random.default_rng(11)
    model, optimizer, loss, x, y = MODELS[name](rng)
    trainer = Trainer(model, optimizer, loss)
    xs = x if isinstance(x, list) else [x]
    names = [f"x{i}" for i in range(len(xs))]

    def body(**feeds):
        inputs = [feeds[n] for n in names]
        return trainer.step(inputs if isinstance(x, list) else inputs[0], feeds["y"])

    specs = {n: tf.TensorSpec(v.shape, v.dtype, n) for n, v in zip(names + ["y"], xs + [y])}
    step = tf.function(body).get_concrete_function(**specs)
    trainer.body = tf.function(body)
    where = os.path.join(folder, name)
    tf.saved_model.save(trainer, where, signatures={"train_step": step})
    np.savez(os.path.join(folder, name + ".npz"), **dict(zip(names + ["y"], xs + [y])))
    feeds = {n: tf.constant(v) for n, v in zip(names + ["y"], xs + [y])}
    wanted = [float(step(**feeds)["loss"]) for _ in range(STEPS)]

    # One process for all steps but the first: what it saved is where the next one goes on.
    def ours(count, *flags):
        command = [weir_run, where, "--entry=train_step", "--run=train_step",
                   f"--input={folder}/{name}.npz", f"--repeat={count}",
                   f"--output={folder}/{name}.out.npz", *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: {done.stderr[-3000:]}")
        return float(np.load(f"{folder}/{name}.out.npz")["loss"])

    saved = os.path.join(folder, name + ".saved")
    got = [ours(1, f"--save={saved}/m"), ours(STEPS - 1, f"--restore={saved}/m",
                                              f"--save={saved}/n")]
    for mine, theirs in zip(got, (wanted[0], wanted[-1])):
        if abs(mine - theirs) > 2e-5 * max(1, abs(theirs)):
            sys.exit(f"{name}: loss {mine}, TensorFlow's {theirs}")
    reader = tf.train.load_checkpoint(f"{saved}/n")
    ours_now = {n: reader.get_tensor(n) for n in reader.get_variable_to_shape_map()}
    worst = 0.0
    for variable in model.variables:
        mine = ours_now.get(variable.path)
        if mine is None and "seed_generator" in variable.path:
            continue  # of layers that draw nothing
        if mine is None:
            sys.exit(f"{name}: no variable {variable.path} among {sorted(ours_now)}")
        theirs = variable.numpy()
        worst = max(worst, float(np.max(np.abs(mine - theirs) / (1 + np.abs(theirs)))))
    if worst > 1e-4:
        sys.exit(f"{name}: variables are {worst} apart")
    print(f"{name}: loss {wanted[0]:.4f} to {wanted[-1]:.4f} in {STEPS} steps, both")


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    for model_name in sys.argv[3:] or MODELS:
        run(shutil.which(sys.argv[1]) or os.path.abspath(sys.argv[1]), sys.argv[2], model_name)
