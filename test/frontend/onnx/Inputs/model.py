#!/usr/bin/env python3
# ===- model.py - ONNX files from a few lines of text -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Writes the model that a test describes in its lines "ONNX: …" to a file.

    ONNX: opset 13                      of the standard domain (or: opset NAME 1)
    ONNX: input x f32 2x?xN             dimensions: sizes, ?, or names
    ONNX: input s seq(f32) ?x3          a sequence; opt(f32), opt(seq(f32)) likewise
    ONNX: input m map(i64,f32) scalar   a map
    ONNX: init w i64 2 = 0 1            values; a scalar's shape is "scalar"
    ONNX: external w f32 2 at FILE 8    values in FILE from byte 8 on
    ONNX: n1: y, z = Op(x, , w) axis=1 pads=[0,1] xs=["x"] mode="edge" alpha=0.5 body=@g
    ONNX: output y f32 2                the type may be left out
    ONNX: graph g … ONNX: end           a subgraph, for attributes
    ONNX: function dom.F(a) -> b … ONNX: end    a function; $alpha is its attribute

Only what tests need is checked. Usage: model.py TEST OUT.onnx
"""
import re
import struct
import sys

TYPES = {"f32": 1, "ui8": 2, "i8": 3, "ui32": 12, "i32": 6, "i64": 7, "bool": 9, "str": 8,
         "f16": 10, "f64": 11}
PACK = {"f32": "f", "ui8": "B", "i8": "b", "i32": "i", "i64": "q", "bool": "?", "f64": "d"}


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def sizes(word):
    return [] if word == "scalar" else word.split("x")


def type_proto(element, shape):
    nested = re.fullmatch(r"(seq|opt)\((.*)\)", element)
    if nested:
        field = {"seq": 4, "opt": 9}[nested[1]]
        return text(field, text(1, type_proto(nested[2], shape)))
    pair = re.fullmatch(r"map\((\w+),(\w+)\)", element)
    if pair:
        return text(5, number(1, TYPES[pair[1]]) + text(2, type_proto(pair[2], "scalar")))
    dims = b""
    for dim in sizes(shape):
        if dim.isdigit():
            dims += text(1, number(1, int(dim)))
        else:
            dims += text(1, b"" if dim == "?" else text(2, dim))
    return text(1, number(1, TYPES[element]) + text(2, dims))


def value_info(words):
    body = text(1, words[0])
    if len(words) == 3:
        body += text(2, type_proto(words[1], words[2]))
    return body


def tensor(name, element, shape, values):
    data = struct.pack("<%d%s" % (len(values), PACK[element]), *values)
    dims = b"".join(number(1, int(d)) for d in sizes(shape))
    return dims + number(2, TYPES[element]) + text(8, name) + text(9, data)


def parse_number(word, element="f32"):
    return float(word) if element in ("f32", "f64") else int(word)


def attribute(name, value, graphs):
    body = text(1, name)
    if value.startswith("@"):
        return body + number(20, 5) + text(6, graphs[value[1:]])
    if value.startswith("$"):
        return body + text(21, value[1:]) + number(20, 1)
    if value.startswith('"'):
        return body + number(20, 3) + text(4, value[1:-1])
    if value.startswith("["):
        items = [v for v in value[1:-1].split(",") if v]
        if items and items[0].startswith('"'):
            return body + number(20, 8) + b"".join(text(9, v[1:-1]) for v in items)
        return body + number(20, 7) + b"".join(number(8, int(v)) for v in items)
    if value.startswith("tensor("):
        element, shape, *values = value[7:-1].split(",")
        values = [parse_number(v, element) for v in values]
        return body + number(20, 4) + text(5, tensor("", element, shape, values))
    if re.fullmatch(r"-?\d+", value):
        return body + number(20, 2) + number(3, int(value))
    return body + number(20, 1) + varint(2 << 3 | 5) + struct.pack("<f", float(value))


NODE = re.compile(r"(?:([\w/.]+): )?([^=]*?) ?= ([\w.]+)\(([^)]*)\)(.*)")


def node(line, graphs):
    name, outputs, op, inputs, rest = NODE.fullmatch(line).groups()
    body = b""
    if inputs:
        body += b"".join(text(1, i.strip()) for i in inputs.split(","))
    body += b"".join(text(2, o.strip()) for o in outputs.split(","))
    if name:
        body += text(3, name)
    domain, _, short = op.rpartition(".")
    body += text(4, short)
    for key, value in re.findall(r'(\w+)=("[^"]*"|\[[^\]]*\]|tensor\([^)]*\)|\S+)', rest):
        body += text(5, attribute(key, value, graphs))
    return body + (text(7, domain) if domain else b"")


def main(source, target):
    lines = [l.split("ONNX:", 1)[1].strip() for l in open(source) if "ONNX:" in l]
    graphs, opsets, functions = {}, b"", b""
    stack = [(None, b"")]  # (what is being written, its fields)
    for line in lines:
        words = line.split()
        kind, body = stack.pop()
        in_function = kind and kind[0] == "function"
        if words[0] == "opset":
            domain, version = (words[1], words[2]) if len(words) == 3 else ("", words[1])
            opset = text(1, domain) + number(2, int(version))
            if in_function:
                body += text(9, opset)
            else:
                opsets += text(8, opset)
        elif words[0] == "input":
            body += text(11, value_info(words[1:]))
        elif words[0] == "output":
            body += text(12, value_info(words[1:]))
        elif words[0] == "init":
            values = [parse_number(v, words[2]) for v in words[5:]]
            body += text(5, tensor(words[1], words[2], words[3], values))
        elif words[0] == "external":
            entries = (("location", words[5]), ("offset", words[6]))
            body += text(5, b"".join(number(1, int(d)) for d in sizes(words[3]))
                         + number(2, TYPES[words[2]]) + text(8, words[1])
                         + b"".join(text(13, text(1, k) + text(2, v)) for k, v in entries)
                         + number(14, 1))
        elif words[0] == "graph":
            stack += [(kind, body)]
            kind, body = ("graph", words[1]), b""
        elif words[0] == "function":
            domain, name, inputs, output = re.fullmatch(
                r"function (\w+)\.(\w+)\(([^)]*)\) -> (.*)", line).groups()
            stack += [(kind, body)]
            kind = ("function", name)
            body = text(1, name) + text(10, domain)
            body += b"".join(text(4, i.strip()) for i in inputs.split(","))
            body += b"".join(text(5, o.strip()) for o in output.split(","))
        elif words[0] == "attribute":
            body += text(6, words[1])
        elif words[0] == "end":
            if kind[0] == "graph":
                graphs[kind[1]] = body
            else:
                functions += text(25, body)
            kind, body = stack.pop()
        else:
            body += text(7 if in_function else 1, node(line, graphs))
        stack.append((kind, body))
    graph = text(2, "g") + stack[0][1]
    with open(target, "wb") as out:
        out.write(number(1, 10) + text(7, graph) + opsets + functions)


main(sys.argv[1], sys.argv[2])
