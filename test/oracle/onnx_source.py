#===- onnx_source.py - Single ONNX operators, one after the other -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws an operator and version evenly, then a node of it."""
import re
import subprocess

import numpy as np
from onnx import helper, numpy_helper

import cases
import onnx_single
import values


def imported(build):
    """Pairs of domain and operator that weir imports."""
    listed = subprocess.run([build + "/bin/weirc", "--print-supported-operators"],
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {("" if r[1] == "ai.onnx" else r[1], r[2]) for r in rows if r[0] == "onnx"}


# Sums of signed numbers, among them the cells of a memory.
CANCELS = re.compile(r"(Reduce(Sum|Mean)|LSTM|com\.microsoft\.(DynamicQuantize|Attn)LSTM)-")


CELLS = re.compile(r"(RNN|GRU|LSTM)-")


def activations(case):
    """Names of a recurrent operator's activations in lower letters; an RNN's are tanh where it says none."""
    given = [name.lower() for a in case.model.graph.node[0].attribute if a.name == "activations"
             for name in a.strings]
    return given or ([b"tanh"] if case.operation.startswith("RNN") else [])


def overflows_early(case):
    """Whether states are no numbers where ONNX Runtime's Softplus may have made them so: it is infinite
    long before its operand is."""
    return b"softplus" in activations(case) and not all(map(values.is_finite, case.results))


# Which ONNX Runtime computes by differences of exponentials: of small ones few digits are left.
DIFFERENCES = {b"scaledtanh", b"elu"}


def is_small(case):
    """Whether states are small beside the error of ONNX Runtime's activations, an epsilon of 1."""
    names = set(activations(case))
    is_coarse = names & DIFFERENCES or case.operation.startswith("RNN") and b"tanh" in names
    return bool(is_coarse) and min(map(cases.largest, case.results)) < 0.25


def is_cut(oracle, case):
    """Whether gates' sums are beyond the largest number, at which ONNX Runtime cuts them: an infinite state
    makes such, and a lower bound would cut them elsewhere."""
    model = type(case.model)()
    model.CopyFrom(case.model)
    node = model.graph.node[0]
    if any(a.name == "clip" for a in node.attribute):
        return False
    if not all(map(values.is_finite, case.results)):
        return True
    node.attribute.append(helper.make_attribute("clip", 1e38))
    answer = oracle.ask((model.SerializeToString(), case.feeds, case.operation, case.dtypes))
    return answer[0] == "results" and not all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(case.results, answer[1]))


def cancels(case):
    """Whether rounding in between is a large part of the results."""
    operands = list(case.feeds.values()) or [numpy_helper.to_array(t)
                                             for t in case.model.graph.initializer]
    floats = [v for v in operands if v.dtype != object and values.is_float(v.dtype)]
    if "Attn" in case.operation:  # few steps and elements, of which each may be such a sum
        least = min((np.min(np.abs(r[r != 0]), initial=np.inf) for r in case.results), default=0)
        return bool(2048 * least < max(map(cases.largest, floats)))
    return bool(floats) and 16 * cases.largest(case.results[0]) < max(map(cases.largest, floats))


# What they make of their operands they round to integers, and multiply these; or choose by it; or a
# sum that cancels has a logarithm.
ROUNDS = re.compile(r"(ReduceLogSum|com\.microsoft\.(DynamicQuantizeLSTM|GreedySearch|Sampling|(Whisper)?BeamSearch))-")


def moved(asked, random):
    """The model and its feeds that are asked, whose floats are an epsilon larger, smaller, or as they were."""
    def move(value):
        if value.dtype == object or not values.is_float(value.dtype):
            return value
        step = random.integers(-1, 2, value.shape) * values.epsilon(value.dtype)
        return (value * (1 + step)).astype(value.dtype)

    def move_all(graph):
        for tensor in graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(move(numpy_helper.to_array(tensor)), tensor.name))
        for node in graph.node:
            for attribute in node.attribute:
                move_all(attribute.g)

    given, feeds = asked
    model = type(given)()
    model.CopyFrom(given)
    move_all(model.graph)
    return model.SerializeToString(), {name: move(value) for name, value in feeds.items()}


def hangs_on_last_bits(oracle, case):
    """Whether an epsilon of the operands changes the oracle's results by more than a quarter of what
    the case allows."""
    def is_near(a, b):
        relative = cases.tolerance(case, a.dtype) / 4 if values.is_float(a.dtype) else 0
        return a.shape == b.shape and np.allclose(b, a, relative, 0.05 * relative * cases.largest(a),
                                                  equal_nan=True)
    random, asked = np.random.default_rng(0), case.given or (case.model, case.feeds)
    for _ in range(8):
        answer = oracle.ask((*moved(asked, random), case.operation, case.dtypes))
        if answer[0] == "results" and not all(map(is_near, case.results, answer[1])):
            return True
    return False


class Singles:
    def __init__(self, given):
        known = imported(given.weir)
        self.schemas = [s for s in onnx_single.all_schemas()
                        if (s.domain, s.name) in known and re.search(given.only, s.key)]
        if not self.schemas:
            raise SystemExit("--only=%s: no operator of that name is imported" % given.only)

    def draw(self, random):
        schema = values.pick(random, self.schemas)
        try:
            return onnx_single.make(random, schema)
        except (ValueError, IndexError, OverflowError, TypeError, ZeroDivisionError) as error:
            raise cases.Reject("%s: %s" % (schema.key, error))

    @staticmethod
    def settle(oracle, case):
        """Of a recurrent operator's case that differs: whether ONNX Runtime cuts its gates, or the last bits
        of its operands decide."""
        return bool(CELLS.search(case.operation)) and (
            is_cut(oracle, case) or hangs_on_last_bits(oracle, case))

    @staticmethod
    def ask(oracle, case):
        answer = oracle.ask((case.model.SerializeToString(), case.feeds, case.operation,
                             case.dtypes))
        if answer[0] == "results":
            case.results, case.oracle = answer[1], answer[2]
            if CELLS.search(case.operation) and overflows_early(case):
                return "refused", "states that overflow, maybe early, in ONNX Runtime's Softplus"
            if CELLS.search(case.operation) and is_small(case):
                return "refused", "states that are small beside the error of ONNX Runtime's activations"
            if CANCELS.match(case.operation) and cancels(case):
                return "refused", "a sum that cancels"
            if ROUNDS.match(case.operation) and hangs_on_last_bits(oracle, case):
                return "refused", "results that the last bits decide"
            if case.declares and all(isinstance(r, np.ndarray) for r in case.results):
                onnx_single.declare(case)
        return answer
