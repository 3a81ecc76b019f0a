#!/usr/bin/env python3
#===- measure_limits.py - What --memory-limit costs, and that it holds -------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs models without a limit, and within 90, 75 and 60 % of what that took.

  measure_limits.py WEIR_RUN MODEL...

Memory is the allocator's high-water mark; results must be the same bits. Prints a
Markdown table and exits 1 where a limit is not kept or a result differs. Then a
limit that nothing can keep must end in error W0610.
"""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

FLAGS = ["--input=random:1", "--threads=1", "--memory", "--cpu=x86-64-v3"]


def run(tool, model, out, limit=None, repeat=15):
    command = [tool, model, *FLAGS, f"--output={out}", f"--repeat={repeat}"]
    if limit is not None:
        command.append(f"--memory-limit={limit}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    peak = int(re.search(r"peak_bytes=(\d+)", done.stdout)[1])
    return (peak, float(re.search(r"min_ms=([\d.]+)", done.stdout)[1])), done.stderr


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def main():
    tool, models = sys.argv[1], sys.argv[2:]
    wrong = 0
    print("| model | KiB | ms | " + " | ".join(f"at {p} %: KiB | ms" for p in (90, 75, 60)) + " |")
    print("|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            name = os.path.splitext(os.path.basename(model))[0]
            first, second = os.path.join(folder, "a.npz"), os.path.join(folder, "b.npz")
            base, error = run(tool, model, first)
            if not base:
                sys.exit(error)
            cells = [name, f"{base[0] / 1024:,.0f}", f"{base[1]:.1f}"]
            for percent in (90, 75, 60):
                limit = base[0] * percent // 100
                got, error = run(tool, model, second, limit)
                if not got:
                    wrong += 1
                    cells += ["refused", ""]
                    print(error, file=sys.stderr)
                    continue
                # Taken again in turn: other work on the machine meets both.
                again, _ = run(tool, model, first)
                base = (base[0], min(base[1], again[1]))
                wrong += got[0] > limit or contents(first) != contents(second)
                cells += [f"{got[0] / 1024:,.0f}", f"{got[1]:.1f}"]
            cells[2] = f"{base[1]:.1f}"
            print("| " + " | ".join(cells) + " |", flush=True)
            got, error = run(tool, model, second, 1024)
            wrong += got is not None or "error W0610" not in error
    print(f"\n{wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
