#!/usr/bin/env python3
# ===- diamonds.py - deep chains whose operands are shared -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A chain of x = x * x - x: paths from its end to its start double at each level.

diamonds.py graph DEPTH TYPE SIZES...     prints it as text GraphDef; -1: open
diamonds.py check DEPTH IN.npz OUT.npz    whether OUT is what the chain makes of IN
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../tools/Inputs"))
import npz


def node(name, op, kind, *inputs, attributes=""):
    print('node { name: "%s" op: "%s" %s attr { key: "%s" value { type: %s } } %s}' % (
        name, op, " ".join('input: "%s"' % i for i in inputs),
        "dtype" if op == "Placeholder" else "T", kind, attributes))


def graph(depth, kind, sizes):
    shape = "".join("dim { size: %s } " % size for size in sizes)
    node("x", "Placeholder", kind,
         attributes='attr { key: "shape" value { shape { %s} } } ' % shape)
    last = "x"
    for level in range(depth):
        node("square%d" % level, "Mul", kind, last, last)
        node("x%d" % level, "Sub", kind, "square%d" % level, last)
        last = "x%d" % level


def check(depth, given, made):
    (_, values), (_, results) = (next(iter(npz.read(path).values())) for path in (given, made))
    for x, result in zip(values, results):
        for _ in range(depth):
            x = x * x - x
        assert abs(x - result) < 1e-5, (x, result)
    print("%d values agree" % len(results))


if sys.argv[1] == "graph":
    graph(int(sys.argv[2]), sys.argv[3], sys.argv[4:])
else:
    check(int(sys.argv[2]), *sys.argv[3:])
