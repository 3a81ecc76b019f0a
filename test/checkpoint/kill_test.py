#!/usr/bin/env python3
#===- kill_test.py - Checkpoints of a process that is killed ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Kills processes while they write checkpoints, and fills their disk.

usage: kill_test.py WRITER FOLDER [--kills=200]

WRITER (Inputs/writer.cpp) counts: `WRITER save PREFIX` writes checkpoint after checkpoint
under one name, in each of which all variables have the same value; `WRITER check PREFIX`
restores it and says `whole N`, or `none`. After each kill there must be a whole one, and never
one that is older than what was there before.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import time


def check(writer, prefix):
    ran = subprocess.run([writer, "check", prefix], capture_output=True, text=True)
    found = re.fullmatch(r"whole (\d+)|none", ran.stdout.strip())
    if ran.returncode != 0 or not found:
        sys.exit(f"kill_test.py: {prefix}: found {ran.stdout!r} {ran.stderr!r}")
    return int(found.group(1)) if found.group(1) else None


def kills(writer, folder, count):
    prefix = os.path.join(folder, "model")
    generator = random.Random(7)
    latest, unusual = 0, 0
    for _ in range(count):
        process = subprocess.Popen([writer, "save", prefix, str(latest)],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()  # the first one is there
        time.sleep(generator.random() * 0.06)
        process.kill()
        process.wait()
        value = check(writer, prefix)
        if value is None or value < latest:
            sys.exit(f"kill_test.py: {value} came back after {latest}")
        latest = value
        unusual += os.path.exists(prefix + ".data-00001-of-00002")
        # Parts of what was not finished are no checkpoints; anybody may remove them.
        for name in os.listdir(folder):
            if ".tempstate" in name:
                os.remove(os.path.join(folder, name))
    print(f"{count} kills: all whole, {unusual} between names; {latest} checkpoints")


def full_disk(writer, folder):
    """A file system of a megabyte: what does not fit leaves what was there."""
    small = os.path.join(folder, "small")
    os.makedirs(small)
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small],
                                 capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        print("full disk: skipped, nothing can be mounted here")
        return
    try:
        prefix = os.path.join(small, "model")
        subprocess.run([writer, "once", prefix, "1"], check=True)
        filling = os.open(os.path.join(small, "filling"), os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filling, bytes(4096))
        except OSError:
            os.close(filling)
        ran = subprocess.run([writer, "once", prefix, "2"], capture_output=True, text=True)
        if ran.returncode == 0 or "RESOURCE_EXHAUSTED" not in ran.stderr:
            sys.exit(f"kill_test.py: a full disk: {ran.returncode} {ran.stderr!r}")
        if check(writer, prefix) != 1:
            sys.exit("kill_test.py: a full disk took the checkpoint that was there")
        left = [name for name in os.listdir(small) if ".tempstate" in name]
        if left:
            sys.exit(f"kill_test.py: a full disk: {left} stay behind")
        print("full disk: what was there stays")
    finally:
        subprocess.run(["umount", small], check=False)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    count = next((int(a[8:]) for a in sys.argv if a.startswith("--kills=")), 200)
    writer, folder = arguments
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    kills(writer, folder, count)
    full_disk(writer, folder)


if __name__ == "__main__":
    main()
