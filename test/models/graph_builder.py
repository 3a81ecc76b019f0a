#!/usr/bin/env python3
# ===- graph_builder.py - ONNX graphs in a few lines -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A graph that is written operator by operator, with random weights.

The layers are those that exporters write: MatMul and Add for dense ones, layer
normalisation and GELU as composites or expanded, attention by its parts.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "i64": TensorProto.INT64,
         "i32": TensorProto.INT32, "bool": TensorProto.BOOL}


class Builder:
    def __init__(self, seed, opset=17):
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.initializers = [], []
        self.inputs, self.outputs = [], []
        self.count = 0

    def fresh(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def input(self, name, element, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[element], shape))
        return name

    def output(self, name, element="f32", shape=None):
        self.outputs.append(helper.make_tensor_value_info(name, TYPES[element], shape))

    def constant(self, value, dtype=None):
        name = self.fresh("c")
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def floats(self, value):
        return self.constant(value, np.float32)

    def weight(self, *shape, scale=None):
        fan = np.prod(shape[1:]) if len(shape) > 1 else shape[0]
        scale = 1 / np.sqrt(fan) if scale is None else scale
        return self.constant(self.random.standard_normal(shape) * scale, np.float32)

    def op(self, kind, *inputs, outputs=1, name=None, out=None, **attributes):
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        if out:
            names = [out]
        self.nodes.append(helper.make_node(kind, list(inputs), names,
                                           name=name or f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    # Layers.
    def dense(self, x, rows, columns):
        return self.op("Add", self.op("MatMul", x, self.constant(
            self.random.standard_normal((rows, columns)) / np.sqrt(rows), np.float32)),
            self.weight(columns, scale=0.1))

    def layer_norm(self, x, size):
        return self.op("LayerNormalization", x, self.floats(1 + 0.1 * self.random.standard_normal(size)),
                       self.weight(size, scale=0.1), axis=-1, epsilon=1e-5)

    def layer_norm_expanded(self, x, size):
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.floats(2.0)), axes=[-1])
        root = self.op("Sqrt", self.op("Add", variance, self.floats(1e-5)))
        scaled = self.op("Mul", self.op("Div", centred, root),
                         self.floats(1 + 0.1 * self.random.standard_normal(size)))
        return self.op("Add", scaled, self.weight(size, scale=0.1))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.floats(np.sqrt(2))))
        half = self.op("Mul", x, self.floats(0.5))
        return self.op("Mul", half, self.op("Add", erf, self.floats(1.0)))

    def heads(self, x, heads, size, transpose=(0, 2, 1, 3)):
        return self.op("Transpose", self.op("Reshape", x, self.ints(0, 0, heads, size)),
                       perm=list(transpose))

    def attention(self, x, hidden, heads, mask=None, memory=None):
        """Multi-head attention of x over itself, or over `memory`."""
        size = hidden // heads
        source = memory or x
        q = self.heads(self.dense(x, hidden, hidden), heads, size)
        k = self.heads(self.dense(source, hidden, hidden), heads, size, (0, 2, 3, 1))
        v = self.heads(self.dense(source, hidden, hidden), heads, size)
        return self.attend(q, k, v, hidden, size, mask)

    def attend(self, q, k, v, hidden, size, mask=None):
        scores = self.op("Div", self.op("MatMul", q, k), self.floats(np.sqrt(size)))
        if mask:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        joined = self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]),
                         self.ints(0, 0, hidden))
        return self.dense(joined, hidden, hidden)

    def conv(self, x, given, made, kernel=3, stride=1, groups=1, rank=2):
        pad = kernel // 2
        return self.op("Conv", x, self.weight(made, given // groups, *[kernel] * rank, scale=None),
                       self.weight(made, scale=0.1), kernel_shape=[kernel] * rank,
                       pads=[pad] * (2 * rank), strides=[stride] * rank, group=groups)

    def batch_norm(self, x, size):
        return self.op("BatchNormalization", x,
                       self.floats(1 + 0.1 * self.random.standard_normal(size)),
                       self.weight(size, scale=0.1), self.weight(size, scale=0.1),
                       self.floats(0.5 + self.random.random(size)))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def model(self, path):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=9)
        onnx.save(made, path)
        return len(self.nodes)
