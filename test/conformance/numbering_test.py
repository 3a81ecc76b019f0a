#!/usr/bin/env python3
#===- numbering_test.py - Value numbering changes no output ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs models with value numbering and without it, on equal random inputs.

usage: numbering_test.py [--build=DIR] [--every=N] [--jobs=N] FOLDER...

Each model below the folders (model.onnx, *.onnx, frozen_model.pb) is imported, and
brought to the kernels once by the pipeline as it is and once by the same passes
without weir-value-numbering. Results must be the same bits, and errors the same.
Models that one of the tools does not compile count as skipped where neither does.
Prints `numbering: passed` or `numbering: failed`, after a line for each that differs.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))
import corpora  # noqa: E402
LAST = "layout"  # the last stage before kernels


def models(folders):
    for folder in folders:
        for place, below, files in os.walk(folder):
            below.sort()
            for name in sorted(files):
                if name == "frozen_model.pb" or name.endswith(".onnx"):
                    yield os.path.join(place, name)


def passes(weirc):
    """The passes between import and kernels, without value numbering."""
    text = subprocess.run([weirc, "--print-pipeline"], capture_output=True, text=True,
                          check=True).stdout
    names = []
    for line in text.splitlines():
        if line.startswith("kernelize:"):
            break
        if line.startswith("  "):
            names.append("--" + line.split(":")[0].strip())
    return [name for name in names if name != "--weir-value-numbering"], \
        names.count("--weir-value-numbering")


def results(build, model, folder, name):
    """The bytes of each result, or the last line of what went wrong."""
    out = os.path.join(folder, name + ".npz")
    done = subprocess.run([os.path.join(build, "bin", "weir-run"), model, "--input=random:1",
                           "--threads=1", "--output=" + out],
                          capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["no message"])[0]
        return "exit " + str(done.returncode) + re.sub(r"^\S*?: ", " ", message)
    with zipfile.ZipFile(out) as archive:
        return {entry: archive.read(entry) for entry in archive.namelist()}


def compare(build, without, model):
    """passed, skipped, or what differs."""
    weirc, opt = (os.path.join(build, "bin", tool) for tool in ("weirc", "weir-opt"))
    with tempfile.TemporaryDirectory() as folder:
        given, plain = (os.path.join(folder, name) for name in ("with.mlir", "without.mlir"))
        try:
            if subprocess.run([weirc, model, "-o", given, "--stop-after=import"],
                              capture_output=True, timeout=120).returncode:
                return "skipped"
            opted = subprocess.run([opt, given, "-o", plain, "--mlir-print-debuginfo", *without],
                                   capture_output=True, text=True, timeout=120)
            first = results(build, given, folder, "with")
            if opted.returncode:
                return "skipped" if isinstance(first, str) else \
                    "compiles only with it: " + opted.stderr[:200]
            with open(plain) as f:
                text = f.read()
            with open(plain, "w") as f:
                f.write(text.replace('weir.stage = "import"', f'weir.stage = "{LAST}"', 1))
            second = results(build, plain, folder, "without")
        except subprocess.TimeoutExpired:
            return "skipped"
    if isinstance(first, str) and isinstance(second, str):
        return "skipped"
    if isinstance(first, str) or isinstance(second, str):
        return f"with: {first if isinstance(first, str) else 'results'}; " \
               f"without: {second if isinstance(second, str) else 'results'}"
    differing = sorted(name for name in first.keys() | second.keys()
                       if first.get(name) != second.get(name))
    return "results differ: " + ", ".join(differing) if differing else "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--every", type=int, default=1, help="one model in N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    build = os.path.join(ROOT, arguments.build)
    folder = corpora.folder()
    folders = arguments.folders or [os.path.join(folder, name) for name in
                                    ("tf/frozen", "onnx", "models")]
    chosen = list(models(folders))[::arguments.every]
    if not chosen:
        print("numbering: skipped, no models")
        return 0
    without, removed = passes(os.path.join(build, "bin", "weirc"))
    assert removed >= 3, "the pipeline has no value numbering"
    counts = {"passed": 0, "skipped": 0, "failed": 0}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = pool.map(lambda model: compare(build, without, model), chosen)
        for model, outcome in zip(chosen, outcomes):
            if outcome not in counts:
                print(f"{os.path.relpath(model, folder)}: {outcome}", flush=True)
                outcome = "failed"
            counts[outcome] += 1
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    print("numbering: " + ("failed" if counts["failed"] or not counts["passed"] else "passed"))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
