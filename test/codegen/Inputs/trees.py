#===- trees.py - ensembles of decision trees -------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: trees.py TESTS FOLDER, TESTS being the folder of all tests.

Writes FOLDER/m.onnx, ensembles of trees of every mode, lopsided and even ones, with nodes that
several lead to, FOLDER/open.onnx, the same of open rows and features, and the feeds of both as
FOLDER/in.npz, in FOLDER/few.npz with too few features for x5. With results in FOLDER/out, of weir-run, compares: a sum has the bits of one made
tree by tree.
"""
import math
import os
import random
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
sys.path.insert(0, os.path.dirname(__file__))
import wire  # noqa: E402
from graph_writer import value_info  # noqa: E402

FLOAT, UINT8, INT64, DOUBLE = 1, 2, 7, 11
FORMATS = {FLOAT: "f", UINT8: "B", INT64: "q", DOUBLE: "d"}
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(7)
AVERAGE, SUM, MIN, MAX = range(4)


def rounded(value, kind):
    return struct.unpack("<f", struct.pack("<f", value))[0] if kind == FLOAT else float(value)


def pack(values, kind):
    return struct.pack("<%d%s" % (len(values), FORMATS[kind]), *values)


def npy(shape, kind, values):
    kinds = {FLOAT: "<f4", DOUBLE: "<f8", INT64: "<i8"}
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (
        kinds[kind], ", ".join(map(str, shape)))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + pack(values, kind)


def integers(name, values):
    return wire.data(5, wire.data(1, name) + wire.packed(8, values) + wire.integer(20, 7))


def integer(name, value):
    return wire.data(5, wire.data(1, name) + wire.integer(3, value) + wire.integer(20, 2))


def tensor(name, kind, values):
    proto = wire.integer(1, len(values)) + wire.integer(2, kind) + wire.data(9, pack(values, kind))
    return wire.data(5, wire.data(1, name) + wire.data(5, proto) + wire.integer(20, 4))


class Node:
    def __init__(self, feature, split, mode, yes, no, missing, members):
        self.feature, self.split, self.mode, self.yes, self.no = feature, split, mode, yes, no
        self.missing, self.members = missing, members

    def takes(self, value):
        if self.missing and math.isnan(value):
            return True
        return {LEQ: value <= self.split, LT: value < self.split, GTE: value >= self.split,
                GT: value > self.split, EQ: value == self.split, NEQ: value != self.split,
                MEMBER: value in self.members}[self.mode]


class Ensemble:
    """Children are ("node", number) or ("leaf", number)."""

    def __init__(self, draw, kind, features, targets):
        self.random, self.kind, self.features, self.targets = draw, kind, features, targets
        self.nodes, self.leaves, self.roots = [], [], []

    def split(self):
        special = [0.0, -0.0, math.inf, -math.inf, 1e-45, 3.4e38, -3.4e38]
        return self.random.choice([rounded(self.random.gauss(0, 1), self.kind),
                                   float(self.random.randrange(-3, 4)),
                                   rounded(self.random.choice(special), self.kind)])

    def leaf(self, target=None):
        target = self.random.randrange(self.targets) if target is None else target
        self.leaves.append((target, rounded(self.random.gauss(0, 1), self.kind)))
        return "leaf", len(self.leaves) - 1

    def grow(self, depth, modes, missing, stays, target, shared):
        """Node behind what it leads to, so that those of `shared` may be led to again."""
        if depth == 0 or self.random.random() < stays:
            return self.leaf(target)
        if shared and self.random.random() < 0.2:
            return self.random.choice(shared)
        children = [self.grow(depth - 1, modes, missing, stays, target, shared) for _ in range(2)]
        mode = self.random.choice(modes)
        members = [float(self.random.randrange(-4, 5)) for _ in range(self.random.randrange(1, 7))]
        self.nodes.append(Node(self.random.randrange(self.features), self.split(), mode, *children,
                               int(missing and self.random.random() < 0.5), members))
        made = "node", len(self.nodes) - 1
        if shared is not None:
            shared.append(made)
        return made

    def tree(self, depth, modes, missing, stays, target, sharing):
        root = self.grow(depth, modes, missing, stays, target, [] if sharing else None)
        if root[0] == "leaf":  # a tree's root is a node
            self.nodes.append(Node(0, 0.0, LEQ, root, root, 0, []))
            root = "node", len(self.nodes) - 1
        self.roots.append(root[1])

    def scores(self, row, aggregate):
        start = {MIN: math.inf, MAX: -math.inf}.get(aggregate, 0.0)
        sums = [start] * self.targets
        for root in self.roots:
            place = "node", root
            while place[0] == "node":
                node = self.nodes[place[1]]
                place = node.yes if node.takes(row[node.feature]) else node.no
            target, weight = self.leaves[place[1]]
            sums[target] = {MIN: min, MAX: max}.get(
                aggregate, lambda a, b: rounded(a + b, self.kind))(sums[target], weight)
        if aggregate == AVERAGE:
            return [rounded(s / rounded(len(self.roots), self.kind), self.kind) for s in sums]
        return [0.0 if math.isinf(s) else s for s in sums]

    def attributes(self, aggregate):
        made = integers("tree_roots", self.roots) + integer("n_targets", self.targets)
        made += integer("aggregate_function", aggregate) + integer("post_transform", 0)
        made += tensor("nodes_modes", UINT8, [n.mode for n in self.nodes])
        made += tensor("nodes_splits", self.kind, [n.split for n in self.nodes])
        for side, child in ("true", "yes"), ("false", "no"):
            children = [getattr(n, child) for n in self.nodes]
            made += integers("nodes_%snodeids" % side, [c[1] for c in children])
            made += integers("nodes_%sleafs" % side, [int(c[0] == "leaf") for c in children])
        made += integers("nodes_featureids", [n.feature for n in self.nodes])
        made += integers("nodes_missing_value_tracks_true", [n.missing for n in self.nodes])
        made += integers("leaf_targetids", [target for target, _ in self.leaves])
        made += tensor("leaf_weights", self.kind, [weight for _, weight in self.leaves])
        members = []
        for node in self.nodes:
            members += node.members + [math.nan] if node.mode == MEMBER else []
        return made + (tensor("membership_values", self.kind, members) if members else b"")


class Model:
    def __init__(self, folder):
        self.folder, self.random = folder, random.Random(11)
        self.nodes = self.known = self.opened = self.fetches = b""
        self.expected = []
        self.inputs = zipfile.ZipFile(os.path.join(folder, "in.npz"), "w")
        self.few = zipfile.ZipFile(os.path.join(folder, "few.npz"), "w")

    def value(self, kind, missing):
        if missing and self.random.random() < 0.2:
            return math.nan
        return self.random.choice([rounded(self.random.gauss(0, 2), kind),
                                   float(self.random.randrange(-4, 5)),
                                   self.random.choice([math.inf, -math.inf, -0.0])])

    def ensemble(self, rows, trees, depth, kind=FLOAT, features=5, targets=1, modes=(LEQ,),
                 missing=False, stays=0.0, aggregate=SUM, sharing=False, one_target=False):
        n = len(self.expected)
        made = Ensemble(self.random, kind, features, targets)
        for tree in range(trees):
            made.tree(depth, modes, missing, stays, tree % targets if one_target else None, sharing)
        x, y = "x%d" % n, "y%d" % n
        values = [[self.value(kind, missing) for _ in range(features)] for _ in range(rows)]
        self.known += wire.data(11, value_info(x, [rows, features], kind))
        self.opened += wire.data(11, value_info(x, ["rows%d" % n, "features%d" % n], kind))
        self.inputs.writestr(x + ".npy", npy([rows, features], kind, sum(values, [])))
        fewer = [row[:2] if n == 5 else row for row in values]
        self.few.writestr(x + ".npy", npy([rows, len(fewer[0])], kind, sum(fewer, [])))
        self.nodes += wire.data(1, wire.data(1, x) + wire.data(2, y) + wire.data(3, "n%d" % n)
                                + wire.data(4, "TreeEnsemble") + wire.data(7, "ai.onnx.ml")
                                + made.attributes(aggregate))
        self.fetches += wire.data(12, value_info(y, ["r%d" % n, targets], kind))
        self.expected.append((y, kind, sum((made.scores(row, aggregate) for row in values), [])))

    def write(self):
        self.inputs.close()
        self.few.close()
        for name, feeds in ("m.onnx", self.known), ("open.onnx", self.opened):
            graph = self.nodes + wire.data(2, "trees") + feeds + self.fetches
            with open(os.path.join(self.folder, name), "wb") as out:
                out.write(wire.integer(1, 10) + wire.data(7, graph)
                          + wire.data(8, wire.integer(2, 21))
                          + wire.data(8, wire.data(1, "ai.onnx.ml") + wire.integer(2, 5)))


def compare(model):
    folder = os.path.join(sys.argv[2], "out")
    if not os.path.isdir(folder):
        return
    for name, kind, wanted in model.expected:
        with open(os.path.join(folder, name + ".npy"), "rb") as data:
            found = data.read()[-struct.calcsize(FORMATS[kind]) * len(wanted):]
        print("right" if found == pack(wanted, kind) else "wrong: " + name)


def main():
    model = Model(sys.argv[2])
    every = range(7)
    # One row, few, groups of rows and what is left over; few trees and many, leaves alone.
    model.ensemble(1, 1, 0)
    model.ensemble(1, 19, 4)
    model.ensemble(9, 8, 3, features=1)
    model.ensemble(37, 21, 6, stays=0.2)
    model.ensemble(600, 3, 5)
    # Every mode, NaNs, sets, nodes that several lead to.
    model.ensemble(40, 20, 5, modes=every, missing=True, stays=0.1)
    model.ensemble(17, 9, 12, modes=every, stays=0.4, sharing=True)
    model.ensemble(25, 3, 4, modes=(EQ, NEQ, MEMBER), missing=True)
    model.ensemble(23, 9, 40, features=70, stays=0.45, sharing=True, missing=True)
    # Several targets, of all of which leaves of a tree speak, or of one.
    model.ensemble(20, 11, 4, targets=3)
    model.ensemble(20, 30, 4, targets=10, one_target=True, missing=True)
    model.ensemble(3, 30, 4, targets=700)
    model.ensemble(20, 11, 4, targets=3, aggregate=MIN, modes=every)
    model.ensemble(20, 11, 4, targets=3, aggregate=MAX, missing=True)
    model.ensemble(20, 11, 4, aggregate=AVERAGE)
    # Doubles.
    model.ensemble(1, 9, 5, DOUBLE, modes=every, missing=True)
    model.ensemble(33, 20, 5, DOUBLE, modes=every, missing=True, targets=2)
    model.write()
    compare(model)


if __name__ == "__main__":
    main()
