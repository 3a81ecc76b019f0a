#!/usr/bin/env python3
#===- bisect_models.py - planted faults in real networks --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Plants 36 faults in three networks, asks weirc bisect for each, and writes what it found.

usage: WEIR_CORPORA=FOLDER bisect_models.py --weirc=PATH --out=FOLDER [--table=FILE.tsv]
                                            [--kinds=KIND,…] [NAME…]

The networks are ResNet-50 and BERT-base, with random weights (test/models/make_models.py, which
wants NumPy), and a SavedModel of TensorFlow 2 with conditionals, a switch and a loop, of the
corpora. A fault must be found by its pass, where that may be left out, and by its node: of a node
in a conditional or a loop by what holds it, a buffer that another one takes by who reads it. Of a
wrong placement the node is on a second device, which nobody sends its operand to. (Before their
verifiers, both of these are refused by the compiler, with the node.) The part that is cut out must
differ by itself and have ten nodes at most. Not a test that runs by itself: it takes ten minutes.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
RESNET, BERT, CONTROL = "resnet50", "bert_base", "control_flow_autograph"
CALL = "StatefulPartitionedCall/StatefulPartitionedCall/"
SWITCH = CALL + "switch_case/indexed_case/switch_case/indexed_case"
LOOP = CALL + "while/while/cond_1/while/cond_1"
# Network; pass; node; kind, with the elements it needs; whether the pass may be left out; the node
# that is found, where another one holds it.
FAULTS = [
    (RESNET, "weir-fold-weights", "layer1.0.conv2", "value", True, ""),
    (RESNET, "weir-fold-batch-norm", "layer4.2.relu3", "drop", True, ""),
    (RESNET, "weir-channels-last", "layer2.0.conv2", "value", True, ""),
    (RESNET, "weir-channels-last", "layer3.4.conv1", "round", True, ""),
    (RESNET, "weir-channels-last", "maxpool", "value", True, ""),
    (RESNET, "weir-channels-last", "layer2.1.relu1", "drop", True, ""),
    (RESNET, "weir-value-numbering", "layer3.0.downsample", "nan", True, ""),
    (RESNET, "weir-gemm-operand-layout", "fc", "value", True, ""),
    (RESNET, "weir-kernelize", "layer4.0.add", "value", False, ""),
    (RESNET, "weir-canonical-gemms", "fc", "value", False, ""),
    (BERT, "weir-value-numbering", "layer.5.attention.softmax", "value", True, ""),
    (BERT, "weir-value-numbering", "layer.0.attention.scaled", "value", True, ""),
    (BERT, "weir-value-numbering", "layer.11.gelu.erf", "nan", True, ""),
    (BERT, "weir-fold-weights", "layer.3.intermediate.matmul", "value", True, ""),
    (BERT, "weir-channels-last", "layer.7.attention.context", "value", True, ""),
    (BERT, "weir-channels-last", "layer.2.attention.residual", "drop", True, ""),
    (BERT, "weir-channels-last", "layer.9.output.matmul", "round", True, ""),
    (BERT, "weir-lower-precision", "layer.6.output", "value", True, ""),
    (BERT, "weir-horizontal-gemm-fusion", "layer.6.intermediate", "value", True, ""),
    (BERT, "weir-decompose", "layer.4.attention.softmax", "value", False, ""),
    (RESNET, "weir-channels-last", "layer4.1.conv2", "value@7", True, ""),
    (RESNET, "verify-planned", "layer2.0.conv2", "overlap", False, "layer2.0.conv3"),
    (RESNET, "verify-partitioned", "layer3.2.conv3", "place", False, ""),
    (BERT, "weir-value-numbering", "layer.8.attention.softmax", "value@128", True, ""),
    (BERT, "verify-partitioned", "layer.5.intermediate.matmul", "place", False, ""),
    (CONTROL, "weir-value-numbering", SWITCH + "/add", "value@8", True, CALL + "switch_case/indexed_case"),
    (CONTROL, "weir-value-numbering", SWITCH + "/Relu", "value", True, CALL + "switch_case/indexed_case"),
    (CONTROL, "weir-value-numbering", SWITCH + "/mul", "nan", True, CALL + "switch_case/indexed_case"),
    (CONTROL, "weir-value-numbering", SWITCH + "/add", "value", True, CALL + "switch_case/indexed_case"),
    (CONTROL, "weir-channels-last", SWITCH + "/Relu", "drop", True, CALL + "switch_case/indexed_case"),
    (CONTROL, "weir-kernelize", SWITCH + "/add", "value", False, CALL + "switch_case/indexed_case"),
    (CONTROL, "weir-value-numbering", LOOP + "/add", "value", True, CALL + "while"),
    (CONTROL, "weir-value-numbering", LOOP + "/Sum", "nan", True, CALL + "while"),
    (CONTROL, "weir-channels-last", LOOP + "/add", "drop", True, CALL + "while"),
    (CONTROL, "cse", LOOP + "/Sum", "value", True, CALL + "while"),
    (CONTROL, "weir-kernelize", LOOP + "/Sum", "value", False, CALL + "while"),
]


