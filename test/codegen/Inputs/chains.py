#!/usr/bin/env python3
#===- chains.py - long chains whose steps read their operand twice ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""chains.py FOLDER STEP LENGTH fixed|open: writes chain.pbtxt, x.npy, a.npy, and the result as want.npy.
Code in which each step is written once for each time it is read is 2^LENGTH steps long. Needs no
packages."""
import math
import random
import struct
import sys

SIDE = 12


class Graph:
    """Nodes of a GraphDef, and their values beside them."""

    def __init__(self, is_open):
        self.text, self.count, self.sizes = [], 0, (-1, -1) if is_open else (SIDE, SIDE)

    def node(self, op, inputs, value, attrs="", name=None):
        self.count += 1
        name = name or "n%d" % self.count
        self.text.append('node { name: "%s" op: "%s" %s %s }' % (
            name, op, " ".join('input: "%s"' % i[0] for i in inputs), attrs))
        return name, value

    def feed(self, name, value):
        dims = " ".join("dim { size: %d }" % size for size in self.sizes)
        return self.node("Placeholder", [], value, 'attr { key: "dtype" value { type: DT_FLOAT } } '
                         'attr { key: "shape" value { shape { %s } } }' % dims, name)

    def ints(self, values):
        return self.node("Const", [], values, 'attr { key: "dtype" value { type: DT_INT32 } } attr { '
                         'key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: %d '
                         '} } tensor_content: "%s" } } }' % (len(values), "".join(
                             "\\%03o" % b for b in struct.pack("<%di" % len(values), *values))))

    def number(self, value):
        return self.node("Const", [], value, 'attr { key: "dtype" value { type: DT_FLOAT } } attr { '
                         'key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: %r'
                         ' } } }' % value)

    def each(self, op, function, *inputs):
        """Elementwise, numbers and columns of one element stretched."""
        def at(value, i, j):
            return value if isinstance(value, float) else value[i][j if len(value[i]) > 1 else 0]
        value = [[function(*(at(v, i, j) for _, v in inputs)) for j in range(SIDE)] for i in range(SIDE)]
        return self.node(op, inputs, value, T)

    def add(self, x, y):
        return self.each("AddV2", lambda a, b: a + b, x, y)

    def mul(self, x, y):
        return self.each("Mul", lambda a, b: a * b, x, y)

    def half(self, x):
        return self.mul(x, self.number(0.5))

    def reduce(self, op, function, x):
        return self.node(op, [x, self.ints([1])], [[function(row)] for row in x[1]], T + INDEX %
                         ("Tidx",) + 'attr { key: "keep_dims" value { b: true } }')

    def columns(self, x, begin, end):
        return self.node("StridedSlice", [x] + [self.ints(v) for v in ([0, begin], [0, end], [1, 1])],
                         [row[begin:end] for row in x[1]], T + INDEX % "Index" +
                         'attr { key: "begin_mask" value { i: 1 } } attr { key: "end_mask" value { i: 1 } }')

    def beside(self, *parts):
        joined = [sum((v[i] for _, v in parts), []) for i in range(SIDE)]
        return self.node("ConcatV2", list(parts) + [self.axis()], joined, T + INDEX % "Tidx" +
                         'attr { key: "N" value { i: %d } }' % len(parts))

    def axis(self):
        return self.node("Const", [], 1, 'attr { key: "dtype" value { type: DT_INT32 } } attr { key: '
                         '"value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } }')


T = 'attr { key: "T" value { type: DT_FLOAT } } '
INDEX = 'attr { key: "%s" value { type: DT_INT32 } } '


def shifted(g, x, a):
    return g.half(g.add(g.add(x, a), g.beside(g.columns(x, 1, SIDE), g.columns(x, 0, 1))))


def turned(g, x, a):
    back = g.node("ReverseV2", [x, g.ints([1])], [row[::-1] for row in x[1]], T + INDEX % "Tidx")
    return g.half(g.add(g.add(x, a), back))


def transposed(g, x, a):
    other = g.node("Transpose", [x, g.ints([1, 0])], [list(c) for c in zip(*x[1])], T + INDEX % "Tperm")
    return g.half(g.add(g.add(x, a), other))


def channels(g, x, a):
    p, q, r = (g.columns(x, i, i + 4) for i in (0, 4, 8))
    value = [[(u + v) / 2 for u, v in zip(i, j)] for i, j in zip(p[1], q[1])]
    mixed = g.node("AddV2", [p, q], [[u * 2 for u in row] for row in value], T)
    mixed = g.node("Mul", [mixed, g.number(0.5)], value, T)
    higher = g.node("Maximum", [q, r], [[max(u, v) for u, v in zip(i, j)] for i, j in zip(q[1], r[1])], T)
    return g.add(g.half(g.beside(mixed, higher, p)), a)


def elementwise(g, x, a):
    return g.half(g.add(g.add(x, a), g.mul(g.each("Sin", math.sin, x), a)))


def rows(g, x, a):
    most, mean = g.reduce("Max", max, x), g.reduce("Mean", lambda row: sum(row) / len(row), x)
    return g.add(g.half(g.each("Sub", lambda u, v: u - v, x, mean)), g.mul(a, most))


def scanned(g, x, a):
    sums = [[sum(row[:j + 1]) for j in range(SIDE)] for row in x[1]]
    total = g.node("Cumsum", [x, g.axis()], sums, T + INDEX % "Tidx")
    return g.add(g.half(g.add(x, a)), g.mul(total, g.number(0.01)))


def main():
    folder, step, length, sizes = sys.argv[1:]
    random.seed(1)
    g = Graph(sizes == "open")
    values = [[[random.randrange(-64, 65) / 128 for _ in range(SIDE)] for _ in range(SIDE)] for _ in "xa"]
    x, a = g.feed("x", values[0]), g.feed("a", values[1])
    for _ in range(int(length)):
        x = globals()[step](g, x, a)
    want = g.node("Identity", [x], x[1], T, "y")[1]
    with open(folder + "/chain.pbtxt", "w") as out:
        out.write("\n".join(g.text) + "\n")
    for name, value in ("x", values[0]), ("a", values[1]), ("want", want):
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({SIDE}, {SIDE}), }}".ljust(117) + "\n"
        with open(f"{folder}/{name}.npy", "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            out.write(struct.pack("<%df" % SIDE ** 2, *sum(value, [])))


main()
