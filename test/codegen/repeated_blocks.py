#!/usr/bin/env python3
#===- repeated_blocks.py - blocks that are copied again and again --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""repeated_blocks.py FOLDER: writes the feeds of Inputs/repeated-blocks.mlir, a.npy to c.npy. With
`compare`: fails where a result in FOLDER/out is not what it should be. Needs no packages."""
import struct
import sys

FOLDER = sys.argv[1]
#: Feeds: sizes, and how NumPy and struct write an element.
FEEDS = {"a": ((9, 1, 3), "<f4", "f"), "b": ((4, 5, 6), "<f4", "f"), "c": ((2, 1, 1, 5), "|b1", "?")}
#: Results: their feed, how many blocks that has, and how often each comes.
RESULTS = {"x": ("a", 9, 4000), "y": ("b", 4, 300), "z": ("c", 2, 630)}


def values(name):
    shape, _, code = FEEDS[name]
    count = 1
    for size in shape:
        count *= size
    return [i * 7 % 3 == 0 if code == "?" else float(i) for i in range(count)]


if len(sys.argv) == 2:
    for feed, (sizes, dtype, letter) in FEEDS.items():
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {sizes}, }}".ljust(117)
        numbers = values(feed)
        with open(f"{FOLDER}/{feed}.npy", "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + b"\n")
            file.write(struct.pack(f"<{len(numbers)}{letter}", *numbers))
else:
    for result, (feed, blocks, times) in RESULTS.items():
        numbers, letter = values(feed), FEEDS[feed][2]
        block = len(numbers) // blocks
        wanted = [v for i in range(blocks) for _ in range(times)
                  for v in numbers[i * block:(i + 1) * block]]
        with open(f"{FOLDER}/out/{result}.npy", "rb") as file:
            data = file.read()
        begin = 10 + struct.unpack("<H", data[8:10])[0]
        if data[begin:] != struct.pack(f"<{len(wanted)}{letter}", *wanted):
            sys.exit(f"{result} is not {times} times each block of {feed}")
