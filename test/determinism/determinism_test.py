#!/usr/bin/env python3
#===- determinism_test.py - Same bytes, same bits ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Results have the same bits with 1, 2 and 7 threads, objects the same bytes.

usage: determinism_test.py --build=build/release [--graphs=8] [--seed=1] [--all]
Runs the digits network in three formats, random graphs, and models of the corpora
where they are (--all: every one of them). Each is compiled twice, the second time
from another folder and under another path, which changes nothing in the object or
in its constants.
"""
import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test"))
import corpora  # noqa: E402

THREADS = (1, 2, 7)
RANDOM = "random:3"  # inputs, where a model says nothing of its own


def corpora_models(everything):
    """(model, flags, inputs) of the corpora; without --all those that compile in no
    time."""
    base = corpora.folder()
    names = ["models/mnist/mnist.onnx", "models/mnist_8/mnist_8.onnx",
             "models/keyword-spotting/DNN_S.pb", "models/keyword-spotting/CNN_S.pb",
             "models/keyword-spotting/DS_CNN_S.pb",
             "models/face-detector/version-RFB-320_without_postprocessing.onnx",
             "onnx/light/light_squeezenet.onnx"]
    if everything:
        names += ["models/keyword-spotting/DNN_L.pb", "models/keyword-spotting/CNN_M.pb",
                  "models/keyword-spotting/DS_CNN_M.pb",
                  "models/face-detector/version-RFB-320.onnx",
                  "models/face-detector/version-RFB-320_simplified.onnx"]
        names += ["onnx/light/light_%s.onnx" % n
                  for n in ("bvlc_alexnet", "inception_v1", "resnet50", "zfnet512")]
    for name in names:
        path = os.path.join(base, name)
        if os.path.exists(path):
            flags = []
            if "keyword-spotting" in name:
                # The front of these graphs decodes sound; what follows is fed.
                rows = 25 if "/DNN" in name else 49
                flags = ["--feed=Mfcc:0=mfcc:1x%dx10" % rows, "--fetch=labels_softmax"]
            yield path, flags, RANDOM


def random_graphs(tool, folder, count, seed):
    """(model, flags, inputs) of generated graphs (test/fuzz)."""
    run([tool, "--graphs=%d" % count, "--seed=%d" % seed, "--write=" + folder])
    for number in range(count):
        path = os.path.join(folder, "%d.onnx" % number)
        yield path, [], path[:-len("onnx")] + "npz"


def run(command, **kwargs):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            **kwargs)
    if result.returncode != 0:
        raise AssertionError("%s exits %d: %s" % (" ".join(command), result.returncode,
                                                  result.stdout.strip()[-400:]))


def check(tools, folder, model, flags, inputs):
    """What differs, or None."""
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    elsewhere = os.path.join(folder, "elsewhere", "deeper")
    for made in (first, second, elsewhere):
        os.makedirs(made)
    weirc, weir_run = (os.path.join(tools, name) for name in ("weirc", "weir-run"))
    shared = os.path.join(first, "m.so")
    run([weirc, model, "-o", shared, "--cpu=x86-64-v3", "--cache=off", *flags])
    # The name of the file stands in the header; its folder must not.
    copy = os.path.join(elsewhere, os.path.basename(model))
    (shutil.copytree if os.path.isdir(model) else shutil.copyfile)(model, copy)
    run([weirc, os.path.basename(model), "-o", os.path.join(second, "m.so"), "--cpu=x86-64-v3",
         "--cache=off", "-j3", *flags], cwd=elsewhere)
    for name in ("m.so", "m.h"):
        if not filecmp.cmp(os.path.join(first, name), os.path.join(second, name), shallow=False):
            return name + " differs between two compilations"
    results = []
    for threads in THREADS:
        results.append(os.path.join(folder, "results-%d" % threads))
        run([weir_run, shared, "--input=" + inputs, "--threads=%d" % threads,
             "--output=" + results[-1]])
    names = sorted(os.listdir(results[0]))
    if not names:
        return "there are no results"
    for threads, other in zip(THREADS[1:], results[1:]):
        equal, different, missing = filecmp.cmpfiles(results[0], other, names, shallow=False)
        if different or missing:
            return "%s differs with %d threads" % (", ".join(different + missing), threads)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--graphs", type=int, default=8, help="random graphs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="more models of the corpora")
    args = parser.parse_args()
    tools = os.path.abspath(os.path.join(args.build, "bin"))
    digits = os.path.join(ROOT, "test", "digits")
    good = True
    with tempfile.TemporaryDirectory(prefix="weir-determinism-") as scratch:
        models = [(os.path.join(digits, "digits.onnx"), ["--dim=N=360"], RANDOM)]
        models += [(os.path.join(digits, name), ["--shape=image=360x8x8x1"], RANDOM)
                   for name in ("digits.pb", "digits_saved_model")]
        models += random_graphs(os.path.join(args.build, "test", "differential"),
                                os.path.join(scratch, "random"), args.graphs, args.seed)
        models += corpora_models(args.all)
        for number, (model, flags, inputs) in enumerate(models):
            folder = os.path.join(scratch, str(number))
            try:
                problem = check(tools, folder, model, flags, inputs)
            except AssertionError as error:
                problem = str(error)
            name = os.path.relpath(model, scratch if model.startswith(scratch) else ROOT)
            if problem:
                print("%s: failed, %s" % (name, problem), flush=True)
                good = False
            shutil.rmtree(folder, ignore_errors=True)
        print("%d models: %s" % (len(models), "passed" if good else "failed"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
