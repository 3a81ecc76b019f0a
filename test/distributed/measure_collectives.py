#!/usr/bin/env python3
#===- measure_collectives.py - All-reduce by size, beside MPI's and Gloo's ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-bench collectives, MPI_Allreduce and gloo::allreduce in turn, by shared memory, by TCP
within this host, and by TCP between network namespaces.

usage: measure_collectives.py --build=DIR [--tasks=2] [--turns=3] [--largest=67108864] [--rounds=11]
         [--ways=shm,tcp,1gbit] [--record=docs/results/collectives.tsv]

A way that is a rate has a namespace a task, and links of that rate: it needs root. Needs mpicc and
mpirun; libgloo-dev for Gloo, which is left out without, and goes over TCP alone. A turn is one run
of each; of a size's turns the median counts. Prints a table; --record adds it to those that are
there.
"""
import argparse
import contextlib
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
from namespaces import Namespaces  # noqa: E402

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def parse(text):
    return [line.split() for line in text.splitlines() if line.split() and line.split()[0].isdigit()]


def rows(command, environment=None):
    return parse(subprocess.run(command, check=True, capture_output=True, text=True,
                                env=dict(os.environ, **(environment or {}))).stdout)


def together(commands, environment=None):
    """What the first of some processes prints that run at once."""
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, **(environment or {})))
                 for command in commands]
    text = processes[0].communicate()[0]
    for process, command in zip(processes, commands):
        process.stdout.close()
        if process.wait():
            sys.exit("failed: " + " ".join(command))
    return parse(text)


def between(spaces, weir, tasks, folder):
    """Rows of a `weir-bench collectives` with a task in each of some namespaces, by TCP."""
    cluster = os.path.join(folder, "cluster.json")
    with open(cluster, "w") as file:
        json.dump({"tasks": [{"name": f"bench:{i}", "address": f"{spaces.address(i)}:7001"}
                             for i in range(tasks)]}, file)
    return together([spaces.inside(i) + weir + [f"--cluster={cluster}", f"--task={i}"]
                     for i in range(tasks)], {"UCX_TLS": "tcp"})


class Bench:
    """weir's collectives, and programs of others, compiled into `folder`."""

    def __init__(self, options, folder):
        self.folder, self.tasks, self.largest = folder, options.tasks, str(options.largest)
        self.weir = [os.path.join(options.build, "bin", "weir-bench"), "collectives",
                     f"--tasks={self.tasks}", f"--largest={self.largest}",
                     f"--rounds={options.rounds}"]
        self.mpi = os.path.join(folder, "allreduce")
        subprocess.run(["mpicc", "-O2", os.path.join(HERE, "Inputs", "allreduce.c"), "-o", self.mpi],
                       check=True)
        self.gloo = os.path.join(folder, "allreduce_gloo")
        made = subprocess.run(["c++", "-O2", "-std=c++17",
                               os.path.join(HERE, "Inputs", "allreduce_gloo.cpp"), "-o", self.gloo,
                               "-lgloo", "-lpthread"], capture_output=True)
        if made.returncode:
            print("Gloo is left out: it does not compile here (libgloo-dev)", file=sys.stderr)
            self.gloo = ""

    def weirRows(self, way, spaces):
        if spaces:
            return between(spaces, self.weir, self.tasks, self.folder)
        return rows(self.weir, {} if way == "shm" else {"UCX_TLS": "tcp"})

    def mpiRows(self, way, spaces):
        flags = [] if way == "shm" else ["--mca", "btl", "self,tcp", "--mca", "pml", "ob1"]
        if not spaces:
            flags += ["--mca", "btl_tcp_if_include", "lo"] if way == "tcp" else []
            return rows(["mpirun", "-n", str(self.tasks), "--oversubscribe", *flags, self.mpi,
                         self.largest], ROOT)
        # What would log in on another host enters its namespace.
        agent = os.path.join(self.folder, "agent")
        with open(agent, "w") as file:
            file.write("#!/bin/sh\nhost=$1\nshift\ncase $host in\n")
            for i in range(self.tasks):
                file.write(f"{spaces.address(i)}) exec {' '.join(spaces.inside(i))} sh -c \"$*\" ;;\n")
            file.write("esac\n")
        os.chmod(agent, 0o755)
        net = spaces.address(0).rsplit(".", 1)[0] + ".0/24"
        hosts = ",".join(spaces.address(i) for i in range(self.tasks))
        return rows(spaces.inside(0) +
                    ["mpirun", "-n", str(self.tasks), "--host", hosts, "--map-by", "node",
                     "--mca", "plm_rsh_agent", agent, "--mca", "plm", "rsh",
                     "--mca", "oob_tcp_if_include", net, "--mca", "btl_tcp_if_include", net, *flags,
                     self.mpi, self.largest], ROOT)

    def glooRows(self, way, spaces):
        if way == "shm" or not self.gloo:
            return []
        with tempfile.TemporaryDirectory() as meeting:
            return together([(spaces.inside(i) if spaces else []) +
                             [self.gloo, meeting, str(i), str(self.tasks), self.largest,
                              spaces.address(i) if spaces else "127.0.0.1"]
                             for i in range(self.tasks)])


def processor():
    with open("/proc/cpuinfo") as info:
        name = re.search(r"model name\s*:\s*(.*)", info.read()).group(1)
    return f"{len(os.sched_getaffinity(0))} cores of {name}, load {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--largest", type=int, default=64 << 20)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--ways", default="shm,tcp")
    parser.add_argument("--record", default="")
    options = parser.parse_args()
    times = {}

    def note(way, size, which, value):
        times.setdefault((way, int(size)), {}).setdefault(which, []).append(float(value))

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for way in [w for _ in range(options.turns) for w in options.ways.split(",")]:
            isRate = way not in ("shm", "tcp")
            with Namespaces(options.tasks, way) if isRate else contextlib.nullcontext() as spaces:
                for row in bench.weirRows(way, spaces):
                    note(way, row[0], "weir", row[1])
                    note(way, row[0], "ring", row[3])
                for row in bench.mpiRows(way, spaces):
                    note(way, row[0], "mpi", row[1])
                for row in bench.glooRows(way, spaces):
                    note(way, row[0], "gloo", row[1])
    columns = ["way", "bytes", "us", "the same messages alone, us", "MPI_Allreduce, us",
               "Gloo, us", "share of the transport", "MPI's time by ours", "Gloo's by ours"]
    lines = []
    for (way, size), turns in sorted(times.items()):
        row = {which: statistics.median(values) for which, values in turns.items()}
        gloo = row.get("gloo")
        lines.append([way, str(size), f"{row['weir']:.1f}", f"{row['ring']:.1f}",
                      f"{row['mpi']:.1f}", f"{gloo:.1f}" if gloo else "-",
                      f"{row['ring'] / row['weir']:.2f}", f"{row['mpi'] / row['weir']:.2f}",
                      f"{gloo / row['weir']:.2f}" if gloo else "-"])
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    if options.record:
        fresh = not os.path.exists(options.record)
        with open(options.record, "a") as table:
            if fresh:
                table.write("\t".join(["date", "tasks", "machine"] + columns) + "\n")
            for line in lines:
                table.write("\t".join([str(datetime.date.today()), str(options.tasks), processor()]
                                      + line) + "\n")


if __name__ == "__main__":
    main()
