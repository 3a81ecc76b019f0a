#!/usr/bin/env python3
#===- gpu_peers_agree.py - do the peers' networks compute what ours do? ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""gpu_peers_agree.py WEIR_RUN MODELS FOLDER

Runs each benchmark's small ONNX model by weir-run on the CPU, with the inputs that
gpu_peers.py takes, and compares with what engines saved in FOLDER: the norm of the
difference must be at most 16 epsilons of the type, of the result's. Exits 1 where one
is larger, or where there is nothing to compare.
"""
import glob
import os
import subprocess
import sys

import numpy as np

weir_run, scripts, folder = sys.argv[1:4]
sys.path.insert(0, scripts)
import gpu_models as models  # noqa: E402
from gpu_peer_networks import Network  # noqa: E402


def narrow(name, value, kind):
    """An entry of weir-run's file of inputs."""
    if value.dtype != np.float32:
        return name, value
    if kind == "f16":
        return name, value.astype(np.float16)
    bits = value.view(np.uint32)
    return name + "|bfloat16", ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(value):
    if value.dtype.itemsize == 2 and value.dtype != np.float16:
        value = (np.ascontiguousarray(value).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return value.astype(np.float64)


def ours(name):
    network = Network(name, True)
    model, given, out = (os.path.join(folder, "weir-" + file) for file in ("model.onnx", "in.npz", "out.npz"))
    models.MODELS[name](True).write(model)
    np.savez(given, **dict(narrow(key, value, network.type) for key, value in network.inputs.items()))
    subprocess.run([weir_run, model, "--input=" + given, "--output=" + out], check=True, capture_output=True)
    with np.load(out) as results:
        return [wide(results[key]) for key in results], 2.0**-8 if network.type == "bf16" else 2.0**-11


def main():
    wrong, compared = 0, 0
    for path in sorted(glob.glob(os.path.join(folder, "*-*.npz"))):
        engine, _, name = os.path.basename(path)[:-4].partition("-")
        if name not in models.MODELS:
            continue
        want, epsilon = ours(name)
        with np.load(path) as saved:
            got = [wide(saved[key]) for key in saved]
        same = len(got) == len(want) and all(a.size == b.size for a, b in zip(got, want))
        errors = [np.linalg.norm(a.ravel() - b.ravel()) / np.linalg.norm(b) for a, b in zip(got, want)] if same else []
        good = same and max(errors) <= 16 * epsilon
        compared, wrong = compared + 1, wrong + (not good)
        print(f"{'same' if good else 'wrong'} {engine} {name}: "
              + (f"{max(errors) / epsilon:.2f} epsilons" if same else "other results"))
    print(f"{compared} compared, {wrong} wrong")
    return wrong or not compared


sys.exit(bool(main()))
