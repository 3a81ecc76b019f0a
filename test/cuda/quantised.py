#!/usr/bin/env python3
#===- quantised.py - small quantised networks of QDQ form ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""quantised.py OUT_DIR: writes cnn.onnx and transformer.onnx, whose activations are bytes with a
scale and a zero point, and whose weights are signed bytes with a scale for each channel."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(11)


class Network:
    def __init__(self):
        self.nodes, self.held = [], []

    def constant(self, name, array):
        self.held.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, name, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def activation(self, x, name, scale=0.03, zero=128):
        scale = self.constant(name + ".scale", np.float32(scale))
        zero = self.constant(name + ".zero", np.uint8(zero))
        q = self.node("QuantizeLinear", name + ".q", [x, scale, zero])
        return self.node("DequantizeLinear", name, [q, scale, zero])

    def weights(self, name, shape, axis):
        deep = np.prod(shape) / shape[axis]
        scales = (RANDOM.uniform(0.5, 1.5, shape[axis]) / (64 * np.sqrt(deep))).astype(np.float32)
        byte = self.constant(name + ".bytes", RANDOM.integers(-127, 128, shape).astype(np.int8))
        return self.node("DequantizeLinear", name,
                         [byte, self.constant(name + ".scales", scales),
                          self.constant(name + ".zeros", np.zeros(shape[axis], np.int8))], axis=axis)

    def save(self, path, x, y):
        def value(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "g", [value("x", x)], [value("y", y)], self.held)
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)


def cnn(path):
    n = Network()
    x = n.activation("x", "images")
    bias = n.constant("bias", RANDOM.standard_normal(32).astype(np.float32))
    x = n.node("Conv", "conv", [x, n.weights("w0", (32, 16, 3, 3), 0), bias], pads=[1] * 4, strides=[2, 2])
    x = n.activation(n.node("Relu", "relu", [x]), "first", 0.02, 0)
    side = n.activation(n.node("Conv", "point", [x, n.weights("w1", (32, 32, 1, 1), 0)]), "second")
    x = n.activation(n.node("Add", "residual", [x, side]), "third")
    x = n.activation(n.node("GlobalAveragePool", "pool", [x]), "fourth", 0.01)
    x = n.node("Flatten", "flat", [x])
    n.node("MatMul", "y", [x, n.weights("w2", (32, 10), 1)])
    n.save(path, [2, 16, 14, 14], [2, 10])


def transformer(path, tokens=40, width=64, heads=2):
    n = Network()
    x = n.activation("x", "tokens")
    split = n.constant("split", np.array([tokens, heads, width // heads], np.int64))
    whole = n.constant("whole", np.array([tokens, width], np.int64))

    def project(name, order):
        y = n.node("Reshape", name + ".heads", [n.node("MatMul", name, [x, n.weights(name + ".w", (width, width), 1)]), split])
        return n.node("Transpose", name + ".turned", [y], perm=order)
    q, k, v = project("q", [1, 0, 2]), project("k", [1, 2, 0]), project("v", [1, 0, 2])
    scores = n.node("Mul", "scaled", [n.node("MatMul", "scores", [q, k]), n.constant("factor", np.float32(0.18))])
    y = n.node("MatMul", "mixed", [n.node("Softmax", "softmax", [scores], axis=-1), v])
    y = n.node("Reshape", "joined", [n.node("Transpose", "back", [y], perm=[1, 0, 2]), whole])
    y = n.node("MatMul", "out", [n.activation(y, "context", 0.01), n.weights("wo", (width, width), 1)])
    x = n.activation(n.node("Add", "residual", [x, y]), "middle")
    y = n.node("Add", "biased", [n.node("MatMul", "up", [x, n.weights("w1", (width, 128), 1)]),
                                 n.constant("b1", RANDOM.standard_normal(128).astype(np.float32))])
    y = n.activation(n.node("Relu", "relu", [y]), "hidden", 0.02, 0)
    n.node("Add", "y", [x, n.node("MatMul", "down", [y, n.weights("w2", (128, width), 1)])])
    n.save(path, [tokens, width], [tokens, width])


os.makedirs(sys.argv[1], exist_ok=True)
cnn(os.path.join(sys.argv[1], "cnn.onnx"))
transformer(os.path.join(sys.argv[1], "transformer.onnx"))
