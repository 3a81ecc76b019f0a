#===- repeated_blocks.py - blocks that are copied again and again --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""repeated_blocks.py FOLDER: writes the feeds of repeated-blocks.mlir to in.npz. With `compare`:
fails where a result in out.npz is not what it should be."""
import array
import sys

from floats import count, read_output, write_inputs

FOLDER = sys.argv[1]
#: Feeds: sizes, and whether they are floats or booleans.
FEEDS = {"a": ((9, 1, 3), "f"), "b": ((4, 5, 6), "f"), "c": ((2, 1, 1, 5), "b"),
         "d": ((17, 3, 15, 19), "f"), "e": ((7, 11), "f")}
#: Results: their feed, how many blocks that has, and how often each comes.
RESULTS = {"x": ("a", 9, 4000), "y": ("b", 4, 300), "z": ("c", 2, 630)}

#: Tiles along several dimensions: their feed, and how often each dimension comes.
TILES = {"v": ("d", (2, 3, 1, 2)), "w": ("e", (10, 9))}


def tiled(numbers, shape, times):
    if not shape:
        return numbers
    step = len(numbers) // shape[0]
    return [number for i in range(shape[0])
            for number in tiled(numbers[i * step:(i + 1) * step], shape[1:], times[1:])] * times[0]


def values(name):
    shape, typecode = FEEDS[name]
    return array.array(typecode, (i * 7 % 3 == 0 if typecode == "b" else i
                                  for i in range(count(shape))))


if len(sys.argv) == 2:
    write_inputs(FOLDER, [(feed, shape, values(feed)) for feed, (shape, _) in FEEDS.items()])
else:
    for result, (feed, blocks, times) in RESULTS.items():
        numbers = values(feed)
        block = len(numbers) // blocks
        wanted = [number for i in range(blocks) for _ in range(times)
                  for number in numbers[i * block:(i + 1) * block]]
        if list(read_output(FOLDER, result, (len(wanted),), FEEDS[feed][1])) != wanted:
            sys.exit(f"{result} is not {times} times each block of {feed}")
    for result, (feed, times) in TILES.items():
        wanted = tiled(list(values(feed)), FEEDS[feed][0], times)
        if list(read_output(FOLDER, result, (len(wanted),))) != wanted:
            sys.exit(f"{result} is not {times} times {feed}")
