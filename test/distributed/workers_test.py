#!/usr/bin/env python3
#===- workers_test.py - Workers with steps of their own -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Workers and a parameter server of a TensorFlow graph (Inputs/workers.py), one process each.

usage: workers_test.py --run=WEIR-RUN --compiler=WEIRC --out=FOLDER [--workers=4] [--steps=300] [--bound=3]

One worker is stopped again and again, for a moment. Without a bound the others run ahead of it; with one never by more. Then
synchronous replicas of which one is a backup: the curve is that of as many gradients as are needed, whoever gave them.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import tasks as task_files
import workers as graph


def write_cluster(path, workers, timing=None):
    names = [f"/job:worker/task:{i}" for i in range(workers)] + ["/job:ps/task:0"]
    ports = task_files.free_ports(len(names))
    with open(path, "w") as file:
        json.dump({"devices": [{"name": f"{name}/device:CPU:0"} for name in names],
                   "tasks": [{"name": name, "address": f"127.0.0.1:{port}"}
                             for name, port in zip(names, ports)],
                   "timing": timing or {"heartbeat": 0.2, "timeout": 30, "connect": 60}}, file)


class Job:
    """A process a task; `command(name)` are a task's own flags."""

    def __init__(self, options, program, workers, command):
        cluster = os.path.join(options.out, "c.json")
        write_cluster(cluster, workers)
        self.processes = {}
        for name in [f"worker:{i}" for i in range(workers)] + ["ps:0"]:
            self.processes[name] = subprocess.Popen(
                [options.run, program, f"--cluster={cluster}", f"--task={name}", "--threads=1"]
                + command(name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self, paused):
        """Stops `paused` for moments until all are done; their outputs."""
        victim = self.processes[paused]
        give = time.time() + 240
        while victim.poll() is None and time.time() < give:
            victim.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            victim.send_signal(signal.SIGCONT)
            time.sleep(0.02)
        return self.wait(give)

    def wait(self, give=None):
        """Their outputs, once all are done."""
        give = give or time.time() + 240
        try:
            outputs = {name: each.communicate(timeout=max(1, give - time.time()))[0]
                       for name, each in self.processes.items()}
        except subprocess.TimeoutExpired:
            task_files.end_all(self.processes.values())
            sys.exit("the job does not end:\n"
                     + "".join(each.communicate()[0] for each in self.processes.values()))
        for name, process in self.processes.items():
            if process.returncode:
                sys.exit(f"{name} ended with {process.returncode}:\n{outputs[name]}")
        return outputs


def compile_graph(options, model, flags, program):
    """A program for the devices that write_cluster has, wherever they are."""
    devices = os.path.join(options.out, "devices.json")
    write_cluster(devices, options.workers)
    with open(devices) as file:
        listed = json.load(file)["devices"]
    with open(devices, "w") as file:
        json.dump({"devices": listed}, file)
    subprocess.run([options.compiler, model, *flags, f"--devices={devices}", "-o", program], check=True)


def value(text, name):
    """The numbers of a fetch that weir-run prints."""
    line = re.search(rf"^{name}: \S+ \S+ (.*)$", text, re.M).group(1)
    return [float(x) for x in line.strip("[]").split(", ")]


def asynchronous(options, program, bound):
    """Each worker moves w; prints, and returns, by how much the first of them was ahead."""
    def command(name):
        if name == "ps:0":
            return []
        i = int(name.split(":")[1])
        own = [f"--run=async_{i}", f"--steps={options.steps}", "--own-steps"]
        own += [f"--staleness={bound}"] * (bound is not None)
        # Steps are of the last entry.
        return ["--run=init"] * (i == 0) + own

    outputs = Job(options, program, options.workers, command).end(f"worker:{options.workers - 1}")
    ahead = max(value(outputs[f"worker:{i}"], "lag")[0] for i in range(options.workers))
    w = value(outputs[f"worker:{options.workers - 1}"], "w")
    if any(abs(x - t) > 1e-3 for x, t in zip(w, (1, 2, 3, 4))):
        sys.exit(f"w has become {w}")
    print(f"asynchronous, bound {bound}: {options.workers} workers, {options.steps} steps each, ahead by "
          f"{int(ahead)} at most", flush=True)
    return ahead


def with_backups(options, program, needed):
    """The first `needed` gradients of a step count."""
    def command(name):
        if name == "ps:0":
            return []
        i = int(name.split(":")[1])
        own = [f"--steps={options.steps}", "--own-steps"]
        return ["--run=init", "--run=update"] + own if i == 0 else [f"--run=sync_{i}"] + own

    outputs = Job(options, program, options.workers, command).end(f"worker:{options.workers - 1}")
    w = value(outputs["worker:0"], "w")
    late = [int(value(outputs[f"worker:{i}"], "late")[0]) for i in range(1, options.workers)]
    if any(x != -options.steps * (options.steps + 1) / 2 for x in w):
        sys.exit(f"w has become {w}: a gradient of an earlier step has counted")
    print(f"synchronous, the first {needed} of {options.workers - 1}: {options.steps} steps, the same curve; "
          f"too late, by worker: {late}", flush=True)
    return late


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--bound", type=int, default=3)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    needed = options.workers - 2
    model, program = (os.path.join(options.out, name) for name in ("workers.pbtxt", "workers.so"))
    flags = graph.write(model, options.workers, needed)
    compile_graph(options, model, flags, program)
    free = asynchronous(options, program, None)
    bound = asynchronous(options, program, options.bound)
    # A worker begins its next step when others are at most so far behind.
    if bound > options.bound + 1:
        sys.exit(f"a worker was ahead by {bound} steps, for --staleness={options.bound}")
    if free <= options.bound + 1:
        sys.exit("no worker ran ahead without a bound: nothing was tried")
    if with_backups(options, program, needed)[-1] == 0:
        sys.exit("no gradient was late: nothing was tried")


if __name__ == "__main__":
    main()
