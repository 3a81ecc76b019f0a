#!/usr/bin/env python3
#===- measure_collectives.py - All-reduce by size, beside MPI's ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs weir-bench collectives and MPI_Allreduce in turn, and prints a table of both.

usage: measure_collectives.py --build=DIR [--tasks=2] [--turns=3] [--largest=67108864]

Needs mpicc and mpirun; a turn is one run of each, and the best of a size's turns counts.
"""
import argparse
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def rows(command, environment=None):
    text = subprocess.run(command, check=True, capture_output=True, text=True,
                          env=dict(os.environ, **(environment or {}))).stdout
    return [line.split() for line in text.splitlines() if line.split() and line.split()[0].isdigit()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--largest", type=int, default=64 << 20)
    options = parser.parse_args()
    best = {}

    def note(size, which, value):
        row = best.setdefault(int(size), {})
        row[which] = min(row.get(which, float("inf")), float(value))

    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "allreduce")
        subprocess.run(["mpicc", "-O2", os.path.join(HERE, "Inputs", "allreduce.c"), "-o", program],
                       check=True)
        for _ in range(options.turns):
            for row in rows([os.path.join(options.build, "bin", "weir-bench"), "collectives",
                             f"--tasks={options.tasks}", f"--largest={options.largest}"]):
                note(row[0], "weir", row[1])
                share = float(row[2]) / float(row[3])
                note(row[0], "ring", float(row[1]) * share)
            for row in rows(["mpirun", "-n", str(options.tasks), "--oversubscribe", program,
                             str(options.largest)],
                            {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}):
                note(row[0], "mpi", row[1])
    print("| bytes | us | the same messages alone, us | MPI_Allreduce, us | share of the transport |")
    print("|---|---|---|---|---|")
    for size, row in sorted(best.items()):
        print(f"| {size} | {row['weir']:.1f} | {row['ring']:.1f} | {row['mpi']:.1f} "
              f"| {row['ring'] / row['weir']:.2f} |")


if __name__ == "__main__":
    main()
