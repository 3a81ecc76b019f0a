#===- bf16_model.py - a model whose products fill matrix tiles --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: bf16_model.py TESTS OUT.onnx, TESTS being the folder of all tests.

Convolutions of every kind that tiles compute (lines shorter and longer than a tile,
with and without a border, windows that move by two, that are spread, of one
element), each on the sum of the one before and a residual, then matrix products, and
some with sums so long that they are cut.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
import graph_writer  # noqa: E402
import wire  # noqa: E402
from graph_writer import value_info  # noqa: E402


class Writer(graph_writer.Writer):
    def weights(self, shape, rows):
        """Values that leave sums of `rows` products as large as what is summed."""
        size = 1
        for s in shape:
            size *= s
        scale = (3.0 / rows) ** 0.5
        return self.constant(shape, values=[self.random.uniform(-scale, scale)
                                            for _ in range(size)])

    def conv(self, value, shape, channels, size=3, stride=1, dilation=1):
        pad = dilation * (size - 1) // 2
        out = [(s + 2 * pad - dilation * (size - 1) - 1) // stride + 1 for s in shape[2:]]
        name = self.node("Conv", [value, self.weights([channels, shape[1], size, size],
                                                      shape[1] * size * size)],
                         pads=[pad] * 4, strides=[stride] * 2, dilations=[dilation] * 2)
        return self.node("Relu", [name]), [shape[0], channels] + out


def main():
    writer = Writer(random.Random(5))
    shape = [2, 32, 19, 19]
    feed = value_info("x", shape)
    fetches = []
    value = "x"
    for channels, size, stride, dilation in ((64, 3, 1, 1), (64, 1, 1, 1), (64, 3, 1, 2),
                                             (32, 3, 2, 1), (64, 3, 1, 1), (64, 1, 2, 1),
                                             (64, 3, 1, 1)):
        before, was = value, shape
        value, shape = writer.conv(value, shape, channels, size, stride, dilation)
        if shape == was:
            value = writer.node("Add", [value, before])
        fetches.append((value, shape))
    rows = shape[0] * shape[2] * shape[3]
    value = writer.node("Transpose", [value], perm=[0, 2, 3, 1])
    value = writer.node("Reshape", [value, writer.constant([2], graph_writer.INT64,
                                                           [rows, shape[1]])])
    for columns, depth in ((96, 64), (64, 96)):
        value = writer.node("MatMul", [value, writer.weights([depth, columns], depth)])
        value = writer.node("Tanh", [writer.node("Add", [value, writer.constant([columns])])])
        fetches.append((value, [rows, columns]))
    deep, value = [200, 640], "y"
    other = value_info("y", deep)
    for columns, depth in ((1056, 640), (512, 1056)):
        value = writer.node("MatMul", [value, writer.weights([depth, columns], depth)])
        value = writer.node("Tanh", [writer.node("Add", [value, writer.constant([columns])])])
        fetches.append((value, [200, columns]))
    graph = writer.nodes + wire.data(2, "bf16") + writer.initializers + wire.data(11, feed)
    graph += wire.data(11, other)
    for name, sizes in fetches:
        graph += wire.data(12, value_info(name, sizes))
    with open(sys.argv[2], "wb") as out:
        out.write(wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.integer(2, 17)))


if __name__ == "__main__":
    main()
