#!/usr/bin/env python3
#===- bundle_test.py - whether the bundle for GPUs can be made, and is small --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""bundle_test.py --build=BUILD: makes the whole bundle of tools/gpu-check in BUILD/gpu-bundle,
unless what it holds is as it was when it was made last, and wants it below 64 MiB, with its
four calls, 300 cases, the stress tests and every benchmark. Prints `bundle: passed|failed|skipped`."""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 64 << 20
# What weirc makes of a model is its own: the program stands for its sources.
PROGRAMS = ("bin/weirc", "test/cuda/gpu-check")
SOURCES = ("tools/gpu-check", "test/cuda/Inputs", "test/models", "test/digits")


def files(path):
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path)
                  for name in names if "__pycache__" not in folder)


def state(build):
    digest = hashlib.sha256()
    for base, names in ((build, PROGRAMS), (ROOT, SOURCES)):
        for name in names:
            for path in files(os.path.join(base, name)):
                digest.update(os.path.relpath(path, base).encode() + b"\0")
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def say(outcome, why=""):
    print(f"bundle: {outcome}{', ' + why if why else ''}")
    return outcome == "failed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    python = os.environ.get("WEIR_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode:
        return say("skipped", "no numpy: WEIR_PYTHON names a Python that has it")
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
    if not shutil.which("ptxas") and not os.path.exists(toolkit):
        return say("skipped", "no ptxas of the CUDA toolkit")
    out = os.path.join(build, "gpu-bundle")
    now, note = state(build), os.path.join(build, "gpu-bundle.state")
    if os.path.isdir(out) and os.path.exists(note):
        with open(note) as file:
            if file.read() == now:
                return say("passed", "as it was")
    done = subprocess.run([os.path.join(ROOT, "tools", "gpu-check"), "--out=" + out, "--build=" + build,
                           "--jobs=" + str(os.cpu_count())], capture_output=True, text=True)
    if done.returncode:
        return say("failed", (done.stderr.strip().splitlines() or ["no reason"])[-1])
    size = sum(os.path.getsize(path) for path in files(out))
    count = {kind: sum(path.endswith(".so.packed") for path in files(os.path.join(out, kind)))
             for kind in ("cases", "stress", "bench")}
    listed = subprocess.run([python, os.path.join(ROOT, "test", "models", "gpu_models.py"), "--list"],
                            capture_output=True, text=True).stdout.split()
    wanted = len([name for name in listed if name != "memory"])
    print(done.stdout.strip(), file=sys.stderr)
    if size >= MOST:
        return say("failed", f"{size / 2**20:.1f} MiB are not below {MOST >> 20}")
    if count["bench"] != wanted or count["stress"] < 4:
        return say("failed", f"{count['bench']} of {wanted} benchmarks, {count['stress']} stress tests")
    corpora = os.environ.get("WEIR_CORPORA", os.path.join(ROOT, "..", "shared", "corpora"))
    if os.path.isdir(os.path.join(corpora, "onnx", "node")) and count["cases"] < 300:
        return say("failed", f"{count['cases']} cases of 300")
    with open(note, "w") as file:
        file.write(now)
    return say("passed", f"{size / 2**20:.1f} MiB")


if __name__ == "__main__":
    sys.exit(main())
