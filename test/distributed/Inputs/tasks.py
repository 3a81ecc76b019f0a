#!/usr/bin/env python3
#===- tasks.py - Starts the processes of a program --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-run as several tasks on this host, and ends as the first one does.

usage: tasks.py N CLUSTER.json weir-run ARGUMENTS...

Writes CLUSTER.json with N tasks of one CPU device each, on ports that are free.
All tasks get the same arguments; output of the first is this script's, the
others' is shown when one of them fails. No process outlives the script.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def write_cluster(path, count, timing):
    cluster = {
        "devices": [{"name": f"/job:worker/task:{i}/device:CPU:0"} for i in range(count)],
        "tasks": [{"name": f"/job:worker/task:{i}", "address": f"127.0.0.1:{port}"}
                  for i, port in enumerate(free_ports(count))],
        "timing": timing,
    }
    with open(path, "w") as f:
        json.dump(cluster, f)


class Tasks:
    """Processes that end with the `with`."""

    def __init__(self, count, cluster, command, timing=None, environment=None):
        write_cluster(cluster, count,
                      timing or {"heartbeat": 0.2, "timeout": 10, "connect": 60})
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
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def text(self, task):
        self.outputs[task].seek(0)
        return self.outputs[task].read().decode(errors="replace")


def main():
    count, cluster, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with Tasks(count, cluster, command) as tasks:
        code = tasks.processes[0].wait(timeout=300)
        for i in range(1, count):
            other = tasks.processes[i].wait(timeout=60)
            if other != 0:
                print(f"task {i} ended with {other}: {tasks.text(i)}", file=sys.stderr)
                code = code or other
    return code


if __name__ == "__main__":
    sys.exit(main())
