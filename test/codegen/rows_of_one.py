#!/usr/bin/env python3
#===- rows_of_one.py - products whose rows end in a dimension of size 1 ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""rows_of_one.py FOLDER: writes a.npy, x.npy, w.npy, b.npy, and what the model makes of them as
want.npy. Needs no packages."""
import random
import struct
import sys


def write(name, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


random.seed(1)
ROWS, DEPTH, COLUMNS = 6, 24, 40
a, x, w, b = ([random.randrange(-8, 9) / 8 for _ in range(n)]
              for n in (ROWS * DEPTH, ROWS * COLUMNS, DEPTH * COLUMNS, COLUMNS))
write("a", (3, 2, 1, DEPTH), a)
write("x", (3, 2, 1, COLUMNS), x)
write("w", (DEPTH, COLUMNS), w)
write("b", (COLUMNS,), b)
write("want", (3, 2, 1, COLUMNS),
      [sum(a[i * DEPTH + k] * w[k * COLUMNS + j] for k in range(DEPTH)) + b[j] + x[i * COLUMNS + j]
       for i in range(ROWS) for j in range(COLUMNS)])
