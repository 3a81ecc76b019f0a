#===- onnx_errors.py - Operands that do not fit an ONNX operator --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Nodes that an oracle answers, with one operand changed so that it fits them no longer, maybe.

What is asked is the model with that change (`Case.given`). Where the oracle now refuses it, weir has
to end with INVALID_ARGUMENT, or refuse the model; where it still answers, weir's results are
compared, and its refusal counts as one. Most models leave all sizes open, so that only the run
can see what does not fit."""
import copy
import re

import numpy as np
from onnx import helper, numpy_helper

import cases
import onnx_open
import onnx_single
import values
from onnx_source import ROUNDS, Singles, hangs_on_last_bits

# Drawn at random: no results to compare.
RANDOM = re.compile(r"Random|^(Multinomial|Bernoulli)$")
MEANS = re.compile(r"ReduceMean|Loss")
NUMBERS = [-1, -2, -100, 0, 1, 3, 1000, 1 << 20]


def resized(value, axis, how):
    """`value` with another size along an axis; None where it has that size."""
    size = value.shape[axis]
    to = {"more": size + 1, "less": size - 1, "twice": 2 * size, "none": 0, "one": 1}[how]
    if to == size or to < 0 or to and not size:
        return None
    return np.take(value, [i % size for i in range(to)], axis) if to else \
        np.take(value, range(0), axis)


class Change:
    """Of one operand; made again of each smaller form of a case."""

    def __init__(self, random, name, value):
        self.name = name
        self.axis = int(random.integers(value.ndim)) if value.ndim else 0
        self.place = random.random()
        self.number = values.pick(random, NUMBERS)
        kinds = ["more", "less", "twice", "none", "one", "more", "less", "front", "back", "drop"] \
            if value.ndim else ["front"]
        self.kind = values.pick(random, kinds)
        if value.dtype.kind in "iu" and value.dtype.itemsize >= 4 and value.size and \
                random.random() < 0.5:
            self.kind = "number"

    def of(self, value):
        """The operand that is asked; None where the change changes nothing."""
        if self.kind == "number":
            info = np.iinfo(value.dtype)
            if not value.size or not info.min <= self.number <= info.max:
                return None
            made = value.copy()
            made.reshape(-1)[int(self.place * value.size)] = self.number
            return None if np.array_equal(made, value) else made
        if self.kind in ("front", "back"):
            return np.expand_dims(value, 0 if self.kind == "front" else value.ndim)
        if self.axis >= value.ndim:
            return None
        if self.kind == "drop":
            return np.asarray(np.take(value, 0, self.axis), value.dtype) \
                if value.shape[self.axis] else None
        return resized(value, self.axis, self.kind)


def open_all(model):
    for info in model.graph.input:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            dim.dim_param = "%s_%d" % (info.name, axis)


class Errors(Singles):
    def draw(self, random):
        case = super().draw(random)
        if RANDOM.search(case.model.graph.node[0].op_type):
            raise cases.Reject("drawn at random")
        if random.random() < 0.5:
            open_all(case.model)
            case.cell, case.bounds = (*case.cell[:2], "open"), []
        operands = dict(case.feeds)
        if case.cell[2] == "fixed":
            operands.update({t.name: numpy_helper.to_array(t) for t in
                             case.model.graph.initializer if t.data_type != t.STRING})
        if not operands:
            raise cases.Reject("nothing is fed")
        name = values.pick(random, list(operands))
        case.change = Change(random, name, operands[name])
        return case

    def ask(self, oracle, case):
        """The oracle's word on the node itself, then on what is made of it."""
        answer = super().ask(oracle, case)
        if answer[0] != "results":
            return answer
        given = self.changed(case)
        if given is None:
            return "refused", "the same operand"
        node, held = given[0].graph.node[0], {t.name: t for t in given[0].graph.initializer}
        operands = [numpy_helper.to_array(held[name]) if name in held else given[1].get(name)
                    for name in node.input]
        if MEANS.search(case.operation) and not operands[0].size:
            return "refused", "the mean of nothing, which ONNX leaves open"
        try:
            onnx_open.reject_operands(node.op_type, operands, {
                a.name: helper.get_attribute_value(a) for a in node.attribute})
        except cases.Reject as why:
            return "refused", str(why)
        types = [np.zeros((), r.dtype) for r in case.results]
        answer = oracle.ask((given[0].SerializeToString(), given[1], case.operation, case.dtypes,
                             case.oracle))
        case.given, case.error = given, None
        names = {d.dim_param for i in given[0].graph.input for d in i.type.tensor_type.shape.dim}
        case.bounds = [b for b in case.bounds if b.partition("=")[0] in names]
        if answer[0] == "error":
            case.error, case.results, case.refusal = "INVALID_ARGUMENT", types, answer[1]
            return "results", types, case.oracle
        if answer[0] == "results":
            case.results, case.oracle = answer[1], answer[2]
            if ROUNDS.match(case.operation) and hangs_on_last_bits(oracle, case):
                return "refused", "results that the last bits decide"
        return answer

    @staticmethod
    def changed(case):
        change, model = case.change, copy.deepcopy(case.model)
        for tensor in model.graph.initializer:
            if tensor.name == change.name:
                made = change.of(numpy_helper.to_array(tensor))
                if made is None:
                    return None
                tensor.CopyFrom(onnx_single.tensor_of(made, tensor.name))
                return model, case.feeds
        made = change.of(case.feeds[change.name])
        if made is None or made.size > values.LARGEST:
            return None
        made = np.ascontiguousarray(made) if made.ndim else np.asarray(made)
        for info in model.graph.input:
            if info.name == change.name:
                declare(info.type.tensor_type.shape, made.shape)
        return model, {**case.feeds, change.name: made}


def declare(shape, sizes):
    """Another rank has sizes that are not known; sizes that are declared are those of what is fed."""
    known = any(d.HasField("dim_value") for d in shape.dim)
    if len(shape.dim) != len(sizes):
        del shape.dim[:]
        for _ in sizes:
            shape.dim.add()
    for dim, size in zip(shape.dim, sizes):
        if dim.HasField("dim_value") or known and not dim.HasField("dim_param"):
            dim.dim_value = size
