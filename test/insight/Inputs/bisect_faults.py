#!/usr/bin/env python3
#===- bisect_faults.py - faults that weirc bisect is to find ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Plants faults behind passes and asks weirc bisect for them.

usage: bisect_faults.py DIGITS

Each must be found by its pass (where that may be left out) and node, and the part that is cut
out must differ by itself and have at most ten nodes.
"""
import json
import os
import subprocess
import sys

ONNX, PB = "digits.onnx", "digits.pb"
# Model, pass, node, kind; whether the pass may be left out.
FAULTS = [
    (ONNX, "weir-fold-weights", "conv1", "value", True),
    (ONNX, "weir-fold-weights#2", "dense", "value", True),
    (ONNX, "weir-channels-last", "conv2", "value", True),
    (ONNX, "weir-channels-last", "relu1", "drop", True),
    (ONNX, "weir-channels-last", "conv1", "round", True),
    (ONNX, "weir-channels-last", "dense", "nan", True),
    (ONNX, "weir-channels-last", "pool", "value", True),
    (ONNX, "weir-value-numbering", "softmax", "value", True),
    (ONNX, "weir-value-numbering", "dense", "value@10", True),
    (ONNX, "weir-fold-batch-norm", "relu2", "drop", True),
    (ONNX, "weir-depth-first-fusion", "relu2", "value", True),
    (ONNX, "cse", "dense", "value", True),
    (ONNX, "weir-kernelize", "softmax", "value", False),
    (ONNX, "weir-kernelize", "relu1", "value", False),
    (ONNX, "weir-kernelize", "conv2", "value", False),
    (ONNX, "weir-bufferize", "conv2", "value", False),
    (ONNX, "weir-decompose", "softmax", "value", False),
    (ONNX, "weir-canonical-gemms", "dense", "value", False),
    (PB, "weir-channels-last", "conv2", "value", True),
    (PB, "weir-fold-weights", "dense", "value", True),
    (PB, "weir-value-numbering", "bias1", "value", True),
    (PB, "weir-value-numbering", "pool", "value", True),
    (PB, "cse", "relu1", "value", True),
    (PB, "weir-depth-first-fusion", "probabilities", "nan", True),
    (PB, "weir-kernelize", "relu2", "value", False),
    (PB, "weir-canonical-gemms", "conv1", "round", False),
]


def main():
    wrong = 0
    for model, planted, node, kind, optional in FAULTS:
        fault = f"{planted}:{node}:{kind}"
        command = ["weirc", "bisect", os.path.join(sys.argv[1], model), "--input=random:1",
                   "--plant-fault=" + fault, "--json", "-o", "part"]
        if kind.startswith("round"):
            command.append("--tolerance=1e-4")
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 2:
            print(f"{model} {fault}: exit code {done.returncode}: {done.stderr}{done.stdout}")
            wrong += 1
            continue
        found = json.loads(done.stdout)
        want = planted.split("#")[0] if optional else ""
        good = (found["pass"] == want and found["node"] == node and found["part_differs"]
                and len(found["part_nodes"]) <= 10 and os.path.exists(found["part"]))
        if not good:
            print(f"{model} {fault}: found {found['pass']!r} {found['node']!r}, part of "
                  f"{found['part_nodes']} differs: {found['part_differs']}")
            wrong += 1
    print(f"{len(FAULTS)} faults, {wrong} not found")
    return wrong


sys.exit(1 if main() else 0)
