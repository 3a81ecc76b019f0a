#!/usr/bin/env python3
#===- cut_variable.py - what a part is fed ----------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: cut_variable.py WHOLE.npz FED.npz    the whole's values, and beside them a variable's

Files are those of weir-run: arrays that are not packed, one a member.
"""
import struct
import sys
import zipfile

header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
header += b" " * (-(len(header) + 11) % 64) + b"\n"
with zipfile.ZipFile(sys.argv[1]) as whole, zipfile.ZipFile(sys.argv[2], "w") as fed:
    for name in whole.namelist():
        if name != "choice.npy":
            fed.writestr(name, whole.read(name))
    fed.writestr("handle_value.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
                 + struct.pack("<4f", 2, 3, 5, 7))
