#===- winograd.py - A convolution with a window of 3x3, in double precision --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: winograd.py model|joined|residual|corners|infinite|check|check-wide|check-bf16 FOLDER [HEIGHTxWIDTH [open] [stretched] [f16|bf16]]

`open`: the model says nothing of images, lines and columns. `stretched`: x is one image, of whose results each y has its own.
`f16`, `bf16`: the filter's type in the model, which casts it to f32.
A convolution, its bias, an addition and ReLU: model.onnx and in.npz in FOLDER, or how
far some results in out.npz are from the same in double precision. `joined` adds by
joining channels, which another convolution sums; `residual` adds the convolution to another one's result, and a third one
reads what comes of it; `corners` has a filter of one tap a channel, `infinite` an infinite tap. `check-wide`: within 16 roundings. `check-bf16`: within what rounding both operands
to bf16 can make of the direct form, though both are rounded once more where they are transformed.
"""
import array
import random
import struct
import sys

from floats import (EPSILON, constant, count, node, port, read_output, values, write_inputs,
                    write_model)

# The last panel of channels is not whole, and the last part has fewer lines.
IMAGES, CHANNELS, FILTERS = 2, 96, 80
HEIGHT, WIDTH = map(int, (sys.argv[3] if len(sys.argv) > 3 else "34x24").split("x"))
BRAIN_ROUNDING = 2.0**-8  # at most, of a number
X_IMAGES = 1 if "stretched" in sys.argv else IMAGES
X_SHAPE, Y_SHAPE = (X_IMAGES, CHANNELS, HEIGHT, WIDTH), (IMAGES, FILTERS, HEIGHT, WIDTH)
W_SHAPE = (FILTERS, CHANNELS, 3, 3)

X, Y, W, B = values(X_SHAPE, 1), values(Y_SHAPE, 2), values(W_SHAPE, 3), values((FILTERS,), 4)
HALF = next((name for name in ("f16", "bf16") if name in sys.argv), None)
KINDS = {"f16": 10, "bf16": 16}


def halves(floats):
    """`floats` in type HALF, as words, and what these stand for."""
    if HALF == "f16":
        words = array.array("H", struct.pack(f"{len(floats)}e", *floats))
        return words, array.array("f", struct.unpack(f"{len(floats)}e", words.tobytes()))
    words = array.array("H", (bits >> 16 for bits in array.array("I", floats.tobytes())))
    wide = array.array("I", (word << 16 for word in words))
    return words, array.array("f", wide.tobytes())


if HALF:
    W = halves(W)[1]


def identities(number):
    """The filter of a convolution that sums that many groups of FILTERS channels."""
    return array.array("f", (float(row == column % FILTERS) for row in range(FILTERS)
                             for column in range(number * FILTERS)))


def add(joined):
    if not joined:
        return node("Add", "sum", ["c", "y"])
    nodes = node("Conv", "same", ["y", "one"], [("kernel_shape", [1, 1])])
    nodes += node("Concat", "both", ["c", "same"], [("axis", 1)])
    nodes += node("Conv", "sum", ["both", "two"], [("kernel_shape", [1, 1])])
    for name, number in (("one", 1), ("two", 2)):
        nodes += constant(name, (FILTERS, number * FILTERS, 1, 1), identities(number))
    return nodes


def write(folder, kind):
    def open_sizes(shape, images="n"):
        return [images, shape[1], "h", "w"] if "open" in sys.argv else shape

    images = "one" if "stretched" in sys.argv else "n"
    graph = port(11, "x", open_sizes(X_SHAPE, images)) + port(11, "y", open_sizes(Y_SHAPE))
    graph += port(12, "z", open_sizes(Y_SHAPE))
    if kind == "corners":
        for i in range(len(W)):
            W[i] *= i % 9 == 8
    if kind == "infinite":
        W[0] = float("inf")
    if HALF:
        graph += constant("words", W_SHAPE, halves(W)[0], KINDS[HALF])
        graph += node("Cast", "w", ["words"], [("to", 1)])
    else:
        graph += constant("w", W_SHAPE, W)
    graph += constant("b", (FILTERS,), B)
    one = [("kernel_shape", [1, 1])]
    if kind == "residual":
        graph += constant("one", (FILTERS, FILTERS, 1, 1), identities(1))
        graph += node("Conv", "same", ["y", "one"], one)
    graph += node("Conv", "c", ["x", "w", "b"], [("kernel_shape", [3, 3]), ("pads", [1] * 4)])
    if kind == "residual":
        graph += node("Add", "sum", ["same", "c"])
        graph += node("Relu", "r", ["sum"]) + node("Conv", "z", ["r", "one"], one)
    else:
        graph += add(kind == "joined") + node("Relu", "z", ["sum"])
    write_model(folder, graph)
    write_inputs(folder, [("x", X_SHAPE, X), ("y", Y_SHAPE, Y)])


def check(folder, epsilon, most, least=0):
    """Errors are from `least` to `most` roundings of size `epsilon`."""
    got = read_output(folder, "z", Y_SHAPE)
    chosen, worst = random.Random(5), 0.0
    for sample in range(400):
        n, k = chosen.randrange(IMAGES), chosen.randrange(FILTERS)
        # Corners among them.
        h = chosen.choice([0, HEIGHT - 1, chosen.randrange(HEIGHT)])
        w = chosen.choice([0, WIDTH - 1, chosen.randrange(WIDTH)])
        place = ((n * FILTERS + k) * HEIGHT + h) * WIDTH + w
        total, size = B[k] + Y[place], 0.0
        for i in range(max(0, 1 - h), min(3, HEIGHT + 1 - h)):
            for j in range(max(0, 1 - w), min(3, WIDTH + 1 - w)):
                for c in range(CHANNELS):
                    product = (X[((n % X_IMAGES * CHANNELS + c) * HEIGHT + h + i - 1) * WIDTH + w + j - 1]
                               * W[((k * CHANNELS + c) * 3 + i) * 3 + j])
                    total += product
                    size += abs(product)
        worst = max(worst, abs(got[place] - max(total, 0.0)) / (size * epsilon))
    print(f"within {most} roundings of the magnitudes' sum" if worst <= most
          else f"off by {worst:.3g}")
    if least > worst:
        print("no operand is rounded")


if sys.argv[1] == "check":
    check(sys.argv[2], EPSILON, 4)
elif sys.argv[1] == "check-wide":
    check(sys.argv[2], EPSILON, 16)
elif sys.argv[1] == "check-bf16":
    check(sys.argv[2], BRAIN_ROUNDING, 2, 2.0**-6)
else:
    write(sys.argv[2], sys.argv[1])
