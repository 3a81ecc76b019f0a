#!/usr/bin/env python3
#===- long_lived.py - Networks whose early values are needed late ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes ONNX networks in which many values wait for long, with random weights.

  long_lived.py OUT_DIR [NAME...]

No single operation needs much of what is alive at the peak, so that a memory
limit can be kept by computing again what waits.
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_models import Graph, conv_relu  # noqa: E402


def saliency(layers=14, rows=256, width=256):
    """A dense network and its gradient by the input, as attribution computes it:
    every activation is needed a second time, in reverse."""
    g = Graph("saliency")
    x = g.input("x", [rows, width])
    weights, values = [], []
    for i in range(layers):
        weights.append(g.normal(f"dense{i}.weight", (width, width), width**-0.5))
        x = g.node("MatMul", f"dense{i}", [x, weights[i]])
        x = g.node("Tanh", f"dense{i}.tanh", [x])
        values.append(x)
    d = g.node("Sub", "target", [x, g.constant(0.5)])
    for i in reversed(range(layers)):
        s = g.node("Mul", f"dense{i}.square", [values[i], values[i]])
        s = g.node("Sub", f"dense{i}.slope", [g.constant(1.0), s])
        d = g.node("Mul", f"dense{i}.inner", [d, s])
        t = g.node("Transpose", f"dense{i}.transposed", [weights[i]], perm=[1, 0])
        d = g.node("MatMul", f"dense{i}.gradient", [d, t],
                   "gradient" if i == 0 else None)
    g.output("gradient", [rows, width])
    return g


def rednet(depth=10, channels=24, size=64):
    """Mao et al. 2016, arXiv:1603.09056: convolutions with symmetric sums."""
    g = Graph("rednet")
    x, width, skips = g.input("image", [1, 3, size, size]), 3, []
    for i in range(depth):
        x = conv_relu(g, x, f"encoder{i}", width, channels, 3)
        width = channels
        skips.append(x)
    for i in reversed(range(depth)):
        x = conv_relu(g, x, f"decoder{i}", channels, channels, 3)
        x = g.node("Add", f"decoder{i}.sum", [x, skips[i]])
    weights = g.normal("head.weight", (3, channels, 1, 1), channels**-0.5)
    g.node("Conv", "head", [x, weights], "restored", kernel_shape=[1, 1], strides=[1, 1],
           pads=[0] * 4)
    g.output("restored", [1, 3, size, size])
    return g


def recalibrated(layers=12, channels=32, size=48):
    """Features of all layers, each scaled by what the last one says, as networks
    with attention over depth do."""
    g = Graph("recalibrated")
    x, width, features = g.input("image", [1, 3, size, size]), 3, []
    for i in range(layers):
        x = conv_relu(g, x, f"conv{i}", width, channels, 3)
        width = channels
        features.append(x)
    gate = g.node("GlobalAveragePool", "squeeze", [x])
    weights = g.normal("excite.weight", (channels, channels, 1, 1), channels**-0.5)
    gate = g.node("Conv", "excite", [gate, weights], kernel_shape=[1, 1])
    gate = g.node("Sigmoid", "gate", [gate])
    total = None
    for i, feature in enumerate(features):
        y = g.node("Mul", f"scaled{i}", [feature, gate])
        y = g.node("GlobalMaxPool", f"pooled{i}", [y])
        total = y if total is None else g.node("Add", f"sum{i}", [total, y])
    g.node("Flatten", "flatten", [total], "scores", axis=1)
    g.output("scores", [1, channels])
    return g


def bidirectional(steps=16, rows=64, width=384):
    """An unrolled recurrent network in both directions: states of the first wait
    for those of the second, which come in reverse."""
    g = Graph("bidirectional")
    inputs = [g.input(f"x{t}", [rows, width]) for t in range(steps)]
    weight = {k: g.normal(f"{k}.weight", (width, width), 0.7 * width**-0.5)
              for k in ("forward.in", "forward.state", "backward.in", "backward.state", "out")}

    def cell(direction, t, state):
        y = g.node("MatMul", f"{direction}{t}.in", [inputs[t], weight[f"{direction}.in"]])
        if state is not None:
            s = g.node("MatMul", f"{direction}{t}.state", [state, weight[f"{direction}.state"]])
            y = g.node("Add", f"{direction}{t}.add", [y, s])
        return g.node("Tanh", f"{direction}{t}", [y])

    states, state = [], None
    for t in range(steps):
        state = cell("forward", t, state)
        states.append(state)
    state, total = None, None
    for t in reversed(range(steps)):
        state = cell("backward", t, state)
        y = g.node("Mul", f"joined{t}", [state, states[t]])
        y = g.node("MatMul", f"out{t}", [y, weight["out"]])
        last = "summary" if t == 0 else None
        total = y if total is None else g.node("Add", f"sum{t}", [total, y], last)
    g.output("summary", [rows, width])
    return g


MODELS = {"saliency": saliency, "rednet": rednet, "recalibrated": recalibrated,
          "bidirectional": bidirectional}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out_dir", metavar="OUT_DIR", help="made if it does not exist")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(MODELS)}")
    options = parser.parse_args()
    os.makedirs(options.out_dir, exist_ok=True)
    for name in options.names or MODELS:
        MODELS[name]().write(os.path.join(options.out_dir, f"{name}.onnx"))


if __name__ == "__main__":
    main()
