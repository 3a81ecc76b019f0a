#!/usr/bin/env python3
# ===- functions.py - how far functions are from the exact values ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""functions.py graph TYPE > F.pbtxt: one node a function. functions.py values TYPE OUT.npz:
operands of every magnitude and sign. functions.py check TYPE IN.npz OUT.npz: the largest
error of each, in units of the last place, and what is stated in docs/kernels.md. TYPE is f32
or f64; of f64 only functions are taken that Python computes to a unit of the last place."""
import math
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tools/Inputs"))
import npz

DOUBLE = sys.argv[2] == "f64"
DIGITS, LEAST = (53, -1074) if DOUBLE else (24, -149)
LARGEST, SMALLEST = (sys.float_info.max, 2.0**-1022) if DOUBLE else (3.4028235e38, 2.0**-126)


def sigmoid(x):
    return 0.0 if x <= -700 else 1 / (1 + math.exp(-x))


FUNCTIONS = {
    "Exp": math.exp, "Expm1": math.expm1, "Log": math.log, "Log1p": math.log1p,
    "Sin": math.sin, "Cos": math.cos, "Tanh": math.tanh, "Erf": math.erf, "Erfc": math.erfc,
    "Sigmoid": sigmoid, "Rsqrt": lambda x: 1 / math.sqrt(x), "Sqrt": math.sqrt,
    "Tan": math.tan, "Asin": math.asin, "Acos": math.acos, "Atan": math.atan,
    "Sinh": math.sinh, "Cosh": math.cosh, "Asinh": math.asinh, "Acosh": math.acosh,
    "Atanh": math.atanh,
}
# Of two operands, the second of which is the first one's list in another order.
PAIRS = {"Atan2": math.atan2, "Pow": math.pow}
ALL = [*FUNCTIONS, *PAIRS]
# Of f64 these are the C library's, and the error of a quotient is Python's, too.
if DOUBLE:
    ALL = [name for name in ALL if name not in ("Sigmoid", "Rsqrt", "Pow", "Erfc")]


def odd_power(x, y):
    return math.copysign(1, x) < 0 and y % 2 == 1


def rounded(value):
    return value if DOUBLE else struct.unpack("<f", struct.pack("<f", value))[0]


def values():
    # Of NaNs those, too, whose further bits look like an exponent when taken for an integer.
    nans = struct.unpack("<3f", struct.pack("<3I", 0x7fc00002, 0x7fffffff, 0xffc0007e))
    made = [0.0, -0.0, math.inf, -math.inf, math.nan, *nans, 88.72, 88.722, 88.723, 88.8, 1000.0, -1000.0,
            -17.5, -87.3, -87.4, -103.0, -103.9, -104.1, -1.0, 1.0, -0.99999994, LARGEST, -LARGEST, 89.41,
            89.416, -89.42, 709.78, 710.4, -710.5, 2.0, -2.0, 3.0, -3.0, 0.5, 2.0**100]
    for exponent in range(LEAST + 9, 7):
        for step in range(32):
            magnitude = math.ldexp(1 + step / 32 + 0.0117, exponent)
            made += [magnitude, -magnitude]
    # Arguments of many turns.
    for exponent in range(7, 1023 if DOUBLE else 127):
        for step in range(16):
            magnitude = math.ldexp(1 + step / 16 + 0.0317, exponent)
            made += [magnitude, -magnitude]
    # The floats next to multiples of pi / 2, among them the nearest one there is.
    made += [i * math.pi / 2 for i in range(1, 400)] + [16367173 * 2.0**72]
    # Densely where functions bend.
    made += [i / 512 + 0.0003 for i in range(-8192, 8192)]
    made = [rounded(x) for x in made]
    return made, made[1::2] + made[::-2][: len(made) - len(made[1::2])]


def want(function, x):
    """The exact value, or None where there is no number."""
    try:
        return FUNCTIONS[function](*x) if function in FUNCTIONS else PAIRS[function](*x)
    except OverflowError:
        negative = function == "Sinh" and x[0] < 0 or function == "Pow" and odd_power(*x)
        return -math.inf if negative else math.inf
    except ZeroDivisionError:
        return math.copysign(math.inf, x[0])
    except ValueError:
        if function == "Pow" and x[0] == 0:
            return -math.inf if odd_power(*x) else math.inf
        if function == "Atanh" and abs(x[0]) == 1:
            return math.copysign(math.inf, x[0])
        return -math.inf if (function, x[0]) in (("Log", 0), ("Log1p", -1)) else None


def error(function, x, got):
    exact = want(function, x)
    if exact is None or math.isnan(exact):
        assert math.isnan(got), (function, x, got)
        return 0.0
    if abs(exact) > LARGEST * (1 + 2.0**-DIGITS / 2):
        assert got == math.copysign(math.inf, exact), (function, x, got)
        return 0.0
    if exact == 0 and function != "Erf":
        assert math.copysign(1, got) == math.copysign(1, exact), (function, x, got)
    # Below the smallest normal number the last place is that of a denormal one.
    place = math.ldexp(1, max(math.frexp(exact)[1] - DIGITS, LEAST)) if exact else math.ldexp(1, LEAST)
    if function == "Sigmoid" and abs(exact) < SMALLEST and got == 0:
        return 0.0  # exp(-x) is infinite there
    return abs(got - exact) / place


def stated():
    """ULP by function, of the page's table."""
    with open(os.path.join(HERE, "../../../docs/kernels.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| (`[\w`, ]+`) \| (\d+) \|", page.read(), re.M)
    return {name: int(ulp) for names, ulp in rows for name in re.findall(r"\w+", names)}


KIND = "DT_DOUBLE" if DOUBLE else "DT_FLOAT"
if sys.argv[1] == "graph":
    for name in "xy":
        print(f'node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {KIND} }} }} '
              'attr { key: "shape" value { shape { dim { size: -1 } } } } }')
    for name in ALL:
        second = ' input: "y"' if name in PAIRS else ""
        print(f'node {{ name: "{name}" op: "{name}" input: "x"{second} '
              f'attr {{ key: "T" value {{ type: {KIND} }} }} }}')
elif sys.argv[1] == "values":
    x, y = values()
    npz.write(sys.argv[3], {"x": ([len(x)], x), "y": ([len(y)], y)}, "d" if DOUBLE else "f")
else:
    given, results = npz.read(sys.argv[3]), npz.read(sys.argv[4])
    x, y = given["x"][1], given["y"][1]
    bounds = stated()
    for name in ALL:
        operands = zip(x, y) if name in PAIRS else ((v,) for v in x)
        worst = max((error(name, at, got), at) for at, got in zip(operands, results[name][1]))
        verdict = "as stated" if worst[0] <= bounds.get(name, -1) + DOUBLE else "more than stated"
        print(f"{name}: {verdict} ({worst[0]:.2f} ULP at {worst[1]!r}, stated {bounds.get(name)})")
