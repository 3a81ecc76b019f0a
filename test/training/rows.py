#!/usr/bin/env python3
#===- rows.py - Models that read few rows of a table ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes models (as test/frontend/onnx/Inputs/model.py reads them) that multiply rows which two
lookups find in one table, and what they are fed: equal rows, and numbers that count from the end.

usage: rows.py FOLDER

NAME.txt, and NAME-whole.txt, which adds 0 times the sum of the table, so that all of the table
has a gradient, of the same bits; NAME.npz. `few` has so few rows that each is compared with each,
`many` more than that, `open` as many as it is fed.
"""
import random
import sys
import zipfile

from batches import npy

COLUMNS = 4


def write(folder, name, table, count, rows):
    draw = random.Random(7)
    values = " ".join(f"{draw.uniform(-1, 1):.4f}" for _ in range(table * COLUMNS))
    ids = [draw.choice([1, -1, 5, 5, draw.randrange(-table, table)]) for _ in range(2 * rows)]
    lines = ["opset 13", f"input a i64 {count}x2", f"input b i64 {count}x2",
             f"init w f32 {table}x{COLUMNS} = {values}", "init zero f32 scalar = 0",
             "first: p = Gather(w, a)", "second: q = Gather(w, b)", "product: y = Mul(p, q)",
             f"output y f32 {count}x2x{COLUMNS}"]
    whole = lines[:-2] + ["product: r = Mul(p, q)", "sum: s = ReduceSum(w) keepdims=0",
                          "none: z = Mul(s, zero)", "all: y = Add(r, z)", lines[-1]]
    for path, text in ((name, lines), (name + "-whole", whole)):
        with open(f"{folder}/{path}.txt", "w") as file:
            file.writelines(f"ONNX: {line}\n" for line in text)
    with zipfile.ZipFile(f"{folder}/{name}.npz", "w") as archive:
        archive.writestr("a.npy", npy("i8", [rows, 2], ids))
        archive.writestr("b.npy", npy("i8", [rows, 2], ids[::-1]))
        archive.writestr("t.npy", npy("f4", [rows, 2, COLUMNS],
                                      [draw.uniform(-1, 1) for _ in range(2 * COLUMNS * rows)]))


write(sys.argv[1], "few", 200, 5, 5)
write(sys.argv[1], "many", 400, 25, 25)
write(sys.argv[1], "open", 4096, "N", 9)
