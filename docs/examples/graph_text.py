# ===- graph_text.py - graphs of TensorFlow as text -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Writes GraphDefs without TensorFlow, for models.py."""

FLOAT, INT = "DT_FLOAT", "DT_INT32"


def shape_of(dims):
    return "".join(f"dim {{ size: {size} }} " for size in dims)


class Graph:
    """A GraphDef as text; every method adds a node and returns its name."""

    def __init__(self):
        self.text = ""

    def node(self, name, op, inputs=(), attributes=()):
        lines = "".join(f'  input: "{one}"\n' for one in inputs)
        lines += "".join(f'  attr {{ key: "{key}" value {{ {value} }} }}\n'
                         for key, value in dict(attributes).items())
        self.text += f'node {{\n  name: "{name}"\n  op: "{op}"\n{lines}}}\n'
        return name

    def op(self, name, op, *inputs, **types):
        """An operation whose attributes are types: T is f32 where it is not given."""
        return self.node(name, op, inputs,
                         {key: f"type: {value}" for key, value in types.items()}
                         or {"T": f"type: {FLOAT}"})

    def feed(self, name, dtype, *dims):
        return self.node(name, "Placeholder", (), {"dtype": f"type: {dtype}",
                                                   "shape": f"shape {{ {shape_of(dims)}}}"})

    def const(self, name, values, dims=(), dtype=INT):
        field = "float_val" if dtype == FLOAT else "int_val"
        data = " ".join(f"{field}: {value!r}" for value in values)
        tensor = f"tensor {{ dtype: {dtype} tensor_shape {{ {shape_of(dims)}}} {data} }}"
        return self.node(name, "Const", (), {"dtype": f"type: {dtype}", "value": tensor})
