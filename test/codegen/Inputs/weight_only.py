#===- weight_only.py - products by weights of a few bits --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: weight_only.py TESTS FOLDER [bytes], TESTS being the folder of all tests.

Writes FOLDER/m.onnx, products by weights of 2, 4 and 8 bits of odd sizes, FOLDER/open.onnx,
the same of open rows, and the feeds of both as FOLDER/in.npz. With results in FOLDER/out, of
weir-run, compares: each sum within a few roundings of f32 of the magnitudes of its terms.
`bytes`: products that let rows be bytes, against sums of rows that are rounded so: a block at a
time, to multiples of a 127th of its largest magnitude.
"""
import os
import random
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
sys.path.insert(0, os.path.dirname(__file__))
import graph_writer  # noqa: E402
import wire  # noqa: E402
from byte_products import npy, read_npy  # noqa: E402
from graph_writer import FLOAT, UINT8, value_info  # noqa: E402


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


HELD_BY = {
    "f32": lambda value: value,
    "f16": lambda value: struct.unpack("<e", struct.pack("<e", value))[0],
    "bf16": lambda value: struct.unpack("<f", b"\0\0" + struct.pack("<f", value)[2:])[0],
}


def in_bytes(row, block):
    rounded = []
    for first in range(0, len(row), block):
        part = row[first:first + block]
        most = max(map(abs, part))
        scale, inverse = single(most / 127), single(127 / most) if most else 0.0
        rounded += [round(single(value * inverse)) * scale for value in part]
    return rounded


class Model:
    def __init__(self, folder, by_bytes):
        self.folder, self.by_bytes = folder, by_bytes
        self.random = random.Random(5)
        self.writer = graph_writer.Writer(self.random)
        self.known = self.opened = self.fetches = b""
        self.expected = []
        self.inputs = zipfile.ZipFile(os.path.join(folder, "in.npz"), "w")

    def reals(self, count, low, high):
        return [single(self.random.uniform(low, high)) for _ in range(count)]

    def feed(self, name, shape, kind, values, opened=()):
        self.known += wire.data(11, value_info(name, shape, kind))
        sizes = ["%s_%d" % (name, i) if i in opened else size for i, size in enumerate(shape)]
        self.opened += wire.data(11, value_info(name, sizes, kind))
        self.inputs.writestr(name + ".npy", npy(shape, kind, values))
        return name

    def packed(self, numbers, bits):
        """Numbers in bytes, the lowest bits first; whole bytes."""
        each = 8 // bits
        numbers = numbers + [0] * (-len(numbers) % each)
        return [sum(numbers[i + j] << (bits * j) for j in range(each))
                for i in range(0, len(numbers), each)]

    def product(self, rows, depth, columns, bits, block, zeros="none", bias=False, scales="f32"):
        """`zeros`: none, packed, fed (packed), real. `scales`: the type that holds them as they
        are: f32, f16, bf16."""
        n, writer = len(self.expected), self.writer
        blocks = -(-depth // block)
        x = self.reals(rows * depth, -2, 2)
        numbers = [[self.random.randrange(1 << bits) for _ in range(blocks * block)]
                   for _ in range(columns)]
        scales = [HELD_BY[scales](scale) for scale in self.reals(columns * blocks, 0.01, 0.1)]
        each = block * bits // 8
        inputs = [self.feed("x%d" % n, [rows, depth], FLOAT, x, [0]),
                  writer.constant([columns, blocks, each], UINT8,
                                  [byte for row in numbers for byte in self.packed(row, bits)]),
                  writer.constant([columns * blocks], FLOAT, scales)]
        points = [[1 << (bits - 1)] * blocks] * columns
        if zeros in ("packed", "fed"):
            points = [[self.random.randrange(1 << bits) for _ in range(blocks)]
                      for _ in range(columns)]
            data = [byte for row in points for byte in self.packed(row, bits)]
            inputs.append(self.feed("z%d" % n, [len(data)], UINT8, data) if zeros == "fed"
                          else writer.constant([len(data)], UINT8, data))
        elif zeros == "real":
            flat = self.reals(columns * blocks, 0, (1 << bits) - 1)
            points = [flat[i * blocks:(i + 1) * blocks] for i in range(columns)]
            inputs.append(writer.constant([columns * blocks], FLOAT, flat))
        added = [0.0] * columns
        if bias:
            added = self.reals(columns, -1, 1)
            inputs += [""] * (5 - len(inputs)) + [writer.constant([columns], FLOAT, added)]
        made = writer.node("MatMulNBits", inputs, domain="com.microsoft", K=depth, N=columns,
                           bits=bits, block_size=block,
                           accuracy_level=4 if self.by_bytes else 0)
        if self.by_bytes:
            x = [value for row in range(rows)
                 for value in in_bytes(x[row * depth:(row + 1) * depth], block)]
        results = []
        for row in range(rows):
            for c in range(columns):
                terms = [x[row * depth + k] * (numbers[c][k] - points[c][k // block])
                         * scales[c * blocks + k // block] for k in range(depth)]
                results.append((sum(terms) + added[c], sum(map(abs, terms)) + abs(added[c])))
        self.fetches += wire.data(12, value_info(made, ["r%d" % n, columns], FLOAT))
        self.expected.append((made, results))

    def write(self):
        self.inputs.close()
        for name, feeds in ("m.onnx", self.known), ("open.onnx", self.opened):
            graph = (self.writer.nodes + wire.data(2, "bits") + self.writer.initializers + feeds
                     + self.fetches)
            with open(os.path.join(self.folder, name), "wb") as out:
                out.write(wire.integer(1, 8) + wire.data(7, graph)
                          + wire.data(8, wire.integer(2, 17))
                          + wire.data(8, wire.data(1, "com.microsoft") + wire.integer(2, 1)))


def main():
    by_bytes = sys.argv[3:] == ["bytes"]
    model = Model(sys.argv[2], by_bytes)
    if by_bytes:
        products_of_bytes(model)
    else:
        products(model)
    model.write()
    compare(model)


def products_of_bytes(model):
    # One row, few, more than a tile and a part; rests of columns, and several parts of them.
    model.product(1, 128, 64, 4, 32)
    model.product(2, 96, 45, 4, 16, "packed", bias=True)
    model.product(7, 96, 40, 4, 32, "fed")
    model.product(147, 64, 33, 4, 32)
    model.product(13, 128, 300, 4, 128, "packed")
    model.product(1, 64, 33, 4, 32, "real")
    model.product(1, 80, 40, 8, 16, "packed")
    model.product(15, 96, 40, 8, 32)
    model.product(3, 64, 40, 2, 32)
    model.product(1, 256, 70, 4, 128, scales="f16")
    model.product(9, 64, 33, 8, 64, "packed", scales="bf16")


def products(model):
    # One row, few, as many as a tile and more, rests of columns and of the last block.
    model.product(1, 128, 64, 4, 32)
    model.product(1, 100, 45, 4, 16, "packed", bias=True)
    model.product(3, 96, 40, 4, 32, "packed")
    model.product(5, 70, 33, 4, 16)
    model.product(17, 96, 40, 4, 32, "packed", bias=True)
    model.product(20, 70, 70, 4, 32)
    model.product(2, 64, 32, 4, 64, "fed")
    model.product(1, 64, 33, 4, 32, "real")
    model.product(1, 80, 40, 8, 16, "packed")
    model.product(15, 80, 40, 8, 32)
    model.product(1, 64, 40, 2, 32, "packed")
    model.product(9, 64, 40, 2, 16)
    model.product(1, 70, 45, 4, 16, scales="f16")
    model.product(6, 64, 40, 8, 32, "packed", scales="bf16")


def compare(model):
    folder = os.path.join(sys.argv[2], "out")
    if not os.path.isdir(folder):
        return
    for name, results in model.expected:
        found = read_npy(os.path.join(folder, name + ".npy"), FLOAT)
        roundings = 12 * 2.0 ** -24
        wrong = [i for i, (a, (b, terms)) in enumerate(zip(found, results))
                 if not abs(a - b) <= roundings * terms]
        if wrong or len(found) != len(results):
            i = wrong[0] if wrong else 0
            sys.exit("%s: %d of %d differ, first at %d: %g, expected %g"
                     % (name, len(wrong), len(results), i, found[i], results[i][0]))
        print("%s: %d right" % (name, len(results)))


if __name__ == "__main__":
    main()
