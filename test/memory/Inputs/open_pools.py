#!/usr/bin/env python3
#===- open_pools.py - memory of open sizes ------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: open_pools.py FOLDER WEIR_RUN

A network with branches of several widths over open images, for several sizes: it takes the memory
of the same network with these sizes fixed, but for what allocations are rounded to, and gives the
same bits, also with guards around its buffers.
"""
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir, "codegen", "Inputs"))
from floats import npy, values  # noqa: E402

ROUNDING = 4096
WIDTHS = {"a": (24, 96), "b": (96, 40), "c": (96, 72), "d": (72, 40), "e": (40, 24)}


def product(name, left, weight, result):
    return (f"    %{name} = weir.dot_general %{left[0]}, %{weight} {{{{accumulator = f32, lhs_batch = array<i64>, "
            f"rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}}}} : "
            f"({left[1]}, {{{weight}}}) -> {result}\n")


def text(rows, columns):
    def image(width):
        return f"tensor<{rows}x{columns}x{width}xf32>"

    body = (product("0", ("x", image(24)), "a", image(96)) + product("1", ("0", image(96)), "b", image(40)) +
            product("2", ("0", image(96)), "c", image(72)) + product("3", ("2", image(72)), "d", image(40)) +
            f"    %4 = weir.mul %1, %3 : ({image(40)}, {image(40)}) -> {image(40)}\n" +
            product("5", ("4", image(40)), "e", image(24)))
    weights = {key: f"tensor<{sizes[0]}x{sizes[1]}xf32>" for key, sizes in WIDTHS.items()}
    heads = "".join(f', %{key}: {kind} {{weir.name = "{key}"}}' for key, kind in weights.items())
    return f"""module attributes {{weir.stage = "import"}} {{
  func.func @main(%x: {image(24)} {{weir.name = "x"}}{heads}) -> ({image(24)} {{weir.name = "r"}}) attributes {{weir.entry = "main"}} {{
{body.format(**weights)}    return %5 : {image(24)}
  }}
}}
"""


def write_inputs(path, rows, columns):
    shapes = {"x": (rows, columns, 24), **WIDTHS}
    with zipfile.ZipFile(path, "w") as file:
        for number, (key, shape) in enumerate(shapes.items()):
            file.writestr(key + ".npy", npy(shape, values(shape, number)))


def run(weir_run, path, feeds, out, *more):
    done = subprocess.run([weir_run, path, f"--input={feeds}", "--threads=2", "--memory", f"--output={out}", *more],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    with open(out, "rb") as file:
        return int(re.search(r"peak_bytes=(\d+)", done.stdout)[1]), file.read()


def main():
    folder, weir_run = sys.argv[1:]
    paths = {name: os.path.join(folder, name) for name in ("open.mlir", "fixed.mlir", "in.npz", "r.npz")}
    with open(paths["open.mlir"], "w") as file:
        file.write(text("?", "?"))
    for rows, columns in (1, 1), (7, 40), (130, 120), (1, 9000):
        with open(paths["fixed.mlir"], "w") as file:
            file.write(text(rows, columns))
        write_inputs(paths["in.npz"], rows, columns)
        fixed, made = (run(weir_run, paths[name], paths["in.npz"], paths["r.npz"])
                       for name in ("fixed.mlir", "open.mlir"))
        watched = run(weir_run, paths["open.mlir"], paths["in.npz"], paths["r.npz"], "--sanitize=memory-plan")
        if not fixed[1] == made[1] == watched[1]:
            sys.exit(f"{rows} by {columns}: results differ")
        if made[0] > fixed[0] + ROUNDING:
            sys.exit(f"{rows} by {columns}: {made[0]} bytes for {fixed[0]}")
        print(f"{rows} by {columns} is the same")


main()
