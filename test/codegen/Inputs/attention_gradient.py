#===- attention_gradient.py - Attention's gradient in double precision ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: attention_gradient.py model CASE FOLDER | attention_gradient.py check CASE FOLDER

The gradient of the square of softmax(f(Q K^T)) V, which so is computed, too: model.mlir and in.npz in FOLDER, or how far those of Q, K and V
in out.npz are from what double precision gives, as a part of the largest of each.
"""
import array
import math
import os
import random
import sys
import zipfile

from attention import npy


class Case:
    """Operands are [batch, length, heads, size] with `rows`, else [batch, heads, length, size].
    `mask`: "picks" (bytes, [batch, 1, queries, keys]), "causal" or None. `groups`: so many heads
    of queries share one of keys and values. `scaled`: queries are, rather than scores."""

    def __init__(self, batch, heads, queries, keys, size, columns, rows=True, mask=None, groups=1,
                 scaled=False):
        self.batch, self.heads, self.queries, self.keys = batch, heads, queries, keys
        self.size, self.columns, self.rows, self.mask = size, columns, rows, mask
        self.groups, self.scaled = groups, scaled

    def shape(self, name):
        heads = self.heads // self.groups if name in "kv" else self.heads
        length = self.keys if name in "kv" else self.queries
        size = self.size if name in "qk" else self.columns
        return (self.batch, length, heads, size) if self.rows else (self.batch, heads, length, size)


CASES = {
    # Rests of rows, of vectors, of blocks and of heads' sizes.
    "rest": Case(2, 8, 137, 170, 20, 24),
    "picks": Case(2, 4, 180, 190, 16, 16, mask="picks"),
    # Operands as heads have them.
    "heads": Case(1, 9, 130, 300, 32, 32, rows=False),
    "causal": Case(2, 6, 150, 150, 16, 40, mask="causal", scaled=True),
    # One block of keys; two heads share it.
    "grouped": Case(4, 8, 72, 128, 16, 16, groups=2),
    # What is small stays several kernels.
    "small": Case(2, 3, 37, 70, 20, 24),
}


def count(shape):
    return math.prod(shape)


def values(case, name):
    chosen = random.Random(name)
    if name == "m":
        return array.array("b", (chosen.random() < 0.8 or i % case.keys == 0
                                 for i in range(case.batch * case.queries * case.keys)))
    return array.array("f", (chosen.gauss(0, 1) for _ in range(count(case.shape(name)))))


def write(case, folder):
    def tensor(shape, element="f32"):
        return "tensor<" + "x".join([*map(str, shape), element]) + ">"

    types = {name: tensor(case.shape(name)) for name in "qkv"}
    seed = tensor(case.shape("s"))
    if case.mask == "picks":
        types["m"] = tensor((case.batch, 1, case.queries, case.keys), "i1")
    by = {name: tensor((case.batch, case.heads, sizes[0], sizes[1]))
          for name, sizes in (("q", (case.queries, case.size)), ("k", (case.keys, case.size)),
                              ("v", (case.keys, case.columns)), ("y", (case.queries, case.columns)))}
    columns = tensor((case.batch, case.heads, case.size, case.keys))
    scores = tensor((case.batch, case.heads, case.queries, case.keys))
    lines = []

    def op(text, given, made):
        lines.append(f"    %{len(lines)} = weir.{text} : ({', '.join(given)}) -> {made}")
        return f"%{len(lines) - 1}"

    def constant(text, type):
        lines.append(f"    %{len(lines)} = weir.constant {text} : {type}")
        return f"%{len(lines) - 1}"

    q, k, v = "%q", "%k", "%v"
    if case.groups > 1:
        axis = 2 if case.rows else 1
        shape = {name: list(case.shape(name)) for name in "kv"}
        for name in "kv":
            shape[name][axis] = case.heads
        k, v = (op(f"repeat %{name} {{axis = {axis} : i64, times = {case.groups} : i64}}",
                   [types[name]], tensor(shape[name])) for name in "kv")
        types = dict(types)
        wide = {name: tensor(shape[name]) for name in "kv"}
    else:
        wide = types
    if case.rows:
        q = op(f"transpose {q} {{permutation = array<i64: 0, 2, 1, 3>}}", [types["q"]], by["q"])
        v = op(f"transpose {v} {{permutation = array<i64: 0, 2, 1, 3>}}", [wide["v"]], by["v"])
    order = "0, 2, 3, 1" if case.rows else "0, 1, 3, 2"
    k = op(f"transpose {k} {{permutation = array<i64: {order}>}}", [wide["k"]], columns)
    product = ("{accumulator = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, "
               "rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>}")
    scale = constant("dense<0.25>", "tensor<f32>")
    if case.scaled:
        q = op(f"mul {q}, {scale}", [by["q"], "tensor<f32>"], by["q"])
    x = op(f"dot_general {q}, {k} {product}", [by["q"], columns], scores)
    if not case.scaled:
        x = op(f"mul {x}, {scale}", [scores, "tensor<f32>"], scores)
    lowest = constant("dense<-1.0e+9>", "tensor<f32>")
    if case.mask == "causal":
        pair = constant(f"dense<[{case.queries}, {case.keys}]>", "tensor<2xi64>")
        square, picks = (tensor((case.queries, case.keys), t) for t in ("i64", "i1"))
        row, column = (op(f"iota {pair} {{axis = {i} : i64, element_type = i64}}",
                          ["tensor<2xi64>"], square) for i in (0, 1))
        seen = op(f'compare {column}, {row} {{predicate = "le"}}', [square, square], picks)
        x = op(f"select {seen}, {x}, {lowest}", [picks, scores, "tensor<f32>"], scores)
    elif case.mask:
        x = op(f"select %m, {x}, {lowest}", [types["m"], scores, "tensor<f32>"], scores)
    x = op(f"softmax {x} {{axis = 3, log = false}}", [scores], scores)
    x = op(f"dot_general {x}, {v} {product}", [scores, by["v"]], by["y"])
    if case.rows:
        x = op(f"transpose {x} {{permutation = array<i64: 0, 2, 1, 3>}}", [by["y"]], seed)
    x = op(f"mul {x}, {x}", [seed, seed], seed)
    arguments = ", ".join(f'%{name}: {type} {{weir.name = "{name}"}}' for name, type in types.items())
    with open(os.path.join(folder, "model.mlir"), "w") as file:
        file.write(f'func.func @f({arguments}) -> ({seed} {{weir.name = "y"}}) attributes '
                   '{weir.entry = "f", weir.gradient = "g"} {\n'
                   + "\n".join(lines) + f"\n    return {x} : {seed}\n}}\n")
    with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w") as archive:
        for i, name in enumerate([*types, "s"]):
            shape = (case.batch, 1, case.queries, case.keys) if name == "m" else case.shape(name)
            archive.writestr(f"x{i}.npy", npy(shape, values(case, name)))


def check(case, folder):
    got = {}
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as archive:
        for i, name in enumerate("qkv"):
            raw = archive.read(f"y{i}.npy")
            got[name] = array.array("f", raw[-4 * count(case.shape(name)):])
    given = {name: values(case, name) for name in "qkvsm"}

    def place(name, n, h, row):
        _, a, b, size = case.shape(name)
        h = h // case.groups if name in "kv" else h
        return (((n * a + row) * b + h) if case.rows else ((n * a + h) * b + row)) * size

    want = {name: [0.0] * count(case.shape(name)) for name in "qkv"}
    # Of all heads those of the first and the last of keys and values.
    heads = [(n, h) for n, h in ((0, 0), (case.batch - 1, case.heads // case.groups - 1))]
    for n, shared in heads:
        for h in range(shared * case.groups, (shared + 1) * case.groups):
            def lines(name, length):
                size = case.shape(name)[3]
                return [given[name][p:p + size] for p in (place(name, n, h, i) for i in range(length))]
            q, s = lines("q", case.queries), lines("s", case.queries)
            k, v = lines("k", case.keys), lines("v", case.keys)
            for row in range(case.queries):
                seen = [(case.mask != "causal" or key <= row) and
                        (case.mask != "picks" or given["m"][(n * case.queries + row) * case.keys + key])
                        for key in range(case.keys)]
                logits = [0.25 * sum(map(float.__mul__, q[row], k[key])) if seen[key] else -math.inf
                          for key in range(case.keys)]
                top = max(logits)
                weights = [math.exp(x - top) for x in logits]
                total = sum(weights)
                result = [sum(w * line[i] for w, line in zip(weights, v)) / total
                          for i in range(case.columns)]
                back = [2 * a * b for a, b in zip(result, s[row])]
                ds = [sum(map(float.__mul__, back, v[key])) for key in range(case.keys)]
                mean = sum(w * d for w, d in zip(weights, ds)) / total
                for key in range(case.keys):
                    weight = weights[key] / total
                    if not weight:
                        continue
                    dx = 0.25 * weight * (ds[key] - mean)
                    at = place("q", n, h, row)
                    for i, value in enumerate(k[key]):
                        want["q"][at + i] += dx * value
                    at = place("k", n, h, key)
                    for i, value in enumerate(q[row]):
                        want["k"][at + i] += dx * value
                    at = place("v", n, h, key)
                    for i, value in enumerate(back):
                        want["v"][at + i] += weight * value
    for name in "qkv":
        largest = max(map(abs, want[name]))
        off = max(abs(x - y) for x, y in zip(got[name], want[name]) if y) / largest
        print(f"d{name}: {'close' if off < 2e-6 else 'far'} ({off:.1e} of the largest)")


if __name__ == "__main__":
    {"model": write, "check": check}[sys.argv[1]](CASES[sys.argv[2]], sys.argv[3])
