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
"""
import json
import os
import subprocess
import sys
import tempfile
import time


def measure(weirc, model, schedule, folder):
    report = os.path.join(folder, schedule)
    subprocess.run(
        [weirc, model, "-o", os.path.join(folder, "m.o"), "-O1", "--cpu=x86-64-v3",
         f"--schedule={schedule}", f"--report={report}"],
        check=True, capture_output=True, text=True)
    with open(os.path.join(report, "report.json")) as f:
        report = json.load(f)
    arena = sum(d["arena_bytes"] for d in report["devices"])
    bound = sum(d["lower_bound"] for d in report["devices"])
    started = time.monotonic()
    subprocess.run(
        [weirc, model, "-o", os.path.join(folder, "m.mlir"), "--stop-after=plan-memory",
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
        if name == "model":
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
              f"| {arena / max(given[0], 1):.2f} | {size(bound)} "
              f"| {arena / max(bound, 1):.3f} | {memory['reused_buffers']} | {seconds:.1f} |",
              flush=True)
    print(f"\n{at_bound} of {len(models)} at the lower bound")


if __name__ == "__main__":
    main()
