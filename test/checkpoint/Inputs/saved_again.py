#!/usr/bin/env python3
#===- saved_again.py - many tensors of one checkpoint in another ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""saved_again.py FOLDER COUNT: graphs that save COUNT matrices as FOLDER/first, and that restore them
and save them as FOLDER/second, some of them negated, under the same names."""
import os
import sys

folder, count = sys.argv[1], int(sys.argv[2])
names = [f"layer_{i}/weights" for i in range(count)]


def text(name, values, scalar=False):
    shape = "" if scalar else f"dim {{ size: {len(values)} }}"
    strings = " ".join(f'string_val: "{value}"' for value in values)
    return (f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_STRING }} }} attr {{ key: "value" '
            f'value {{ tensor {{ dtype: DT_STRING tensor_shape {{ {shape} }} {strings} }} }} }} }}\n')


def node(name, op, inputs, **attributes):
    given = " ".join(f'input: "{each}"' for each in inputs)
    kept = " ".join(f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attributes.items())
    return f'node {{ name: "{name}" op: "{op}" {given} {kept} }}\n'


floats = "list { " + "type: DT_FLOAT " * count + "}"
common = text("names", names) + text("slices", [""] * count)
first, second = os.path.join(folder, "first"), os.path.join(folder, "second")

made = common + text("to", [first], scalar=True) + node(
    "x", "Const", [], dtype="type: DT_FLOAT",
    value="tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 3 } } float_val: 1.5 }")
made += node("save", "SaveV2", ["to", "names", "slices"] + ["x"] * count, dtypes=floats)
copied = common + text("from", [first], scalar=True) + text("to", [second], scalar=True)
copied += node("restore", "RestoreV2", ["from", "names", "slices"], dtypes=floats)
saved = []
for i in range(count):
    if i % 2:
        copied += node(f"minus_{i}", "Neg", [f"restore:{i}"], T="type: DT_FLOAT")
    saved.append(f"minus_{i}" if i % 2 else f"restore:{i}")
copied += node("save", "SaveV2", ["to", "names", "slices"] + saved, dtypes=floats)
for path, graph in ((first, made), (second, copied)):
    with open(path + ".pbtxt", "w") as out:
        out.write(graph)
