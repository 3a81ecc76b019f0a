#!/usr/bin/env python3
#===- open_sizes.py - What sizes that are open cost ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Times models whose sizes are open in turn with the same models of fixed sizes.

usage: open_sizes.py WEIRC WEIR_RUN MODEL.onnx... [--threads=1,2] [--rounds=7] [--repeat=10]
         [--only=batch,image,length] [--tsv=F]

Of each model there are: `batch`, the first dimension of every input open; `image`, the last two of
inputs of four; `length`, the second of inputs of integers, or of any that --length=NAME names.
All run at the sizes that the model has. A line a model, way and number of threads: medians over
rounds of the medians of --repeat runs, the least of all runs, their ratios, and the memory that both
take. Wants the package `onnx`.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import onnx


def opened(model, way):
    """The model with dimensions that have names; None: it has none of these."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    constants = {value.name for value in copy.graph.initializer}
    changed = False
    for value in copy.graph.input:
        kind = value.type.tensor_type
        dims = kind.shape.dim
        if value.name in constants:
            continue
        is_word = kind.elem_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
        at = {"batch": [0] if dims else [], "image": [2, 3] if len(dims) == 4 else [],
              "length": [1] if len(dims) >= 2 and is_word else []}[way]
        for i in at:
            dims[i].Clear()
            dims[i].dim_param = {"batch": "N", "length": "L"}.get(way, f"S{i}")
            changed = True
    for value in copy.graph.output:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.Clear()
            dim.dim_param = f"{value.name}_{i}"
    del copy.graph.value_info[:]
    return copy if changed else None


def inputs(model, path):
    """The same values for all: a file of the fixed model's inputs."""
    import numpy as np
    random, values = np.random.default_rng(1), {}
    constants = {value.name for value in model.graph.initializer}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type
        dims = [d.dim_value for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        values[value.name] = (random.standard_normal(dims).astype(dtype) if dtype.kind == "f"
                              else random.integers(0, 2, dims).astype(dtype))
    np.savez(path, **values)


def run(options, program, feeds, threads):
    done = subprocess.run([options.weir_run, program, f"--input={feeds}", f"--threads={threads}",
                           f"--repeat={options.repeat}", "--warm-up=2", "--memory"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program}: {done.stderr}")
    number = lambda name: float(re.search(rf"{name}=([\d.]+)", done.stdout)[1])
    return number("median_ms"), number("min_ms"), number("peak_bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weirc")
    parser.add_argument("weir_run")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--only", default="batch,image,length")
    parser.add_argument("--tsv", default="")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in options.models:
            name = os.path.splitext(os.path.basename(path))[0]
            model = onnx.load(path)
            feeds = os.path.join(folder, "in.npz")
            inputs(model, feeds)
            programs, seconds = {}, {}
            for way in ["fixed"] + options.only.split(","):
                made = model if way == "fixed" else opened(model, way)
                if made is None:
                    continue
                source = os.path.join(folder, f"{name}-{way}.onnx")
                onnx.save(made, source)
                begin = time.time()
                done = subprocess.run([options.weirc, source, "--cache=off", "-o", source + ".so"],
                                      capture_output=True, text=True)
                seconds[way] = time.time() - begin
                os.remove(source)
                if done.returncode:
                    print(f"{name} {way}: {done.stderr.strip().splitlines()[0]}", flush=True)
                    continue
                programs[way] = source + ".so"
            for threads in map(int, options.threads.split(",")):
                found = {way: [] for way in programs}
                for _ in range(options.rounds):
                    for way, program in programs.items():
                        found[way].append(run(options, program, feeds, threads))
                middle = {way: [statistics.median(column) if i != 1 else min(column)
                                for i, column in enumerate(zip(*figures))]
                          for way, figures in found.items()}
                fixed = middle["fixed"]
                if not fixed[1]:
                    sys.exit(f"{name}: a run takes less than a microsecond, which weir-run does not print")
                for way, (median, least, peak) in middle.items():
                    if way == "fixed":
                        continue
                    rows.append([name, way, str(threads), f"{fixed[0]:.3f}", f"{median:.3f}",
                                 f"{median / fixed[0]:.3f}", f"{least / fixed[1]:.3f}",
                                 f"{fixed[2] / 1024:.0f}", f"{peak / 1024:.0f}",
                                 f"{seconds['fixed']:.2f}", f"{seconds[way]:.2f}"])
                    print("\t".join(rows[-1]), flush=True)
            for program in programs.values():
                os.remove(program)
    if options.tsv:
        with open(options.tsv, "w") as table:
            table.write("\t".join(["model", "open", "threads", "fixed_ms", "open_ms", "ratio", "ratio_of_least",
                                   "fixed_KiB", "open_KiB", "fixed_compile_s", "open_compile_s"]) + "\n")
            for row in rows:
                table.write("\t".join(row) + "\n")


if __name__ == "__main__":
    main()
