#===- values.py - Sizes and numbers that cases are made of --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Random sizes, shapes and elements. All take a numpy Generator, which decides everything."""
import math

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(t) for t in ("float16", "float32", "float64")] + [BF16]
INTEGERS = [np.dtype(t) for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                  "uint64")]
COMPLEX = [np.dtype(t) for t in ("complex64", "complex128")]

LARGEST = 60000  # elements of a tensor


def is_float(dtype):
    return dtype.kind == "f" or dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2",
                                               "float8_e4m3fnuz", "float8_e5m2fnuz",
                                               "float8_e8m0fnu", "float4_e2m1fn")


def is_integer(dtype):
    return dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2")


def is_finite(value):
    """Whether no float, and no part of a complex number, is NaN or infinite."""
    if is_float(value.dtype):
        value = value.astype(np.float64)
    return value.dtype.kind not in "fc" or bool(np.all(np.isfinite(value)))


def epsilon(dtype):
    if dtype.kind == "c":
        return float(np.finfo(dtype).eps)
    return float(ml_dtypes.finfo(dtype).eps) if is_float(dtype) else 0.0


def pick(random, options):
    return options[int(random.integers(len(options)))]


# A size: 0 and 1, odd ones, around the widths of vectors and tiles, large ones.
SIZES = [(0.03, (0,)), (0.16, (1,)), (0.5, (2, 3, 4, 5, 7)), (0.2, (8, 9, 15, 16, 17, 31, 32, 33)),
         (0.09, (63, 64, 65, 100, 127, 128, 129)), (0.02, (255, 256, 257, 1000, 1025))]


def size(random, empty=True, most=1 << 30):
    while True:
        share = random.random()
        for part, choices in SIZES:
            share -= part
            if share < 0:
                break
        drawn = int(choices[random.integers(len(choices))])
        if (drawn or empty) and drawn <= most:
            return drawn


def fit(random, shape, limit=LARGEST):
    """The same shape with as few large sizes made small as fit the limit."""
    shape = list(shape)
    while math.prod(shape) > limit:
        largest = max(range(len(shape)), key=shape.__getitem__)
        shape[largest] = int(random.integers(1, 8))
    return shape


def shape(random, rank=None, empty=True, limit=LARGEST):
    if rank is None:
        rank = int(random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5]))
    return fit(random, [size(random, empty) for _ in range(rank)], limit)


def thinned(random, full, drop=True):
    """A shape that is broadcast to `full`."""
    kept = [d if random.random() < 0.7 else 1 for d in full]
    if drop and kept and random.random() < 0.4:
        kept = kept[int(random.integers(0, len(kept) + 1)):]
    return kept


# Where functions have kinks and poles, and roundings ties.
KINKS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 6.0, -6.0, 0.25, 2.0,
         math.pi / 2, -math.pi, 10.0, -10.0, 88.0, -88.0, 20.0, -20.0]


def specials(dtype, extremes):
    info = ml_dtypes.finfo(dtype)
    listed = [math.inf, -math.inf, math.nan, float(info.smallest_normal),
              -float(info.smallest_normal), float(info.smallest_subnormal), 0.0, -0.0]
    return listed + [float(info.max), float(info.min)] * extremes


def floats(random, dtype, shape, kind):
    count = math.prod(shape)
    values = random.standard_normal(count)
    if kind == "calm":
        return values.astype(dtype).reshape(shape)
    values = values * (3 if random.random() < 0.7 else 30)
    if kind == "kinks":
        at = random.random(count) < 0.5
        values = np.where(at, random.choice(KINKS, count), values)
    elif kind == "normal" and count:  # no subnormal ones, which TensorFlow takes for 0
        at = random.random(count) < 0.3
        values = np.where(at, random.choice([math.inf, -math.inf, math.nan, 0.0, -0.0], count), values)
    elif kind in ("special", "unusual") and count:
        at = random.random(count) < 0.3
        values = np.where(at, random.choice(specials(dtype, kind == "special"), count), values)
    elif kind == "even":  # numbers that all types hold, with many ties
        values = random.integers(-4, 5, count).astype(np.float64)
    with np.errstate(all="ignore"):
        return values.astype(dtype).reshape(shape)


def integers(random, dtype, shape, kind):
    info = ml_dtypes.iinfo(dtype) if dtype.kind not in "iu" else np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    count = math.prod(shape)
    if kind in ("special", "unusual"):
        pool = [low, high, low + 1, high - 1, 0, 1, 2, -1 if low else 3]
        values = np.array([pool[i] for i in random.integers(0, len(pool), count)], dtype=object)
    elif kind == "wide":
        values = random.integers(low, high, count, dtype=np.uint64 if high > 1 << 62 and not low
                                 else np.int64, endpoint=True)
    else:
        values = random.integers(max(low, -9), min(high, 9), count, endpoint=True)
    return np.array(values).astype(dtype).reshape(shape)


WORDS = ["", "a", "b", "Ab", "abc", " x ", "a,b", "12", "-3.5", "1e3", "nan", "\u00e4\u00f6", "zz top",
         "aaaa", "x" * 40]


def elements(random, dtype, shape, kind="plain"):
    """`kind`: plain, even, kinks, special, unusual (special without the largest numbers) or
    (integers) wide."""
    if dtype == object or dtype.kind in "OUST":
        return np.array([WORDS[i] for i in random.integers(0, len(WORDS), math.prod(shape))],
                        dtype=object).reshape(shape)
    if dtype == bool:
        return random.random(shape) < 0.5
    if dtype.kind == "c":
        part = np.dtype("float32" if dtype.itemsize == 8 else "float64")
        real = floats(random, part, shape, kind if kind not in ("special", "unusual") else "kinks")
        return (real + 1j * floats(random, part, shape, "plain")).astype(dtype)
    if is_float(dtype):
        return floats(random, dtype, shape, kind)
    return integers(random, dtype, shape, kind)


def kind_of_values(random):
    return str(random.choice(["plain", "even", "kinks", "special", "wide"],
                             p=[0.45, 0.15, 0.2, 0.12, 0.08]))
