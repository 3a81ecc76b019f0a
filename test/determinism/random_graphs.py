#===- random_graphs.py - ONNX graphs by a seeded generator ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes ONNX models with random operations over random shapes.

Each has one feed `x`, whose shape is fixed, and fetches a few of its values: sizes
that no vector width or number of threads divides, sums over every kind of axis,
products, convolutions, pools, elementwise chains, and values used more than once.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits"))
import wire  # noqa: E402

FLOAT, INT64 = 1, 7


def attribute(name, value):
    if isinstance(value, int):
        return wire.data(5, wire.data(1, name) + wire.integer(3, value) + wire.integer(20, 2))
    return wire.data(5, wire.data(1, name) + wire.packed(8, value) + wire.integer(20, 7))


def value_info(name, shape):
    dims = b"".join(wire.data(1, wire.integer(1, s)) for s in shape)
    tensor = wire.integer(1, FLOAT) + (wire.data(2, dims) if shape is not None else b"")
    return wire.data(1, name) + wire.data(2, wire.data(1, tensor))


class Writer:
    def __init__(self, random):
        self.random = random
        self.nodes = self.initializers = b""
        self.count = 0

    def node(self, operation, inputs, **attributes):
        self.count += 1
        output = "v%d" % self.count
        self.nodes += wire.data(1, b"".join(wire.data(1, i) for i in inputs)
                                + wire.data(2, output) + wire.data(3, "n%d" % self.count)
                                + wire.data(4, operation)
                                + b"".join(attribute(k, v) for k, v in attributes.items()))
        return output

    def constant(self, shape, kind=FLOAT, values=None):
        self.count += 1
        name = "c%d" % self.count
        size = 1
        for s in shape:
            size *= s
        if values is None:
            values = [self.random.uniform(-1, 1) for _ in range(size)]
        raw = struct.pack("<%d%s" % (size, "f" if kind == FLOAT else "q"), *values)
        self.initializers += wire.data(5, b"".join(wire.integer(1, s) for s in shape)
                                       + wire.integer(2, kind) + wire.data(8, name)
                                       + wire.data(9, raw))
        return name

    def step(self, value, shape):
        """A random operation on a value; the new one and its shape."""
        random, rank = self.random, len(shape)
        kind = random.randrange(9)
        if kind == 0:
            return self.node(random.choice(["Relu", "Sigmoid", "Tanh", "Abs", "Erf"]), [value]), shape
        if kind == 1:
            other = [random.choice([1, s]) for s in shape]
            return self.node(random.choice(["Add", "Mul", "Sub"]),
                             [value, self.constant(other)]), shape
        if kind == 2:
            columns = random.choice([1, 7, 16, 33, 50])
            return (self.node("MatMul", [value, self.constant([shape[-1], columns])]),
                    shape[:-1] + [columns])
        if kind == 3 and rank == 4:
            channels, size = random.choice([5, 16, 24]), random.choice([1, 3])
            return (self.node("Conv", [value, self.constant([channels, shape[1], size, size])],
                              pads=[size // 2] * 4), [shape[0], channels] + shape[2:])
        if kind == 4 and rank == 4 and min(shape[2:]) >= 3:
            return (self.node(random.choice(["MaxPool", "AveragePool"]), [value],
                              kernel_shape=[3, 3], pads=[1] * 4), shape)
        if kind == 5:
            axis = random.randrange(rank)
            axes = self.constant([1], INT64, [axis])
            name = self.node("ReduceSum", [value, axes], keepdims=1)
            # Back to the whole shape, which keeps sizes from dying out.
            return self.node("Add", [value, name]), shape
        if kind == 6:
            return self.node("Softmax", [value], axis=random.randrange(rank)), shape
        if kind == 7:
            order = list(range(rank))
            random.shuffle(order)
            return self.node("Transpose", [value], perm=order), [shape[i] for i in order]
        scale = [1] * rank
        scale[-1] = shape[-1]
        shifted = self.node("Sub", [value, self.constant(scale)])
        return self.node("Mul", [shifted, self.constant(scale)]), shape


def write(path, random):
    writer = Writer(random)
    rank = random.choice([2, 3, 4, 4])
    shape = [random.choice([1, 2, 3, 5, 8, 13, 17, 31, 40]) for _ in range(rank)]
    feed = value_info("x", shape)
    value, fetches = "x", []
    for i in range(random.randrange(4, 14)):
        value, shape = writer.step(value, shape)
        if random.randrange(4) == 0:
            fetches.append((value, shape))
    fetches = dict(fetches + [(value, shape)])
    graph = writer.nodes + wire.data(2, "random") + writer.initializers + wire.data(11, feed)
    for name, sizes in fetches.items():
        graph += wire.data(12, value_info(name, sizes))
    with open(path, "wb") as out:
        out.write(wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.integer(2, 17)))
