#===- narrow_weights.py - products by weights of f16 and bf16 ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: narrow_weights.py f16|bf16|f32 FOLDER

Products of f32, of one row, a few, many and an open number, by weights that are f16, bf16 or,
with the numbers of bf16, f32: model.onnx and in.npz in FOLDER. `f32h` has those of f16.
"""
import array
import struct
import sys

from floats import (constant, node, port, values, write_inputs, write_model)
from wire import data, integer, packed

ROWS = {"one": 1, "five": 5, "many": 40, "open": "n"}
DEPTH, COLUMNS = 515, 410
FLOAT, FLOAT16, BFLOAT16 = 1, 10, 16


def narrow(floats, kind):
    """The elements' 16 bits."""
    if kind == FLOAT16:
        return array.array("H", (struct.unpack("<H", struct.pack("<e", v))[0] for v in floats))
    return array.array("H", (word >> 16 for word in array.array("I", floats.tobytes())))


def widened(halves, kind):
    if kind == FLOAT16:
        return array.array("f", (struct.unpack("<e", struct.pack("<H", h))[0] for h in halves))
    return array.array("f", array.array("I", (h << 16 for h in halves)).tobytes())


def main():
    kind, folder = sys.argv[1], sys.argv[2]
    stored = FLOAT16 if kind in ("f16", "f32h") else BFLOAT16
    graph, inputs = b"", []
    for name, rows in ROWS.items():
        halves = narrow(values((DEPTH, COLUMNS), name), stored)
        if kind.startswith("f32"):
            graph += constant(name + "w", (DEPTH, COLUMNS), widened(halves, stored))
        else:
            graph += data(5, packed(1, (DEPTH, COLUMNS)) + integer(2, stored)
                          + data(8, name + "n") + data(9, halves.tobytes()))
            graph += node("Cast", name + "w", [name + "n"], [("to", FLOAT)])
        graph += port(11, name, (rows, DEPTH))
        graph += node("MatMul", name + "p", [name, name + "w"]) + node("Relu", name + "r",
                                                                      [name + "p"])
        graph += port(12, name + "r", (rows, COLUMNS))
        fed = 3 if rows == "n" else rows
        inputs.append((name, (fed, DEPTH), values((fed, DEPTH), name + "x")))
    write_model(folder, graph)
    write_inputs(folder, inputs)


main()
