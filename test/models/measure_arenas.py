#!/usr/bin/env python3
#===- measure_arenas.py - Arenas against bounds and against the given order --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compiles models in the order of their file and in one chosen for memory.

  measure_arenas.py WEIRC MODEL...

Prints a Markdown table: the arena in each order, the lower bound of the chosen
one, what reuse saved, and seconds of the compilation without code generation.

A MODEL is an .onnx file, a frozen graph (.pb) or the folder of a SavedModel. Of the
latter two the sizes of what is fed, and of a frozen graph what is fed and fetched,
are those of the arrays in inputs.npz and outputs.npz of the folder NAME.io beside it,
whose names are INDEX|TENSOR. Exits with 1 where a plan is above its lower bound or a
model does not compile.
"""
import ast
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zipfile


def arrays(path):
    """Name and shape of each array in an archive of NumPy's."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as entry:
                head = entry.read(10)
                text = entry.read(struct.unpack("<H", head[8:10])[0]).decode()
            yield re.sub(r"^\d+\|(.*)\.npy$", r"\1", name), ast.literal_eval(text)["shape"]


def flags(model):
    """What says which tensors are fed and fetched, and how large they are."""
    if model.endswith(".onnx"):
        return []
    is_frozen = model.endswith(".pb")
    io = (model[:-3] if is_frozen else model.rstrip("/")) + ".io"
    made = []
    for name, shape in arrays(os.path.join(io, "inputs.npz")):
        sizes = "x".join(map(str, shape)) or "scalar"
        if is_frozen:
            port = name if ":" in name else name + ":0"
            made.append(f"--feed={port}:{sizes}")
        else:
            made.append(f"--shape={name}={sizes}")
    if is_frozen:
        for name, _ in arrays(os.path.join(io, "outputs.npz")):
            made.append("--fetch=" + (name if ":" in name else name + ":0"))
    return made


def measure(weirc, model, schedule, folder):
    weirc = [weirc, model, *flags(model)]
    report = os.path.join(folder, schedule)
    subprocess.run(
        [*weirc, "-o", os.path.join(folder, "m.o"), "-O1", "--cpu=x86-64-v3",
         f"--schedule={schedule}", f"--report={report}"],
        check=True, capture_output=True, text=True)
    with open(os.path.join(report, "report.json")) as f:
        report = json.load(f)
    arena = sum(d["arena_bytes"] for d in report["devices"])
    bound = sum(d["lower_bound"] for d in report["devices"])
    started = time.monotonic()
    subprocess.run(
        [*weirc, "-o", os.path.join(folder, "m.mlir"), "--stop-after=plan-memory",
         f"--schedule={schedule}"], check=True, capture_output=True, text=True)
    return arena, bound, report["memory"], time.monotonic() - started


def size(value):
    return f"{value / 1024:,.0f}"


def main():
    weirc, models = sys.argv[1], sys.argv[2:]
    print("| model | as given, KiB | ordered, KiB | of it | bound, KiB | arena / bound "
          "| reused buffers | s |")
    print("|---|---|---|---|---|---|---|---|")
    at_bound = 0
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        if name in ("model", "frozen", "saved_model"):
            name = os.path.basename(os.path.dirname(model))
        with tempfile.TemporaryDirectory() as folder:
            try:
                given = measure(weirc, model, "latency", folder)
                chosen = measure(weirc, model, "memory", folder)
            except subprocess.CalledProcessError as error:
                print(name, "left out:", error.stderr.strip()[:120], file=sys.stderr)
                continue
        arena, bound, memory, seconds = chosen
        at_bound += arena == bound
        print(f"| {name} | {size(given[0])} | {size(arena)} "
              f"| {arena / given[0] if given[0] else 1:.2f} | {size(bound)} "
              f"| {arena / bound if bound else 1:.3f} | {memory['reused_buffers']} | {seconds:.1f} |",
              flush=True)
    print(f"\n{at_bound} of {len(models)} at the lower bound")
    return at_bound < len(models)


if __name__ == "__main__":
    sys.exit(main())
