#===- damage.py - Ways to damage a model file -------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Damages bytes of a model file, by a seeded generator.

Three kinds: blind ones (bits, bytes, truncation, pieces moved), lengths and
numbers of the protobuf wire format that lie, and changes of the structure after
which every length is right again (fields dropped, repeated, exchanged, strings
and numbers replaced): those get past the reader, to what checks the graph.
"""
import copy
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits"))
import wire  # noqa: E402

# What sizes and indices are replaced by: borders of types, and sizes whose
# products overflow.
NUMBERS = [0, 1, -1, 2, 5, 64, 127, 128, 255, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
           2**40, 2**60, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def read_varint(data, at, end):
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return None, at


def parse(data, begin, end):
    """Fields of a message as [tag, value], or None where the bytes are no message.
    A value is an int, bytes, or for an embedded message a list of fields."""
    fields, at = [], begin
    while at < end:
        tag, at = read_varint(data, at, end)
        if tag is None or tag >> 3 == 0 or tag >> 3 > 10000:
            return None
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at, end)
            if value is None:
                return None
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        elif kind == 2:
            size, at = read_varint(data, at, end)
            if size is None or at + size > end:
                return None
            value, at = data[at:at + size], at + size
        else:
            return None
        if at > end:
            return None
        fields.append([tag, value])
    return fields


def tree(data, depth=0):
    """As `parse`, embedded messages parsed in turn. Text that happens to be a
    message is left text."""
    fields = parse(data, 0, len(data))
    if fields is None:
        return None
    for field in fields:
        value = field[1]
        if field[0] & 7 == 2 and value and depth < 12 and \
                not re.fullmatch(rb"[ -~]{3,}", value) and len(value) < 1 << 20:
            inner = tree(value, depth + 1)
            if inner is not None:
                field[1] = inner
    return fields


def serialize(fields):
    out = bytearray()
    for tag, value in fields:
        out += wire.varint(tag)
        if isinstance(value, int):
            out += wire.varint(value)
        elif isinstance(value, list):
            inner = serialize(value)
            out += wire.varint(len(inner)) + inner
        else:
            out += (wire.varint(len(value)) if tag & 7 == 2 else b"") + value
    return bytes(out)


def spots(fields, out):
    """Every (message, index) of a tree."""
    for index, field in enumerate(fields):
        out.append((fields, index))
        if isinstance(field[1], list):
            spots(field[1], out)
    return out


def restructure(data, random):
    """One change of a message's structure; all lengths are right afterwards."""
    root = tree(data)
    places = spots(root, []) if root else []
    if not places:
        return blind(data, random)
    message, index = random.choice(places)
    tag, value = message[index]
    others = [m[i][1] for m, i in places if m[i][0] & 7 == tag & 7]
    choice = random.randrange(6)
    if choice == 0:
        del message[index]
    elif choice == 1:
        message.insert(index, [tag, value])
    elif choice == 2:
        # A name of some other node, say: cycles, inputs that do not exist.
        message[index][1] = copy.deepcopy(random.choice(others))
    elif choice == 3 and isinstance(value, int):
        message[index][1] = random.choice(NUMBERS) & (2**64 - 1)
    elif choice == 4:
        message[index][0] = (tag & 7) | random.randrange(1, 24) << 3
    else:
        other = random.randrange(len(message))
        message[index], message[other] = message[other], message[index]
    return serialize(root)


def lie(data, random):
    """One length or number of the wire format replaced, what contains it kept."""
    found = []

    def collect(begin, end, depth):
        at = begin
        while at < end:
            tag, at = read_varint(data, at, end)
            if tag is None or tag & 7 not in (0, 1, 2, 5):
                return
            start = at
            if tag & 7 in (1, 5):
                at += 8 if tag & 7 == 1 else 4
                continue
            value, at = read_varint(data, at, end)
            if value is None:
                return
            found.append((start, at))
            if tag & 7 == 2:
                if at + value > end:
                    return
                if depth < 12:
                    collect(at, at + value, depth + 1)
                at += value

    collect(0, len(data), 0)
    if not found:
        return blind(data, random)
    begin, end = random.choice(found)
    old, _ = read_varint(data, begin, end)
    new = random.choice(NUMBERS + [old + 1, old - 1, old * 2, old + 1000])
    return data[:begin] + wire.varint(new) + data[end:]


def blind(data, random):
    """One change that knows nothing of the format."""
    data = bytearray(data)
    if not data:
        return bytes(data)
    at = random.randrange(len(data))
    size = 1 << random.randrange(10)
    choice = random.randrange(6)
    if choice == 0:
        data[at] ^= 1 << random.randrange(8)
    elif choice == 1:
        data[at] = random.choice([0, 0x7F, 0x80, 0xFF])
    elif choice == 2:
        del data[at:]
    elif choice == 3:
        del data[at:at + size]
    elif choice == 4:
        data[at:at] = data[at:at + size]
    else:
        data[at:at + size] = random.randbytes(min(size, len(data) - at))
    return bytes(data)


def retext(data, random):
    """One change of a text file: words and numbers exchanged, lines and braces
    dropped or repeated, nesting without end."""
    text = data.decode("latin-1")
    words = [m.span() for m in re.finditer(r'"[^"\n]*"|-?[0-9]+|\w+|[{}\[\]:]', text)]
    if not words:
        return blind(data, random)
    begin, end = random.choice(words)
    choice = random.randrange(6)
    if choice == 0:
        other = random.choice(words)
        new = text[other[0]:other[1]]
    elif choice == 1:
        new = str(random.choice(NUMBERS))
    elif choice == 2:
        new = ""
    elif choice == 3:
        new = text[begin:end] * 2
    elif choice == 4:
        lines = text.splitlines(keepends=True)
        line = random.randrange(len(lines))
        lines[line:line + 1] = random.choice([[], [lines[line]] * 2, [lines[line]] * 200])
        return "".join(lines).encode("latin-1")
    else:
        new = random.choice(["{ a ", "attr { ", "\"", "[", "\\377", "list {"]) * random.choice([1, 50, 20000])
    return (text[:begin] + new + text[end:]).encode("latin-1")


def damage(data, random, is_text):
    """The bytes after one to three changes."""
    kinds = [retext, retext, blind] if is_text else [blind, lie, restructure]
    for _ in range(random.choice([1, 1, 2, 3])):
        data = random.choice(kinds)(data, random)
    return data
