#!/usr/bin/env python3
# ===- expm1.py - how far expm1 is from the exact value ----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""expm1.py graph > F.pbtxt: one Expm1. expm1.py values OUT.npz: operands of every
magnitude and sign. expm1.py check IN.npz OUT.npz: the largest error, in units of
the last place of f32."""
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools/Inputs"))
import npz


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def values():
    made = [0.0, -0.0, math.inf, -math.inf, math.nan, 88.72, 88.8, 1000.0, -1000.0, -17.5, -103.0]
    for exponent in range(-140, 7):
        for step in range(32):
            magnitude = math.ldexp(1 + step / 32 + 0.0117, exponent)
            made += [magnitude, -magnitude]
    return [f32(x) for x in made]


def check(given, made):
    worst = 0.0
    for x, got in zip(given, made):
        if math.isnan(x):
            assert math.isnan(got)
            continue
        try:
            want = math.expm1(x)
        except OverflowError:
            want = math.inf
        if want > 3.4028235e38:
            assert got == math.inf, (x, got)
            continue
        assert got != 0 or math.copysign(1, got) == math.copysign(1, x), x
        # Below the smallest normal number the last place is that of a denormal one.
        place = math.ldexp(1, max(math.frexp(want)[1] - 24, -149)) if want else math.ldexp(1, -149)
        worst = max(worst, abs(got - want) / place)
    return worst


if sys.argv[1] == "graph":
    print('node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
          'attr { key: "shape" value { shape { dim { size: -1 } } } } }')
    print('node { name: "y" op: "Expm1" input: "x" attr { key: "T" value { type: DT_FLOAT } } }')
elif sys.argv[1] == "values":
    made = values()
    npz.write(sys.argv[2], {"x": ([len(made)], made)})
else:
    (_, given), (_, made) = (next(iter(npz.read(path).values())) for path in sys.argv[2:])
    worst = check(given, made)
    print("within 2 ULP" if worst <= 2 else "%.1f ULP" % worst)
