#!/usr/bin/env python3
#===- placements_test.py - The same bits, wherever nodes are placed ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Places models at random over 2, 3 and 4 CPU devices, which may change no bit.

All of models/ and 200 frozen graphs, those with control flow first, run as they
are and placed at random, as devices of one process; a part of them again with a
process for each device, joined by UCX over shared memory and over TCP. What does
not run on one device does not count. Seeds are fixed. --tasks takes so many frozen
graphs for the processes, --graphs for the devices of one. Prints a line for each
run: `NAME: passed|failed|skipped, ...`.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))
import corpora  # noqa: E402
# Graphs that branch or repeat, by their names.
CONTROL = re.compile(r"while|cond|loop|rnn|lstm|gru|scan|map_fn|switch|merge|tensor_?array|fold")


def frozen_cases(folder, count):
    """`count` folders: half with control flow, where there are as many; always the same."""
    names = sorted(os.path.relpath(path, folder) for path, _, files in os.walk(folder)
                   if "frozen_model.pb" in files)
    control = [n for n in names if CONTROL.search(n.lower())]
    others = [n for n in names if not CONTROL.search(n.lower())]

    def spread(of, wanted):
        return [of[i * len(of) // wanted] for i in range(wanted)] if wanted < len(of) else of

    chosen = spread(control, max(count // 2, count - len(others)))
    chosen += spread(others, count - len(chosen))
    return [os.path.join(folder, n) for n in chosen]


def run(tool, name, flags, paths, environment=None):
    """True unless a case that runs alone differs when it is placed."""
    with tempfile.NamedTemporaryFile(suffix=".tsv") as tsv:
        result = subprocess.run([tool, *paths, *flags, f"--tsv={tsv.name}"],
                                env=dict(os.environ, **(environment or {})),
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with open(tsv.name) as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
    bad = [row for row in rows if row[1] == "crashed" or "placed at random" in row[2]]
    alone = [row for row in rows if row[1] != "passed" and row not in bad]
    good = bool(rows) and not bad
    print(f"{name}: {'passed' if good else 'failed'}, {len(rows) - len(bad) - len(alone)} the same, "
          f"{len(bad)} not, {len(alone)} do not run on one device", flush=True)
    if not rows:
        print(result.stderr, file=sys.stderr)
    for row in bad:
        print(f"{name}: {row[0]}: {row[2]}", file=sys.stderr, flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--graphs", type=int, default=200, help="frozen graphs")
    parser.add_argument("--tasks", type=int, default=20, help="frozen graphs over processes")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    folder = corpora.folder()
    tool = os.path.join(arguments.build, "bin", "weir-conformance")
    if not os.path.isdir(folder):
        print(f"all: skipped, no corpora at {folder} (WEIR_CORPORA names another place)")
        return 0
    models = [os.path.join(folder, "models")]
    frozen = os.path.join(folder, "tf", "frozen")
    jobs = f"--jobs={arguments.jobs}"
    good = True
    for devices in (2, 3, 4):
        flags = [jobs, f"--placed={devices}:{devices + 10}"]
        good &= run(tool, f"models over {devices} devices", flags, models)
        good &= run(tool, f"frozen graphs over {devices} devices", flags,
                    frozen_cases(frozen, arguments.graphs))
    if not os.path.exists(os.path.join(arguments.build, "lib", "libweir_cluster.so")):
        print("processes: skipped, UCX was not there to build with")
        return 0 if good else 1
    for way, tls in (("shared memory", "posix,cma,self,tcp"), ("TCP", "tcp,self")):
        for devices in (2, 4):
            flags = [jobs, f"--placed-tasks={devices}:{devices + 20}"]
            paths = models + frozen_cases(frozen, arguments.tasks)
            good &= run(tool, f"{devices} processes over {way}", flags, paths, {"UCX_TLS": tls})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
