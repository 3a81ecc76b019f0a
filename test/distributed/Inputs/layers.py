#!/usr/bin/env python3
#===- layers.py - A model of two products ------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes two products, fc1 and fc2, with a bias and a ReLU between, as in the feed-forward part of a
transformer.

usage: layers.py OUT.mlir
"""
import random
import struct
import sys

ROWS, WIDTH, INNER = 16, 64, 256


def numbers(draw, *shape):
    count = 1
    for size in shape:
        count *= size
    data = struct.pack(f"<{count}f", *(draw.uniform(-0.2, 0.2) for _ in range(count)))
    kind = "x".join(map(str, shape)) + "xf32"
    return f'dense<"0x{data.hex().upper()}"> : tensor<{kind}>'


def product(name, left, right, types, result):
    dims = "lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>"
    return (f"  %{name} = weir.dot_general %{left}, %{right} {{{dims}, accumulator = f32}} : ({types}) -> {result} "
            f'loc("{name}")\n')


def main():
    draw = random.Random(1)
    x, inner = f"tensor<{ROWS}x{WIDTH}xf32>", f"tensor<{ROWS}x{INNER}xf32>"
    text = (f'func.func @main(%x: {x} {{weir.name = "x"}}) -> ({x} {{weir.name = "y"}}) attributes '
            '{weir.entry = "main"} {\n')
    text += f"  %w = weir.constant {numbers(draw, WIDTH, INNER)}\n"
    text += f"  %b = weir.constant {numbers(draw, INNER)}\n"
    text += f"  %v = weir.constant {numbers(draw, INNER, WIDTH)}\n"
    text += "  %zero = weir.constant dense<0.0> : tensor<f32>\n"
    text += product("fc1", "x", "w", f"{x}, tensor<{WIDTH}x{INNER}xf32>", inner)
    text += f'  %plus = weir.add %fc1, %b : ({inner}, tensor<{INNER}xf32>) -> {inner} loc("plus")\n'
    text += f'  %relu = weir.maximum %plus, %zero : ({inner}, tensor<f32>) -> {inner} loc("relu")\n'
    text += product("fc2", "relu", "v", f"{inner}, tensor<{INNER}x{WIDTH}xf32>", x)
    text += f"  return %fc2 : {x}\n}}\n"
    with open(sys.argv[1], "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
