#!/usr/bin/env python3
#===- docs_test.py - The pages hold together --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Fails where a link in a page leads nowhere, an error number has no page, or a test that
docs/newcomer.md names is not there.

A number is used where it stands in a source outside of test/ and of comments, as W
and four digits; its page is docs/errors/WNNNN.md, with the number in the first line.
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NUMBER = re.compile(r"\bW0[1-8]\d\d\b")
COMMENT = re.compile(r"//.*")
SOURCES = (".cpp", ".h", ".td", ".c", ".inc", ".def")


def broken_links():
    pages = [os.path.join(ROOT, "README.md")]
    pages += glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
    for page in sorted(pages):
        with open(page) as f:
            for number, line in enumerate(f, 1):
                for target in LINK.findall(line):
                    if "://" in target or target.startswith("mailto:"):
                        continue
                    if not os.path.exists(os.path.join(os.path.dirname(page), target)):
                        yield f"{os.path.relpath(page, ROOT)}:{number}: leads nowhere: {target}"


def used_numbers():
    used = {}
    for top in ("compiler", "dialects", "passes", "runtime", "tools"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if not name.endswith(SOURCES):
                    continue
                path = os.path.join(folder, name)
                with open(path, errors="replace") as f:
                    for found in NUMBER.findall(COMMENT.sub("", f.read())):
                        used.setdefault(found, os.path.relpath(path, ROOT))
    return used


def page_problems():
    folder = os.path.join(ROOT, "docs", "errors")
    pages = {n[:-3] for n in os.listdir(folder) if n.endswith(".md") and n != "README.md"}
    used = used_numbers()
    for number in sorted(set(used) - pages):
        yield f"{used[number]}: {number} has no page docs/errors/{number}.md"
    for number in sorted(pages):
        with open(os.path.join(folder, number + ".md")) as f:
            if number not in f.readline():
                yield f"docs/errors/{number}.md:1: the first line does not name {number}"


def missing_tests():
    with open(os.path.join(ROOT, "docs", "newcomer.md")) as f:
        for number, line in enumerate(f, 1):
            for path in re.findall(r"`((?:test|docs)/[^` ]+)`", line):
                if not os.path.exists(os.path.join(ROOT, path)):
                    yield f"docs/newcomer.md:{number}: there is no {path}"
            for path, name in re.findall(r"`(test/[^` ]+\.py)` \((test_\w+)\)", line):
                with open(os.path.join(ROOT, path)) as test:
                    if f"def {name}(" not in test.read():
                        yield f"docs/newcomer.md:{number}: there is no {name} in {path}"


def main():
    problems = list(broken_links()) + list(page_problems()) + list(missing_tests())
    for problem in problems:
        print(problem)
    print(f"docs: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
