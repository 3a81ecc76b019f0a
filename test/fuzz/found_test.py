#!/usr/bin/env python3
#===- found_test.py - Inputs that once were wrong ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compiles what fuzzers have found, by the measure of the mutation test.

usage: found_test.py --build=build/release
Files lie in test/fuzz/found/TARGET, named as what was wrong. The fuzzers begin
with them, too.
"""
import argparse
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "mutation"))
import mutation_test  # noqa: E402

SUFFIXES = {"onnx": ".onnx", "graphdef": ".pb", "text": ".pbtxt"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    weirc = os.path.abspath(os.path.join(args.build, "bin", "weirc"))
    count, failures = 0, 0
    with tempfile.TemporaryDirectory(prefix="weir-found-") as folder:
        for target, suffix in SUFFIXES.items():
            found = os.path.join(HERE, "found", target)
            for name in sorted(os.listdir(found)) if os.path.isdir(found) else []:
                model = os.path.join(folder, name + suffix)
                shutil.copyfile(os.path.join(found, name), model)
                problem, _ = mutation_test.compile_one(weirc, model, os.path.join(folder, "m.o"))
                count += 1
                if problem:
                    failures += 1
                    print("%s/%s: %s" % (target, name, problem))
    print("found: %s, %d inputs" % ("failed" if failures or not count else "passed", count))
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
