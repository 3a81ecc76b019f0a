#!/usr/bin/env python3
#===- sobol_table.py - Direction numbers of Sobol sequences -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes sobol_table.inc: for each dimension but the first its primitive polynomial over
GF(2) and as many initial numbers m as its degree is (Bratley and Fox, "Algorithm 659",
1988). The polynomials are all of degrees 1 to 13, in order; the numbers are those that
TensorFlow's points show, which are Joe and Kuo's ("Constructing Sobol sequences with
better two-dimensional projections", 2008). Needs a Python with TensorFlow."""
import os
import sys
import textwrap

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

BANNER = """\
//===- sobol_table.inc - direction numbers of Sobol sequences ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by sobol_table.py: of each dimension its polynomial, and its first numbers.
//
//===----------------------------------------------------------------------===//
"""
DIMENSIONS, BITS = 1111, 28


def is_primitive(polynomial, degree):
    """Whether x has the order 2^degree - 1 modulo the polynomial."""
    order, value = 0, 1
    while True:
        value <<= 1
        if value >> degree & 1:
            value ^= polynomial
        order += 1
        if value == 1:
            return order == (1 << degree) - 1
        if order >= 1 << degree:
            return False


def polynomials():
    for degree in range(1, 14):
        for inner in range(1 << (degree - 1)):
            polynomial = 1 << degree | inner << 1 | 1
            if degree == 1 or is_primitive(polynomial, degree):
                yield degree, polynomial


def numbers():
    """m[k] of each dimension, from the points whose numbers are powers of two: there two
    direction numbers meet."""
    before = np.zeros(DIMENSIONS, np.uint64)
    for k in range(BITS):
        point = tf.raw_ops.SobolSample(dim=DIMENSIONS, num_results=1, skip=(1 << k) - 1,
                                       dtype=tf.float64).numpy()[0]
        before = (point * 2.0 ** 32).astype(np.uint64) ^ before
        yield before >> np.uint64(31 - k)


def follows(polynomial, degree, m):
    for k in range(degree, len(m)):
        value = m[k - degree] ^ (m[k - degree] << degree)
        for i in range(1, degree):
            if polynomial >> (degree - i) & 1:
                value ^= m[k - i] << i
        if value != m[k]:
            return False
    return True


def main():
    columns, table = np.array(list(numbers())).T, []
    print(BANNER)
    for dimension, (degree, polynomial) in enumerate(polynomials(), 1):
        m = [int(v) for v in columns[dimension]]
        if not follows(polynomial, degree, m):
            sys.exit("dimension %d does not follow its polynomial" % dimension)
        table += [polynomial] + m[:degree]
    print("\n".join(textwrap.wrap(" ".join("%d," % number for number in table), 98)))


if __name__ == "__main__":
    main()
