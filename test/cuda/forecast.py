#!/usr/bin/env python3
#===- forecast.py - what a report says of accelerators' kernels -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""forecast.py REPORT.json: a line for each kernel, with its least times in microseconds."""
import json
import sys

with open(sys.argv[1]) as file:
    kernels = json.load(file)["kernels"]
for kernel in kernels:
    made = kernel.get("accelerator")
    if not made:
        print(f"{kernel['name']}: open")
        continue
    times = ", ".join(f"{time['device']} {time['us']:.1f} {time['bound']}" for time in made["predicted"])
    print(f"{kernel['name']} {made['arithmetic']} products {made['products']:.0f} others {made['others']:.0f} "
          f"bytes {made['bytes']:.0f}: {times}")
