#!/usr/bin/env python3
#===- batches.py - Pictures and labels for tests of training ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes arrays of the digits that are learnt from, and compares numbers.

usage: batches.py DIGITS FOLDER            nchw.npz, nhwc.npz, and the first 48 as .npy
       batches.py near A.npy B.npy SHARE   whether two numbers are as near
       batches.py one A.npy                whether it is 1
"""
import struct
import sys
import zipfile

ROWS, FIRST = 192, 48


def npy(kind, dims, values):
    text = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, dims))},), }}"
    text = text.ljust(117) + "\n"
    letter = {"f4": "f", "i8": "q"}[kind]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
            + struct.pack(f"<{len(values)}{letter}", *values))


def number(path):
    with open(path, "rb") as file:
        return struct.unpack("<f", file.read()[-4:])[0]


def main():
    if sys.argv[1] == "near":
        a, b = number(sys.argv[2]), number(sys.argv[3])
        print(a, b)
        sys.exit(abs(a - b) > float(sys.argv[4]) * abs(b))
    if sys.argv[1] == "one":
        sys.exit(number(sys.argv[2]) != 1)
    digits, folder = sys.argv[1:3]
    with open(digits + "/training.u8", "rb") as file:
        pixels = [v / 16 for v in file.read(ROWS * 64)]
    with open(digits + "/training_labels.u8", "rb") as file:
        labels = list(file.read(ROWS))
    hot = [float(label == c) for label in labels[:FIRST] for c in range(10)]
    for name, dims in [("nchw", [ROWS, 1, 8, 8]), ("nhwc", [ROWS, 8, 8, 1])]:
        with zipfile.ZipFile(f"{folder}/{name}.npz", "w") as archive:
            archive.writestr("image.npy", npy("f4", dims, pixels))
            archive.writestr("labels.npy", npy("i8", [ROWS], labels))
    for name, data in [("image", npy("f4", [FIRST, 1, 8, 8], pixels[:FIRST * 64])),
                       ("label", npy("i8", [FIRST], labels[:FIRST])),
                       ("wrong", npy("i8", [FIRST], [10] + labels[1:FIRST])),
                       ("hot", npy("f4", [FIRST, 10], hot)),
                       ("ones", npy("f4", [100, 100], [1.0] * 10000))]:
        with open(f"{folder}/{name}.npy", "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
