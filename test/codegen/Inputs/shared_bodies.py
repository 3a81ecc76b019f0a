#===- shared_bodies.py - layers that differ in depth --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: shared_bodies.py model FOLDER | profile FILE

A block of layers each of which reads what all before it left: products that differ in depth.
model.onnx and in.npz in FOLDER; or how many of the products a profile has a time of.
"""
import json
import sys

from floats import constant, data, integer, node, port, values, write_inputs, write_model

SIZE, FIRST, WIDTH, GROWTH, LAYERS = 14, 64, 64, 32, 6


def depth(layer):
    return FIRST + GROWTH * layer


def joined(name, operands):
    axis = data(5, data(1, "axis") + integer(3, 1) + integer(20, 2))
    text = b"".join(data(1, operand) for operand in operands)
    return data(1, text + data(2, name) + data(3, name) + data(4, "Concat") + axis)


def model(shape):
    graph = port(11, "x", shape) + port(12, "y", (1, depth(LAYERS), SIZE, SIZE))
    known = []
    graph += constant("w", (FIRST, FIRST, 1, 1), values((FIRST, FIRST), 0))
    graph += node("Conv", "first", ["x", "w"])
    known.append("first")
    for i in range(LAYERS):
        shapes = (WIDTH, depth(i), 1, 1), (GROWTH, WIDTH, 3, 3)
        for j, filter in enumerate(shapes):
            # Sums stay near one.
            scaled = values(filter, 1 + 2 * i + j)
            for k in range(len(scaled)):
                scaled[k] /= 16
            graph += constant(f"w{i}_{j}", filter, scaled)
        read = known[0]
        if i:
            read = f"all{i}"
            graph += joined(read, known)
        graph += node("Conv", f"wide{i}", [read, f"w{i}_0"])
        graph += node("Relu", f"kept{i}", [f"wide{i}"])
        graph += node("Conv", f"more{i}", [f"kept{i}", f"w{i}_1"], [("pads", [1, 1, 1, 1])])
        known.append(f"more{i}")
    return graph + joined("y", known)


def main():
    mode, path = sys.argv[1:]
    if mode == "profile":
        kernels = json.load(open(path))["kernels"]
        wide = {k["name"] for k in kernels if "wide" in k["nodes"] and k["nanoseconds"] > 0}
        print(len(wide), "products have times")
        return
    shape = (1, FIRST, SIZE, SIZE)
    write_model(path, model(shape))
    write_inputs(path, [("x", shape, values(shape, 100))])


main()
