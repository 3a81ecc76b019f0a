#!/usr/bin/env python3
#===- large_rows.py - Rows for dense.mlir -------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes 32 rows of 1024 numbers into each of the files that are named (.npy)."""
import struct
import sys

ROWS, COLUMNS = 32, 1024


def write(name):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    numbers = ((i * 7919 % 101) / 101 - 0.5 for i in range(ROWS * COLUMNS))
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{ROWS * COLUMNS}f", *numbers))


if __name__ == "__main__":
    for each in sys.argv[1:]:
        write(each)
