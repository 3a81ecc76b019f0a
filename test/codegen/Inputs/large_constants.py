#===- large_constants.py - constants that several threads read ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: large_constants.py FOLDER

model.onnx in FOLDER: products by constants of 1.4 MB, two of which are equal, and sums with
constants of a few bytes and of a few kilobytes.
"""
import sys

from floats import constant, node, port, values, write_model

SIZE, ROWS = 600, 16

if __name__ == "__main__":
    square, graph, last = [SIZE, SIZE], b"", "x"
    for i in range(3):
        graph += node("MatMul", f"m{i}", [last, f"w{i}"]) + node("Add", f"s{i}", [f"m{i}", f"b{i}"])
        last = f"s{i}"
    graph += node("Mul", "y", [last, "c"])
    for i, seed in enumerate([1, 2, 1]):
        graph += constant(f"w{i}", square, values(square, seed))
        graph += constant(f"b{i}", [SIZE], values([SIZE], seed + 10))
    graph += constant("c", [1], values([1], 3))
    write_model(sys.argv[1], graph + port(11, "x", [ROWS, SIZE]) + port(12, "y", [ROWS, SIZE]))
