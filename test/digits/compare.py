#!/usr/bin/env python3
#===- compare.py - Compare two .npy files of floats -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: compare.py GOT.npy WANT.npy [TOLERANCE]
       compare.py --reshape IN.npy 360,8,8,1 OUT.npy

Prints `largest difference ...` and exits 1 where it is past the tolerance
(1e-5), or shapes differ. Knows little-endian float32 in C order, the form of the
digits files. Needs no numpy.
"""
import array
import ast
import struct
import sys


def read(path):
    with open(path, "rb") as f:
        content = f.read()
    size, = struct.unpack_from("<H" if content[6] == 1 else "<I", content, 8)
    start = 10 if content[6] == 1 else 12
    header = ast.literal_eval(content[start:start + size].decode("latin1"))
    if header["descr"] != "<f4" or header["fortran_order"]:
        sys.exit(f"{path}: found {header}; possible: float32 in C order")
    return tuple(header["shape"]), array.array("f", content[start + size:])


def write(path, shape, values):
    header = repr({"descr": "<f4", "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(values.tobytes())


def main():
    if sys.argv[1] == "--reshape":
        _, values = read(sys.argv[2])
        return write(sys.argv[4], [int(d) for d in sys.argv[3].split(",")], values)
    (got_shape, got), (want_shape, want) = read(sys.argv[1]), read(sys.argv[2])
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-5
    if got_shape != want_shape or not want:
        sys.exit(f"shape {got_shape} instead of {want_shape}")
    # `not <=`, so that a NaN is past every tolerance.
    worst = max(range(len(want)), key=lambda i: abs(got[i] - want[i]))
    largest = abs(got[worst] - want[worst])
    bad = sum(not abs(g - w) <= tolerance for g, w in zip(got, want))
    print(f"largest difference {largest:.2g} at {worst}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
