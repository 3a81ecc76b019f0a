#===- byte_tables.py - functions of bytes that are looked up ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""byte_tables.py FOLDER: writes the feeds of byte-tables.mlir to FOLDER/in.npz, and to FOLDER/few/in.npz
all bytes, too few elements for a table. With `compare`: fails where a result is not, to the bit,
what the few elements became."""
import array
import os
import random
import sys

from floats import count, read_output, write_inputs

FOLDER = sys.argv[1]
FEW = os.path.join(FOLDER, "few")
#: No multiple of a vector.
OPEN, FIXED = (331, 97), (160, 120)
RANDOM = random.Random(5)


def some(shape):
    return array.array("B", (RANDOM.randrange(256) for _ in range(count(shape))))


x, s, r = some(OPEN), some(FIXED), some(FIXED)
if len(sys.argv) == 2:
    os.makedirs(FEW, exist_ok=True)
    write_inputs(FOLDER, [("x", OPEN, x), ("t", OPEN, x), ("s", FIXED, s), ("r", FIXED, r)])
    few = array.array("B", range(256))
    write_inputs(FEW, [("x", (16, 16), few), ("t", (16, 16), few), ("s", FIXED, s), ("r", FIXED, r)])
else:
    byte = read_output(FEW, "y", (256,), "B")
    word = read_output(FEW, "z", (256,), "I")
    wanted = {"y": ("B", [byte[i] for i in x]), "z": ("I", [word[i] for i in x]),
              "w": ("B", [byte[i] for i in s]), "v": ("B", [max(pair) for pair in zip(s, r)])}
    for name, (kind, numbers) in wanted.items():
        if list(read_output(FOLDER, name, (len(numbers),), kind)) != numbers:
            sys.exit(f"{name} differs")
    if len(set(byte)) < 100 or len(set(word)) < 40:
        sys.exit("these functions show nothing")
