#!/usr/bin/env python3
#===- run_chains.py - runs each kind of chains --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""run_chains.py FOLDER fixed|open WEIR-RUN: a line a kind of chain, right or what is wrong. A
chain that takes five minutes has not ended."""
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<%df" % ((len(data) - begin) // 4), data[begin:])


def judge(folder, step, sizes, tool):
    subprocess.run([sys.executable, HERE + "/chains.py", folder, step, "40", sizes], check=True)
    try:
        subprocess.run([tool, folder + "/chain.pbtxt", "--input=x=%s/x.npy" % folder,
                        "--input=a=%s/a.npy" % folder, "--output=" + folder], check=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "has not ended"
    except subprocess.CalledProcessError as error:
        return "exit status %d" % error.returncode
    found, want = read(folder + "/y.npy"), read(folder + "/want.npy")
    worst = max(abs(a - b) for a, b in zip(found, want))
    largest = max(map(abs, want))
    is_right = len(found) == len(want) and worst < 1e-4 * largest and largest > 1e-3
    return "right" if is_right else "off by %g of %g" % (worst, largest)


def main():
    folder, sizes, tool = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for step in "shifted", "turned", "transposed", "channels", "elementwise", "rows", "scanned":
        print("%s: %s" % (step, judge(folder, step, sizes, tool)), flush=True)


main()
