#!/usr/bin/env python3
# ===- large_graphs.py - Graphs of many operations ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Graphs of any number of operations, and what compiling them takes.

usage: large_graphs.py make KIND COUNT OUT.onnx
       large_graphs.py measure [--weirc=PATH] [--kind=KIND...] [--count=N...] [--passes=N]
                               [--stop-after=STAGE] [--limit=SECONDS] [--tsv=FILE]

`measure` compiles each graph to an object, with one job and no code from before, and
prints a row of a table: seconds of a processor, by stage and in all, and the most memory
that was resident. --tsv adds rows to a file: how many times the seconds grow where operations
grow tenfold is the slope, its logarithm. With --passes
the N passes that took longest follow. --stop-after=STAGE leaves out the stages behind. With --limit a compilation of 5,000 operations or
fewer that takes longer makes the exit status 1, and so does one of more
operations that takes more than three times as long for each operation as 5,000 do.
"""
import argparse
import datetime
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

from graph_builder import Builder

UNARY = ["Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Softplus"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


def chain(b, rng, count):
    """Elementwise operations one behind the other, of one shape."""
    x = b.input("x", "f32", [8, 64])
    for _ in range(count):
        kind = rng.choice(UNARY + BINARY)
        x = b.op(kind, x) if kind in UNARY else b.op(kind, x, b.floats(rng.random()))
    return x


def wide(b, rng, count):
    """Many short chains of the same input, added up."""
    x, length = b.input("x", "f32", [8, 64]), 30
    ends = []
    while count > 0:
        y = x
        for _ in range(min(length, count)):
            kind = rng.choice(UNARY + BINARY)
            y = b.op(kind, y) if kind in UNARY else b.op(kind, y, b.floats(rng.random()))
        ends.append(y)
        count -= length + 1
    while len(ends) > 1:
        ends = [b.op("Add", *ends[i:i + 2]) if i + 1 < len(ends) else ends[i]
                for i in range(0, len(ends), 2)]
    return ends[0]


def dag(b, rng, count):
    """Each operation reads some of the last values: little fuses."""
    values = [b.input("x", "f32", [8, 64])]
    for _ in range(count - 1):
        recent = values[-50:]
        if rng.random() < 0.3:
            values.append(b.op(rng.choice(UNARY), rng.choice(recent)))
        else:
            values.append(b.op(rng.choice(BINARY), rng.choice(recent), rng.choice(recent)))
    return b.op("Add", values[-1], values[-2])


def layers(b, rng, count):
    """Products, normalisations and what stands between them, as transformers have."""
    x = b.input("x", "f32", [8, 64])
    weights = [b.weight(64, 64) for _ in range(4)]
    bias, scale = b.weight(64), b.weight(64)
    while len(b.nodes) < count:
        y = b.op("Add", b.op("MatMul", x, rng.choice(weights)), bias)
        y = b.op(rng.choice(UNARY), y)
        y = b.op("Add", b.op("MatMul", y, rng.choice(weights)), x)
        x = b.op("LayerNormalization", y, scale, bias, axis=-1, epsilon=1e-5)
    return x


def unrolled(b, rng, count):
    """The steps of an LSTM, one behind the other, with shared weights."""
    h, c = b.input("h", "f32", [4, 32]), b.input("c", "f32", [4, 32])
    x = b.input("x", "f32", [4, 32])
    w, r, bias = b.weight(32, 128), b.weight(32, 128), b.weight(128)
    while len(b.nodes) < count:
        gates = b.op("Add", b.op("Add", b.op("MatMul", x, w), b.op("MatMul", h, r)), bias)
        i, o, f, g = b.op("Split", gates, outputs=4, axis=1)
        c = b.op("Add", b.op("Mul", b.op("Sigmoid", f), c),
                 b.op("Mul", b.op("Sigmoid", i), b.op("Tanh", g)))
        h = b.op("Mul", b.op("Sigmoid", o), b.op("Tanh", c))
    return h


def shapes(b, rng, count):
    """Tensors of many shapes: hardly a kernel serves two nodes."""
    x = b.input("x", "f32", [1, 4096])
    values = []
    while len(b.nodes) < count - 1:
        size = rng.randint(8, 4000)
        y = b.op("Slice", x, b.ints(rng.randint(0, 4096 - size)), b.ints(4096), b.ints(1))
        for _ in range(6):
            y = b.op(rng.choice(UNARY), b.op(rng.choice(BINARY), y, b.floats(rng.random())))
        values.append(b.op("ReduceSum", y, keepdims=1))
    return b.op("Sum", *values)


KINDS = {"chain": chain, "wide": wide, "dag": dag, "layers": layers, "unrolled": unrolled,
         "shapes": shapes}


def make(kind, count, path):
    b = Builder(1)
    b.output(b.op("Identity", KINDS[kind](b, random.Random(1), count), out="y"))
    b.model(path)


def compile_graph(weirc, model, seconds, stop_after=None):
    """The seconds of each pass and of the process, and MiB, or None: seconds of a processor, so
    that what else runs on the machine counts little."""
    with tempfile.TemporaryDirectory() as folder:
        out = ["-o", os.path.join(folder, "m.o")]
        if stop_after:
            out = ["-o", os.path.join(folder, "m.mlir"), "--stop-after=" + stop_after]
        with open(os.path.join(folder, "said"), "w+", encoding="utf-8") as said:
            # What is over the limit ends by a signal.
            child = subprocess.Popen(
                [weirc, model, *out, "-j", "1", "--time-passes"], stdout=said, stderr=said,
                env=dict(os.environ, XDG_CACHE_HOME=folder),
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
            _, status, use = os.wait4(child.pid, 0)
            said.seek(0)
            text = said.read()
    if os.WIFSIGNALED(status):
        return None
    if status:
        sys.exit(text)
    rows = re.findall(r"^ *([\d.]+) +[\d.]+  (\S+)$", text, re.M)
    used = use.ru_utime + use.ru_stime
    total = sum(float(ms) for ms, _ in rows)
    return [(float(ms) * used / total, name) for ms, name in rows], used, use.ru_maxrss / 1024


def write_row(path, kind, count, used, memory, slope):
    is_new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8") as out:
        if is_new:
            out.write("date\tprocessor\tgraph\toperations\tseconds\tMiB\tslope\n")
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            found = re.search(r"^model name\s*: (.*)$", info.read(), re.M)
        out.write("\t".join([datetime.date.today().isoformat(), found[1] if found else "?", kind,
                             str(count), f"{used:.2f}", f"{memory:.0f}",
                             "" if slope is None else f"{slope:.2f}"]) + "\n")


def measure(arguments):
    stages = ["import", "simplify", "place+cut", "layout", "kernelize", "schedule", "plan",
              "codegen", "emit"]
    short = {"place": "place+cut", "partition": "place+cut", "plan-memory": "plan"}
    print("| graph | operations | " + " | ".join(stages) + " | all, s | MiB |")
    print("|---" * (len(stages) + 4) + "|")
    status = 0
    for kind in arguments.kind or KINDS:
        reference = last = None
        for count in arguments.count or [1000, 5000, 20000, 100000]:
            with tempfile.TemporaryDirectory() as folder:
                model = os.path.join(folder, "m.onnx")
                make(kind, count, model)
                result = compile_graph(arguments.weirc, model, arguments.seconds,
                                       arguments.stop_after)
            if not result:
                print(f"| {kind} | {count:,} | more than {arguments.seconds} s |", flush=True)
                status = 1
                break
            rows, used, memory = result
            sums = dict.fromkeys(stages, 0.0)
            for seconds, name in rows:
                stage = name.split("/")[0]
                sums[short.get(stage, stage)] += seconds
            print(f"| {kind} | {count:,} | " + " | ".join(f"{sums[s]:.2f}" for s in stages)
                  + f" | {used:.1f} | {memory:.0f} |", flush=True)
            slope = math.log(used / last[1]) / math.log(count / last[0]) if last else None
            last = count, used
            if arguments.tsv:
                write_row(arguments.tsv, kind, count, used, memory, slope)
            for seconds, name in rows[:arguments.passes]:
                print(f"    {seconds:8.2f} {name}", flush=True)
            if arguments.limit:
                reference = max(used / count, 1e-4) if count <= 5000 else reference
                if count <= 5000 and used > arguments.limit:
                    status = 1
                elif reference and used / count > 3 * reference:
                    status = 1
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("kind", choices=KINDS)
    maker.add_argument("count", type=int)
    maker.add_argument("out")
    measurer = commands.add_parser("measure")
    measurer.add_argument("--weirc", default="build/release/bin/weirc")
    measurer.add_argument("--kind", action="append", choices=KINDS)
    measurer.add_argument("--count", action="append", type=int)
    measurer.add_argument("--passes", type=int, default=0)
    measurer.add_argument("--stop-after")
    measurer.add_argument("--limit", type=float)
    measurer.add_argument("--tsv")
    measurer.add_argument("--seconds", type=int, default=600, help="when to give up")
    arguments = parser.parse_args()
    if arguments.command == "make":
        return make(arguments.kind, arguments.count, arguments.out)
    return measure(arguments)


if __name__ == "__main__":
    sys.exit(main())
