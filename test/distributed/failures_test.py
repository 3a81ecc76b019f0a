#!/usr/bin/env python3
#===- failures_test.py - Tasks that die, stop or lose their link ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""What is too long for every day, or needs a network of its own.

usage: failures_test.py --build DIR [--rounds N]

kills: a worker is killed (or stopped) at N random moments of a run.
link: two tasks in network namespaces, whose link goes down in the middle of a
run: both end with a status in bounded time. Needs root; skipped without.
Prints `name: passed|failed|skipped`.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import tasks
from namespaces import Namespaces, possible

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT = 2.0


def kills(build, rounds):
    test = os.path.join(build, "test", "runtime_cluster_test")
    result = subprocess.run(
        [test, "--gtest_brief=1", "--gtest_filter=*Killed*:*Stopped*"],
        env=dict(os.environ, WEIR_TEST_ROUNDS=str(rounds)), timeout=60 + 20 * rounds)
    return result.returncode == 0


def cut_once(spaces, build, folder, delay):
    cluster = os.path.join(folder, "cluster.json")
    tasks.write_cluster(cluster, 2, {"heartbeat": 0.2, "timeout": TIMEOUT, "connect": 20},
                        False, False, spaces)
    processes = []
    for i in range(2):
        processes.append(subprocess.Popen(
            spaces.inside(i) + [os.path.join(build, "bin", "weir-run"),
             os.path.join(ROOT, "test/digits/digits.onnx"), "--placer=random:2",
             "--input=random:1", "--repeat=100000000",
             f"--cluster={cluster}", f"--task=worker:{i}"],
            # Shared memory would not mind the cable.
            env=dict(os.environ, UCX_TLS="tcp"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    try:
        time.sleep(delay)
        for i, process in enumerate(processes):
            if process.poll() is not None:
                print(f"task {i} ended before the cut: {process.stderr.read()}")
                return False
        begin = time.monotonic()
        spaces.cut(1)
        for i, process in enumerate(processes):
            try:
                text = process.communicate(timeout=TIMEOUT + 10)[1]
            except subprocess.TimeoutExpired:
                print(f"task {i} hangs")
                return False
            if process.returncode != 1 or "UNAVAILABLE" not in text:
                print(f"task {i} ended with {process.returncode}: {text}")
                return False
        print(f"a status after {time.monotonic() - begin:.1f} s: {text.strip()}")
        return True
    finally:
        for process in processes:
            process.kill()
            process.wait()
        spaces.join(1)


def link(build, rounds):
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder, Namespaces(2) as spaces:
        return all(cut_once(spaces, build, folder, random.uniform(4, 6))
                   for _ in range(rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    if not os.path.exists(os.path.join(build, "lib", "libweir_cluster.so")):
        print("kills: skipped, there is no UCX")
        return 0
    good = True
    for name, test, count in [("kills", kills, arguments.rounds),
                              ("link", link, max(1, arguments.rounds // 50))]:
        if name == "link" and not possible():
            print("link: skipped, no network namespaces can be made")
            continue
        passed = test(build, count)
        print(f"{name}: {'passed' if passed else 'failed'}")
        good &= passed
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
