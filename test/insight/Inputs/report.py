#!/usr/bin/env python3
#===- report.py - checks of what weirc --report writes ----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: report.py schema SCHEMA.json REPORT.json    whether a report is as the schema says
       report.py page INDEX.html REPORT.json       whether the page holds the report, and nothing
                                                   that it would have to fetch
       report.py spills CODE.s REPORT.json CODE.json    spills and reloads beside those that
                                                        LLVM's assembly says in comments
       report.py large OUT.pb NODES                 a GraphDef of so many nodes in nested scopes
"""
import json
import re
import sys

KINDS = {"object": dict, "array": list, "string": str}


def check(schema, value, where):
    kind = schema.get("type")
    if kind in KINDS and not isinstance(value, KINDS[kind]):
        yield f"{where}: no {kind}"
    elif kind == "integer" and (not isinstance(value, int) or isinstance(value, bool)):
        yield f"{where}: no integer"
    elif kind == "number" and not isinstance(value, (int, float)):
        yield f"{where}: no number"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where}: found {value!r}"
    elif kind == "object":
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where}: lacks {name}"
        known = schema.get("properties")
        for name, inner in value.items():
            if known is not None and name in known:
                yield from check(known[name], inner, f"{where}.{name}")
            elif "additionalProperties" in schema:
                yield from check(schema["additionalProperties"], inner, f"{where}.{name}")
            elif known is not None:
                yield f"{where}: {name} is not in the schema"
    elif kind == "array":
        for i, inner in enumerate(value):
            yield from check(schema["items"], inner, f"{where}[{i}]")


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def large(path, count):
    def attr(name, value):
        return data(5, data(1, name) + data(2, value))

    floats = attr("T", varint(6 << 3) + varint(1))
    shape = attr("shape", data(7, data(2, varint(1 << 3) + varint(4))))
    out = data(1, data(1, "x") + data(2, "Placeholder")
               + attr("dtype", varint(6 << 3) + varint(1)) + shape)
    last = "x"
    for i in range(count - 1):
        name = f"block{i // 1000}/layer{i // 50 % 20}/op{i % 50}"
        op, inputs = ("Tanh", [last]) if i % 3 else ("Add", [last, last])
        out += data(1, data(1, name) + data(2, op) + b"".join(data(3, n) for n in inputs) + floats)
        last = name
    with open(path, "wb") as f:
        f.write(out)


def spills(assembly, report, code):
    with open(assembly) as f:
        functions = re.split(r"^(\w+):", f.read(), flags=re.M)
    said = {name: (len(re.findall("byte Spill", body)), len(re.findall("byte (?:Folded )?Reload", body)))
            for name, body in zip(functions[1::2], functions[2::2])}
    with open(report) as f:
        kernels = json.load(f)["kernels"]
    with open(code) as f:
        texts = json.load(f)
    with_code = [k for k in kernels if k.get("code", {}).get("instructions", 0) > 3
                 and texts[k["name"]]["assembly"].rstrip().splitlines()[-1].split()[1] in ("ret", "jmp", "int3")
                 and texts[k["name"]]["ir"].startswith("weir_plan.kernel")]
    wrong = [k["name"] for k in with_code if (k["code"]["spills"], k["code"]["reloads"])
             != said["spilt_k_" + re.sub(r"\W", "_", k["name"])]]
    print(f"{len(with_code)} kernels with code, {sum(k['code']['spills'] > 0 for k in with_code)} "
          f"with spills, {len(wrong)} counted otherwise", *wrong)


def main():
    if sys.argv[1] == "spills":
        return spills(*sys.argv[2:5])
    if sys.argv[1] == "large":
        return large(sys.argv[2], int(sys.argv[3]))
    with open(sys.argv[3]) as f:
        report = json.load(f)
    if sys.argv[1] == "schema":
        with open(sys.argv[2]) as f:
            problems = list(check(json.load(f), report, "report"))
    else:
        with open(sys.argv[2]) as f:
            page = f.read()
        inside = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
        problems = [] if inside and json.loads(inside[1]) == report else ["the data differ"]
        rest = page.replace(inside[0], "") if inside else page
        if re.search(r'(src|href)="?https?:|url\(|import |fetch\(', rest):
            problems.append("the page fetches something")
    for problem in problems[:20]:
        print(problem)
    sys.exit(1 if problems else 0)


main()
