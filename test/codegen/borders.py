#!/usr/bin/env python3
#===- borders.py - paddings by their definitions ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""borders.py IN.npz... OUT.npz: compares what borders.mlir makes, of which each result's name says
the operand, the mode and the sizes before and behind all dimensions.

borders.py pads OUT.npz KEY SIZES: such sizes as an operand. Needs no packages."""
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "Inputs"))
import npz  # noqa: E402

if sys.argv[1] == "pads":
    sizes = [float(size) for size in sys.argv[4].split(",")]
    npz.write(sys.argv[2], {sys.argv[3]: ([len(sizes)], sizes)})
    sys.exit()

FILL = 0.5
operands = {}
for path in sys.argv[1:-1]:
    operands.update(npz.read(path))


def source(mode, i, size):
    """Where index i, maybe outside, is taken from; None: from nowhere."""
    if 0 <= i < size:
        return i
    if mode == "edge":
        return min(max(i, 0), size - 1)
    if mode == "wrap":
        return i % size
    if mode == "constant":
        return None
    line = list(range(size)) + list(range(size - 1 if mode == "symmetric" else size - 2, -1, -1))
    line = line if mode == "symmetric" else line[:-1]
    return line[i % len(line)]


count = 0
for name, (shape, values) in npz.read(sys.argv[-1]).items():
    operand, mode, pads = name.split()
    pads = [int(p) for p in pads.split(",")]
    dims, elements = operands[operand]
    rank = len(dims)
    assert shape == [d + pads[i] + pads[rank + i] for i, d in enumerate(dims)], (name, shape)
    for index, value in zip(itertools.product(*map(range, shape)), values):
        at = [source(mode, i - pads[k], dims[k]) for k, i in enumerate(index)]
        place = 0
        for i, d in zip(at, dims):
            place = None if i is None or place is None else place * d + i
        expected = FILL if place is None else elements[place]
        assert value == expected, (name, index, value, expected)
    count += 1
print(count, "borders are as defined")