def networks(out):
    """Paths and inputs by name."""
    made = {}
    for name in (RESNET, BERT):
        path = os.path.join(out, name + ".onnx")
        if not os.path.exists(path):
            subprocess.run([sys.executable, os.path.join(HERE, "..", "models", "make_models.py"), out,
                            name], check=True, stdout=subprocess.DEVNULL)
        made[name] = (path, ["random:1"])
    base = os.environ.get("WEIR_CORPORA", os.path.join(HERE, "..", "..", "..", "shared", "corpora"))
    saved = os.path.join(base, "public", "tf", CONTROL)
    if os.path.isdir(saved):
        # One input for each way through the conditionals and the switch.
        feeds = []
        generator = np.random.default_rng(3)
        for flag in (False, True):
            for k in range(4):
                path = os.path.join(out, f"control-{int(flag)}{k}.npz")
                np.savez(path, flag=np.array(flag), k=np.int32(k),
                         x=generator.normal(size=(5, 8)).astype(np.float32) + (k - 1))
                feeds.append(path)
        made[CONTROL] = (saved, feeds)
    return made


# Nodes that stay on the first device, where a placement on two is wrong; the search would put all on one.
BEFORE = {"layer3.2.conv3": "layer3.2.conv2", "layer.5.intermediate.matmul": "layer.5.attention.norm"}


def second_device(node, out):
    """Flags that put a node on a second device, and the one before it on the first."""
    devices, placement = os.path.join(out, "two.json"), os.path.join(out, "placement.json")
    with open(devices, "w") as file:
        json.dump({"devices": [{"name": "/cpu:0"}, {"name": "/cpu:1"}]}, file)
    with open(placement, "w") as file:
        json.dump({"nodes": {node: "/cpu:1", BEFORE[node]: "/cpu:0"}}, file)
    return ["--devices=" + devices, "--placement=" + placement]


def bisect(weirc, model, feed, fault, kind, out):
    """What is found (None: it does not differ), and the seconds it takes."""
    command = [weirc, "bisect", model, "--input=" + feed, "--plant-fault=" + fault, "--json", "-o",
               os.path.join(out, "part")]
    if kind == "round":
        command.append("--tolerance=1e-4")
    if kind == "place":
        command += second_device(fault.split(":")[1], out)
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.monotonic() - began
    if done.returncode == 2:
        return json.loads(done.stdout), took, ""
    return None, took, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weirc", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--table")
    parser.add_argument("--kinds", help="of the faults that are planted (default: all)")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    made, rows, wrong = networks(options.out), [], 0
    for name, planted, node, kind, optional, holder in FAULTS:
        if name not in made or options.names and name not in options.names:
            continue
        if options.kinds and kind not in options.kinds.split(","):
            continue
        model, feeds = made[name]
        fault, found, took = f"{planted}:{node}:{kind}", None, 0.0
        for feed in feeds:  # the first one that shows it
            found, seconds, why = bisect(options.weirc, model, feed, fault, kind, options.out)
            took += seconds
            if found or why:
                break
        good = bool(found) and (found["pass"] == (planted if optional else "")
                                and found["node"] == (holder or node) and found["part_differs"]
                                and len(found["part_nodes"]) <= 10)
        wrong += not good
        row = [name, planted, node, kind, found["pass"] if found else why.strip()[:200] or "no difference",
               found["node"] if found else "", str(len(found["part_nodes"])) if found else "",
               f"{took:.0f}", "found" if good else "wrong"]
        print("\t".join(row), flush=True)
        rows.append(row)
    print(f"{len(rows)} faults, {wrong} not found")
    if options.table:
        with open("/proc/cpuinfo") as lines:
            processor = next((line.split(":")[1].strip() for line in lines
                              if line.startswith("model name")), platform.machine())
        with open(options.table, "w") as file:
            file.write(f"# {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {processor}\n"
                       "network\tpass of the fault\tnode\tkind\tpass found\tnode found\t"
                       "nodes of the part\tseconds\tresult\n")
            file.writelines("\t".join(row) + "\n" for row in rows)
    sys.exit(1 if wrong else 0)


main()
