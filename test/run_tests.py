#!/usr/bin/env python3
#===- run_tests.py - Run every test and add up ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs all tests of a build folder and prints one closing line.

`tools/check` calls it after the build. A GoogleTest counts as one for each of
its cases, a lit file and any other ctest as one, a conformance suite as one.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import sanitizers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def add(self, name, outcome):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped += 1
        else:
            self.failed += 1
            self.failures.append(name)


def run_ctest(build, tally):
    """GoogleTest executables and plain commands; lit is run apart, to count its files."""
    results = os.path.join(build, "results")
    shutil.rmtree(results, ignore_errors=True)
    os.makedirs(results)
    junit = os.path.join(results, "ctest.xml")
    subprocess.run(
        ["ctest", "--test-dir", build, "-E", "^lit$", "-j2", "--output-on-failure",
         "--timeout", "600", "--output-junit", junit],
        cwd=ROOT, env=dict(os.environ, GTEST_OUTPUT="json:" + results + "/"),
        stdout=sys.stdout)
    failures = {}  # of each GoogleTest executable that reported
    for path in glob.glob(os.path.join(results, "*.json")):
        # An executable that died before its end leaves no file, or half of one.
        try:
            with open(path) as f:
                report = json.load(f)
        except ValueError:
            continue
        executable = os.path.basename(path)[:-len(".json")]
        failures[executable] = 0
        for suite in report["testsuites"]:
            for test in suite["testsuite"]:
                outcome = {"COMPLETED": "passed"}.get(test["result"], "skipped")
                if test.get("failures"):
                    outcome = "failed"
                    failures[executable] += 1
                tally.add(suite["name"] + "." + test["name"], outcome)
    if not os.path.exists(junit):
        return tally.add("ctest", "failed")
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        if status == "run":
            # Its cases are counted above.
            if name not in failures:
                tally.add(name, "passed")
        elif status == "fail":
            # Without a failed case it died, or found a leak at its end.
            if not failures.get(name):
                tally.add(name, "failed")
        else:
            tally.add(name, "skipped")


def run_lit(build, tally):
    lit = next((p for p in ("/usr/lib/llvm-22/bin/lit", shutil.which("lit"))
                if p and os.path.exists(p)), None)
    if not lit:
        print("lit is not installed: its tests are skipped")
        return tally.add("lit", "skipped")
    output = os.path.join(build, "results", "lit.json")
    subprocess.run([lit, "-sv", "-j2", "-o", output,
                    os.path.join(build, "test")], cwd=ROOT)
    if not os.path.exists(output):
        return tally.add("lit", "failed")
    with open(output) as f:
        report = json.load(f)
    outcomes = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed",
                "UNSUPPORTED": "skipped", "SKIPPED": "skipped"}
    for test in report["tests"]:
        tally.add(test["name"], outcomes.get(test["code"], "failed"))


def run_script(tally, name, command):
    """A script that prints its own lines `name: passed|failed|skipped`."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(result.stdout, end="")
    print(result.stderr, end="", file=sys.stderr)
    lines = [line.split(": ")[:2] for line in result.stdout.splitlines() if ": " in line]
    outcomes = [(n, o.split(",")[0]) for n, o in lines
                if o.split(",")[0] in ("passed", "failed", "skipped")]
    for suite, outcome in outcomes:
        tally.add(name + " " + suite, outcome)
    if result.returncode != 0 and not any(o == "failed" for _, o in outcomes):
        tally.add(name, "failed")


def run_sanitized(tally, fuzz_seconds):
    """The same tests on a build whose own code is instrumented, and its fuzzers."""
    os.environ.update(sanitizers.environment())
    for preset in ("asan", "tsan"):
        build = os.path.join(ROOT, "build", preset)
        configured = subprocess.run(["cmake", "--preset", preset, "-Wno-dev"], cwd=ROOT,
                                    stdout=subprocess.DEVNULL).returncode == 0
        if not configured or subprocess.run(
                ["cmake", "--build", "--preset", preset, "--", "-k", "0", "--quiet"],
                cwd=ROOT).returncode:
            tally.add(preset + " build", "failed")
            continue
        run_ctest(build, tally)
        run_lit(build, tally)
        if preset == "asan":
            run_script(tally, "mutation", [sys.executable, "test/mutation/mutation_test.py",
                                           "--build", build, "--count", "200"])
            run_script(tally, "fuzz", [sys.executable, "test/fuzz/found_test.py",
                                       "--build", build])
            if fuzz_seconds:
                run_script(tally, "fuzz", [sys.executable, "test/fuzz/run_fuzzers.py", "--build",
                                           build, "--seconds", str(fuzz_seconds)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--full", action="store_true",
                        help="whole corpora, builds under sanitizers, fuzzers")
    parser.add_argument("--fuzz-seconds", type=int, default=60,
                        help="time for each fuzzer, 0: none (with --full)")
    parser.add_argument("--graphs", type=int, default=5000,
                        help="random graphs that are compiled in several ways (with --full)")
    arguments = parser.parse_args()
    build = os.path.join(ROOT, arguments.build)
    # As lit.cfg.py has it.
    os.environ.setdefault("MALLOC_PERTURB_", "165")

    tally = Tally()
    run_ctest(build, tally)
    run_lit(build, tally)
    run_script(tally, "conformance",
               [sys.executable, "test/conformance/scores.py", "--build", build]
               + (["--full"] if arguments.full else []))
    if arguments.full:
        run_script(tally, "placements",
                   [sys.executable, "test/conformance/placements_test.py", "--build", build])
        run_script(tally, "determinism",
                   [sys.executable, "test/determinism/determinism_test.py",
                    "--build", build, "--graphs", "100", "--all"])
        run_script(tally, "value", [sys.executable, "test/conformance/numbering_test.py",
                                    "--build", build])
        run_script(tally, "differential",
                   [os.path.join(build, "test", "differential"), "--seed=2", "--jobs=2",
                    "--graphs=%d" % arguments.graphs])
        run_script(tally, "distributed", [sys.executable, "test/distributed/failures_test.py",
                                          "--build", build])
        run_script(tally, "large", [sys.executable, "test/link/large_test.py",
                                    "--build", build, "--source", ROOT])
        digits = os.path.join(ROOT, "test", "digits", "samples.")
        run_script(tally, "soak", [os.path.join(build, "bin", "soak"), digits + "f32",
                                   digits + "u8", os.path.join(build, "results"), "1000000", "64"])
        run_script(tally, "GPU", [sys.executable, "test/cuda/bundle_test.py", "--build", build])
        run_script(tally, "packages", [sys.executable, "test/package/packages_test.py",
                                       "--build", build])
        run_sanitized(tally, arguments.fuzz_seconds)

    sys.stdout.flush()
    for name in tally.failures:
        print("failed: " + name)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
