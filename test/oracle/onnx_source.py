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
CANCELS = re.compile(r"(Reduce(Sum|Mean)|LSTM|com\.microsoft\.DynamicQuantizeLSTM)-")


def cancels(case):
    """Whether rounding in between is a large part of the results."""
    operands = list(case.feeds.values()) or [numpy_helper.to_array(t)
                                             for t in case.model.graph.initializer]
    floats = [v for v in operands if v.dtype != object and values.is_float(v.dtype)]
    return bool(floats) and 16 * cases.largest(case.results[0]) < max(map(cases.largest, floats))


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
            if CANCELS.match(case.operation) and cancels(case):
                return "refused", "a sum that cancels"
            if case.declares and all(isinstance(r, np.ndarray) for r in case.results):
                onnx_single.declare(case)
        return answer
