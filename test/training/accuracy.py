#!/usr/bin/env python3
#===- accuracy.py - How many pictures are classified right ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: accuracy.py PROBABILITIES.npy LABELS.u8 PERCENT     (f32 [n, classes]; a byte each)"""
import struct
import sys


def main():
    with open(sys.argv[1], "rb") as file:
        array = file.read()
    with open(sys.argv[2], "rb") as file:
        labels = file.read()
    size, = struct.unpack("<H", array[8:10])
    values = struct.unpack(f"<{(len(array) - 10 - size) // 4}f", array[10 + size:])
    classes = len(values) // len(labels)
    right = 0
    for i, label in enumerate(labels):
        row = values[i * classes:(i + 1) * classes]
        right += row.index(max(row)) == label
    share = 100 * right / len(labels)
    print(f"of {len(labels)} pictures {share:.2f} % are classified right")
    sys.exit(share < float(sys.argv[3]))


if __name__ == "__main__":
    main()
