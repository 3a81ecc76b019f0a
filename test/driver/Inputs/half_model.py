#===- half_model.py - the same model in f16 or bf16, and in f32 -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: half_model.py TESTS f16|bf16 NARROW.onnx WIDE.onnx, TESTS being the folder of all tests.

NARROW has every node in the type; WIDE has each in f32, between casts to f32 and back, as
narrow ones are defined: rounded once. Results are fetched as f32.
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
import graph_writer  # noqa: E402
import wire  # noqa: E402
from graph_writer import FLOAT, value_info  # noqa: E402

FLOAT16, BFLOAT16 = 10, 16
graph_writer.FORMATS.update({FLOAT16: "e", BFLOAT16: "H"})


class Writer(graph_writer.Writer):
    def __init__(self, kind, is_wide):
        super().__init__(random.Random(5))
        self.kind, self.is_wide = kind, is_wide

    def weights(self, shape, rows):
        size = 1
        for s in shape:
            size *= s
        scale = (3.0 / rows) ** 0.5
        values = [self.random.uniform(-scale, scale) for _ in range(size)]
        if self.kind == BFLOAT16:  # the upper half of an f32
            values = [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values]
        return self.constant(shape, self.kind, values)

    def op(self, operation, inputs, **attributes):
        if not self.is_wide:
            return self.node(operation, inputs, **attributes)
        wide = [self.node("Cast", [i], to=FLOAT) for i in inputs]
        return self.node("Cast", [self.node(operation, wide, **attributes)], to=self.kind)


def model(kind, is_wide):
    w = Writer(kind, is_wide)
    fetches = []

    def fetch(value, shape):
        name = "o%d" % len(fetches)
        w.nodes += wire.data(1, wire.data(1, value) + wire.data(2, name) + wire.data(4, "Cast")
                             + graph_writer.attribute("to", FLOAT))
        fetches.append((name, shape))
        return value

    y = w.op("MatMul", ["x", w.weights([512, 544], 512)])
    y = w.op("Relu", [w.op("Add", [y, w.weights([544], 3)])])
    fetch(y, [130, 544])
    fetch(w.op("MatMul", [y, w.weights([544, 33], 544)]), [130, 33])
    z = w.op("MatMul", [y, w.node("Transpose", [y], perm=[1, 0])])
    z = fetch(w.op("Sigmoid", [w.op("Mul", [z, w.weights([1], 30000)])]), [130, 130])
    fetch(w.op("Exp", [w.op("Neg", [z])]), [130, 130])
    i = w.op("Conv", ["i", w.weights([32, 8, 3, 3], 72)], pads=[1] * 4, strides=[1] * 2)
    fetch(i, [1, 32, 20, 20])
    i = w.op("Conv", [i, w.weights([32, 32, 3, 3], 288)], pads=[1] * 4, strides=[2] * 2)
    fetch(w.op("MaxPool", [i], kernel_shape=[3, 3]), [1, 32, 8, 8])
    fetch(w.op("AveragePool", [i], kernel_shape=[2, 2], strides=[2] * 2), [1, 32, 5, 5])
    graph = w.nodes + wire.data(2, "half") + w.initializers
    graph += wire.data(11, value_info("x", [130, 512], kind))
    graph += wire.data(11, value_info("i", [1, 8, 20, 20], kind))
    for name, shape in fetches:
        graph += wire.data(12, value_info(name, shape))
    return wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.integer(2, 22))


def main():
    kind = {"f16": FLOAT16, "bf16": BFLOAT16}[sys.argv[2]]
    for path, is_wide in ((sys.argv[3], False), (sys.argv[4], True)):
        with open(path, "wb") as out:
            out.write(model(kind, is_wide))


if __name__ == "__main__":
    main()
