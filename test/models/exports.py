#!/usr/bin/env python3
# ===- exports.py - models as today's exporters write them ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Exports whole models with the tools that users have, and compares what weir makes of
the files with what the frameworks compute.

  exports.py [--weir-run=PATH] [--keep=DIR] [--tsv=FILE] [--only=REGEX]

Run it in a Python with torch, onnxscript, onnxruntime, onnxruntime-genai, timm, torchvision, transformers and
ultralytics (and those of diffusers, segmentation-models-pytorch, monai, kornia, torch_geometric, torchaudio,
open_clip_torch, python-doctr, pytorch-tabnet and stable-baselines3 that are to be tried), in one with nncf, brevitas, torchao, onnxconverter-common, onnxslim, onnxsim and jax2onnx, and in one with tensorflow, tf2onnx, scikit-learn, skl2onnx, lightgbm, xgboost, catboost
and onnxmltools; kinds whose packages are missing are left out with a line that says so. Weights are random, from fixed seeds,
but those of packages, which pip fetches. A row a model and way of
exporting: right or what went wrong, the worst difference as a share of the largest magnitude,
and the shortest times in milliseconds of many runs, one thread each, of weir and of ONNX Runtime
(of TensorFlow for Keras). Rows of --tsv that a run does not make anew are kept.
"""
import argparse
import os
import re
import sys
import tempfile
import time
import traceback

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import real_models  # noqa: E402

COLUMNS = ["tool", "model", "way", "verdict", "difference", "weir_ms", "framework_ms"]
TOLERANCE = {"quantised": 0.02, "tools": 0.02}
KINDS = {"torch": ("exports_torch", "torch"), "timm": ("exports_timm", "timm"),
         "torchvision": ("exports_torchvision", "torchvision"),
         "transformers": ("exports_transformers", "transformers"),
         "architectures": ("exports_architectures", "transformers"),
         "genai": ("exports_genai", "onnxruntime_genai"),
         "ultralytics": ("exports_ultralytics", "ultralytics"),
         "libraries": ("exports_libraries", "torch"),
         "sklearn": ("exports_sklearn", "skl2onnx"),
         "estimators": ("exports_estimators", "skl2onnx"),
         "boosting": ("exports_boosting", "onnxmltools"),
         "tf2onnx": ("exports_tf2onnx", "tf2onnx"),
         "quantised": ("exports_quantised", "onnxruntime.quantization"),
         "tools": ("exports_tools", "torch"),
         "packages": ("exports_packages", "onnxruntime"),
         "keras": ("exports_keras", "tensorflow")}


def shortest(run, seconds=1.0):
    """Milliseconds."""
    run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end and len(times) < 200:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


SESSIONS = {}


def measured(path, made, case):
    """One run of the peer: ONNX Runtime on the file, or what the export says."""
    if len(made) > 3:
        return made[3](case)
    if path not in SESSIONS:
        SESSIONS.clear()
        SESSIONS[path] = session(path)
    return SESSIONS[path].run(None, case)


def compare(got, want):
    """`want`: a dict of results by name, or a list of them in order."""
    pairs = zip(got.values(), want) if isinstance(want, list) else (
        (got[name], value) for name, value in want.items())
    return max((real_models.difference(a, b) for a, b in pairs), default=np.inf)


def check(given, kind, name, way, made, folder):
    """A row of the table. `made`: path of the model, cases of feeds by name, and a function from
    a case to the framework's results, whose attribute `noise`, if it has one, gives how far they move
    with the last bits of a case; a fourth is one to measure instead."""
    path, cases, oracle = made[:3]
    worst, own, theirs, allowed = 0.0, 0.0, 0.0, TOLERANCE.get(kind, 2e-3)
    try:
        for case in cases:
            feeds = {n: np.char.encode(v.astype(str)) if v.dtype == object else v
                     for n, v in case.items()}
            got, _, own = real_models.weir(given.weir_run, path, feeds, folder, repeat=30)
            worst = max(worst, compare(got, oracle(case)))
            if hasattr(oracle, "noise"):
                allowed = max(allowed, 2 * oracle.noise(case))
        verdict = "right" if worst <= allowed else "wrong"
    except RuntimeError as failure:
        verdict = re.sub(r"\s+", " ", str(failure))[:200]
    try:
        theirs = shortest(lambda: measured(path, made, cases[-1]))
    except Exception as failure:  # noqa: the peer's, which the row is not about
        print("not measured: %s: %s" % (name, str(failure).splitlines()[0][:150]))
    return [kind, name, way, verdict, "%.2g" % worst, "%.3g" % own, "%.3g" % theirs]


def read(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path) as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    return {tuple(row[:3]): row for row in rows}


def write(path, rows):
    with open(path, "w") as out:
        for row in [COLUMNS] + [rows[key] for key in sorted(rows)]:
            out.write("\t".join(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir-run", default="weir-run")
    parser.add_argument("--keep", help="a folder for the models")
    parser.add_argument("--tsv", help="the table, which is renewed")
    parser.add_argument("--only", default="", help="a regular expression of KIND/MODEL/WAY")
    given = parser.parse_args()
    rows, tried, bad = read(given.tsv), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for kind, (module, package) in KINDS.items():
            try:
                __import__(package)
                exports = __import__(module).EXPORTS
            except ImportError as missing:
                print("left out: %s (%s)" % (kind, missing))
                continue
            for name, way, make in exports:
                if not re.search(given.only, "%s/%s/%s" % (kind, name, way)):
                    continue
                try:
                    path = os.path.join(folder, "%s-%s-%s" % (kind, name, way.replace(" ", "-")))
                    made = make(path)
                except Exception:  # noqa: the exporter's own fault, which is no row
                    print("not exported: %s %s %s: %s" % (
                        kind, name, way, traceback.format_exc().strip().splitlines()[-1][:200]))
                    continue
                row = check(given, kind, name, way, made, scratch)
                tried, bad = tried + 1, bad + (row[3] != "right")
                rows[tuple(row[:3])] = row
                print("\t".join(row), flush=True)
    if given.tsv:
        write(given.tsv, rows)
    print("%d exports, %d of them differ or fail" % (tried, bad))
    sys.exit(1 if bad or not tried else 0)


if __name__ == "__main__":
    main()
