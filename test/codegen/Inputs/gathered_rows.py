#===- gathered_rows.py - rows of a few elements side by side -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""gathered_rows.py FOLDER CASE: writes feeds of gathered-rows.mlir to in.npz. With `compare`:
fails where out.npz does not hold (a + b) * c, whose numbers are small integers."""
import array
import itertools
import sys

from floats import count, read_output, write_inputs

FOLDER, CASE = sys.argv[1], int(sys.argv[2])
#: Sizes of a, b and c.
CASES = [((5, 20011, 3), (5, 1, 3), (20011, 1)),  # all, a row for each image, an element for each row
         ((5, 1, 3), (5, 900, 3), (1, 3)),    # a row again and again
         ((5, 900, 3), (1, 900, 1), (900, 3)),
         ((5, 900, 30), (5, 1, 30), (1, 1)),  # rows that are long enough
         ((1, 7, 1), (3, 1, 5), (7, 5))]      # none has all


def values(number):
    return array.array("f", ((i * 7 + number) % 23 - 11 for i in range(count(CASES[CASE][number]))))


def at(number, place):
    shape, index = CASES[CASE][number], 0
    for size, i in zip(shape, place[len(place) - len(shape):]):
        index = index * size + (i if size > 1 else 0)
    return FEEDS[number][index]


FEEDS = [values(number) for number in range(3)]
if len(sys.argv) == 3:
    write_inputs(FOLDER, [("abc"[i], CASES[CASE][i], FEEDS[i]) for i in range(3)])
else:
    sizes = [max(a, b, c) for a, b, c in zip(CASES[CASE][0], CASES[CASE][1], (1, *CASES[CASE][2]))]
    found = list(read_output(FOLDER, "z", tuple(sizes), "f"))
    wanted = [(at(0, place) + at(1, place)) * at(2, place)
              for place in itertools.product(*map(range, sizes))]
    if found != wanted:
        sys.exit(f"{CASES[CASE]}: found {found[:9]}…, expected {wanted[:9]}…")
