#!/usr/bin/env python3
#===- labels.py - The digits' labels as an array -----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes the labels of the digits' samples as a .npy of 64-bit integers.

usage: labels.py SAMPLES.u8 OUT.npy [COUNT]
"""
import struct
import sys


def main():
    labels = open(sys.argv[1], "rb").read()
    labels = labels[:int(sys.argv[3])] if len(sys.argv) > 3 else labels
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(labels)},), }}"
    with open(sys.argv[2], "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n")
        out.write(struct.pack(f"<{len(labels)}q", *labels))


if __name__ == "__main__":
    main()
