#!/usr/bin/env python3
# ===- functions.py - how far functions are from the exact values ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""functions.py graph > F.pbtxt: one node a function. functions.py values OUT.npz: operands
of every magnitude and sign. functions.py check IN.npz OUT.npz: the largest error of each,
in units of the last place of f32, and what is stated in docs/kernels.md."""
import math
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tools/Inputs"))
import npz

LARGEST, SMALLEST = 3.4028235e38, 2.0**-126


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


FUNCTIONS = {
    "Exp": math.exp, "Expm1": math.expm1, "Log": math.log, "Log1p": math.log1p,
    "Sin": math.sin, "Cos": math.cos, "Tanh": math.tanh, "Erf": math.erf,
    "Sigmoid": sigmoid, "Rsqrt": lambda x: 1 / math.sqrt(x), "Sqrt": math.sqrt,
}


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def values():
    # Of NaNs those, too, whose further bits look like an exponent when taken for an integer.
    nans = struct.unpack("<3f", struct.pack("<3I", 0x7fc00002, 0x7fffffff, 0xffc0007e))
    made = [0.0, -0.0, math.inf, -math.inf, math.nan, *nans, 88.72, 88.722, 88.723, 88.8, 1000.0, -1000.0,
            -17.5, -87.3, -87.4, -103.0, -103.9, -104.1, -1.0, 1.0, -0.99999994, LARGEST, -LARGEST]
    for exponent in range(-140, 7):
        for step in range(32):
            magnitude = math.ldexp(1 + step / 32 + 0.0117, exponent)
            made += [magnitude, -magnitude]
    # Densely where functions bend.
    made += [i / 512 + 0.0003 for i in range(-8192, 8192)]
    return [f32(x) for x in made]


def want(function, x):
    """The exact value, or None where there is no number."""
    try:
        return FUNCTIONS[function](x)
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.copysign(math.inf, x)
    except ValueError:
        return -math.inf if (function, x) in (("Log", 0), ("Log1p", -1)) else None


def error(function, x, got):
    if math.isnan(x):
        assert math.isnan(got), (function, x, got)
        return 0.0
    exact = want(function, x)
    if exact is None:
        assert math.isnan(got), (function, x, got)
        return 0.0
    if abs(exact) > LARGEST:
        assert got == math.copysign(math.inf, exact), (function, x, got)
        return 0.0
    # Below the smallest normal number the last place is that of a denormal one.
    place = math.ldexp(1, max(math.frexp(exact)[1] - 24, -149)) if exact else math.ldexp(1, -149)
    if function == "Sigmoid" and abs(exact) < SMALLEST and got == 0:
        return 0.0  # exp(-x) is infinite there
    return abs(got - exact) / place


def stated():
    """ULP by function, of the page's table."""
    with open(os.path.join(HERE, "../../../docs/kernels.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page.read(), re.M)
    return {name: int(ulp) for name, ulp in rows}


if sys.argv[1] == "graph":
    print('node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
          'attr { key: "shape" value { shape { dim { size: -1 } } } } }')
    for name in FUNCTIONS:
        print(f'node {{ name: "{name}" op: "{name}" input: "x" '
              'attr { key: "T" value { type: DT_FLOAT } } }')
elif sys.argv[1] == "values":
    made = values()
    npz.write(sys.argv[2], {"x": ([len(made)], made)})
else:
    (_, given), results = next(iter(npz.read(sys.argv[2]).values())), npz.read(sys.argv[3])
    bounds = stated()
    for name in FUNCTIONS:
        worst = max((error(name, x, got), x) for x, got in zip(given, results[name][1]))
        verdict = "as stated" if worst[0] <= bounds.get(name, -1) else "more than stated"
        print(f"{name}: {verdict} ({worst[0]:.2f} ULP at {worst[1]!r}, stated {bounds.get(name)})")
