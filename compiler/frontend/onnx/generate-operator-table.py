#!/usr/bin/env python3
# ===- generate-operator-table.py - facts about ONNX's operators ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Writes OperatorTable.inc from the schemas of PyPI's `onnx`.

Run by hand when a new ONNX release defines operators:

    python3 -m venv /tmp/v && /tmp/v/bin/pip install onnx
    /tmp/v/bin/python generate-operator-table.py > OperatorTable.inc

Building weir needs neither this script nor the package. One row is one
signature of an operator with all versions that have it:

    OPERATOR(domain, name, "versions", least inputs, most inputs (-1: any),
             least outputs, most outputs, "inputs", "outputs", "attributes")

A parameter's name ends in ? where it may be left out, in * where it repeats.
An attribute is name:kind, then ! where it is required, or =default. Kinds: i f
s t g p(type) S(sparse tensor), and is fs ss ts gs ps for lists.
"""
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


main()
