#===- bf16_vectors.py - products of bf16, in double precision ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: bf16_vectors.py model|open|check FOLDER

Products and convolutions that vectors of bf16 compute, each fetched: model.onnx and in.npz in
FOLDER (`open`: of open rows and images), or how far some results in out.npz are from sums, in
double precision, of products of operands rounded to bf16. A sum of n products has at most the
square root of n roundings of f32 of the magnitudes' sum, which is far below what rounding the
operands makes of it.
"""
import array
import random
import sys

from floats import (constant, count, node, port, read_output, values, write_inputs, write_model)

FEEDS = {"x": (2, 32, 19, 19), "s": (2, 3, 20, 22), "r": (200, 642), "l": (40, 6400), "o": (1, 642)}
# name, operand, shape of the weights, strides and the rest of the window
CONVOLUTIONS = [
    # Of 40 channels: whole vectors would go in Winograd's form.
    ("c0", "x", (40, 32, 3, 3), 1, 1), ("c1", "c0", (48, 40, 1, 1), 1, 1),
    ("c2", "c1", (40, 48, 3, 3), 2, 1), ("c3", "c2", (40, 40, 3, 3), 1, 2),
    ("c4", "c3", (72, 40, 1, 1), 2, 1), ("c5", "c4", (72, 72, 3, 3), 1, 1),
    # Three channels, which go by pairs of pixels where lines are known.
    ("c6", "s", (40, 3, 7, 7), 2, 1),
]
KNOWN = ("s", "c6")
# Rests of columns, of rows and of words; a sum that is cut; a single row.
PRODUCTS = [("m0", "r", (642, 1050)), ("m1", "m0", (1050, 96)), ("m2", "l", (6400, 48)),
            ("m3", "o", (642, 1050))]


def shapes():
    found = dict(FEEDS)
    for name, operand, weights, stride, dilation in CONVOLUTIONS:
        n, _, h, w = found[operand]
        reach = dilation * (weights[2] - 1)
        pad = reach // 2
        found[name] = (n, weights[0], (h + 2 * pad - reach - 1) // stride + 1,
                       (w + 2 * pad - reach - 1) // stride + 1)
    for name, operand, weights in PRODUCTS:
        found[name] = (found[operand][0], weights[1])
    return found


SHAPES = shapes()


def weights_of(name, shape):
    depth = count(shape) // (shape[0] if len(shape) == 4 else shape[1])
    return array.array("f", (v / depth**0.5 for v in values(shape, name)))


def bias_of(name):
    return values((SHAPES[name][1],), name + "b")


def write(folder, is_open):
    def sizes(name):
        shape = SHAPES[name]
        if not is_open or name in KNOWN:
            return shape
        # Of images, the number, height and width; of matrices, rows.
        return tuple(f"{name}{i}" if i != 1 else size for i, size in enumerate(shape))

    graph = b"".join(port(11, name, sizes(name)) for name in FEEDS)
    for name, operand, shape, stride, dilation in CONVOLUTIONS:
        graph += constant(name + "w", shape, weights_of(name, shape))
        graph += constant(name + "b", (shape[0],), bias_of(name))
        pad = dilation * (shape[2] - 1) // 2
        graph += node("Conv", name + "s", [operand, name + "w", name + "b"],
                      [("kernel_shape", list(shape[2:])), ("pads", [pad] * 4),
                       ("strides", [stride] * 2), ("dilations", [dilation] * 2)])
        graph += node("Relu", name, [name + "s"])
    for name, operand, shape in PRODUCTS:
        graph += constant(name + "w", shape, weights_of(name, shape))
        graph += constant(name + "b", (shape[1],), bias_of(name))
        graph += node("MatMul", name + "p", [operand, name + "w"])
        graph += node("Add", name + "s", [name + "p", name + "b"])
        graph += node("Relu", name, [name + "s"])
    for name, *_ in CONVOLUTIONS + PRODUCTS:
        graph += port(12, name, sizes(name))
    write_model(folder, graph)
    write_inputs(folder, [(name, shape, values(shape, name)) for name, shape in FEEDS.items()])


def rounded(floats):
    """To bf16: to nearest, ties to even."""
    words = array.array("I", floats.tobytes())
    for i, word in enumerate(words):
        words[i] = (word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000
    return array.array("f", words.tobytes())


def terms_of_product(left, right, shape, depth, place):
    row, column = divmod(place, shape[1])
    return [left[row * depth + k] * right[k * shape[1] + column] for k in range(depth)]


def terms_of_window(left, right, from_shape, weights, stride, dilation, shape, place):
    n, rest = divmod(place, count(shape[1:]))
    k, rest = divmod(rest, shape[2] * shape[3])
    h, w = divmod(rest, shape[3])
    _, channels, height, width = from_shape
    pad = dilation * (weights[2] - 1) // 2
    terms = []
    for i in range(weights[2]):
        for j in range(weights[3]):
            y, x = h * stride + i * dilation - pad, w * stride + j * dilation - pad
            if 0 <= y < height and 0 <= x < width:
                terms += [left[((n * channels + c) * height + y) * width + x]
                          * right[((k * channels + c) * weights[2] + i) * weights[3] + j]
                          for c in range(channels)]
    return terms


def check(folder):
    chosen = random.Random(5)
    for name, operand, weights, *window in CONVOLUTIONS + PRODUCTS:
        shape, from_shape = SHAPES[name], SHAPES[operand]
        plain = (values(from_shape, operand) if operand in FEEDS
                 else read_output(folder, operand, from_shape))
        own, bias = weights_of(name, weights), bias_of(name)
        got = read_output(folder, name, shape)
        operands = ((rounded(plain), rounded(own)), (plain, own))
        worst, least = 0.0, 0.0
        for _ in range(80):
            place = chosen.randrange(count(shape))
            channel = place // count(shape[2:]) % shape[1]
            errors = []
            for left, right in operands:
                terms = (terms_of_window(left, right, from_shape, weights, *window, shape, place)
                         if window else
                         terms_of_product(left, right, shape, weights[0], place))
                total, size = sum(terms) + bias[channel], sum(map(abs, terms)) + abs(bias[channel])
                allowed = (len(terms) + 1)**0.5 * 2.0**-24 * size
                errors.append(abs(got[place] - max(total, 0.0)) / allowed)
            worst, least = max(worst, errors[0]), max(least, errors[1])
        print(name, "right" if worst <= 1 else f"off by {worst:.3g}",
              "rounded" if least > 1 else "not rounded")


if sys.argv[1] == "check":
    check(sys.argv[2])
else:
    write(sys.argv[2], sys.argv[1] == "open")
