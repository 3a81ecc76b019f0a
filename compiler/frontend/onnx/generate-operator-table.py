#!/usr/bin/env python3
# ===- generate-operator-table.py - facts about ONNX's operators ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Writes OperatorTable.inc and TypeTable.inc from the schemas of PyPI's `onnx`, and
their rows for com.microsoft, MicrosoftTable.inc, from those of `onnxruntime`.

Run by hand when a new ONNX release defines operators:

    python3 -m venv /tmp/v && /tmp/v/bin/pip install onnx
    /tmp/v/bin/python generate-operator-table.py > OperatorTable.inc
    /tmp/v/bin/python generate-operator-table.py --types > TypeTable.inc
    /tmp/v/bin/python generate-operator-table.py --microsoft > MicrosoftTable.inc

Building weir needs neither this script nor the package. One row is one
signature of an operator with all versions that have it:

    OPERATOR(domain, name, "versions", least inputs, most inputs (-1: any),
             least outputs, most outputs, "inputs", "outputs", "attributes")

A parameter's name ends in ? where it may be left out, in * where it repeats.
An attribute is name:kind, then ! where it is required, or =default. Kinds: i f
s t g p(type) S(sparse tensor), and is fs ss ts gs ps for lists.

A row of TypeTable.inc says which element types the inputs of an operator may
have, where they are tensors:

    OPERAND_TYPES(domain, name, "versions", "inputs", "sets")

