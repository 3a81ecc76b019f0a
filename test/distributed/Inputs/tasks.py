#!/usr/bin/env python3
#===- tasks.py - Starts the processes of a program --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-run as several tasks on this host, and ends as the first one does.

usage: tasks.py N CLUSTER.json [--compress] [--gpus] weir-run ARGUMENTS...

Writes CLUSTER.json with N tasks of one CPU device each, on ports that are free;
with --compress f32 crosses all links between them as 16 bits, with --gpus each task has a GPU, too.
All tasks get the same arguments; output of the first is this script's, the
others' is shown when one of them fails. No process outlives the script.
"""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile


def free_ports(count):
    """Below those that the system gives to connections that go out: one of these
    could take the port of a task that is down for a moment."""
    sockets, ports = [], []
    for port in random.sample(range(20000, 32000), 1000):
        s = socket.socket()
        sockets.append(s)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
        ports.append(port)
        if len(ports) == count:
            break
    for s in sockets:
        s.close()
    return ports


def write_cluster(path, count, timing, compress, gpus, spaces=None):
    """`spaces`: network namespaces, one a task, where any port is free."""
    ports = [7001] * count if spaces else free_ports(count)
    cluster = {
        "devices": [{"name": f"/job:worker/task:{i}/device:CPU:0"} for i in range(count)],
        "tasks": [{"name": f"/job:worker/task:{i}",
                   "address": f"{spaces.address(i) if spaces else '127.0.0.1'}:{port}"}
                  for i, port in enumerate(ports)],
        "timing": timing,
    }
    if gpus:
        cluster["devices"] += [
            {"name": f"/job:worker/task:{i}/device:GPU:0", "flops": 2e13, "bandwidth": 1.5e12,
             "overhead": 3e-6} for i in range(count)]
    if compress:
        cluster["links"] = [{"from": f"/job:worker/task:{i}", "to": f"/job:worker/task:{j}",
                             "compress": True}
                            for i in range(count) for j in range(i)]
    with open(path, "w") as f:
        json.dump(cluster, f)


def end_all(processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


class Tasks:
    """Processes that end with the `with`."""

    def __init__(self, count, cluster, command, timing=None, environment=None,
                 compress=False, gpus=False):
        write_cluster(cluster, count,
                      timing or {"heartbeat": 0.2, "timeout": 10, "connect": 60}, compress, gpus)
        self.outputs = []
        self.processes = []
        for i in range(count):
            output = tempfile.TemporaryFile() if i else None
            self.outputs.append(output)
            self.processes.append(subprocess.Popen(
                command + [f"--cluster={cluster}", f"--task=worker:{i}"],
                stdout=output, stderr=output,
                env=dict(os.environ, **(environment or {}))))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_all(self.processes)

    def text(self, task):
        self.outputs[task].seek(0)
        return self.outputs[task].read().decode(errors="replace")


def main():
    count, cluster, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    options = {"--compress": False, "--gpus": False}
    while command[0] in options:
        options[command.pop(0)] = True
    with Tasks(count, cluster, command, compress=options["--compress"],
               gpus=options["--gpus"]) as tasks:
        code = tasks.processes[0].wait(timeout=300)
        for i in range(1, count):
            other = tasks.processes[i].wait(timeout=60)
            if other != 0:
                print(f"task {i} ended with {other}: {tasks.text(i)}", file=sys.stderr)
                code = code or other
    return code


if __name__ == "__main__":
    sys.exit(main())
