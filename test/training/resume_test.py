#!/usr/bin/env python3
#===- resume_test.py - A training that is killed again and again ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Kills a training at random moments and lets it go on; at the end the bits are the same.

usage: resume_test.py TRAIN_DIGITS IMAGES LABELS FOLDER [--kills=N] [--steps=N]
"""
import os
import random
import shutil
import subprocess
import sys
import time

SEED = 3


def option(name, otherwise):
    given = [a.split("=")[1] for a in sys.argv if a.startswith(f"--{name}=")]
    return int(given[0]) if given else otherwise


def main():
    trainer, images, labels, folder = [a for a in sys.argv[1:] if not a.startswith("--")]
    kills, steps = option("kills", 50), option("steps", 300)
    draw = random.Random(SEED)

    def command(where):
        return [trainer, images, labels, f"{folder}/{where}", str(steps), "10"]

    for where in ("whole", "killed"):
        shutil.rmtree(f"{folder}/{where}", ignore_errors=True)
        os.makedirs(f"{folder}/{where}")
    start = time.monotonic()
    subprocess.run(command("whole"), check=True)
    whole = time.monotonic() - start
    done = 0
    while done < kills:
        process = subprocess.Popen(command("killed"))
        # Most before a checkpoint or two: there are enough steps for all kills.
        try:
            process.wait(draw.uniform(0.1, 1.0) * max(whole * 3 / kills, 0.03))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
            continue
        if process.returncode:
            sys.exit(f"the training failed with {process.returncode} after {done} kills")
        # It has ended: from the start again, so that all kills hit one that runs.
        compare(folder, steps)
        shutil.rmtree(f"{folder}/killed")
        os.makedirs(f"{folder}/killed")
    subprocess.run(command("killed"), check=True)
    compare(folder, steps)
    print(f"{done} kills: the same bits after {steps} steps")


def compare(folder, steps):
    for suffix in (".index", ".data-00000-of-00001"):
        both = []
        for where in ("whole", "killed"):
            with open(f"{folder}/{where}/m-{steps}{suffix}", "rb") as file:
                both.append(file.read())
        if both[0] != both[1]:
            sys.exit(f"m-{steps}{suffix} differs from that of a training that was not killed")


if __name__ == "__main__":
    main()
