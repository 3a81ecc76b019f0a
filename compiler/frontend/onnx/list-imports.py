#!/usr/bin/env python3
# ===- list-imports.py - the operators that weir imports --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Lists the rows of the import tables, for docs/import-onnx.md.

    list-imports.py            prints the list
    list-imports.py --write    puts it into the page
    list-imports.py --check    fails where the page is not up to date
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "import-onnx.md"
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->\n"
ROW = re.compile(r'\{("[\w.]*"|training|ml|microsoft),\s*"(\w+)",\s*(\d+),\s*(\d+),')
DOMAINS = {"training": "ai.onnx.preview.training", "ml": "ai.onnx.ml", "microsoft": "com.microsoft"}


def listing():
    domains = {}
    for source in sorted(HERE.glob("*Imports.cpp")):
        for domain, name, first, _ in ROW.findall(source.read_text()):
            domain = DOMAINS.get(domain, domain.strip('"'))
            rows = domains.setdefault(domain, {})
            rows[name] = min(int(first), rows.get(name, 1000))
    text = ""
    for domain in sorted(domains):
        rows = domains[domain]
        names = ", ".join(f"{n} ({v})" if v > 1 else n for n, v in sorted(rows.items()))
        text += f"**{domain or 'ai.onnx'}**, {len(rows)} operators: {names}.\n\n"
    return text


def main():
    if sys.argv[1:] == []:
        print(listing(), end="")
        return 0
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    fresh = head + BEGIN + listing() + END + tail
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(fresh)
        return 0
    if page != fresh:
        print("docs/import-onnx.md is not up to date; run list-imports.py --write")
        return 1
    print("up to date")
    return 0


sys.exit(main())
