#===- moved_blocks.py - slices that leave blocks whole --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""moved_blocks.py FOLDER A B C: writes the feeds of moved-blocks.mlir, of A × B × C elements, to
in.npz. With `compare`: fails where a result in out.npz is not what it should be."""
import array
import sys

from floats import count, read_output, write_inputs

FOLDER, SHAPE = sys.argv[1], tuple(map(int, sys.argv[2:5]))
A, B, C = SHAPE


def at(i, j, k):
    return (i * B + j) * C + k


FLOATS = array.array("f", range(count(SHAPE)))
MASK = array.array("b", (i * 7 % 3 == 0 for i in range(count(SHAPE))))


def padded(i, j, k):
    inside = 0 <= i - 1 < A and 0 <= j - 2 < B
    return FLOATS[at(i - 1, j - 2, k)] if inside else 0.5


#: Results: their sizes, and the element of each place.
RESULTS = {
    "inner": ((A - 2, B, C), lambda i, j, k: FLOATS[at(i + 1, j, k)]),
    "reversed": (SHAPE, lambda i, j, k: FLOATS[at(A - 1 - i, j, k)]),
    "padded": ((A + 3, B + 2, C), padded),
    "tiled": ((A, B, 3 * C), lambda i, j, k: FLOATS[at(i, j, k % C)]),
    "backwards": (SHAPE, lambda i, j, k: MASK[at(A - 1 - i, j, k)]),
    "corner": (((A + 1) // 2, max(B - 1, 0), C), lambda i, j, k: MASK[at(2 * i, j + 1, k)]),
}

if len(sys.argv) == 5:
    write_inputs(FOLDER, [("x", SHAPE, FLOATS), ("m", SHAPE, MASK)])
else:
    for name, (shape, element) in RESULTS.items():
        wanted = [element(i, j, k) for i in range(shape[0]) for j in range(shape[1])
                  for k in range(shape[2])]
        typecode = "b" if name in ("backwards", "corner") else "f"
        if list(read_output(FOLDER, name, shape, typecode)) != wanted:
            sys.exit(f"{name} is wrong")
