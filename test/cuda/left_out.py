#!/usr/bin/env python3
#===- left_out.py - whether the recording driver finds waits that are missing ---===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""left_out.py WEIR_RUN PROGRAM ENTRY RECORDER NCCL FOLDER: runs an entry on two GPUs again and again, each time
without one of its waits for an event. What that leaves without order must be found, or, where other waits order
it, results must be the same. Says how many waits there are, and how many are found missing."""
import os
import subprocess
import sys

weir_run, program, entry, recorder, nccl, folder = sys.argv[1:7]


def run(left_out, seed):
    record, out = os.path.join(folder, "left.record"), os.path.join(folder, f"left{left_out}.npz")
    if os.path.exists(record):
        os.remove(record)
    environment = dict(os.environ, WEIR_CUDA="require", WEIR_CUDA_DRIVER=recorder, WEIR_NCCL=nccl, WEIR_RECORDER_DEVICES="2",
                       WEIR_CUDA_RECORD=record, WEIR_RECORDER_SEED=str(seed),
                       WEIR_RECORDER_LEAVE_OUT=f"cuStreamWaitEvent:{left_out}")
    done = subprocess.run([weir_run, program, "--run=" + entry, "--input=random:1", "--output=" + out],
                          capture_output=True, text=True, timeout=120, env=environment)
    text = open(record).read() if os.path.exists(record) else ""
    return done.returncode == 0 and "problem:" not in text, out, "left out 1" in text


def main():
    good, whole, _ = run(0, 1)
    if not good:
        sys.exit("with all of its waits it is wrong")
    waits = found = wrong = 0
    for number in range(1, 200):
        good, out, was = run(number, number)
        if good and not was:
            break
        waits += 1
        found += not good
        wrong += good and open(out, "rb").read() != open(whole, "rb").read()
    print(f"{waits} waits, {found} are found missing, {wrong} wrong")
    sys.exit(bool(wrong))


main()
