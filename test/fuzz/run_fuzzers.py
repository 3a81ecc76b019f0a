#!/usr/bin/env python3
#===- run_fuzzers.py - Every fuzz target for a given time -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs libFuzzer's targets of a build with WEIR_FUZZ.

usage: run_fuzzers.py --build=build/asan [--seconds=60] [--only=TARGET] [--seed=N]
                      [--keep=DIR] [--corpus=DIR] [--record=FILE.tsv]
Seeds are the digits network, the graphs of the importers' tests, what once was
found (test/fuzz/found/TARGET), and small models of the corpora where those are
there. An input may take 25 s (100 s of the pipeline) and 2.5 GB. Prints a line a target; --keep is where
inputs that were wrong are left, --corpus where the grown corpora stay for the
next time.
--record adds what each target came to into its row of a table (docs/results/reliability.tsv),
and all targets together into one; only what passed is added.
"""
import argparse
import datetime
import glob
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test"))
import corpora  # noqa: E402
import sanitizers  # noqa: E402

# The pipeline compiles an input four times.
SECONDS_PER_INPUT = {"pipeline": 100}
MEGABYTES = 2560
# A larger input is slow, and says no more.
LARGEST = {"onnx": 1 << 14, "graphdef": 1 << 14, "text": 1 << 14, "bundle": 1 << 14,
           "pipeline": 1 << 10, "calls": 1 << 10, "checkpoint": 1 << 14, "images": 1 << 13,
           "records": 1 << 13, "object": 1 << 13, "wire": 1 << 11}
SEEDS = 400  # of the corpora, a target

ENVIRONMENT = {
    **sanitizers.ENVIRONMENT,
    # Short stacks of allocations: LLVM makes most of them, and their stacks say little.
    # What asks for more memory than there is gets none, as without the sanitizer.
    "ASAN_OPTIONS": sanitizers.ENVIRONMENT["ASAN_OPTIONS"]
                    + ":malloc_context_size=5:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def bundle_input(index):
    """A bundle of one shard as the bundle target takes it."""
    with open(index, "rb") as file:
        table = file.read()
    shard = b""
    data = index[:-len(".index")] + ".data-00000-of-00001"
    if os.path.exists(data):
        with open(data, "rb") as file:
            shard = file.read()
    return struct.pack("<I", len(table)) + table + shard


def seeds(target):
    """Inputs as bytes."""
    digits = os.path.join(ROOT, "test", "digits")
    base = corpora.found()

    def files(*patterns):
        for pattern in patterns:
            yield from sorted(glob.glob(pattern, recursive=True))

    def of_corpora(*patterns):
        return files(*(os.path.join(base, p) for p in patterns)) if base else ()

    if target == "onnx":
        own = files(digits + "/*.onnx")
        more = of_corpora("onnx/*/*/model.onnx", "onnx/node-history/*/*/model.onnx")
    elif target == "graphdef":
        own = files(digits + "/*.pb")
        more = of_corpora("tf/frozen/*/frozen_model.pb", "tf/ops/*/*.pb")
    elif target == "text":
        own = files(ROOT + "/test/frontend/tensorflow/**/*.pbtxt")
        more = of_corpora("tf/graph-import/*.pbtxt")
    elif target == "bundle":
        own = files(digits + "/**/*.index")
        more = of_corpora("tf/saved_model/**/*.index", "tf/system/**/*.index",
                          "models/**/*.index")
    elif target == "checkpoint":
        own, more = files(digits + "/**/*.index"), ()
    elif target == "images":
        own = more = ()
        pixels = bytes(range(12))
        yield b"\0\3P6 2 2 255\n" + pixels
        yield b"\4\3BM" + struct.pack("<IIIIiiHHIIiiII", 66, 0, 54, 40, 2, 2, 1, 24, 0, 12,
                                      0, 0, 0, 0) + pixels
    elif target == "records":
        own = more = ()
        yield b"\1\0" + struct.pack("<QI", 3, 0) + b"abc" + struct.pack("<I", 0)
        yield b"\2\0one line\nand another\n"
        # An example with features "s" and "d".
        yield (b"\0\n\x1a\n\x0a\n\1s\x12\5\x1a\3\n\1\5"
               b"\n\x0c\n\1d\x12\7\x12\5\n\4\0\0\0\0")
    elif target == "object":
        own = more = ()
        with open(sys.executable, "rb") as file:
            yield file.read(LARGEST[target])
    else:
        own = more = ()
        for n in range(50):
            yield random.Random(n).randbytes(LARGEST[target])

    def read(path):
        if target == "bundle":
            return bundle_input(path)
        with open(path, "rb") as file:
            # Behind a byte that says which format it is.
            return (b"\0" if target == "checkpoint" else b"") + file.read()

    for path in own:
        yield read(path)
    small = [p for p in more if os.path.getsize(p) <= LARGEST[target]]
    for path in small[::max(1, len(small) // SEEDS)]:
        yield read(path)


def prepare(target, folder):
    """Writes the seeds into a folder."""
    os.makedirs(folder)
    for number, data in enumerate(seeds(target)):
        if len(data) <= LARGEST[target]:
            with open(os.path.join(folder, "seed-%05d" % number), "wb") as file:
                file.write(data)
    for found in glob.glob(os.path.join(HERE, "found", target, "*")):
        shutil.copy(found, folder)


# What an input of a target is, in the table.
SUBJECTS = {"onnx": "ONNX files", "graphdef": "binary GraphDefs", "text": "text GraphDefs",
            "bundle": "bundles of variables", "pipeline": "random graphs, compiled and run",
            "calls": "C interface in any order", "checkpoint": "checkpoints of both formats",
            "images": "files of images", "records": "records and examples",
            "object": "begins of shared objects", "wire": "messages between tasks"}
SANITIZERS = "under AddressSanitizer and UndefinedBehaviorSanitizer"


def processor():
    with open("/proc/cpuinfo") as file:
        names = re.findall(r"model name\s*: (.*)", file.read())
    return "%d processors, %s" % (os.cpu_count(), names[0] if names else "unknown")


def record(path, counts):
    """Adds (target, executions, seconds) to the rows of a table, whose last row is the sum."""
    with open(path) as file:
        rows = [line.split("\t") for line in file.read().splitlines()]
    total_name = "libFuzzer, all targets"
    rows = [row for row in rows if row[1] != total_name]
    today = datetime.date.today().isoformat()
    for target, executions, seconds in counts:
        row = next((r for r in rows if "(fuzz-%s)" % target in r[1]), None)
        if row is None:
            row = ["", "libFuzzer, %s (fuzz-%s), %s" % (SUBJECTS[target], target, SANITIZERS),
                   "0 executions", "0 hours", "0"]
            rows.append(row)
        row[0] = today
        executions += int(re.match("[0-9,]+", row[2])[0].replace(",", ""))
        before = re.search(r"([0-9.]+) (hours|minutes)", row[3])
        hours = float(before[1]) / (60 if before[2] == "minutes" else 1) + seconds / 3600
        row[2:4] = ["%s executions" % format(executions, ","),
                    "%s, %.3f hours" % (processor(), hours)]
    fuzzed = [r for r in rows if "(fuzz-" in r[1]]
    rows.append([today, total_name,
                 "%s executions" % format(sum(int(re.match("[0-9,]+", r[2])[0].replace(",", ""))
                                              for r in fuzzed), ","),
                 "%s, %.2f hours" % (processor(), sum(
                     float(re.search(r"([0-9.]+) (?:hours|minutes)", r[3])[1]) /
                     (60 if "minutes" in r[3] else 1) for r in fuzzed)), "0"])
    with open(path, "w") as file:
        file.write("\n".join("\t".join(row) for row in rows) + "\n")


def run(target, executable, args, scratch):
    """What one target came to, as a line, whether it is good, and how many inputs it tried."""
    seed_folder = os.path.join(scratch, target)
    prepare(target, seed_folder)
    grown = os.path.abspath(os.path.join(args.corpus or scratch, target + "-grown"))
    found = os.path.abspath(os.path.join(args.keep or scratch, target + "-"))
    for folder in (grown, os.path.dirname(found)):
        os.makedirs(folder, exist_ok=True)
    command = [executable, grown, seed_folder, "-max_total_time=%d" % args.seconds,
               "-timeout=%d" % SECONDS_PER_INPUT.get(target, 25), "-rss_limit_mb=%d" % MEGABYTES,
               "-max_len=%d" % LARGEST[target], "-artifact_prefix=" + found,
               "-print_final_stats=1", "-verbosity=1", "-seed=%d" % args.seed]
    environment = dict(os.environ, TMPDIR=scratch)
    for name, value in ENVIRONMENT.items():
        given = environment.get(name)
        # Of two words on one option the last counts: the environment's, which may say little.
        isList = name.endswith("_OPTIONS") and given
        environment[name] = value + ":" + given if isList else given or value
    # What an input writes beside itself is in the scratch folder.
    result = subprocess.run(command, env=environment, cwd=scratch, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    text = result.stdout.decode("utf-8", "replace")
    inputs = re.search(r"number_of_executed_units: (\d+)", text)
    line = "%s inputs" % inputs.group(1) if inputs else "no statistics"
    if result.returncode == 0:
        return "fuzz %s: passed, %s" % (target, line), True, int(inputs.group(1) if inputs else 0)
    if args.keep:
        with open(os.path.join(args.keep, target + ".log"), "w") as log:
            log.write(text[-100000:])
    reason = [l for l in text.splitlines()
              if re.search(r"SUMMARY: |runtime error: |ERROR: libFuzzer", l)]
    return "fuzz %s: failed, %s; %s" % (target, line, (reason or text.splitlines()[-1:])[0]), False, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=60, help="time for each target")
    parser.add_argument("--only", choices=sorted(LARGEST), help="one target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="", help="folder for inputs that are wrong")
    parser.add_argument("--corpus", default="", help="folder for grown corpora")
    parser.add_argument("--record", default="", help="table that executions are added to")
    args = parser.parse_args()
    good = True
    counts = []
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as scratch:
        for target in [args.only] if args.only else sorted(LARGEST):
            executable = os.path.join(args.build, "fuzz", "fuzz-" + target)
            if not os.path.exists(executable):
                print("fuzz %s: failed, %s is not built" % (target, executable))
                good = False
                continue
            began = time.monotonic()
            line, passed, inputs = run(target, os.path.abspath(executable), args, scratch)
            print(line, flush=True)
            good = good and passed
            if passed:
                counts.append((target, inputs, time.monotonic() - began))
    if args.record:
        record(args.record, counts)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
