#!/usr/bin/env python3
#===- train.py - Train and export the digits network ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains a small CNN on scikit-learn's handwritten digits and exports it.

conv 3x3 to 8 channels, relu, conv 3x3 to 16, relu, max pool 2x2, dense to 10,
softmax; 3,818 parameters. Writes digits.onnx, digits.pb, digits_saved_model/ and the
held-back samples beside this script, which needs numpy and scikit-learn. The
seed fixes the split, the weights' start and the order of the batches; the last
bits of the weights depend on numpy's BLAS, so the files made once are kept.
"""
import os

import numpy as np
from sklearn.datasets import load_digits

import export_onnx
import export_tensorflow

SEED = 20240611
HELD_BACK = 360
EPOCHS = 40
BATCH = 48


def columns(x):
    """[n, c, 8, 8] to the 3x3 patches around every pixel, [n, 8, 8, c * 9]."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    n, c = x.shape[:2]
    return patches.transpose(0, 2, 3, 1, 4, 5).reshape(n, 8, 8, c * 9)


def columns_gradient(g, c):
    """The transpose of columns(): every patch added back where it was taken."""
    n = g.shape[0]
    g = g.reshape(n, 8, 8, c, 3, 3)
    out = np.zeros((n, c, 10, 10), np.float32)
    for i in range(3):
        for j in range(3):
            out[:, :, i:i + 8, j:j + 8] += g[..., i, j].transpose(0, 3, 1, 2)
    return out[:, :, 1:9, 1:9]


def forward(p, x):
    """x: [n, 1, 8, 8]; returns the probabilities and what the gradient needs."""
    kept = {}
    for k in "12":
        kept["in" + k] = columns(x)
        w = p[f"conv{k}/weights"]
        y = kept["in" + k] @ w.reshape(w.shape[0], -1).T + p[f"conv{k}/bias"]
        x = kept["relu" + k] = np.maximum(y, 0).transpose(0, 3, 1, 2)
    windows = x.reshape(-1, 16, 4, 2, 4, 2)
    pooled = windows.max(axis=(3, 5), keepdims=True)
    kept["largest"] = windows == pooled
    kept["flat"] = pooled.reshape(-1, 256)
    logits = kept["flat"] @ p["dense/weights"].T + p["dense/bias"]
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), kept


def gradients(p, x, labels):
    """Of the mean cross entropy, by hand."""
    y, kept = forward(p, x)
    n = len(x)
    y[np.arange(n), labels] -= 1
    y /= n
    g = {"dense/weights": y.T @ kept["flat"], "dense/bias": y.sum(axis=0)}
    d = (y @ p["dense/weights"]).reshape(-1, 16, 4, 1, 4, 1) * kept["largest"]
    d = d.reshape(-1, 16, 8, 8)
    for k in "21":
        w = p[f"conv{k}/weights"]
        d = (d * (kept["relu" + k] > 0)).transpose(0, 2, 3, 1)
        flat = d.reshape(-1, w.shape[0])
        g[f"conv{k}/weights"] = (flat.T @ kept["in" + k].reshape(len(flat), -1)).reshape(w.shape)
        g[f"conv{k}/bias"] = flat.sum(axis=0)
        if k == "2":
            d = columns_gradient(d @ w.reshape(w.shape[0], -1), w.shape[1])
    return g


def train(x, labels, random):
    """Adam, its rate falling linearly to nothing; images shifted by up to a pixel."""
    def start(*shape):
        fan_in = int(np.prod(shape[1:]))
        return random.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)

    p = {"conv1/weights": start(8, 1, 3, 3), "conv1/bias": np.zeros(8, np.float32),
         "conv2/weights": start(16, 8, 3, 3), "conv2/bias": np.zeros(16, np.float32),
         "dense/weights": start(10, 256), "dense/bias": np.zeros(10, np.float32)}
    mean = {k: np.zeros_like(v) for k, v in p.items()}
    square = {k: np.zeros_like(v) for k, v in p.items()}
    step, steps = 0, EPOCHS * (len(x) // BATCH)
    for _ in range(EPOCHS):
        order = random.permutation(len(x))
        for at in range(0, len(x) - BATCH + 1, BATCH):
            batch = order[at:at + BATCH]
            padded = np.pad(x[batch], ((0, 0), (0, 0), (1, 1), (1, 1)))
            i, j = random.integers(0, 3, 2) if random.random() < 0.3 else (1, 1)
            g = gradients(p, padded[:, :, i:i + 8, j:j + 8], labels[batch])
            step += 1
            rate = 0.003 * (1 - step / steps)
            for k in p:
                mean[k] += 0.1 * (g[k] - mean[k])
                square[k] += 0.001 * (g[k] ** 2 - square[k])
                corrected = np.sqrt(square[k] / (1 - 0.999**step)) + 1e-8
                p[k] -= (rate * mean[k] / (1 - 0.9**step) / corrected).astype(np.float32)
    return p


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    digits = load_digits()
    random = np.random.default_rng(SEED)
    order = random.permutation(len(digits.target))
    x = (digits.images[order] / 16).astype(np.float32)[:, None]
    labels = digits.target[order].astype(np.uint8)
    # What it learns from: a byte a pixel, 0 to 16, and a byte a label.
    digits.images[order][HELD_BACK:].astype(np.uint8).tofile(os.path.join(folder, "training.u8"))
    labels[HELD_BACK:].tofile(os.path.join(folder, "training_labels.u8"))
    p = train(x[HELD_BACK:], labels[HELD_BACK:], random)

    x, labels = x[:HELD_BACK], labels[:HELD_BACK]
    probabilities, _ = forward(p, x)
    print(f"accuracy {(probabilities.argmax(axis=1) == labels).mean():.4f} on {HELD_BACK} held back")
    export_onnx.export(os.path.join(folder, "digits.onnx"), p)
    export_tensorflow.export_frozen(os.path.join(folder, "digits.pb"), p)
    export_tensorflow.export_saved_model(os.path.join(folder, "digits_saved_model"), p)
    # In order: n x 64 little-endian floats, n labels, and what the network says.
    x.astype("<f4").tofile(os.path.join(folder, "samples.f32"))
    labels.tofile(os.path.join(folder, "samples.u8"))
    np.save(os.path.join(folder, "samples.npy"), x)
    np.save(os.path.join(folder, "probabilities.npy"), probabilities)


if __name__ == "__main__":
    main()
