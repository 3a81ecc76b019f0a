#!/usr/bin/env python3
#===- mutation_test.py - Damaged model files through weirc ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compiles damaged files of every format, each in a process of its own.

usage: mutation_test.py --build=build/release [--count=200] [--seed=1] [--keep=DIR]
What is refused must end in a numbered diagnostic, and nothing may crash, take
more than 10 s of processor time, more than 1 GB, or (in a build with sanitizers)
touch memory that is not its own. A file that is accepted although it is damaged
is compiled to the end. Seeds are the digits network, the graphs of the importers'
tests and, where there are corpora, a few models of them. The same seed makes the
same files; --only=FORMAT:N runs one of them, --keep leaves those that fail.
"""
import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "test")]
import corpora  # noqa: E402
import damage  # noqa: E402
import sanitizers  # noqa: E402

CPU_SECONDS = 10
MEGABYTES = 1024


def seeds():
    """format -> model files or folders, small ones: many files are made of them."""
    digits = os.path.join(ROOT, "test", "digits")
    found = {
        "onnx": [os.path.join(digits, "digits.onnx")],
        "graphdef": [os.path.join(digits, "digits.pb")],
        "text": [os.path.join(ROOT, "test", "frontend", "tensorflow", name)
                 for name in ("arrays.pbtxt", "branches.pbtxt", "functions.pbtxt",
                              "variables.pbtxt", "while-loop.pbtxt")],
        "saved-model": [os.path.join(digits, "digits_saved_model")],
    }
    base = corpora.found()
    if base:
        for name in ("loop11", "if", "lstm_defaults", "sequence_insert_at_back",
                     "layer_normalization_2d_axis0_expanded"):
            path = os.path.join(base, "onnx", "node", "test_" + name, "model.onnx")
            if os.path.isfile(path):
                found["onnx"].append(path)
        frozen = os.path.join(base, "tf", "frozen")
        for folder in sorted(os.listdir(frozen))[::40] if os.path.isdir(frozen) else []:
            path = os.path.join(frozen, folder, "frozen_model.pb")
            if os.path.isfile(path) and os.path.getsize(path) < 1 << 16:
                found["graphdef"].append(path)
        saved = os.path.join(base, "tf", "saved_model")
        for folder, _, files in sorted(os.walk(saved)):
            if "saved_model.pb" in files and \
                    sum(os.path.getsize(os.path.join(f, n)) for f, _, ns in os.walk(folder)
                        for n in ns) < 1 << 18:
                found["saved-model"].append(folder)
    return found


def make(seed, target, generator):
    """Writes a damaged copy of a file or folder; returns its path."""
    if os.path.isdir(seed):
        shutil.copytree(seed, target)
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(target)
                       for name in names if not name.endswith(".npz"))
        # Most of the sizes that can lie are in the graph and in the index.
        weights = [1 if ".data-" in name else 4 for name in files]
        victim = generator.choices(files, weights)[0]
    else:
        target += os.path.splitext(seed)[1]
        shutil.copyfile(seed, target)
        victim = target
    os.chmod(victim, 0o644)
    with open(victim, "rb") as file:
        data = file.read()
    with open(victim, "wb") as file:
        file.write(damage.damage(data, generator, victim.endswith(".pbtxt")))
    return target


def limit():
    # The program sees its own limit as a signal; the second one cannot be missed.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def compile_one(weirc, model, output):
    """What is wrong with how weirc ended, or None; and whether it refused."""
    environment = sanitizers.environment()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([weirc, model, "-o", output, "-O1", "--cpu=x86-64-v3"],
                                   stdout=subprocess.DEVNULL, stderr=errors,
                                   preexec_fn=limit, env=environment)
        # Waiting is bounded by processor time alone: nothing here may sleep, and
        # the machine may be busy.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode("utf-8", "replace")
    if re.search(r"Sanitizer|runtime error:", text):
        lines = [l for l in text.splitlines() if "Sanitizer" in l or "runtime error:" in l]
        return lines[0], False
    if process.returncode < 0:
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "takes more than %d s" % CPU_SECONDS, False
        return "dies of " + signal.Signals(-process.returncode).name, False
    if usage.ru_maxrss / 1024 > MEGABYTES:
        return "takes %d MB" % (usage.ru_maxrss / 1024), False
    if process.returncode == 0:
        return None, False
    if process.returncode != 1 or not re.search(r"error W\d{4}: ", text):
        return "exits %d without a numbered diagnostic: %s" % (process.returncode,
                                                               text.strip()[-200:]), True
    if "W0199" in text:
        return "ends in an internal error: " + text.strip().splitlines()[0], True
    return None, True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=200, help="files of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="FORMAT or FORMAT:N")
    parser.add_argument("--keep", default="", help="folder for files that fail")
    args = parser.parse_args()
    weirc = os.path.abspath(os.path.join(args.build, "bin", "weirc"))
    only, _, number = args.only.partition(":")

    good = True
    for kind, models in seeds().items():
        if only and kind != only:
            continue
        refused = accepted = 0
        failures = []
        for n in range(args.count):
            if number and n != int(number):
                continue
            generator = random.Random("%d %s %d" % (args.seed, kind, n))
            seed = models[n % len(models)]
            with tempfile.TemporaryDirectory(prefix="weir-mutation-") as folder:
                model = make(seed, os.path.join(folder, "model"), generator)
                problem, was_refused = compile_one(weirc, model, os.path.join(folder, "m.o"))
                refused += was_refused
                accepted += not was_refused and not problem
                if problem:
                    failures.append(n)
                    print("%s:%d, made of %s: %s" % (kind, n, os.path.relpath(seed, ROOT), problem),
                          flush=True)
                    if args.keep:
                        kept = os.path.join(args.keep, "%s-%d%s"
                                            % (kind, n, os.path.splitext(model)[1]))
                        os.makedirs(args.keep, exist_ok=True)
                        (shutil.copytree if os.path.isdir(model) else shutil.copyfile)(model, kept)
        print("%s: %s, %d damaged files: %d refused, %d accepted, %d wrong"
              % (kind, "failed" if failures else "passed", refused + accepted + len(failures),
                 refused, accepted, len(failures)), flush=True)
        good = good and not failures
        # A test whose files are all accepted tests nothing.
        if not number and args.count >= 10 and refused < args.count // 5:
            print("%s: failed, too few files were damaged enough to be refused" % kind)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
