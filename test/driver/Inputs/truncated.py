#!/usr/bin/env python3
#===- truncated.py - f32 results whose lower halves are gone ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: truncated.py WHOLE.npz CUT.npz; exits 1 unless CUT has the upper 16 bits
of WHOLE's elements, and some element of WHOLE has others, too."""
import struct
import sys
import zipfile


def bits(path):
    with zipfile.ZipFile(path) as archive:
        data = archive.read("y.npy")
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}I", data[begin:])


whole, cut = bits(sys.argv[1]), bits(sys.argv[2])
sys.exit(not (len(whole) == 32 and any(x & 0xffff for x in whole)
              and cut == tuple(x & 0xffff0000 for x in whole)))
