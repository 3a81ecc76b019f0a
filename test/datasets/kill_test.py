#!/usr/bin/env python3
#===- kill_test.py - A training that reads its own data, killed again and again --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Kills a program at random moments, and lets it go on from its latest checkpoint.

usage: kill_test.py WEIR_RUN PROGRAM FOLDER [--kills=20] [--steps=400]

PROGRAM (of cases/stepped) adds elements of a data set to a variable, which were shuffled, drawn
into, and made ahead. In the end the variable has the bits of a run that nobody disturbed:
no element was lost, and none came twice.
"""
import os
import random
import shutil
import subprocess
import sys
import time


def option(name, otherwise):
    given = [a.split("=")[1] for a in sys.argv if a.startswith(f"--{name}=")]
    return int(given[0]) if given else otherwise


def last(folder):
    """The number of steps in the latest checkpoint."""
    try:
        with open(f"{folder}/checkpoint") as file:
            return int(file.readline().split('"')[1].rsplit("-", 1)[1]) - 1
    except FileNotFoundError:
        return -1


def main():
    tool, program, where = [a for a in sys.argv[1:] if not a.startswith("--")]
    tool = shutil.which(tool) or tool
    kills, steps = option("kills", 20), option("steps", 400)
    draw = random.Random(5)

    def command(folder):
        done = last(folder)
        begin = ["--run=init"] if done < 0 else [f"--restore={folder}"]
        return [tool, program, *begin, "--run=step", f"--repeat={steps - max(done, 0)}",
                f"--save={folder}/m", "--save-every=1", "--keep=2", f"--output={folder}.npz"]

    for name in ("whole", "killed"):
        shutil.rmtree(f"{where}/{name}", ignore_errors=True)
    start = time.monotonic()
    subprocess.run(command(f"{where}/whole"), check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - start
    killed = 0
    while last(f"{where}/killed") < steps:
        process = subprocess.Popen(command(f"{where}/killed"), stdout=subprocess.DEVNULL)
        try:
            # Only so many, or a slow machine would never come to an end.
            process.wait(draw.uniform(0.2, 2.5) * whole / kills if killed < kills else None)
            if process.returncode:
                sys.exit(f"the program failed with {process.returncode} after {killed} kills")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    both = []
    for name in ("whole", "killed"):
        with open(f"{where}/{name}/m-{steps + 1}.data-00000-of-00001", "rb") as file:
            both.append(file.read())
    with open(f"{where}/whole.npz", "rb") as a, open(f"{where}/killed.npz", "rb") as b:
        if a.read() != b.read():
            sys.exit("the variable has other bits than that of a run that was not killed")
    print(f"{killed} kills: the same bits after {steps} steps; "
          f"the checkpoints have {len(both[0])} and {len(both[1])} bytes")


main()
