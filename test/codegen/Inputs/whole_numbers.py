#!/usr/bin/env python3
# ===- whole_numbers.py - tensors of one number -------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""whole_numbers.py OUT.npy NUMBER SIZE...: a tensor of i32 whose elements are NUMBER."""
import array
import sys

path, number, shape = sys.argv[1], int(sys.argv[2]), tuple(map(int, sys.argv[3:]))
count = 1
for size in shape:
    count *= size
head = str({"descr": "<i4", "fortran_order": False, "shape": shape})
head += " " * (-(len(head) + 11) % 64) + "\n"
with open(path, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
              + array.array("i", [number] * count).tobytes())
