#!/usr/bin/env python3
#===- tune_model.py - every choice of tiles computes the same ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: tune_model.py WEIR-RUN PROCESSOR

In an empty folder: writes model.mlir, a convolution and two products behind it, and
runs it with choices that cut it in unusual ways. The same bits come out wherever the
form of the convolution, and the blocks in which the depth is summed, are the same.
"""
import json
import random
import re
import struct
import subprocess
import sys

KEYS = ("convolution 1x22x22x64 by 3x3x64x64 to 1x20x20x64 strides 1x1 constant",
        "product 400x64 by 64x640 constant",
        "product 400x640 by 640x72 constant")
CHOICES = {
    "direct": [("direct", "", ""),
               ("direct tile=3x3 part=7", "tile=1x1 part=3", "tile=32x1 part=1000 depth=16"),
               ("direct tile=28x1 part=4000", "tile=5x6 ahead=1", "tile=4x8 depth=512 ahead=0"),
               ("direct tile=6x4 ahead=0", "tile=32x1 part=16777216", "tile=9x3 part=1 depth=0")],
    "winograd": [("", "", ""),
                 ("winograd tile=32x1 part=8192", "part=400", "depth=128"),
                 ("winograd tile=1x4 part=640", "tile=7x4", "tile=2x2 part=5 depth=304")],
}


def weights(seed, count):
    numbers = random.Random(seed)
    return struct.pack("<%df" % count, *(numbers.uniform(-0.1, 0.1) for _ in range(count))).hex()


def dot(result, left, right, shapes):
    types = ["tensor<%sxf32>" % shape for shape in shapes]
    return (f"    %{result} = weir.dot_general %{left}, %{right} {{accumulator = f32, "
            "lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, "
            f"rhs_contract = array<i64: 0>}} : ({types[0]}, {types[1]}) -> {types[2]}\n")


def write_model():
    constants = "".join(
        f"    %{name} = weir.constant dense<\"0x{weights(seed, count).upper()}\"> "
        f": tensor<{shape}xf32>\n"
        for name, seed, count, shape in (("w0", 1, 9 * 64 * 64, "3x3x64x64"),
                                         ("w1", 2, 64 * 640, "64x640"),
                                         ("w2", 3, 640 * 72, "640x72")))
    text = ("func.func @main(%x: tensor<1x22x22x64xf32> {weir.name = \"x\"}) -> "
            "(tensor<400x72xf32> {weir.name = \"y\"}) attributes {weir.entry = \"main\"} {\n"
            + constants +
            "    %shape = weir.constant dense<[400, 64]> : tensor<2xi64>\n"
            "    %0 = weir.conv %x, %w0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, "
            "0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, "
            "accumulator = f32} : (tensor<1x22x22x64xf32>, tensor<3x3x64x64xf32>) -> "
            "tensor<1x20x20x64xf32>\n"
            "    %1 = weir.reshape %0, %shape : (tensor<1x20x20x64xf32>, tensor<2xi64>) -> "
            "tensor<400x64xf32>\n"
            + dot("2", "1", "w1", ("400x64", "64x640", "400x640"))
            + dot("3", "2", "w2", ("400x640", "640x72", "400x72")) +
            "    return %3 : tensor<400x72xf32>\n}\n")
    with open("model.mlir", "w") as file:
        file.write(text)


def run(weir_run, processor, choices, number):
    """The bytes of the result."""
    kernels = [{"processor": processor, "kernel": key, "choice": choice}
               for key, choice in zip(KEYS, choices)]
    with open("model.tune", "w") as file:
        json.dump({"weir_tune": 1, "kernels": kernels}, file)
    output = f"out{number}"
    subprocess.run([weir_run, "model.mlir", "--cpu=x86-64-v3", "--tune-file=model.tune",
                    "--input=random:1", "--output=" + output], check=True)
    with open(output + "/y.npy", "rb") as file:
        return file.read()


def values_of(result):
    return struct.unpack("<%df" % (400 * 72), result[-4 * 400 * 72:])


def distance(a, b):
    return max(abs(x - y) for x, y in zip(values_of(a), values_of(b)))


def bound_of(result):
    """Of sums of 576, 64 and 640 products."""
    return (576 + 64 + 640) * 2.0 ** -24 * max(map(abs, values_of(result)))


def main():
    write_model()
    results = {}
    for form, lists in CHOICES.items():
        got = [run(sys.argv[1], sys.argv[2], choices, f"-{form}-{i}")
               for i, choices in enumerate(lists)]
        first = {}
        for choices, result in zip(lists, got):
            depths = tuple(re.findall("depth=[0-9]+", choice) for choice in choices)
            same = first.setdefault(str(depths), result)
            if result != same or distance(result, got[0]) > bound_of(got[0]):
                sys.exit(f"{form}: {choices} computes something else")
        results[form] = got[0]
    if results["direct"] == results["winograd"]:
        sys.exit("the form of the convolution was not changed")
    error, bound = distance(*results.values()), bound_of(results["direct"])
    if error > bound:
        sys.exit(f"the forms are {error} apart, more than {bound}")
    print("all choices agree")


if __name__ == "__main__":
    main()
