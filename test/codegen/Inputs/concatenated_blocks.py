#!/usr/bin/env python3
# ===- concatenated_blocks.py - concatenations along a dimension before the last -===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""concatenated_blocks.py values IN.npz N A B: operands of the entry in concatenated-blocks.mlir, N images
of A and B lines. concatenated_blocks.py check IN.npz OUT.npz: compares each element."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/Inputs"))
import npz

LINE = 3


def numbered(shape, first):
    count = 1
    for size in shape:
        count *= size
    return shape, [float((first + i) % 8191) for i in range(count)]


def check(given, results):
    (n, a, _), x = given["x"]
    (_, b, _), y = given["y"]
    middle, outer = [], x + x
    for i in range(n):
        middle += x[i * a * LINE:(i + 1) * a * LINE] + y[i * b * LINE:(i + 1) * b * LINE]
        middle += x[i * a * LINE:(i + 1) * a * LINE]
    assert results["middle"][1] == middle
    assert results["outer"][1] == outer
    print("%d elements: right" % (len(middle) + len(outer)))


if sys.argv[1] == "values":
    n, a, b = map(int, sys.argv[3:])
    npz.write(sys.argv[2], {"x": numbered([n, a, LINE], 1), "y": numbered([n, b, LINE], 4096)})
else:
    check(npz.read(sys.argv[2]), npz.read(sys.argv[3]))
