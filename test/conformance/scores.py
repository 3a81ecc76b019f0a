#!/usr/bin/env python3
#===- scores.py - Conformance scores, which may only rise -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-conformance over the corpora against docs/conformance.md.

Every day a tenth of the cases, always the same, and all that failed before; --full
runs everything; --write runs everything and writes the table anew. A case that
passed when the table was written must pass, one that was refused may not fail or
crash. Prints a line for each suite: `SUITE: passed|failed|skipped, ...`.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))
import corpora  # noqa: E402
TABLE = os.path.join(ROOT, "docs", "conformance.md")
OUTCOMES = ["passed", "failed", "unsupported", "crashed", "doubtful"]


def suite_of(case):
    """As weir-conformance groups them: onnx/node, tf/system/queues, models."""
    parts = case.split("/")
    depth = {"onnx": 2, "tf": 3 if parts[1:2] == ["system"] else 2}.get(parts[0], 1)
    return "/".join(parts[:depth])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--full", action="store_true", help="all cases, not a tenth")
    parser.add_argument("--write", action="store_true", help="all cases; write the table")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    folder = corpora.folder()
    tool = os.path.join(arguments.build, "bin", "weir-conformance")
    if not os.path.isdir(folder):
        print(f"all: skipped, no corpora at {folder} (WEIR_CORPORA names another place)")
        return 0
    if not os.access(tool, os.X_OK):
        print(f"all: failed, {tool} is not built")
        return 1
    if not arguments.write and not os.path.exists(TABLE):
        print("all: failed, there is no docs/conformance.md; --write makes it")
        return 1

    with tempfile.NamedTemporaryFile(mode="r", suffix=".tsv") as tsv:
        command = [tool, folder, f"--jobs={arguments.jobs}", f"--tsv={tsv.name}"]
        if arguments.write:
            command.append(f"--scores={TABLE}")
        else:
            command.append(f"--against={TABLE}")
            if not arguments.full:
                command.append("--sample=10")
        result = subprocess.run(command, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        counts = collections.defaultdict(collections.Counter)
        with open(tsv.name) as lines:
            for line in lines:
                case, outcome = line.rstrip("\n").split("\t")[:2]
                counts[suite_of(case)][outcome] += 1
    # `weir-conformance: error W0805: CASE: passed, now failed: …`
    worse = collections.defaultdict(list)
    for line in result.stderr.splitlines():
        if ": error W0805: " in line:
            case = line.split(": error W0805: ")[1].split(": ")[0]
            worse[suite_of(case)].append(line)
    for suite, count in sorted(counts.items()):
        good = not worse[suite]
        numbers = ", ".join(f"{count[o]} {o}" for o in OUTCOMES)
        print(f"{suite}: {'passed' if good else 'failed'}, {numbers}", flush=True)
        for line in worse[suite]:
            print(line, file=sys.stderr)
    if not counts:
        print("all: failed, weir-conformance ran nothing: " + result.stderr.strip())
        return 1
    return 1 if any(worse.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
