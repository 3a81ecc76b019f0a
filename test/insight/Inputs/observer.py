#!/usr/bin/env python3
#===- observer.py - values that a program was told, beside fetched ones -----===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: observer.py TOLD.txt NUMERICS.json

Means and numbers of elements are compared: the order of elements is the program's own.
"""
import json
import sys


def main():
    with open(sys.argv[2]) as file:
        known = {v["node"]: v for v in json.load(file)["values"]}
    last, others, rest = {}, 0, []
    with open(sys.argv[1]) as file:
        for line in file:
            if line.startswith("without"):
                rest.append(line.strip())
                continue
            _, node, shape, total = line.split()
            last[node] = (shape, float(total))  # of several kernels the last one makes the value
    for node, (shape, total) in last.items():
        count = 1
        for size in shape.split("x"):
            count *= int(size)
        fetched = known.get(node)
        # Padding and parts of a node are no value of its own.
        if not fetched or fetched["elements"] != count:
            continue
        good = abs(total / count - fetched["mean"]) <= 1e-5 * (abs(fetched["mean"]) + 1e-3)
        others += not good
        print(f"{node}: {shape} {'as in a run that fetches it' if good else f'not {fetched}'}")
    print(f"{others} others")
    print(*rest, sep="\n")


main()
