#!/usr/bin/env python3
#===- cliff_shapes.py - Models whose shapes may have cliffs -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes models of one operator along each axis of shapes for weir-bench cliffs.

usage: cliff_shapes.py FOLDER [REGEX]

Where cliffs.py draws any sizes for every operator, this takes shapes that kernels choose
their forms by: last dimensions of two to thirteen, dimensions of one between long ones,
images, sequences; and each operator along every axis, spread along every one. Sizes are
fixed, open, or open but for the last dimension ("lines"). REGEX chooses by
"operator type shape". FOLDER/list.tsv describes the models; weir-bench says how.
"""
import itertools
import os
import re
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper  # noqa: E402

import cliffs  # noqa: E402

SHAPES = [(8400, 4), (300, 91), (7, 1001), (196, 196, 4), (16, 1024, 3), (2, 2000, 2), (100, 7, 7),
          (5000, 3, 3), (64, 1, 512), (32, 50, 65), (1, 3, 224, 224), (1, 224, 224, 3),
          (4, 9, 64, 64), (1, 12, 128, 128), (2, 128, 12, 64), (3, 5, 7, 11, 13)]
FORMS = ("fixed", "open", "lines")


class Case:
    """A graph: `nodes` over `feeds` (x first) and `constants`, by name; `result` is its value."""

    def __init__(self, nodes, feeds, constants=None, result="y"):
        self.nodes, self.feeds, self.constants = nodes, feeds, constants or {}
        self.result = result


def node(name, inputs, outputs=("y",), **attributes):
    return helper.make_node(name, list(inputs), list(outputs), **attributes)


def integers(*values):
    return np.array(values, np.int64)


def spread(shape, kept):
    return tuple(size if i in kept else 1 for i, size in enumerate(shape))


class Maker:
    """Cases of one shape and type: a method each, along `axis` or of all axes."""

    def __init__(self, shape, dtype, random):
        self.shape, self.rank, self.dtype, self.random = shape, len(shape), dtype, random
        self.x = self.values(shape)

    def values(self, shape):
        if self.dtype == "bool":
            return self.random.random(shape) < 0.5
        if np.dtype(self.dtype).kind in "iu":
            return self.random.integers(1, 100, shape).astype(self.dtype)
        return self.random.standard_normal(shape).astype(self.dtype)

    def along(self, axis):
        return {i for i in range(self.rank) if i != axis}

    def one(self, name, axis=None, **attributes):
        if axis is not None:
            attributes["axis"] = axis
        return Case([node(name, ["x"], **attributes)], {"x": self.x})

    def softmax(self, axis):
        return self.one("Softmax", axis)

    def log_softmax(self, axis):
        return self.one("LogSoftmax", axis)

    def arg_max(self, axis):
        return self.one("ArgMax", axis, keepdims=0)

    def reduced(self, name, axes):
        return Case([node(name, ["x", "axes"])], {"x": self.x}, {"axes": integers(*axes)})

    def reduce_sum(self, axis):
        return self.reduced("ReduceSum", [axis])

    def reduce_max(self, axis):
        return self.reduced("ReduceMax", [axis])

    def reduce_l2(self, axis):
        return self.reduced("ReduceL2", [axis])

    def mean_of_others(self, axis):
        return self.reduced("ReduceMean", sorted(self.along(axis)))

    def binary(self, name, shape):
        return Case([node(name, ["x", "z"])], {"x": self.x, "z": self.values(shape)})

    def mul_spread_along(self, axis):
        return self.binary("Mul", spread(self.shape, self.along(axis)))

    def add_spread_but_along(self, axis):
        return self.binary("Add", spread(self.shape, {axis}))

    def compare_spread(self, axis):
        return self.binary("Greater", spread(self.shape, self.along(axis)))

    def where_spread(self, axis):
        mask = self.random.random(spread(self.shape, self.along(axis))) < 0.5
        return Case([node("Where", ["m", "x", "z"])],
                    {"x": self.x, "m": mask, "z": self.values(())})

    def cumulative(self, axis):
        return Case([node("CumSum", ["x", "axis"])], {"x": self.x},
                    {"axis": np.array(axis, np.int64)})

    def top_k(self, axis):
        count = min(3, self.shape[axis])
        return Case([node("TopK", ["x", "k"], ["y", "i"], axis=axis)], {"x": self.x},
                    {"k": integers(count)})

    def concat(self, axis):
        return Case([node("Concat", ["x", "z"], axis=axis)],
                    {"x": self.x, "z": self.values(self.shape)})

    def split(self, axis):
        half = self.shape[axis] // 2
        return Case([node("Split", ["x", "parts"], ["y", "z"], axis=axis)], {"x": self.x},
                    {"parts": integers(half, self.shape[axis] - half)})

    def slice(self, axis, start, end, step=1):
        return Case([node("Slice", ["x", "from", "to", "axes", "step"])], {"x": self.x},
                    {"from": integers(start), "to": integers(end), "axes": integers(axis),
                     "step": integers(step)})

    def slice_inside(self, axis):
        return self.slice(axis, 1, self.shape[axis] - 1) if self.shape[axis] > 2 else None

    def slice_every_second(self, axis):
        return self.slice(axis, 0, self.shape[axis], 2) if self.shape[axis] > 3 else None

    def reverse(self, axis):
        return self.slice(axis, -1, -2**31, -1)

    def gather(self, axis):
        indices = (np.arange(40) * 7 % self.shape[axis]).astype(np.int64)
        return Case([node("Gather", ["x", "i"], axis=axis)], {"x": self.x, "i": indices})

    def gather_elements(self, axis):
        indices = self.random.integers(0, self.shape[axis], self.shape)
        return Case([node("GatherElements", ["x", "i"], axis=axis)], {"x": self.x, "i": indices})

    def scatter_elements(self, axis):
        indices = self.random.integers(0, self.shape[axis], self.shape)
        return Case([node("ScatterElements", ["x", "i", "u"], axis=axis, reduction="add")],
                    {"x": self.x, "i": indices, "u": self.x})

    def pad(self, axis):
        pads = [0] * (2 * self.rank)
        pads[axis], pads[self.rank + axis] = 1, 2
        return Case([node("Pad", ["x", "pads"])], {"x": self.x}, {"pads": integers(*pads)})

    def normalized_length(self, axis):
        return Case([node("ReduceL2", ["x", "axes"], ["n"]), node("Div", ["x", "n"])],
                    {"x": self.x}, {"axes": integers(axis)})

    def transpose(self, number):
        orders = list(itertools.permutations(range(self.rank)))[1:]
        order = orders[number * 7 % len(orders)]
        return self.one("Transpose", perm=order) if number < min(3, len(orders)) else None

    def expand(self, axis):
        small = self.values(spread(self.shape, self.along(axis)))
        return Case([node("Expand", ["x", "sizes"])], {"x": small},
                    {"sizes": integers(*self.shape)})

    def tile(self, axis):
        return Case([node("Tile", ["x", "times"])], {"x": self.x},
                    {"times": integers(*[3 if i == axis else 1 for i in range(self.rank)])})

    def to_float(self, axis):
        """An image of bytes as a network wants it: scaled by channel, turned."""
        scale = self.random.random(spread(self.shape, {axis})).astype(np.float32)
        order = [0, self.rank - 1] + list(range(1, self.rank - 1))
        return Case([node("Cast", ["x"], ["f"], to=1), node("Mul", ["f", "scale"], ["m"]),
                     node("Transpose", ["m"], perm=order)], {"x": self.x}, {"scale": scale}) \
            if self.rank == 4 else None

    # Of all axes: whatever axis 0 says.

    def layer_norm(self, axis):
        ones = np.ones(self.shape[-1], self.dtype)
        return Case([node("LayerNormalization", ["x", "g", "b"])], {"x": self.x},
                    {"g": ones, "b": ones}) if axis == 0 else None

    def rms_norm(self, axis):
        return Case([node("Mul", ["x", "x"], ["q"]), node("ReduceMean", ["q", "last"], ["m"]),
                     node("Add", ["m", "eps"], ["e"]), node("Sqrt", ["e"], ["r"]),
                     node("Div", ["x", "r"], ["n"]), node("Mul", ["n", "g"])], {"x": self.x},
                    {"last": integers(-1), "eps": np.array(1e-5, self.dtype),
                     "g": self.values(self.shape[-1:])}) if axis == 0 else None

    def instance_norm(self, axis):
        ones = np.ones(self.shape[1], self.dtype)
        return Case([node("InstanceNormalization", ["x", "g", "b"])], {"x": self.x},
                    {"g": ones, "b": ones}) if axis == 0 and self.rank > 2 else None

    def batch_norm(self, axis):
        names = ["g", "b", "m", "v"]
        constants = {name: np.ones(self.shape[1], self.dtype) for name in names}
        return Case([node("BatchNormalization", ["x"] + names)], {"x": self.x}, constants) \
            if axis == 0 and self.rank > 2 else None

    def matmul(self, axis):
        return Case([node("MatMul", ["x", "w"])], {"x": self.x},
                    {"w": self.values((self.shape[-1], 33))}) if axis == 0 else None

    def matmul_with_itself(self, axis):
        order = list(range(self.rank - 2)) + [self.rank - 1, self.rank - 2]
        return Case([node("Transpose", ["x"], ["t"], perm=order), node("MatMul", ["x", "t"])],
                    {"x": self.x}) if axis == 0 and self.shape[-2] < 1100 else None

    def distances(self, axis):
        if axis or self.shape[-1] > 8 or self.rank > 3:
            return None
        other = self.values(self.shape[:-2] + (17, self.shape[-1]))
        rows, columns = integers(self.rank - 1), integers(self.rank - 2)
        return Case([node("Unsqueeze", ["x", "rows"], ["a"]),
                     node("Unsqueeze", ["z", "columns"], ["b"]), node("Sub", ["a", "b"], ["d"]),
                     node("Mul", ["d", "d"], ["q"]),
                     node("ReduceSum", ["q", "last"], keepdims=0)], {"x": self.x, "z": other},
                    {"rows": rows, "columns": columns, "last": integers(-1)})


FLOATS = ("float32",)
#: A method of Maker, the operator's name in the table, and types.
OPERATORS = [
    ("softmax", FLOATS + ("float16",)), ("log_softmax", FLOATS),
    ("arg_max", FLOATS + ("int32", "uint8")), ("reduce_sum", FLOATS + ("int64", "float16")),
    ("reduce_max", FLOATS + ("uint8", "int64")), ("reduce_l2", FLOATS), ("mean_of_others", FLOATS),
    ("mul_spread_along", FLOATS + ("int64", "float16")),
    ("add_spread_but_along", FLOATS + ("int32",)), ("compare_spread", FLOATS + ("int64",)),
    ("where_spread", FLOATS + ("int64", "uint8")), ("cumulative", FLOATS + ("int64",)),
    ("top_k", FLOATS + ("int64",)), ("concat", FLOATS + ("uint8", "int64", "bool")),
    ("split", FLOATS + ("uint8",)), ("slice_inside", FLOATS + ("uint8", "int64")),
    ("slice_every_second", FLOATS + ("uint8",)), ("reverse", FLOATS + ("uint8",)),
    ("gather", FLOATS + ("uint8", "int64")), ("gather_elements", FLOATS),
    ("scatter_elements", FLOATS), ("pad", FLOATS + ("uint8",)), ("normalized_length", FLOATS),
    ("transpose", FLOATS + ("uint8", "int64", "float16")), ("expand", FLOATS + ("bool",)),
    ("tile", FLOATS + ("int64",)), ("to_float", ("uint8",)), ("layer_norm", FLOATS),
    ("rms_norm", FLOATS), ("instance_norm", FLOATS), ("batch_norm", FLOATS), ("matmul", FLOATS),
    ("matmul_with_itself", FLOATS), ("distances", FLOATS),
]


def model_of(case, form):
    def dims(name, shape):
        return ["%s_%d" % (name, i) if form != "fixed" and size > 1 and
                (form == "open" or i + 1 < len(shape) or len(shape) == 1) else size
                for i, size in enumerate(shape)]

    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                           dims(name, value.shape))
             for name, value in case.feeds.items()]
    graph = helper.make_graph(case.nodes, "g", infos, [onnx.ValueInfoProto(name=case.result)],
                              [onnx.numpy_helper.from_array(value, name)
                               for name, value in case.constants.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def main():
    asked = cliffs.arguments(__doc__)
    with cliffs.Models(asked.folder, "s") as models:
        for shape in SHAPES:
            size = "x".join(map(str, shape))
            for name, types in OPERATORS:
                for dtype in types:
                    if not re.search(asked.regex, "%s %s %s" % (name, dtype, size)):
                        continue
                    seed = zlib.crc32(("%s %s %s" % (name, dtype, size)).encode())
                    maker = Maker(shape, dtype, np.random.default_rng(seed))
                    for axis in range(len(shape)):
                        if shape[axis] == 1 and name not in ("layer_norm", "rms_norm", "matmul",
                                                             "instance_norm", "batch_norm",
                                                             "matmul_with_itself", "transpose"):
                            continue
                        case = getattr(maker, name)(axis)
                        if case is None:
                            continue
                        operations = float(sum(v.size for v in case.feeds.values()))
                        if name.startswith("matmul"):
                            other = 33 if name == "matmul" else shape[-2]
                            operations = 2.0 * np.prod(shape) * other
                        for form in FORMS:
                            models.add(model_of(case, form), case.feeds,
                                       ["%s-%d" % (name, axis), dtype, size, form, "fed", "plain"],
                                       operations)


if __name__ == "__main__":
    main()
