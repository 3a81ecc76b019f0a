#!/usr/bin/env python3
#===- closeness.py - How far two checkpoints are apart -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compares the f32 values of two checkpoints of one program, as their data files have them.

usage: closeness.py A.data-00000-of-00001 B.data-00000-of-00001 LIMIT

Both have the same variables in the same order. Says the largest distance, as a part of the
largest value; 1 where it is above LIMIT. Words that are no float near 1 (counters) must be
the same.
"""
import struct
import sys


def main():
    a, b = (open(name, "rb").read() for name in sys.argv[1:3])
    if len(a) != len(b):
        sys.exit("the files have other lengths")
    count = len(a) // 4
    left, right = (struct.unpack(f"<{count}f", each[:4 * count]) for each in (a, b))
    largest = max(abs(x) for x in left if abs(x) < 1e6)
    distance = 0.0
    for x, y in zip(left, right):
        if 1e-30 < abs(x) < 1e6:
            distance = max(distance, abs(x - y))
        elif x == x and not abs(x) < 1e-30 and x != y:
            sys.exit(f"{x} became {y}")
    print(f"distance {distance / largest:.3g}")
    return int(distance / largest > float(sys.argv[3]))


if __name__ == "__main__":
    sys.exit(main())
