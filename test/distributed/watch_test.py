#!/usr/bin/env python3
#===- watch_test.py - One trace of several tasks, and who holds them up --------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains with two tasks, the second one with another clock (a time namespace) where that can be.

usage: watch_test.py OUT weir-run ARGUMENTS...

The merged trace has the devices of both, and each part of a step lies where the leader's step does. Then
the second task is stopped half of the time: the leader names it. Figures by task are asked for in the middle.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import tasks

OTHER_CLOCK = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", "7000"]
TIMING = {"heartbeat": 0.05, "timeout": 5, "connect": 30}


def start(cluster, task, command, prefix, log):
    return subprocess.Popen(prefix + command + [f"--cluster={cluster}", f"--task=worker:{task}"],
                            stdout=subprocess.DEVNULL, stderr=log)


def train(out, name, command, prefixes=((), ()), leaders=(), disturb=None):
    """Both tasks to their ends; what the leader has said."""
    cluster = os.path.join(out, f"{name}.json")
    tasks.write_cluster(cluster, 2, TIMING, False, False)
    with open(os.path.join(out, f"{name}.log"), "wb+") as log:
        processes = [start(cluster, i, command + list(leaders if i == 0 else ()),
                           list(prefixes[i]), log) for i in range(2)]
        try:
            if disturb:
                disturb(processes)
            for process in processes:
                if process.wait(timeout=200):
                    log.seek(0)
                    sys.exit(f"a task failed: {log.read().decode(errors='replace')}")
        finally:
            tasks.end_all(processes)
        log.seek(0)
        return log.read().decode(errors="replace")


def check_trace(path):
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    runs = {}
    for event in events:
        if event.get("cat") == "run" and event["name"] == "train_step":
            runs.setdefault(names[event["pid"]], {})[event["args"]["step"]] = (
                event["ts"], event["ts"] + event["dur"])
    leader, other = (runs.get(f"/job:worker/replica:0/task:{i}/device:CPU:0", {}) for i in range(2))
    if not leader or set(leader) - set(other):
        sys.exit(f"steps are missing: {sorted(names.values())}, {len(leader)}, {len(other)}")
    # A part begins behind the step before, and ends before its step does; a millisecond for clocks.
    outside = [step for step, (begin, end) in other.items() if step in leader
               and (end > leader[step][1] + 1000
                    or (step - 1 in leader and begin < leader[step - 1][1] - 1000))]
    if outside:
        step = outside[0]
        sys.exit(f"{len(outside)} of {len(leader)} parts lie outside of their steps: step {step} is "
                 f"{leader[step]}, its part {other[step]}, the step before {leader.get(step - 1)}")
    print(f"the trace has {len(leader)} steps of both tasks, each part at its step's time")


def figures(port):
    for _ in range(300):
        time.sleep(0.05)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            continue
        if 'weir_task_own_seconds{task="/job:worker/replica:0/task:1"}' in text:
            names = sorted(set(re.findall(r"^weir_task_\w+", text, re.M)))
            print("figures:", *names)
            return
    sys.exit("no figures of tasks")


def main():
    out, command = sys.argv[1], sys.argv[2:]
    can = subprocess.run(OTHER_CLOCK + ["true"], stderr=subprocess.DEVNULL).returncode == 0
    trace = os.path.join(out, "t.json")
    with open(trace, "w") as old:
        old.write('{"displayTimeUnit":"ms","otherData":{"job":"1"},"traceEvents":[{"name":"old"}]}\n')
    train(out, "trace", command + ["--steps=200", f"--trace={trace}"],
          ((), OTHER_CLOCK if can else ()))
    check_trace(trace)

    port = tasks.free_ports(1)[0]

    def slow(processes):
        def half():
            processes[1].send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            processes[1].send_signal(signal.SIGCONT)
            time.sleep(0.01)
        end = time.time() + 2
        while time.time() < end and processes[0].poll() is None:
            half()
        figures(port)
        while processes[0].poll() is None:
            half()

    text = train(out, "slow", command + ["--steps=600"], leaders=[f"--metrics={port}"],
                 disturb=slow)
    print(*re.findall(r"^task .*", text, re.M), sep="\n")


if __name__ == "__main__":
    main()
