#===- attention.py - Attention on odd sizes, in double precision ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: attention.py model CASE FOLDER | attention.py check CASE FOLDER [rounded]

softmax(f(Q K^T)) V: model.mlir and in.npz in FOLDER, or how far rows in out.npz are
from the same in double precision; of operands, and with weights, that are `rounded` to bf16.
"""
import array
import math
import os
import random
import struct
import sys
import zipfile

from floats import npy

EPSILON = 2.0**-24
BRAIN_EPSILON = 2.0**-8
INFINITY = float("inf")


class Case:
    """`rows`: operands and result are [batch, length, heads, size], as projections leave
    them. `mask`: its shape under broadcasting, "causal", or None; of floats that are added,
    or with `picks` of bytes. `open`: the types leave lengths and batch open."""

    def __init__(self, batch, heads, queries, keys, size, columns, rows=True, mask=None, picks=False,
                 open=False, masked=(), square=False, blind=False, group=1,
                 drops=False, halved=False):
        self.batch, self.heads, self.queries, self.keys = batch, heads, queries, keys
        self.size, self.columns, self.rows = size, columns, rows
        self.picks, self.open, self.masked, self.square = picks, open, masked, square
        self.blind, self.group, self.drops, self.halved = blind, group, drops, halved
        self.shared = -(-heads // group)
        self.causal = mask == "causal"
        self.mask = None if self.causal else mask

    def operands(self):
        def shape(length, size, heads):
            return (self.batch, length, heads, size) if self.rows else (self.batch, heads, length, size)
        yield "q", shape(self.queries, self.size, self.heads)
        yield "k", shape(self.keys, self.size, self.shared)
        yield "v", shape(self.keys, self.columns, self.shared)
        if self.mask:
            yield "m", self.mask
        if self.blind:
            yield "b", (1, 1, self.queries, 1)


CASES = {
    # One block of keys, rests of rows, of vectors and of heads' sizes.
    "rest": Case(2, 3, 37, 70, 20, 24, mask=(2, 1, 1, 70)),
    # Several blocks; the last is not whole. Operands as heads have them.
    "blocks": Case(1, 2, 130, 600, 64, 64, rows=False, mask=(1, 1, 130, 600)),
    "exact": Case(1, 2, 128, 512, 32, 48),
    "causal": Case(1, 2, 300, 300, 16, 16, mask="causal"),
    "picks": Case(2, 2, 33, 290, 40, 8, mask=(2, 1, 33, 290), picks=True),
    "square": Case(1, 2, 40, 33, 16, 16, square=True),
    # Rows that are masked whole have no result; others' first or last block is masked.
    "masked": Case(1, 2, 40, 600, 32, 32, mask=(1, 1, 40, 600), masked=(3, 17)),
    "masked-once": Case(1, 2, 40, 64, 32, 32, mask=(1, 1, 40, 64), masked=(3, 17), picks=True),
    # Queries that may look nowhere have results of zero all the same.
    "blind": Case(1, 2, 40, 300, 32, 32, mask=(1, 1, 40, 300), masked=(3, 17), blind=True),
    # Types leave sizes open; the mask is of all keys, or of one for all.
    "open": Case(2, 3, 37, 310, 24, 40, mask=(2, 1, 37, 310), open=True),
    "open-row": Case(2, 2, 9, 70, 16, 16, mask=(1, 1, 1, 1), open=True),
    "open-heads": Case(1, 3, 20, 300, 16, 16, rows=False, mask=(1, 3, 20, 300), open=True),
    "open-causal": Case(1, 2, 100, 100, 16, 16, mask="causal", open=True),
    # Heads that share keys: all of a part, eight of sixteen, none of eleven; blocks of queries.
    "grouped": Case(2, 6, 70, 300, 24, 16, mask=(2, 1, 70, 300), group=3),
    "grouped-open": Case(2, 8, 37, 310, 24, 40, mask=(2, 1, 37, 310), open=True, group=4),
    "grouped-one": Case(1, 16, 1, 300, 16, 16, rows=False, mask=(1, 16, 1, 300), open=True, group=16),
    "grouped-eleven": Case(1, 11, 5, 70, 16, 16, mask=(1, 1, 1, 1), open=True, group=11),
    "grouped-blind": Case(1, 4, 40, 300, 32, 32, mask=(1, 1, 40, 300), masked=(3, 17), blind=True, group=2),
    # Values that are no repetition any more, and heads that are cut off.
    "grouped-halved": Case(1, 6, 33, 300, 24, 16, mask=(1, 6, 33, 300), open=True, group=3, halved=True),
    "grouped-cut": Case(3, 5, 40, 70, 16, 16, mask=(3, 1, 1, 70), group=3),
    # What is no number, as of rows that are masked whole, becomes 0.
    "drops": Case(1, 2, 40, 600, 32, 32, mask=(1, 1, 40, 600), masked=(3, 17), drops=True),
    "drops-grouped": Case(1, 4, 3, 300, 32, 32, mask=(1, 1, 3, 300), masked=(1,), drops=True, group=4,
                          open=True),
    # A decoder's single query.
    "decode": Case(2, 3, 1, 150, 80, 24, mask=(2, 1, 1, 150)),
    # Few queries of many keys; whole parts of the keys are masked for some.
    "few": Case(2, 3, 1, 700, 80, 24, mask=(2, 1, 1, 700)),
    "few-masked": Case(1, 2, 3, 600, 32, 32, mask=(1, 1, 3, 600), masked=(1,)),
    "few-blind": Case(1, 2, 3, 600, 32, 32, mask=(1, 1, 3, 600), masked=(1,), blind=True),
    "few-open": Case(2, 3, 2, 600, 24, 40, rows=False, mask=(2, 1, 2, 600), open=True),
    "few-causal": Case(1, 2, 4, 300, 16, 16, mask="causal"),
    # One query for all rows of the mask.
    "stretched": Case(1, 2, 1, 50, 16, 16, mask=(1, 1, 21, 50), open=True),
}


def count(shape):
    return math.prod(shape)


def values(case, name, shape):
    chosen = random.Random(name)
    if name == "b":
        return array.array("b", (row in case.masked for row in range(shape[2])))
    if name != "m":
        return array.array("f", (chosen.gauss(0, 1) for _ in range(count(shape))))
    queries, keys = shape[2], shape[3]
    made = []
    for place in range(count(shape)):
        row, key = place // keys % queries, place % keys
        hidden = row in case.masked or (case.masked and (key < 280 if row % 2 else key > 300))
        if case.picks:
            made.append(0 if hidden or chosen.random() < 0.2 else 1)
        else:
            made.append(-INFINITY if hidden or chosen.random() < 0.1 else chosen.gauss(0, 1))
    return array.array("b" if case.picks else "f", made)


def write(case, folder):
    def tensor(shape, element="f32", hides=range(4)):
        dims = ["?" if case.open and i in hides else str(size) for i, size in enumerate(shape)]
        return "tensor<" + "x".join(dims + [element]) + ">"

    length = 1 if case.rows else 2  # its dimension
    hidden = (0, length)
    types = {}
    for name, shape in case.operands():
        element = "i1" if name == "b" or (name == "m" and case.picks) else "f32"
        types[name] = tensor(shape, element, (0, 2, 3) if name == "m" else hidden)
    shared = {name: tensor((case.batch, case.shared, case.keys, size), hides=(0, 2))
              for name, size in (("k", case.size), ("v", case.columns))}
    heads = {name: tensor((case.batch, case.heads, length, size), hides=(0, 2))
             for name, length, size in (("q", case.queries, case.size), ("k", case.keys, case.size),
                                        ("v", case.keys, case.columns))}
    columns = tensor((case.batch, case.heads, case.size, case.keys), hides=(0, 3))
    queries = max(case.queries, case.mask[2] if case.mask else 0)
    raw = tensor((case.batch, case.heads, case.queries, case.keys), hides=(0, 2, 3))
    scores = tensor((case.batch, case.heads, queries, case.keys), hides=(0, 2, 3))
    edge = tensor((case.batch, case.heads, queries, 1), hides=(0, 2))
    by_heads = tensor((case.batch, case.heads, queries, case.columns), hides=(0, 2))
    by_rows = tensor((case.batch, queries, case.heads, case.columns), hides=(0, 1))
    result = by_rows if case.rows else by_heads
    lines = []

    def op(text, given, made):
        lines.append(f"    %{len(lines)} = weir.{text} : ({', '.join(given)}) -> {made}")
        return f"%{len(lines) - 1}"

    def transposed(value, order, given, made):
        return op(f"transpose {value} {{permutation = array<i64: {order}>}}", [given], made)

    def constant(text, type):
        lines.append(f"    %{len(lines)} = weir.constant {text} : {type}")
        return f"%{len(lines) - 1}"

    q, k, v = "%q", "%k", "%v"
    if case.rows:
        q = transposed(q, "0, 2, 1, 3", types["q"], heads["q"])
        v = transposed(v, "0, 2, 1, 3", types["v"], shared["v"])
    if case.group > 1:
        if case.rows:
            k = transposed(k, "0, 2, 1, 3", types["k"], shared["k"])
        repeat = f"{{axis = 1 : i64, times = {case.group} : i64}}"
        whole = case.shared * case.group
        for name in ("k", "v"):
            wide = tensor((case.batch, whole, case.keys, case.size if name == "k" else case.columns),
                          hides=(0, 2))
            x = op(f"repeat {k if name == 'k' else v} {repeat}", [shared[name]], wide)
            if whole > case.heads:
                zero, end, one = (constant(f"dense<{i}>", "tensor<1xi64>") for i in (0, case.heads, 1))
                x = op(f"slice {x}, {zero}, {end}, {one} {{axes = array<i64: 1>, strict = false}}",
                       [wide] + ["tensor<1xi64>"] * 3, heads[name])
            k, v = (x, v) if name == "k" else (k, x)
        if case.halved:
            half = constant("dense<0.5>", "tensor<f32>")
            v = op(f"mul {v}, {half}", [heads["v"], "tensor<f32>"], heads["v"])
        k = transposed(k, "0, 1, 3, 2", heads["k"], columns)
    elif case.rows:
        k = transposed(k, "0, 2, 3, 1", types["k"], columns)
    else:
        k = transposed(k, "0, 1, 3, 2", types["k"], columns)
    product = ("{accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, "
               "rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>}")
    x = op(f"dot_general {q}, {k} {product}", [heads["q"], columns], raw)
    scale = constant("dense<0.25>", "tensor<f32>")
    x = op(f"mul {x}, {scale}", [raw, "tensor<f32>"], raw)
    if case.square:
        x = op(f"mul {x}, {x}", [raw, raw], raw)
    lowest = constant("dense<0xFF800000>", "tensor<f32>")
    if case.causal:
        if case.open:
            every = op(f"shape_of {x} {{index_type = i64}}", [scores], "tensor<4xi64>")
            two, four, one = (constant(f"dense<{n}>", "tensor<1xi64>") for n in (2, 4, 1))
            pair = op(f"slice {every}, {two}, {four}, {one} {{axes = array<i64: 0>, strict = false}}",
                      ["tensor<4xi64>"] + ["tensor<1xi64>"] * 3, "tensor<2xi64>")
        else:
            pair = constant(f"dense<[{case.queries}, {case.keys}]>", "tensor<2xi64>")
        square = tensor((case.queries, case.keys), "i64")
        picks = tensor((case.queries, case.keys), "i1")
        row, column = (op(f"iota {pair} {{axis = {i} : i64, element_type = i64}}",
                          ["tensor<2xi64>"], square) for i in (0, 1))
        seen = op(f'compare {column}, {row} {{predicate = "le"}}', [square, square], picks)
        x = op(f"select {seen}, {x}, {lowest}", [picks, raw, "tensor<f32>"], scores)
    elif case.mask and case.picks:
        x = op(f"select %m, {x}, {lowest}", [types["m"], raw, "tensor<f32>"], scores)
    elif case.mask:
        x = op(f"add {x}, %m", [raw, types["m"]], scores)
    most = op(f'reduce {x} {{axes = array<i64: 3>, keep_dims = true, kind = "max"}}', [scores], edge)
    x = op(f"sub {x}, {most}", [scores, edge], scores)
    x = op(f"exp {x}", [scores], scores)
    total = op(f'reduce {x} {{axes = array<i64: 3>, keep_dims = true, kind = "sum"}}', [scores], edge)
    x = op(f"div {x}, {total}", [scores, edge], scores)
    if case.drops:
        none = constant("dense<0.0>", "tensor<f32>")
        picks = tensor((case.batch, case.heads, queries, case.keys), "i1", hides=(0, 2, 3))
        missing = op(f"is_nan {x}", [scores], picks)
        x = op(f"select {missing}, {none}, {x}", [picks, "tensor<f32>", scores], scores)
    if case.blind:
        none = constant("dense<0.0>", "tensor<f32>")
        x = op(f"select %b, {none}, {x}", [types["b"], "tensor<f32>", scores], scores)
    x = op(f"dot_general {x}, {v} {product}", [scores, heads["v"]], by_heads)
    if case.rows:
        x = transposed(x, "0, 2, 1, 3", by_heads, by_rows)
    arguments = ", ".join(f'%{name}: {type} {{weir.name = "{name}"}}' for name, type in types.items())
    with open(os.path.join(folder, "model.mlir"), "w") as file:
        file.write('module attributes {weir.stage = "simplify"} {\n'
                   f'  func.func @main({arguments}) -> ({result} {{weir.name = "y"}}) {{\n')
        file.write("\n".join(lines) + f"\n    return {x} : {result}\n  }}\n}}\n")
    with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w") as archive:
        for name, shape in case.operands():
            archive.writestr(f"{name}.npy", npy(shape, values(case, name, shape)))


def to_brain(numbers):
    """The nearest numbers of bf16, ties to even."""
    words = struct.unpack(f"{len(numbers)}I", array.array("f", numbers).tobytes())
    return array.array("f", struct.pack(
        f"{len(words)}I", *((word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000 for word in words)))


def check(case, folder, rounded=False):
    queries = max(case.queries, case.mask[2] if case.mask else 0)
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as archive:
        raw = archive.read("y.npy")
    got = array.array("f", raw[-4 * case.batch * queries * case.heads * case.columns:])
    given = {name: (shape, values(case, name, shape)) for name, shape in case.operands()}
    for name in "qkv" if rounded else ():
        given[name] = given[name][0], to_brain(given[name][1])

    def line(name, n, h, row):
        shape, numbers = given[name]
        length, heads, size = shape[1 if case.rows else 2], shape[2 if case.rows else 1], shape[3]
        row, h = row % length, h // (case.group if heads < case.heads else 1)
        place = (n * length + row) * heads + h if case.rows else (n * heads + h) * length + row
        return numbers[place * size:(place + 1) * size]

    chosen, worst, empty = random.Random(7), 0.0, 0
    rows = set(case.masked) | {0, queries - 1} | {chosen.randrange(queries) for _ in range(6)}
    for n in range(case.batch):
        for h in {0, case.heads - 1}:
            for row in rows:
                query, logits, bounds = line("q", n, h, row), [], []
                for key in range(case.keys):
                    terms = [a * b for a, b in zip(query, line("k", n, h, key))]
                    x, bound = 0.25 * sum(terms), 0.25 * sum(map(abs, terms)) * (case.size + 1)
                    if case.square:
                        x, bound = x * x, 2 * abs(x) * bound
                    if case.causal and key > row:
                        x = -INFINITY
                    if case.mask:
                        shape, numbers = given["m"]
                        index = 0
                        for i, size in zip((n, h, row, key), shape):
                            index = index * size + i % size
                        if case.picks:
                            x = x if numbers[index] else -INFINITY
                        else:
                            x += numbers[index]
                    logits.append(x)
                    bounds.append(bound + (abs(x) if x > -INFINITY else 0))
                result = got[((n * queries + row) * case.heads + h if case.rows
                              else (n * case.heads + h) * queries + row) * case.columns:][:case.columns]
                most = max(logits)
                if most == -INFINITY and (case.blind or case.drops):
                    assert not any(result), (n, h, row, result)
                    continue
                if most == -INFINITY:
                    assert all(map(math.isnan, result)), (n, h, row, result)
                    empty += 1
                    continue
                weights = [math.exp(x - most) for x in logits]
                # Of a weight: its logit's rounding and the exponential's, and those of its
                # way into the sums, which are as many as there are keys at most.
                total, errors = sum(weights), [EPSILON * (b + abs(most) + 8 + 2 * case.keys) for b in bounds]
                columns = [0.0] * case.columns
                sizes = [0.0] * case.columns
                spread = sum(w * e for w, e in zip(weights, errors)) / total
                for key, weight in enumerate(weights):
                    if weight:
                        for i, value in enumerate(line("v", n, h, key)):
                            value *= 0.5 if case.halved else 1
                            columns[i] += weight / total * value
                            # Sums of weights are of those before their rounding.
                            error = errors[key] + spread + (BRAIN_EPSILON if rounded else 0)
                            sizes[i] += weight / total * abs(value) * error
                for a, b, size in zip(result, columns, sizes):
                    assert abs(a - b) <= size + 1e-30, (n, h, row, a, b, size)
                    worst = max(worst, abs(a - b) / size)
    print(f"within {worst:.2f} of the bound, {empty} rows without a result")


def main():
    mode, name, folder = sys.argv[1:4]
    if mode == "model":
        write(CASES[name], folder)
    else:
        check(CASES[name], folder, rounded=sys.argv[4:] == ["rounded"])


if __name__ == "__main__":
    main()
