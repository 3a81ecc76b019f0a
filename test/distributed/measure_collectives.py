#!/usr/bin/env python3
#===- measure_collectives.py - All-reduce by size, beside MPI's and Gloo's ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-bench collectives, MPI_Allreduce and gloo::allreduce in turn, by shared memory and TCP.

usage: measure_collectives.py --build=DIR [--tasks=2] [--turns=3] [--largest=67108864] [--rounds=11]
         [--ways=shm,tcp] [--record=docs/results/collectives.tsv]

Needs mpicc and mpirun; libgloo-dev for Gloo, which is left out without, and goes over TCP alone. A turn is
one run of each; of a size's turns the median counts. Prints a table; --record adds it to those that are there.
"""
import argparse
import datetime
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def parse(text):
    return [line.split() for line in text.splitlines() if line.split() and line.split()[0].isdigit()]


def rows(command, environment=None):
    return parse(subprocess.run(command, check=True, capture_output=True, text=True,
                                env=dict(os.environ, **(environment or {}))).stdout)


class Peers:
    """Programs of others, compiled into `folder`."""

    def __init__(self, folder):
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

    def mpiRows(self, tasks, largest, way):
        flags = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "pml",
                 "ob1"] if way == "tcp" else []
        return rows(["mpirun", "-n", str(tasks), "--oversubscribe", *flags, self.mpi, str(largest)],
                    ROOT)

    def glooRows(self, tasks, largest):
        with tempfile.TemporaryDirectory() as meeting:
            processes = [subprocess.Popen([self.gloo, meeting, str(i), str(tasks), str(largest)],
                                          stdout=subprocess.PIPE, text=True) for i in range(tasks)]
            text = processes[0].communicate()[0]
            for process in processes:
                if process.wait():
                    sys.exit("Gloo failed")
        return parse(text)


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
        peers = Peers(folder)
        for way in [w for _ in range(options.turns) for w in options.ways.split(",")]:
            for row in rows([os.path.join(options.build, "bin", "weir-bench"), "collectives",
                             f"--tasks={options.tasks}", f"--largest={options.largest}",
                             f"--rounds={options.rounds}"],
                            {"UCX_TLS": "tcp"} if way == "tcp" else {}):
                note(way, row[0], "weir", row[1])
                note(way, row[0], "ring", row[3])
            for row in peers.mpiRows(options.tasks, options.largest, way):
                note(way, row[0], "mpi", row[1])
            if way == "tcp" and peers.gloo:
                for row in peers.glooRows(options.tasks, options.largest):
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
