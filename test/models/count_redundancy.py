#!/usr/bin/env python3
#===- count_redundancy.py - What value numbering removes ---------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Counts operations left by merging equal texts and by value numbering.

  count_redundancy.py BIN_DIR MODEL...

Each model is imported and simplified up to known types; then MLIR's cse and
weir-value-numbering each start from the same module. Constants do not count.
Prints a Markdown table of the models with redundancy, most gained first.
"""
import os
import re
import subprocess
import sys
import tempfile

OPERATION = re.compile(r"(?:= |^\s*)\"?weir\.(\w+)\"?")
BEFORE = "--canonicalize", "--weir-infer-shapes", "--canonicalize"
WAYS = (("--cse", "--weir-infer-shapes", "--weir-decompose", "--canonicalize", "--cse"),
        ("--weir-value-numbering", "--weir-infer-shapes", "--weir-decompose",
         "--canonicalize", "--weir-value-numbering", "--canonicalize"))


def count(text):
    found = 0
    for line in text.splitlines():
        match = OPERATION.search(line)
        found += bool(match) and match.group(1) not in ("constant", "yield")
    return found


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def counts(bin_dir, model, folder):
    imported = os.path.join(folder, "imported.mlir")
    run(os.path.join(bin_dir, "weirc"), model, "--stop-after=import", "-o", imported)
    opt = os.path.join(bin_dir, "weir-opt")
    before = os.path.join(folder, "before.mlir")
    with open(before, "w") as f:
        f.write(run(opt, imported, *BEFORE, "--mlir-print-debuginfo"))
    expanded = run(opt, before, "--weir-decompose", "--canonicalize")
    return [count(expanded)] + [count(run(opt, before, *way)) for way in WAYS]


def main():
    bin_dir, models = sys.argv[1], sys.argv[2:]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            try:
                rows.append((model, *counts(bin_dir, model, folder)))
            except subprocess.CalledProcessError as error:
                print(model, "left out:", error.stderr.strip()[:120], file=sys.stderr)
    rows.sort(key=lambda row: row[3] - row[2])
    print("| model | operations | equal texts merged | value numbering |")
    print("|---|---|---|---|")
    same = sum(row[1] == row[3] for row in rows)
    for model, before, simple, numbered in rows:
        if before == numbered:
            continue
        name = os.path.basename(model)
        if name in ("frozen_model.pb", "model.onnx"):
            name = os.path.basename(os.path.dirname(model))
        print(f"| {name} | {before} | {simple} | {numbered} |")
    print(f"\n{len(rows)} models, {same} of them without anything to remove")


if __name__ == "__main__":
    main()
