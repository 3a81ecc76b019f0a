#!/usr/bin/env python3
#===- chain.py - Dense layers, one behind the other ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes dense layers of one width, each with a bias and a ReLU, and rows for them.

usage: chain.py MODEL.mlir ROWS.npy [LAYERS=6] [WIDTH=64] [ROWS=4096]
"""
import random
import struct
import sys


def numbers(draw, *shape):
    count = 1
    for size in shape:
        count *= size
    scale = shape[0] ** -0.5
    data = struct.pack(f"<{count}f", *(draw.gauss(0, scale) for _ in range(count)))
    kind = "x".join(map(str, shape)) + "xf32"
    return f'dense<"0x{data.hex().upper()}"> : tensor<{kind}>'


def weight(draw, name, *shape):
    kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
    return (f"  %c_{name} = weir.constant {numbers(draw, *shape)}\n"
            f'  %{name} = weir.gate %c_{name} {{weir.weight = "{name}"}} : {kind} loc("{name}")\n')


def model(layers, width):
    draw = random.Random(1)
    x = f"tensor<?x{width}xf32>"
    dims = ("lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, "
            "rhs_contract = array<i64: 0>, accumulator = f32")
    text = (f'func.func @main(%y0: {x} {{weir.name = "x"}}) -> ({x} {{weir.name = "y"}}) attributes '
            '{weir.entry = "main"} {\n  %zero = weir.constant dense<0.0> : tensor<f32>\n')
    for i in range(layers):
        text += weight(draw, f"w{i}", width, width) + weight(draw, f"b{i}", width)
        text += (f"  %p{i} = weir.dot_general %y{i}, %w{i} {{{dims}}} : "
                 f'({x}, tensor<{width}x{width}xf32>) -> {x} loc("dense{i}")\n'
                 f'  %s{i} = weir.add %p{i}, %b{i} : ({x}, tensor<{width}xf32>) -> {x} loc("bias{i}")\n'
                 f'  %y{i + 1} = weir.maximum %s{i}, %zero : ({x}, tensor<f32>) -> {x} loc("relu{i}")\n')
    return text + f"  return %y{layers} : {x}\n}}\n"


def rows(name, count, width):
    draw = random.Random(2)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, {width}), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{count * width}f",
                               *(draw.random() - 0.5 for _ in range(count * width))))


def main():
    layers, width, count = (int(text) for text in (sys.argv[3:] + ["6", "64", "4096"][len(sys.argv) - 3:]))
    with open(sys.argv[1], "w") as file:
        file.write(model(layers, width))
    rows(sys.argv[2], count, width)


if __name__ == "__main__":
    main()
