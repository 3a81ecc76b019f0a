#===- line_passes.py - Softmax and standardized lines, in double precision ---===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: line_passes.py model LENGTH FOLDER | line_passes.py check LENGTH FOLDER

Row reductions, some with one element a line as results: model.mlir and in.npz in
FOLDER, or how far out.npz is from the same in double precision, as a share of what
roundings allow. A sum has the same bits wherever it is made.
"""
import array
import math
import os
import sys
import zipfile

from floats import npy, values

ROWS, EPSILON, TINY = 7, 2.0**-24, 1e-5


def model(length, folder):
    x, edge = f"tensor<?x{length}xf32>", "tensor<?x1xf32>"
    whole, one = f"tensor<{ROWS}x{length}xf32>", f"tensor<{ROWS}x1xf32>"
    axis = "{axes = array<i64: 1>, keep_dims = true, kind = "
    with open(os.path.join(folder, "model.mlir"), "w") as file:
        file.write(f"""module attributes {{weir.stage = "simplify"}} {{
  func.func @main(%x: {x} {{weir.name = "x"}}, %y: {whole} {{weir.name = "y"}}, %z: {whole} {{weir.name = "z"}}, %u: {whole} {{weir.name = "u"}}) -> ({x} {{weir.name = "weights"}}, {x} {{weir.name = "standard"}}, {whole} {{weir.name = "both"}}, {one} {{weir.name = "mean"}}, {one} {{weir.name = "scale"}}, {one} {{weir.name = "spread"}}, {one} {{weir.name = "alone"}}) {{
    %e = weir.constant dense<{TINY:e}> : tensor<f32>
    %0 = weir.reduce %x {axis}"max"}} : ({x}) -> {edge}
    %1 = weir.sub %x, %0 : ({x}, {edge}) -> {x}
    %2 = weir.exp %1 : ({x}) -> {x}
    %3 = weir.reduce %2 {axis}"sum"}} : ({x}) -> {edge}
    %4 = weir.div %2, %3 : ({x}, {edge}) -> {x}
    %5 = weir.reduce %x {axis}"mean"}} : ({x}) -> {edge}
    %6 = weir.sub %x, %5 : ({x}, {edge}) -> {x}
    %7 = weir.mul %6, %6 : ({x}, {x}) -> {x}
    %8 = weir.reduce %7 {axis}"mean"}} : ({x}) -> {edge}
    %9 = weir.add %8, %e : ({edge}, tensor<f32>) -> {edge}
    %10 = weir.rsqrt %9 : ({edge}) -> {edge}
    %11 = weir.mul %6, %10 : ({x}, {edge}) -> {x}
    %12 = weir.reduce %y {axis}"mean"}} : ({whole}) -> {one}
    %13 = weir.sub %y, %12 : ({whole}, {one}) -> {whole}
    %14 = weir.mul %13, %13 : ({whole}, {whole}) -> {whole}
    %15 = weir.reduce %14 {axis}"mean"}} : ({whole}) -> {one}
    %16 = weir.add %15, %e : ({one}, tensor<f32>) -> {one}
    %17 = weir.rsqrt %16 : ({one}) -> {one}
    %18 = weir.mul %13, %17 : ({whole}, {one}) -> {whole}
    %19 = weir.reduce %z {axis}"mean"}} : ({whole}) -> {one}
    %20 = weir.sub %z, %19 : ({whole}, {one}) -> {whole}
    %21 = weir.mul %20, %20 : ({whole}, {whole}) -> {whole}
    %22 = weir.reduce %21 {axis}"mean"}} : ({whole}) -> {one}
    %23 = weir.add %22, %e : ({one}, tensor<f32>) -> {one}
    %24 = weir.rsqrt %23 : ({one}) -> {one}
    %25 = weir.reduce %u {axis}"mean"}} : ({whole}) -> {one}
    return %4, %11, %18, %12, %17, %24, %25 : {x}, {x}, {whole}, {one}, {one}, {one}, {one}
  }}
}}
""")
    with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w") as archive:
        for name in ("x", "y", "z", "u"):
            archive.writestr(name + ".npy", npy((ROWS, length), values((ROWS, length), length)))


def check(length, folder):
    x = values((ROWS, length), length)
    got = {}
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as archive:
        for name in ("weights", "standard", "both"):
            got[name] = array.array("f", archive.read(name + ".npy")[-4 * ROWS * length:])
        for name in ("mean", "scale", "spread", "alone"):
            got[name] = array.array("f", archive.read(name + ".npy")[-4 * ROWS:])
    assert got["both"] == got["standard"], "open sizes, and results beside, change bits"
    assert got["spread"] == got["scale"] and got["alone"] == got["mean"], "kernels differ in bits"
    # Additions that one term of a sum goes through: four vectors of 4 lanes at least.
    depth = length / 16 + 8
    worst = 0.0
    for row in range(ROWS):
        line = x[row * length:(row + 1) * length]
        most = max(line)
        total = math.fsum(math.exp(v - most) for v in line)
        mean = math.fsum(line) / length
        scale = 1 / math.sqrt(math.fsum((v - mean)**2 for v in line) / length + TINY)
        shift = math.fsum(map(abs, line)) / length * depth
        worst = max(worst, abs(got["mean"][row] - mean) / (EPSILON * shift),
                    abs(got["scale"][row] - scale) / (EPSILON * scale * (depth + shift + 8)))
        for i, v in enumerate(line):
            weight, standard = math.exp(v - most) / total, (v - mean) * scale
            for name, want, bound in (
                    ("weights", weight, weight * (depth + 2 * (most - v) + 8)),
                    ("standard", standard, scale * (shift + abs(v)) + abs(standard) * (depth + shift + 8))):
                worst = max(worst, abs(got[name][row * length + i] - want) / (EPSILON * bound))
    assert worst <= 1, f"lines of {length}: {worst:.2f} of the bound"
    print(f"lines of {length}: {worst:.2f} of the bound")


if __name__ == "__main__":
    (model if sys.argv[1] == "model" else check)(int(sys.argv[2]), sys.argv[3])
