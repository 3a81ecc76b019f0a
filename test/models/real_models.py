#!/usr/bin/env python3
# ===- real_models.py - model families against their own frameworks ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs models with weir and with ONNX Runtime or TensorFlow, and compares.

  real_models.py [--weir-run=PATH] [--keep=DIR] [--static] [FAMILY...]

Needs onnx and onnxruntime (and scikit-learn and skl2onnx for the trees) for the
ONNX families; tensorflow for the Keras ones. A family whose framework is not
installed is skipped, with a line that says so. Prints a row a family: its nodes,
the cases, the worst difference as a share of the largest magnitude, and the
medians of times of the last case, one thread each, in turn. Exits with 1 where a
result differs by more than 1e-3, or nothing ran.

With --static, times a model with open sizes against the same one compiled for the
sizes of each case, and prints the ratio: what openness costs. These are the shortest
of many runs, which other work on the machine disturbs least.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
TOLERANCE = 1e-3


def onnx_oracle(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return lambda case: dict(zip(names, session.run(None, case)))


def weir(tool, model, case, folder, repeat=0, flags=()):
    """The results, and the median and the shortest of times in milliseconds."""
    inputs, outputs = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
    np.savez(inputs, **case)
    command = [tool, model, "--input=" + inputs, "--output=" + outputs, "--threads=1"]
    command += flags
    command += ["--repeat=%d" % repeat] if repeat else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or "weir-run ended with %d" % done.returncode)
    found = re.search(r"median_ms=([\d.]+) min_ms=([\d.]+)", done.stdout)
    with np.load(outputs) as results:
        return dict(results), *map(float, found.groups() if found else (0, 0))


def difference(got, want):
    """The largest difference as a share of the largest magnitude; inf where
    types or shapes are others."""
    want = np.asarray(want)
    if want.dtype.kind in "OUS":
        texts = np.char.encode(want.astype(str)) if want.dtype.kind != "S" else want
        return 0.0 if np.array_equal(got, texts) else np.inf
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.inf
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else np.inf
    if got.size == 0:
        return 0.0
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        return np.inf
    return float(np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-6))


def check(name, nodes, model, oracle, cases, tool, folder):
    worst = 0.0
    for case in cases:
        wanted = oracle(case)
        got, _, _ = weir(tool, model, case, folder)
        for key, want in wanted.items():
            worst = max(worst, difference(got[key], want))
    # In turn, so that both meet the same machine.
    ours, theirs = [], []
    for _ in range(3):
        _, median, _ = weir(tool, model, cases[-1], folder, repeat=7)
        ours.append(median)
        times = []
        for _ in range(7):
            start = time.perf_counter()
            oracle(cases[-1])
            times.append(1e3 * (time.perf_counter() - start))
        theirs.append(statistics.median(times))
    good = worst <= TOLERANCE
    print("| %s | %d | %d | %.1e | %.2f | %.2f | %s |" % (
        name, nodes, len(cases), worst, statistics.median(ours), statistics.median(theirs),
        "yes" if good else "NO"), flush=True)
    return good


def compare_static(name, model, cases, tool, folder):
    for case in cases:
        shapes = ["--shape=%s=%s" % (key, "x".join(map(str, value.shape)) or "scalar")
                  for key, value in case.items()]
        both = [[], []]
        for _ in range(3):
            for times, flags in zip(both, ([], shapes)):
                times.append(weir(tool, model, case, folder, repeat=9, flags=flags)[2])
        opened, fixed = map(min, both)
        print("| %s %s | %.2f | %.2f | %.2f |" % (
            name, "x".join(map(str, next(iter(case.values())).shape)), opened, fixed,
            opened / fixed), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir-run", default="weir-run")
    parser.add_argument("--keep", help="a folder for the models")
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--of", choices=["onnx", "keras"], help="only those; default: of both")
    parser.add_argument("families", nargs="*")
    given = parser.parse_args()
    sources = []
    for module, oracle, need in (("onnx_families", onnx_oracle, "onnxruntime"),
                                 ("keras_families", None, "tensorflow")):
        if given.of and not module.startswith(given.of):
            continue
        try:
            __import__(need)
            sources.append((__import__(module), oracle))
        except ImportError as missing:
            print("skipped: %s (%s)" % (module, missing))
    ran, bad = 0, 0
    print("| family | nodes | cases | worst difference | weir ms | framework ms | agrees |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for module, oracle in sources:
            for name, make in module.FAMILIES.items():
                if given.families and name not in given.families:
                    continue
                ran += 1
                path = os.path.join(folder, name + ".onnx" if oracle else name)
                try:
                    made = make(path)
                    nodes, cases = made[0], made[1]
                    if given.static:
                        compare_static(name, path, cases, given.weir_run, scratch)
                        continue
                    run = oracle(path) if oracle else made[2]
                    bad += not check(name, nodes, path, run, cases, given.weir_run, scratch)
                except RuntimeError as failure:
                    bad += 1
                    print("| %s | | | | | | %s |" % (name, failure), flush=True)
    print("%d families ran, %d of them differ or fail" % (ran, bad))
    sys.exit(1 if bad or not ran else 0)


if __name__ == "__main__":
    main()
