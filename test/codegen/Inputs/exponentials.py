#!/usr/bin/env python3
# ===- exponentials.py - exponentials in vectors and element by element ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""exponentials.py values IN.npz: operands of every magnitude; `x` one a line, `lines` sixteen
times each, `pairs` beside a 0. exponentials.py check IN.npz OUT.npz: whether the means of the lines'
exponentials, which vectors compute, are the exponentials that are computed one by one, to the bit;
and whether softmax of (0, x) is exp(x) / (1 + exp(x)), and 0 where exp(x) is no normal number."""
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/Inputs"))
import npz

SMALLEST, EPSILON = 2.0**-126, 2.0**-23


def rounded(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def values():
    made = [0.0, -0.0, math.inf, -math.inf, math.nan, 88.72, 1000.0, -1000.0, -87.33, -87.34, -88.0,
            -103.0, -103.97, -103.98, -104.0, -104.1, -1e30, 3e38, -3e38, 2.0**-149, -(2.0**-149)]
    made += [i / 64 + 0.0007 for i in range(-110 * 64, 90 * 64)]
    return [rounded(x) for x in made]


def check(given, results):
    x, one, mean = given["x"][1], results["one"][1], results["mean"][1]
    softmax = results["softmax"][1]
    for at, a, b in zip(x, one, mean):
        if a < 2.0**120:  # more is infinite in the sum
            assert struct.pack("<f", a) == struct.pack("<f", b), (at, a, b)
    assert math.isnan(mean[4]) and mean[2] == math.inf and mean[3] == 0, mean[:5]
    for i, at in enumerate(x):
        if math.isinf(at) and at > 0 or math.isnan(at):
            assert math.isnan(softmax[2 * i + 1]), at
            continue
        if at > 0:
            continue
        exact = math.exp(at) / (1 + math.exp(at))
        if exact < SMALLEST:
            assert softmax[2 * i + 1] == 0, (at, softmax[2 * i + 1])
        elif at > -87.33:
            assert abs(softmax[2 * i + 1] - exact) <= 4 * EPSILON * exact, (at, softmax[2 * i + 1])
    print("%d exponentials: equal" % len(x))


if sys.argv[1] == "values":
    x = values()
    npz.write(sys.argv[2], {"x": ([len(x)], x), "lines": ([len(x), 16], [v for v in x for _ in range(16)]),
                            "pairs": ([len(x), 2], [v for at in x for v in (0.0, at)])})
else:
    check(npz.read(sys.argv[2]), npz.read(sys.argv[3]))
