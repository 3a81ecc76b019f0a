#!/usr/bin/env python3
#===- real_models.py - weirc's commands about nodes on real models ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: real_models.py MODELS     a folder of the corpora; works in the current one"""
import json
import os
import subprocess
import sys

FATES = {"kernel", "step", "folded", "merged", "dropped", "alias", "call", "feed", "constant",
         "unused"}
MODELS = [
    "speech-denoise/DTLN_norm_500h_saved_model", "speech-denoise/model_1.onnx",
    "speech-denoise/model_2.onnx", "voice-activity/silero_vad_16k_op15.onnx",
    "face-detector/version-RFB-320.onnx", "mnist_8/model.onnx", "keyword-spotting/DNN_L.pb",
    "keyword-spotting/Basic_LSTM_S.pb", "keyword-spotting/DS_CNN_S.pb",
    "keyword-spotting/LSTM_S.pb", "tf-small/fc-layers/frozen.pb", "kws-ds-cnn-saved-model",
]
WITHOUT_NAMES = [MODELS[i] for i in (2, 3, 4, 5, 7, 8)]
# Each in the face detector: pass, node, kind.
FAULTS = [("weir-channels-last", "298", "value"), ("weir-fold-batch-norm", "358", "value"),
          ("weir-value-numbering", "298", "round"), ("weir-channels-last", "257", "nan")]


def weirc(*arguments):
    done = subprocess.run(["weirc", *arguments, "--json"], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        print(arguments, done.returncode, done.stderr[-500:])
        return None
    return json.loads(done.stdout)


def main():
    folder = sys.argv[1]
    wrong = 0
    for model in MODELS:
        trace = weirc("trace-node", os.path.join(folder, model))
        good = trace and sum(trace["counts"].values()) == len(trace["nodes"]) and all(
            n["fate"] in FATES and n["text"] for n in trace["nodes"])
        # What merges or folds says which pass did it, and what stands there now.
        good = good and all(n["pass"] for n in trace["nodes"] if n["fate"] in ("folded", "merged",
                                                                               "dropped"))
        if not good:
            print(model)
            wrong += 1
    print(f"{len(MODELS)} models, {wrong} with nodes that are unaccounted for")

    changed = 0
    for model in WITHOUT_NAMES:
        path = os.path.join(folder, model)
        other = "other" + os.path.splitext(model)[1]
        weirc("anonymize", path, "-o", other)
        diff = weirc("diff", path, other)
        figures = {f["name"]: f["a"] == f["b"] for f in diff["figures"]} if diff else {}
        if not (figures.get("kernels") and figures.get("planned memory (bytes)")
                and figures.get("operations of kernels") and not diff["operations"]):
            print(model, diff and diff["figures"])
            changed += 1
    print(f"{len(WITHOUT_NAMES)} models without names, {changed} with other kernels")

    missed = 0
    for planted, node, kind in FAULTS:
        found = weirc("bisect", os.path.join(folder, "face-detector/version-RFB-320.onnx"),
                      "--input=random:1", f"--plant-fault={planted}:{node}:{kind}", "-o", "part")
        if not (found and found["pass"] == planted and found["node"] == node
                and found["part_differs"] and len(found["part_nodes"]) <= 10):
            print(planted, node, kind, found)
            missed += 1
    print(f"{len(FAULTS)} faults, {missed} not found")


main()
