#!/usr/bin/env python3
#===- nan.py - an array of floats with a NaN -------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""nan.py OUT.npy SIZE...: f32 that rise from element to element, with a NaN in the
middle. Needs no packages."""
import math
import struct
import sys

shape = tuple(map(int, sys.argv[2:]))
count = math.prod(shape)
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
header += " " * (-(11 + len(header)) % 64) + "\n"
numbers = [math.nan if i == count // 2 else i / count for i in range(count)]
with open(sys.argv[1], "wb") as f:
    f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode())
    f.write(struct.pack(f"<{count}f", *numbers))
