#!/usr/bin/env python3
#===- page_models.py - the models whose pages a browser opens ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Makes, in a folder, resnet50.onnx, transformer.onnx (two layers, batch open), nasnet.onnx (20,000
nodes) and three.json (three devices). Wants NumPy.

usage: page_models.py FOLDER
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
import make_models  # noqa: E402


class OpenBatch(make_models.Graph):
    """-1 in a shape is a size with a name."""

    def port(self, field, name, dims, kind=None):
        super().port(field, name, ["N" if d == -1 else d for d in dims], kind)


class Scoped(make_models.Graph):
    """Nodes in scopes: cell3/0/1/expand."""

    def node(self, op, name, inputs, output=None, **attributes):
        return super().node(op, name.replace(".", "/"), inputs, output or name, **attributes)


def main():
    folder = sys.argv[1]
    make_models.resnet50().write(os.path.join(folder, "resnet50.onnx"))
    make_models.bert_base(layers=2, width=128, heads=4, length=32, vocabulary=500, batch=-1,
                          make=OpenBatch).write(os.path.join(folder, "transformer.onnx"))
    # A cell has 102 nodes.
    make_models.Graph = Scoped
    make_models.nas(cells=197, width=8, size=14).write(os.path.join(folder, "nasnet.onnx"))
    with open(os.path.join(folder, "three.json"), "w") as file:
        json.dump({"devices": [{"name": f"/cpu:{i}"} for i in range(3)],
                   "links": [{"from": "*", "to": "*", "bandwidth": 1e10, "latency": 1e-6}]}, file)


main()
