#!/usr/bin/env python3
#===- untrained.py - An ONNX model as it was before its training ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Gives the weights of an ONNX model random values; biases become zeros.

usage: untrained.py MODEL.onnx OUT.onnx [SEED]

Weights are normal numbers of variance 2 / fan-in (He et al., 2015). Reads what
test/digits/export_onnx.py writes: f32 initializers whose values are raw bytes.
"""
import math
import random
import struct
import sys


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(message, at, end):
    """Number, begin and end of the contents of each field of bytes; varints as a value."""
    while at < end:
        tag, at = varint(message, at)
        if tag & 7 == 2:
            size, at = varint(message, at)
            yield tag >> 3, at, at + size
            at += size
        else:
            value, at = varint(message, at)
            yield tag >> 3, value, None


def main():
    with open(sys.argv[1], "rb") as file:
        model = bytearray(file.read())
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    for field, begin, end in list(fields(model, 0, len(model))):
        if field != 7 or end is None:  # the graph
            continue
        for inner, first, last in list(fields(model, begin, end)):
            if inner != 5 or last is None:  # an initializer
                continue
            parts = {n: (a, b) for n, a, b in fields(model, first, last) if b is not None}
            dims, at = [], parts[1][0]
            while at < parts[1][1]:
                size, at = varint(model, at)
                dims.append(size)
            a, b = parts[9]
            deviation = math.sqrt(2 / math.prod(dims[1:])) if len(dims) > 1 else 0
            for place in range(a, b, 4):
                model[place:place + 4] = struct.pack("<f", draw.gauss(0, 1) * deviation)
    with open(sys.argv[2], "wb") as file:
        file.write(model)


if __name__ == "__main__":
    main()
