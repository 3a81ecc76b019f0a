#!/usr/bin/env python3
#===- rows_of_concatenations.py - what is computed on concatenations ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""rows_of_concatenations.py A.npz B.npz C.npz K.npz OUT.npz: compares what rows-of-concatenations.mlir
makes of a, b, c and k with the same in f32. Needs no packages."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "Inputs"))
import npz  # noqa: E402

SIDE, CHANNELS = 40, 32
arrays = {}
for path in sys.argv[1:]:
    arrays.update(npz.read(path))
a, b, c, k = (arrays[name][1] for name in "abck")


def rounded(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def rows(left, right):
    """The pixels of both operands, each behind the other."""
    return [left[i:i + CHANNELS] + right[i:i + CHANNELS] for i in range(0, len(left), CHANNELS)]


def bordered(pixels):
    nothing = [0.0] * 2 * CHANNELS
    lines = [pixels[i:i + SIDE] for i in range(0, len(pixels), SIDE)]
    out = [nothing] * (SIDE + 2)
    for line in lines:
        out += [nothing] + line + [nothing]
    return out + [nothing] * (SIDE + 2)


want = {"y": [[max(rounded(x * y), 0.0) for x, y in zip(row, k)] for row in rows(a, b)],
        "z": bordered([[rounded(x - y) for x, y in zip(row, k)] for row in rows(b, a)]),
        "w": bordered(rows(c, a))}
for name, pixels in want.items():
    values = [value for pixel in pixels for value in pixel]
    if arrays[name][1] != values:
        at = next((i for i, (x, y) in enumerate(zip(arrays[name][1], values)) if x != y), len(values))
        sys.exit(f"{name} differs at element {at}")