Each input is the name of a set, * behind it where it repeats, + where it repeats
with a type of its own each time; inputs of one set have one type, but for sets
that begin with a dot. A set is name=letters, a letter a type: A is float, B
uint8, and so on by the numbers of TensorProto.DataType, [ the 27th. Sets without
tensors are left out, and their inputs are -.
"""
import sys

import onnx
import onnx.defs

KINDS = {
    "INT": "i", "FLOAT": "f", "STRING": "s", "TENSOR": "t", "GRAPH": "g",
    "SPARSE_TENSOR": "S", "TYPE_PROTO": "p", "INTS": "is", "FLOATS": "fs",
    "STRINGS": "ss", "TENSORS": "ts", "GRAPHS": "gs", "TYPE_PROTOS": "ps",
}
MANY = 2**31 - 1

# Operators that releases before 1.4 had on trial and files still hold.
EXPERIMENTAL = [
    ("Affine", 1, 1, "X", "alpha:f=1 beta:f=1"),
    ("Crop", 1, 1, "input", "border:is scale:is"),
    ("DynamicSlice", 3, 4, "data starts ends axes?", ""),
    ("ImageScaler", 1, 1, "input", "bias:fs scale:f=1"),
    ("MeanVarianceNormalization", 1, 1, "X", "across_channels:i=0 normalize_variance:i=1"),
    ("ParametricSoftplus", 1, 1, "X", "alpha:f=1 beta:f=1"),
    ("Scale", 1, 1, "input", "scale:f=1"),
    ("ScaledTanh", 1, 1, "input", "alpha:f=1 beta:f=1"),
    # Not of any release: what ONNX Runtime's optimiser writes into models.
    ("SimplifiedLayerNormalization", 2, 2, "X scale", "axis:i=-1 epsilon:f=1e-05 stash_type:i=1"),
    ("ThresholdedRelu", 1, 1, "X", "alpha:f=1"),
]


def parameter(formal):
    option = formal.option.name
    return formal.name + {"Single": "", "Optional": "?", "Variadic": "*"}[option]


def default(value):
    kind = onnx.AttributeProto.AttributeType.Name(value.type)
    if kind == "INT":
        return str(value.i)
    if kind == "FLOAT":
        return "%.9g" % value.f
    if kind == "STRING":
        return value.s.decode()
    if kind == "INTS":
        return ",".join(map(str, value.ints))
    if kind == "FLOATS":
        return ",".join("%.9g" % f for f in value.floats)
    if kind == "STRINGS":
        return ",".join(s.decode() for s in value.strings)
    if kind == "TENSOR":
        return None  # an empty tensor: "not given"
    raise SystemExit("default of kind " + kind)


def attribute(attr):
    text = attr.name + ":" + KINDS[attr.type.name]
    if attr.required:
        return text + "!"
    if attr.default_value.name:
        value = default(attr.default_value)
        if value is not None:
            assert " " not in value, value
            return text + "=" + value
    return text


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def most(count):
    return -1 if count == MANY else count


def letters(types):
    """The element types of the tensors among `types`."""
    numbers = []
    for text in types:
        if text.startswith("tensor(") and text.endswith(")"):
            name = text[len("tensor("):-1].upper()
            numbers.append(onnx.TensorProto.DataType.Value(name))
    return "".join(chr(ord("A") + number - 1) for number in sorted(numbers))


def operand_types(sets, formals):
    """Columns `inputs` and `sets`, from letters by names, and (name, is one of a
    variadic, is homogeneous, its own types)."""
    used, inputs = {}, []
    for name, repeats, homogeneous, own in formals:
        allowed = sets[name] if name in sets else letters(own)
        if not allowed:
            inputs.append("-")
            continue
        if name not in sets:  # one type, said where it stands
            name = "." + allowed
        used[name] = allowed
        inputs.append(name + (("*" if homogeneous else "+") if repeats else ""))
    return " ".join(inputs), " ".join(f"{name}={used[name]}" for name in sorted(used))


def onnx_types(schema):
    sets = {c.type_param_str: letters(c.allowed_type_strs) for c in schema.type_constraints}
    return operand_types(sets, [(f.type_str, f.option.name == "Variadic", f.is_homogeneous,
                                 [f.type_str]) for f in schema.inputs])


def print_types(domain, name, versions, inputs, sets):
    print("OPERAND_TYPES(" + ", ".join(map(quote, (domain, name, versions, inputs, sets))) + ")")


def microsoft_attribute(attr):
    default_value = onnx.AttributeProto()
    default_value.ParseFromString(attr._default_value)

    class Form:
        name, type, required = attr.name, attr.type, attr.required

    Form.default_value = default_value
    return attribute(Form)


def microsoft_table():
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state
    print("// Made by generate-operator-table.py --microsoft from onnxruntime " +
          onnxruntime.__version__ + ", see")
    print("// there for the form of a row. Sorted by name.")
    for schema in sorted(state.get_all_operator_schema(), key=lambda s: s.name):
        if schema.domain != "com.microsoft" or schema.deprecated:
            continue
        counts = ", ".join(str(most(c)) for c in (schema.min_input, schema.max_input,
                                                  schema.min_output, schema.max_output))
        texts = ", ".join(map(quote, (
            " ".join(map(parameter, schema.inputs)), " ".join(map(parameter, schema.outputs)),
            " ".join(microsoft_attribute(schema.attributes[n]) for n in sorted(schema.attributes)))))
        print(f'OPERATOR("com.microsoft", {quote(schema.name)}, "{schema.since_version}", '
              f"{counts}, {texts})")
        sets = {c.type_param_str: letters(c.allowed_type_strs) for c in schema.type_constraints}
        inputs, sets = operand_types(sets, [(f.typeStr, f.option.name == "Variadic",
                                             f.isHomogeneous, [f.typeStr]) for f in schema.inputs])
        print_types("com.microsoft", schema.name, str(schema.since_version), inputs, sets)


def type_table():
    rows = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.deprecated and not schema.outputs:
            continue
        inputs, sets = onnx_types(schema)
        rows.setdefault((schema.domain, schema.name, inputs, sets), []).append(schema.since_version)
    print("// Made by generate-operator-table.py --types from onnx " + onnx.__version__ + ", see there")
    print("// for the form of a row. Sorted by domain and name.")
    for row, versions in sorted(rows.items(), key=lambda r: (r[0][0], r[0][1], min(r[1]))):
        domain, name, inputs, sets = row
        print_types(domain, name, " ".join(map(str, sorted(versions))), inputs, sets)


def main():
    rows = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        # Withdrawn ones, some as stubs without a signature: the version before
        # goes on being meant.
        if schema.deprecated and not schema.outputs:
            continue
        signature = (
            schema.domain, schema.name,
            schema.min_input, most(schema.max_input),
            schema.min_output, most(schema.max_output),
            " ".join(map(parameter, schema.inputs)),
            " ".join(map(parameter, schema.outputs)),
            " ".join(attribute(schema.attributes[name]) for name in sorted(schema.attributes)),
        )
        rows.setdefault(signature, []).append(schema.since_version)
    for name, least, many, inputs, attributes in EXPERIMENTAL:
        rows[("", name, least, many, 1, 1, inputs, "output", attributes)] = [1]
    print("// Made by generate-operator-table.py from onnx " + onnx.__version__ + ", see there for the")
    print("// form of a row. Sorted by domain and name.")
    print("#define NEWEST_OPSET " + str(onnx.defs.onnx_opset_version()))
    for signature, versions in sorted(rows.items(), key=lambda r: (r[0][0], r[0][1], min(r[1]))):
        domain, name, *rest = signature
        counts = ", ".join(map(str, rest[:4]))
        texts = ", ".join(map(quote, rest[4:]))
        since = " ".join(map(str, sorted(versions)))
        print(f"OPERATOR({quote(domain)}, {quote(name)}, {quote(since)}, {counts}, {texts})")


{"--types": type_table, "--microsoft": microsoft_table}.get(" ".join(sys.argv[1:]), main)()
