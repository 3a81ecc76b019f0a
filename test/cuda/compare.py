#!/usr/bin/env python3
#===- compare.py - whether two arrays of f32 agree --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""compare.py GOT.npy WANT.npy: exits 1 unless all elements are within 1e-4 of the
larger magnitude, plus 1e-6. Needs no packages."""
import struct
import sys


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    if "'<f4'" not in header:
        raise SystemExit(f"{path}: no f32 array")
    body = data[10 + size:]
    return header, struct.unpack(f"<{len(body) // 4}f", body)


def main():
    (got_header, got), (want_header, want) = read(sys.argv[1]), read(sys.argv[2])
    if got_header != want_header:
        raise SystemExit(f"{got_header} is not {want_header}")
    bad = [i for i, (a, b) in enumerate(zip(got, want))
           if not abs(a - b) <= 1e-4 * max(abs(a), abs(b)) + 1e-6]
    if bad:
        raise SystemExit(f"{len(bad)} of {len(want)} elements differ, first {bad[0]}: "
                         f"{got[bad[0]]} and {want[bad[0]]}")
    print(f"{len(want)} elements agree")


main()
