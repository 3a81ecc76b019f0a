#!/usr/bin/env python3
#===- attributes.py - Attributes that no importer reads -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compares the attributes that operations have (operations.txt, TensorFlow's registry;
OperatorTable.inc and MicrosoftTable.inc, ONNX's schemas) with those that their importers
read, and prints what nobody reads and neither attributes.txt (no effect is wanted) nor
attributes.tsv (users are warned, by W0256 and W0325) gives a reason for.

What an importer reads is taken from its text: the strings in the function that its row
names, and in all functions of the importers that this one calls. That may find too much
(a string that only happens to be a name), and too little where a name is put together. The
importers themselves follow what they read of each node, and warn of the rest. A reason for
an attribute that does not exist, and a row of attributes.tsv for one that is read, are errors.
"""
import argparse
import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FRONTEND = os.path.join(os.path.dirname(os.path.dirname(HERE)), "compiler", "frontend")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
WORD = re.compile(r"[A-Za-z_]\w*")
CALLED = re.compile(r"([A-Za-z_]\w*)(?=\s*[(<{,}\[])")
COMMENT = re.compile(r"//[^\n]*")
# A definition begins in the first column, and ends with a brace there.
DEFINITION = re.compile(r"^(?!#|namespace\b|using\b|\}|//|/\*|struct\b|class\b|enum\b|extern\b)"
                        r"([^\n;{}]*?)\b(~?\w+)\s*\(", re.M)


class Texts:
    """Functions by name, those of one file by the file too."""

    def __init__(self, folders):
        self.here, self.anywhere = {}, collections.defaultdict(list)
        self.bodies = []  # of all functions: text, file
        self.rows, self.known = [], {}  # a row: its strings, text, file
        for folder in folders:
            for name in sorted(os.listdir(folder)):
                if name.endswith((".cpp", ".h")) and not name.startswith("NodeImport"):
                    self.read(os.path.join(folder, name))

    def read(self, path):
        with open(path) as source:
            text = COMMENT.sub("", source.read())
        self.here[path] = collections.defaultdict(list)
        for match in DEFINITION.finditer(text):
            brace, semicolon = text.find("{", match.end()), text.find(";", match.end())
            if brace < 0 or -1 < semicolon < brace:
                continue
            line = text[match.start():text.find("\n", brace)]
            body = line if line.endswith("}") else text[match.start():text.find("\n}", brace)]
            self.add(match[2], body, path, "static" in match[1])
            if of := re.search(r"(\w+)(?:<[^<>]*>)?::$", match[1]):  # whoever makes one may call it
                self.add(of[1], body, path)
        # Constants, tables and classes: what they hold is read where they are named.
        for match in re.finditer(r"^(?:template <[^\n]*>\s)?(?:static |inline )*const(?:expr)? [^\n=({]*?\b(\w+)"
                                 r"\s*(?:\[\w*\])?\s*=?\s*[{\[]", text, re.M):
            body = text[match.start():text.find("};", match.end())]
            for name in {match[1], *re.findall(r"\b(\w+) = \{", body)}:
                self.add(name, body, path)
        for match in re.finditer(r"^(?:struct|class) (\w+)[^;{]*\{", text, re.M):
            body = text[match.start():text.find("\n};", match.end())]
            self.add(match[1], body, path)
        self.table(path, text)

    def table(self, path, text):
        for match in re.finditer(r"\b(?:OpImport|OperatorImport) \w+\[\] = \{(.*?)\n\s*\};", text,
                                 re.S):
            for row in split_rows(match[1]):
                self.rows.append((STRING.findall(row), row, path))

    def add(self, name, body, path, isLocal=False):
        self.bodies.append((body, path))
        self.here[path][name].append(len(self.bodies) - 1)
        if not isLocal:
            self.anywhere[name].append(len(self.bodies) - 1)

    def calls(self, text, path):
        """Strings of a text, and the numbers of the functions that it names."""
        found, bare = [], STRING.sub("", text)
        called = set(CALLED.findall(bare))
        for word in set(WORD.findall(bare)) - COMMON:
            found += self.here[path].get(word) or (
                self.anywhere.get(word, []) if word in called else [])
        return set(STRING.findall(text)), found

    def reached(self, text, path):
        """Strings of the text and of all that it calls."""
        strings, todo = self.calls(text, path)
        seen, strings = set(todo), set(strings)
        while todo:
            number = todo.pop()
            if number not in self.known:
                self.known[number] = self.calls(*self.bodies[number])
            own, found = self.known[number]
            strings |= own
            new = set(found) - seen
            seen |= new
            todo += new
        return strings


DOMAINS = {"ml": "ai.onnx.ml", "microsoft": "com.microsoft"}

# Everybody's, which read attributes that they are given the name of, and what imports other
# nodes.
COMMON = {"findImport", "importIndex", "emitNode", "emitItem", "inlineFunction", "callFunction",
          "buildIf", "buildWhile", "import", "operator", "run", "for", "if", "while", "switch", "return",
          "NodeImport", "GraphImporter", "TensorBuilder", "in", "f", "i", "s", "is", "op", "b", "n", "x"}


def split_rows(text):
    """The outermost braces."""
    rows, depth, begin = [], 0, 0
    bare = STRING.sub(lambda m: "_" * len(m[0]), text)
    for at, c in enumerate(bare):
        if c == "{":
            if depth == 0:
                begin = at
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                rows.append(text[begin:at + 1])
    return rows


def tensorflow():
    """(operation, attribute), those that importers read by their names in the table aside:
    types and numbers of arguments."""
    attributes = {}
    with open(os.path.join(FRONTEND, "tensorflow", "operations.txt")) as lines:
        for line in lines:
            if line.startswith("#") or not line.strip():
                continue
            head, _, rest = line.partition(" | ")
            words = head.split()
            named = set(re.findall(r":&?(?:(\w+)\*)?@?(\w+)", head))
            of_arguments = {w for pair in named for w in pair}
            listed = re.findall(r"(?:^| )(\w+):([\w()]+)", re.sub(r'="[^"]*"', "=", rest))
            attributes[words[0]] = [(n, k) for n, k in listed
                                    if n not in of_arguments and k not in ("type", "list(type)")]
    return attributes


def onnx():
    attributes = collections.defaultdict(dict)
    for name in ("OperatorTable.inc", "MicrosoftTable.inc"):
        with open(os.path.join(FRONTEND, "onnx", name)) as lines:
            for line in lines:
                if line.startswith("OPERATOR("):
                    fields = STRING.findall(line)
                    key = (fields[0] + "." if fields[0] else "") + fields[1]
                    for text in fields[-1].split():
                        attributes[key][text.split(":")[0]] = text.split(":")[1].split("=")[0]
    return {k: list(v.items()) for k, v in attributes.items()}


def reasons():
    """What has a reason: the importers' own list, and attributes.tsv, which are to be read
    nowhere: what an importer reads of some nodes only may have a line in the first."""
    found, nowhere = {}, set()
    with open(os.path.join(FRONTEND, "tensorflow", "attributes.txt")) as lines:
        for line in lines:
            if not line.startswith("#"):
                operation, attribute, reason = line.rstrip("\n").split(" ", 2)
                found["tensorflow", operation, attribute] = reason
    with open(os.path.join(HERE, "attributes.tsv")) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                suite, operation, attribute, reason = line.rstrip("\n").split("\t")
                found[suite, operation, attribute] = reason
                nowhere.add((suite, operation, attribute))
    return found, nowhere


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    (known, unused), wrong, existing = reasons(), 0, set()
    for suite, attributes in (("tensorflow", tensorflow()), ("onnx", onnx())):
        texts, read = Texts([FRONTEND, os.path.join(FRONTEND, suite)]), {}
        for names, row, path in texts.rows:
            operation = names[0]
            if suite == "onnx":
                domain = re.match(r'\{\s*("[^"]*"|\w+)', row)[1]
                domain = DOMAINS.get(domain, domain.strip('"'))
                operation = (domain + "." if domain else "") + names[-1 if len(names) == 1 else 1]
            if operation in attributes:
                read.setdefault(operation, set()).update(texts.reached(row, path))
        for operation, listed in attributes.items():
            existing |= {(suite, o, attribute) for attribute, _ in listed for o in (operation, "*")}
        for operation, strings in sorted(read.items()):
            for attribute, kind in attributes[operation]:
                if attribute in strings:
                    continue
                keys = {(suite, operation, attribute), (suite, "*", attribute)} & set(known)
                unused -= keys
                if not keys:
                    print("%s\t%s\t%s\t%s" % (suite, operation, attribute, kind))
                    wrong += 1
    unused |= set(known) - existing
    for key in sorted(unused):
        print("a reason for nothing:", *key)
    print("%d attributes that nobody reads" % wrong)
    sys.exit(1 if wrong or unused else 0)


if __name__ == "__main__":
    main()
