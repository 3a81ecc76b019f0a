#!/usr/bin/env python3
#===- scores.py - Conformance scores against their floors -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-conformance over the corpora and compares with docs/conformance.md.

Every day a tenth of each suite, chosen by name, must pass as often as it is
written there, and nothing may crash; --full runs everything; --write runs
everything and writes the table anew, from which the floors come. Prints a line
for each suite: `SUITE: passed|failed|skipped, ...`.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "docs", "conformance.md")
SUITES = ["onnx/node", "onnx/node-history", "onnx/simple", "onnx/pytorch-operator",
          "onnx/pytorch-converted", "onnx/light", "tf/frozen", "tf/ops", "tf/saved_model",
          "tf/graph-import", "tf/system", "models"]
# Few and slow, or few and dear: always run whole.
WHOLE = {"onnx/light", "tf/saved_model", "models"}
OUTCOMES = ["passed", "failed", "unsupported", "crashed"]


def in_sample(case):
    """A tenth of all names, the same one everywhere."""
    return zlib.crc32(case.encode()) % 10 == 0


def case_name(path, corpora):
    """As weir-conformance calls it: the path below the corpora, no file suffix."""
    name = os.path.relpath(path, corpora)
    return os.path.splitext(name)[0] if os.path.isfile(path) else name


def cases_below(folder):
    """The paths of the cases, by what lies there."""
    for here, folders, files in os.walk(folder):
        folders.sort()
        if {"model.onnx", "frozen_model.pb", "case.json"} & set(files):
            folders.clear()
            yield here
        else:
            present = set(files)
            for name in sorted(files):
                stem, suffix = os.path.splitext(name)
                if (suffix == ".pb" and stem + ".npz" in present) or (
                        suffix == ".pbtxt" and "expect.tsv" in present):
                    yield os.path.join(here, name)


def run(tool, paths, jobs):
    """Outcome of every case, by its name: the path below the corpora."""
    outcomes = {}
    # Command lines have a limit; a thousand paths stay far below it.
    for start in range(0, len(paths), 1000):
        with tempfile.TemporaryDirectory() as folder:
            tsv = os.path.join(folder, "outcomes.tsv")
            subprocess.run([tool, *paths[start:start + 1000], f"--jobs={jobs}",
                            "--max-seconds-per-case=60", f"--tsv={tsv}"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if not os.path.exists(tsv):
                continue
            with open(tsv, errors="replace") as f:
                for line in f:
                    fields = line.rstrip("\n").split("\t")
                    if len(fields) >= 2 and fields[1] in OUTCOMES + ["doubtful"]:
                        outcomes[fields[0]] = fields[1]
    return outcomes


def read_floors():
    """Suite to (percent of all, passed of the sample), from the table's rows."""
    floors = {}
    if os.path.exists(TABLE):
        with open(TABLE) as f:
            for line in f:
                match = re.match(r"\| `([^`]+)` \|(.*)\|", line)
                if match:
                    cells = [c.strip().replace(",", "") for c in match[2].split("|")]
                    floors[match[1]] = (float(cells[5].rstrip(" %")), int(cells[6].split("/")[0]))
    return floors


def write_table(rows):
    with open(TABLE, "w") as f:
        f.write("""# Conformance

What of the public test corpora passes, through the bytes of the emitted object. `test/conformance/scores.py --write`
makes this page. The last column is the floor that `tools/check` holds: cases passed of the tenth (by name) that it runs.
Unsupported means a numbered diagnostic that names the node; doubtful cases, whose recorded answers cannot be trusted,
are not counted.

| suite | cases | passed | failed | unsupported | crashed | percent | sample |
|---|---|---|---|---|---|---|---|
""")
        for suite, count, sample_passed, sample_cases in rows:
            cases = sum(count[o] for o in OUTCOMES)
            numbers = " | ".join(f"{count[o]:,}" for o in OUTCOMES)
            f.write(f"| `{suite}` | {cases:,} | {numbers} | {100 * count['passed'] / max(cases, 1):.1f} % "
                    f"| {sample_passed}/{sample_cases} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--full", action="store_true", help="all cases, not a tenth")
    parser.add_argument("--write", action="store_true", help="all cases; write the table")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    corpora = os.environ.get("WEIR_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
    corpora = os.path.realpath(corpora)
    tool = os.path.join(arguments.build, "bin", "weir-conformance")
    if not os.path.isdir(corpora):
        print(f"all: skipped, no corpora at {corpora} (WEIR_CORPORA names another place)")
        return 0
    if not os.access(tool, os.X_OK):
        print(f"all: failed, {tool} is not built")
        return 1
    floors = read_floors()
    rows, bad = [], False
    for suite in SUITES:
        folder = os.path.join(corpora, suite)
        if not os.path.isdir(folder):
            print(f"{suite}: skipped, not in these corpora")
            continue
        everything = arguments.full or arguments.write
        if everything or suite in WHOLE:
            paths = [folder]
        else:
            paths = [p for p in cases_below(folder)
                     if in_sample(case_name(p, corpora))]
        outcomes = run(tool, paths, arguments.jobs)
        sample = {c: o for c, o in outcomes.items() if suite in WHOLE or in_sample(c)}
        count = collections.Counter(outcomes.values())
        sample_count = collections.Counter(sample.values())
        cases = sum(count[o] for o in OUTCOMES)
        sample_cases = sum(sample_count[o] for o in OUTCOMES)
        rows.append((suite, count, sample_count["passed"], sample_cases))
        percent, floor = floors.get(suite, (0, 0))
        numbers = ", ".join(f"{count[o]} {o}" for o in OUTCOMES)
        good = cases > 0 and count["crashed"] == 0 and (
            arguments.write or sample_count["passed"] >= floor)
        if arguments.full and 100 * count["passed"] / max(cases, 1) < percent - 0.05:
            good = False
        bad |= not good
        print(f"{suite}: {'passed' if good else 'failed'}, {numbers}; "
              f"sample {sample_count['passed']}/{sample_cases}, floor {floor}", flush=True)
    if arguments.write:
        write_table(rows)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
