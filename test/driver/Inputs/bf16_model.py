#===- bf16_model.py - a model whose products fill matrix tiles --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: bf16_model.py TESTS OUT.onnx [open], TESTS being the folder of all tests; `open`: of
open images and rows, which have the names B, H, W, R and Z. With `feeds B=2 H=19…` OUT is an
archive of feeds of these sizes.

Convolutions of every kind that tiles compute (lines shorter and longer than a tile,
with and without a border, windows that move by two, that are spread, of one
element), each on the sum of the one before and a residual, then matrix products, and
some with sums so long that they are cut. Then windows of three channels, windows that
move by two in short lines, steps and panels that are not full, and a single row.
"""
import array
import os
import random
import sys
import zipfile

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
sys.path.insert(0, os.path.join(sys.argv[1], "codegen", "Inputs"))
import floats  # noqa: E402
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


def feeds(path, sizes):
    generator = random.Random(6)
    shapes = {"x": [sizes["B"], 32, sizes["H"], sizes["W"]], "y": [sizes["R"], 640],
              "z": [sizes["Z"], 3, 38, 38], "v": [1, 90]}
    with zipfile.ZipFile(path, "w") as out:
        for name, shape in shapes.items():
            count = 1
            for size in shape:
                count *= size
            numbers = array.array("f", (generator.uniform(-2, 2) for _ in range(count)))
            out.writestr(name + ".npy", floats.npy(shape, numbers))


def main():
    if sys.argv[3:4] == ["feeds"]:
        feeds(sys.argv[2], {name: int(size) for name, size in
                            (word.split("=") for word in sys.argv[4:])})
        return
    writer = Writer(random.Random(5))
    shape = [2, 32, 19, 19]
    is_open = sys.argv[3:] == ["open"]
    feed = value_info("x", ["B", 32, "H", "W"] if is_open else shape)
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
                                                           [-1, shape[1]])])
    for columns, depth in ((96, 64), (64, 96)):
        value = writer.node("MatMul", [value, writer.weights([depth, columns], depth)])
        value = writer.node("Tanh", [writer.node("Add", [value, writer.constant([columns])])])
        fetches.append((value, [rows, columns]))
    deep, value = [200, 640], "y"
    other = value_info("y", ["R", 640] if is_open else deep)
    for columns, depth in ((1056, 640), (512, 1056)):
        value = writer.node("MatMul", [value, writer.weights([depth, columns], depth)])
        value = writer.node("Tanh", [writer.node("Add", [value, writer.constant([columns])])])
        fetches.append((value, [200, columns]))
    value, shape = "z", [1, 3, 38, 38]
    image = value_info("z", ["Z"] + shape[1:] if is_open else shape)
    for channels, size, stride in ((48, 7, 2), (192, 3, 2), (224, 1, 2)):
        value, shape = writer.conv(value, shape, channels, size, stride)
        fetches.append((value, shape))
    rows, depth = shape[2] * shape[3], shape[1]
    value = writer.node("Transpose", [value], perm=[0, 2, 3, 1])
    value = writer.node("Reshape", [value, writer.constant([2], graph_writer.INT64, [-1, depth])])
    for columns in (52, 40):
        value = writer.node("MatMul", [value, writer.weights([depth, columns], depth)])
        fetches.append((value, [rows, columns]))
        depth = columns
    single = value_info("v", [1, 90])
    value = writer.node("MatMul", ["v", writer.weights([90, 70], 90)])
    fetches.append((value, [1, 70]))
    graph = writer.nodes + wire.data(2, "bf16") + writer.initializers + wire.data(11, feed)
    graph += wire.data(11, other) + wire.data(11, image) + wire.data(11, single)
    for name, sizes in fetches:
        if is_open:
            sizes = ["%s_%d" % (name, i) for i in range(len(sizes))]
        graph += wire.data(12, value_info(name, sizes))
    with open(sys.argv[2], "wb") as out:
        out.write(wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.integer(2, 17)))


if __name__ == "__main__":
    main()
