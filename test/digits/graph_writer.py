#===- graph_writer.py - ONNX graphs, node by node ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Nodes and constants of an ONNX graph, without the onnx package."""
import struct

import wire

FLOAT, UINT8, INT8, INT32, INT64 = 1, 2, 3, 6, 7
FORMATS = {FLOAT: "f", UINT8: "B", INT8: "b", INT32: "i", INT64: "q"}


def attribute(name, value):
    if isinstance(value, int):
        return wire.data(5, wire.data(1, name) + wire.integer(3, value) + wire.integer(20, 2))
    return wire.data(5, wire.data(1, name) + wire.packed(8, value) + wire.integer(20, 7))


def value_info(name, shape, kind=FLOAT):
    """A size may be a name: it is open."""
    dims = b"".join(wire.data(1, wire.data(2, s) if isinstance(s, str) else wire.integer(1, s))
                    for s in shape)
    tensor = wire.integer(1, kind) + (wire.data(2, dims) if shape is not None else b"")
    return wire.data(1, name) + wire.data(2, wire.data(1, tensor))


class Writer:
    def __init__(self, random):
        self.random = random
        self.nodes = self.initializers = b""
        self.count = 0

    def node(self, operation, inputs, domain="", **attributes):
        self.count += 1
        output = "v%d" % self.count
        self.nodes += wire.data(1, b"".join(wire.data(1, i) for i in inputs)
                                + wire.data(2, output) + wire.data(3, "n%d" % self.count)
                                + wire.data(4, operation)
                                + (wire.data(7, domain) if domain else b"")
                                + b"".join(attribute(k, v) for k, v in attributes.items()))
        return output

    def constant(self, shape, kind=FLOAT, values=None):
        self.count += 1
        name = "c%d" % self.count
        size = 1
        for s in shape:
            size *= s
        if values is None:
            values = [self.random.uniform(-1, 1) for _ in range(size)]
        raw = struct.pack("<%d%s" % (size, FORMATS[kind]), *values)
        self.initializers += wire.data(5, b"".join(wire.integer(1, s) for s in shape)
                                       + wire.integer(2, kind) + wire.data(8, name)
                                       + wire.data(9, raw))
        return name
