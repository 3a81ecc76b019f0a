#!/usr/bin/env python3
# ===- short_rows.py - elementwise operations over lines of a few elements ---===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""short_rows.py values IN.npz N K: operands of the entry in short-rows.mlir, N images, of which `q` has
K. short_rows.py check IN.npz OUT.npz: compares each element."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/Inputs"))
import npz

LINES = 117


def drawn(shape):
    count = 1
    for size in shape:
        count *= size
    return shape, [random.randrange(-64, 65) / 8 for _ in range(count)]


def check(given, results):
    n, kept = given["x"][0][0], given["q"][0][0]
    x, m, v, p, q = (given[k][1] for k in "xmvpq")
    y, z = results["y"][1], results["z"][1]
    at = 0
    for i in range(n):
        for j in range(LINES):
            for k in range(4):
                want = x[at] * m[4 * i + k] + v[k]
                assert y[at] == want, ("y", i, j, k, y[at], want)
                at += 1
    at = 0
    for i in range(n):
        for j in range(LINES):
            for k in range(3):
                want = p[at] * q[3 * (i if kept > 1 else 0) + k]
                assert z[at] == want, ("z", i, j, k, z[at], want)
                at += 1
    print("%d elements: right" % (len(y) + len(z)))


if sys.argv[1] == "values":
    n, kept = map(int, sys.argv[3:])
    random.seed(n)
    npz.write(sys.argv[2], {"x": drawn([n, LINES, 4]), "m": drawn([n, 1, 4]), "v": drawn([4]),
                            "p": drawn([n, LINES, 3]), "q": drawn([kept, 1, 3])})
else:
    check(npz.read(sys.argv[2]), npz.read(sys.argv[3]))
