#!/usr/bin/env python3
#===- compare.py - whether two arrays of floats agree -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""compare.py GOT.npy WANT.npy [BOUND]: exits 1 unless all elements are within 1e-4 of the
larger magnitude, plus 1e-6, or BOUND; for f16, and bf16 as words, within four roundings of the
largest magnitude. A NaN is one in both. Needs no packages."""
import struct
import sys


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    body = data[10 + size:]
    if "'<f2'" in header:
        return header, struct.unpack(f"<{len(body) // 2}e", body), 2**-11
    if "'<u2'" in header:
        wide = b"".join(b"\0\0" + body[i:i + 2] for i in range(0, len(body), 2))
        return header, struct.unpack(f"<{len(wide) // 4}f", wide), 2**-8
    if "'<f4'" not in header:
        raise SystemExit(f"{path}: no array of f32, f16 or bf16")
    return header, struct.unpack(f"<{len(body) // 4}f", body), None


def main():
    (got_header, got, _), (want_header, want, rounding) = read(sys.argv[1]), read(sys.argv[2])
    if got_header != want_header:
        raise SystemExit(f"{got_header} is not {want_header}")
    def agree(a, b):
        bound = 4 * rounding * most if rounding else 1e-4 * max(abs(a), abs(b)) + least
        return abs(a - b) <= bound or (a != a and b != b)

    least = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-6
    most = max((abs(b) for b in want if b == b), default=0)
    bad = [i for i, (a, b) in enumerate(zip(got, want)) if not agree(a, b)]
    if bad:
        raise SystemExit(f"{len(bad)} of {len(want)} elements differ, first {bad[0]}: "
                         f"{got[bad[0]]} and {want[bad[0]]}")
    print(f"{len(want)} elements agree")


main()
