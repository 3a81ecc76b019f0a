#!/usr/bin/env python3
#===- symbols.py - what tools find by names ---------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: symbols.py address OBJECT FUNCTION NODES    the function and nodes at places of a function
       symbols.py address OBJECT FUNCTION          the same without nodes, by symbols alone
       symbols.py dump FOLDER                      the functions of a jitdump below FOLDER
"""
import os
import re
import struct
import subprocess
import sys


def address(path, function, nodes=None):
    listing = subprocess.run(["llvm-nm", "--print-size", path], check=True, capture_output=True,
                             text=True).stdout
    start, size = (int(word, 16) for word in
                   re.search(rf"^(\w+) (\w+) t {function}$", listing, re.M).groups())
    lines = []
    if nodes:
        with open(nodes) as file:
            lines = file.read().splitlines()
    found = []
    for at in range(start, start + size, max(size // 50, 1)):
        told = subprocess.run(["llvm-symbolizer", "--obj=" + path, hex(at)], check=True,
                              capture_output=True, text=True).stdout.splitlines()
        number = told[1].split(":")[-2] if nodes else "0"
        found.append((told[0], lines[int(number) - 1] if number != "0" else ""))
    print(*sorted(set(" ".join(pair) for pair in found if pair[1] or not nodes)), sep="\n")


def dump(folder):
    """jitdump-specification.txt of Linux: a header, then records; kind 0 loads code."""
    path, = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
             if name.endswith(".dump"))
    with open(path, "rb") as file:
        data = file.read()
    magic, _, header = struct.unpack_from("<III", data)
    assert magic == 0x4A695444, hex(magic)
    at = header
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 0:
            code_size, = struct.unpack_from("<Q", data, at + 40)
            end = data.index(b"\0", at + 56)
            name = data[at + 56:end].decode()
            print(name, "with code" if end + 1 + code_size == at + size and code_size else "alone")
        at += size


if sys.argv[1] == "address":
    address(*sys.argv[2:])
else:
    dump(sys.argv[2])
