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
from onnx import numpy_helper

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


def is_finite(result):
    return not values.is_float(result.dtype) or bool(np.all(np.isfinite(result.astype(np.float64))))


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
    """Whether an epsilon of the operands changes the oracle's results by more than rounding."""
    random, asked = np.random.default_rng(0), case.given or (case.model, case.feeds)
    for _ in range(8):
        answer = oracle.ask((*moved(asked, random), case.operation, case.dtypes))
        if answer[0] == "results" and not all(
                np.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
                for a, b in zip(case.results, answer[1])):
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
        schema = self.schemas[int(random.integers(len(self.schemas)))]
        try:
            return onnx_single.make(random, schema)
        except (ValueError, IndexError, OverflowError, TypeError, ZeroDivisionError) as error:
            raise cases.Reject("%s: %s" % (schema.key, error))

    @staticmethod
    def ask(oracle, case):
        answer = oracle.ask((case.model.SerializeToString(), case.feeds, case.operation,
                             case.dtypes))
        if answer[0] == "results":
            case.results, case.oracle = answer[1], answer[2]
            if CELLS.search(case.operation) and not all(map(is_finite, case.results)):
                return "refused", "states that overflow, some of them early in ONNX Runtime's Softplus"
            if CANCELS.match(case.operation) and cancels(case):
                return "refused", "a sum that cancels"
            if ROUNDS.match(case.operation) and hangs_on_last_bits(oracle, case):
                return "refused", "results that the last bits decide"
            if case.declares and all(isinstance(r, np.ndarray) for r in case.results):
                onnx_single.declare(case)
        return answer
