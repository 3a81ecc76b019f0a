#!/usr/bin/env python3
#===- mutations.py - Models with one fault each -------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws nodes as run.py does, makes one thing of each wrong, and compiles it. weirc takes the
model, or refuses it by a number and the node's name, in its own words; it never crashes.

    $WEIR_ORT_PYTHON test/oracle/mutations.py --cases=500 --seed=1
"""
import argparse
import collections
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import AttributeProto, helper, numpy_helper  # noqa: E402

import cases  # noqa: E402
import onnx_single  # noqa: E402
import onnx_source  # noqa: E402
import pool  # noqa: E402
import run  # noqa: E402
from values import pick  # noqa: E402

# Errors of the model as a whole, which no node is to blame for.
OF_THE_MODEL = {"W0301", "W0304", "W0305", "W0306", "W0308", "W0309", "W0312", "W0321", "W0352"}
NUMBERS = [-1, 0, 1, 2, 3, 7, 100, 1 << 31, (1 << 63) - 1, -(1 << 63)]
KINDS = [AttributeProto.FLOAT, AttributeProto.INT, AttributeProto.STRING, AttributeProto.INTS,
         AttributeProto.FLOATS]


class Mutant:
    """A drawn model; each method makes one thing wrong, or returns False where it cannot."""

    def __init__(self, random, model):
        self.random, self.model = random, onnx.ModelProto()
        self.model.CopyFrom(model)
        self.graph, self.node = self.model.graph, self.model.graph.node[0]

    def attribute(self):
        return pick(self.random, self.node.attribute) if self.node.attribute else None

    def drop_attribute(self):
        attribute = self.attribute()
        if attribute is None:
            return False
        self.node.attribute.remove(attribute)
        return True

    def rename_attribute(self):
        attribute = self.attribute()
        if attribute is None:
            return False
        attribute.name += "x"
        return True

    def add_attribute(self):
        self.node.attribute.append(helper.make_attribute(pick(self.random, ["axis", "mode", "to", "k"]), 1))
        return True

    def retype_attribute(self):
        attribute = self.attribute()
        if attribute is None:
            return False
        name, kind = attribute.name, pick(self.random, KINDS)
        made = {AttributeProto.FLOAT: 1.5, AttributeProto.INT: 1, AttributeProto.STRING: "text",
                AttributeProto.INTS: [1, 2], AttributeProto.FLOATS: [1.5, 2.5]}[kind]
        attribute.CopyFrom(helper.make_attribute(name, made))
        return True

    def change_attribute(self):
        attribute, random = self.attribute(), self.random
        if attribute is None:
            return False
        if attribute.type == AttributeProto.INT:
            attribute.i = pick(random, NUMBERS)
        elif attribute.type == AttributeProto.FLOAT:
            attribute.f = pick(random, [0.0, -1.0, float("nan"), float("inf"), 1e30])
        elif attribute.type == AttributeProto.STRING:
            attribute.s = pick(random, [b"", b"nothing", b"\xff\xfe", b"a,b->c"])
        elif attribute.type == AttributeProto.INTS:
            kept = list(attribute.ints)
            how = int(random.integers(4))
            if how == 0:
                kept = kept[:-1]
            elif how == 1:
                kept = kept + [1]
            elif how == 2:
                kept = []
            elif kept:
                kept[int(random.integers(len(kept)))] = pick(random, NUMBERS)
            del attribute.ints[:]
            attribute.ints.extend(kept)
        else:
            return False
        return True

    def operand(self):
        operands = list(self.graph.input) + list(self.graph.initializer)
        return pick(self.random, operands) if operands else None

    def retype_operand(self):
        operand = self.operand()
        types = [t for t in range(1, 24) if t not in (8, 14, 15)]
        if operand is None:
            return False
        if isinstance(operand, onnx.ValueInfoProto):
            operand.type.tensor_type.elem_type = pick(self.random, types)
            return True
        if operand.data_type == onnx.TensorProto.STRING:
            return False
        array = numpy_helper.to_array(operand)
        kind = pick(self.random, [np.float32, np.int64, np.int32, np.uint8, np.float64, bool])
        with np.errstate(all="ignore"):
            operand.CopyFrom(numpy_helper.from_array(array.astype(kind), operand.name))
        return True

    def reshape_operand(self):
        operand, random = self.operand(), self.random
        if operand is None:
            return False
        if isinstance(operand, onnx.TensorProto):
            if operand.data_type == onnx.TensorProto.STRING:
                return False
            array = numpy_helper.to_array(operand)
            array = pick(random, [array[None], array.reshape(-1), array[:0] if array.ndim else array[None],
                                  array[..., None], np.concatenate([array, array]) if array.ndim
                                  else array[None, None]])
            operand.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), operand.name))
            return True
        dims = [d.dim_value if d.HasField("dim_value") else d.dim_param
                for d in operand.type.tensor_type.shape.dim]
        how = int(random.integers(5))
        if how == 0:
            dims = [2] + dims
        elif how == 1:
            dims = dims[1:]
        elif how == 2:
            dims = dims + [3]
        elif dims:
            dims[int(random.integers(len(dims)))] = pick(random, [0, 1, 2, 5, 1000, 1 << 40, "open"])
        operand.CopyFrom(helper.make_tensor_value_info(
            operand.name, operand.type.tensor_type.elem_type, dims))
        return True

    def drop_input(self):
        if not self.node.input:
            return False
        del self.node.input[int(self.random.integers(len(self.node.input)))]
        return True

    def blank_input(self):
        if not self.node.input:
            return False
        self.node.input[int(self.random.integers(len(self.node.input)))] = ""
        return True

    def add_input(self):
        if not self.node.input:
            return False
        self.node.input.append(pick(self.random, list(self.node.input)))
        return True

    def swap_inputs(self):
        if len(self.node.input) < 2:
            return False
        order = list(self.node.input)
        order.reverse()
        self.node.input[:] = order
        return True

    def add_outputs(self):
        self.node.output.extend(["more0", "more1"])
        self.graph.output.extend([onnx.ValueInfoProto(name=n) for n in ("more0", "more1")])
        return True

    def other_opset(self):
        self.model.opset_import[0].version = pick(self.random, [0, 1, 6, 8, 10, 12, 17, 26, 99])
        return True


MUTATIONS = [name for name in vars(Mutant) if not name.startswith("_") and
             name not in ("attribute", "operand")]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))


def fault(text, code):
    """What is wrong with weirc's answer; empty where nothing is."""
    if code < 0 or code >= 128:
        return "crashed (%d)" % code
    if run.INNER.search(text):
        return "a library's words"
    if "9223372036854775808" in text:
        return "an open size as a number"
    if code == 0:
        return ""
    errors = re.findall(r"error (W\d{4}): (.*)", text)
    if not errors:
        return "no numbered error"
    for number, message in errors:
        if number not in OF_THE_MODEL and 'node "' not in message:
            return "no node is named"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression of operations")
    parser.add_argument("--weir", default=os.environ.get("WEIR_BUILD") or
                        os.path.join(pool.ROOT, "build", "release"), help="the build folder")
    parser.add_argument("--keep", metavar="DIR", help="models that show a fault are kept there")
    given = parser.parse_args()
    schemas = onnx_source.Singles(given).schemas
    totals, faults, number = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory(prefix="weir-mutations-") as folder:
        path = os.path.join(folder, "m.onnx")
        while sum(totals.values()) < given.cases and number < 20 * given.cases:
            random = np.random.default_rng([given.seed, number])
            number += 1
            schema = pick(random, schemas)
            try:
                mutant = Mutant(random, onnx_single.make(random, schema).model)
            except (cases.Reject, ValueError, IndexError, OverflowError, TypeError,
                    ZeroDivisionError, KeyError):
                continue
            how = pick(random, MUTATIONS)
            if not getattr(mutant, how)():
                continue
            with open(path, "wb") as out:
                out.write(mutant.model.SerializeToString())
            try:
                done = subprocess.run([os.path.join(given.weir, "bin", "weirc"), path, "-o",
                                       os.path.join(folder, "m.o")], capture_output=True, text=True,
                                      errors="replace", timeout=120, preexec_fn=limit)
                text, code = done.stdout + done.stderr, done.returncode
                wrong = fault(text, code)
            except subprocess.TimeoutExpired:
                text, code, wrong = "", 0, "no answer in time"
            totals["accepted" if code == 0 and not wrong else "refused" if not wrong else wrong] += 1
            if wrong:
                faults += 1
                print("%s: seed%d-%d %s %s\n    %s\n    %s" % (
                    wrong, given.seed, number - 1, schema.key, how,
                    helper.printable_node(mutant.node)[:300], text.strip()[:600]), flush=True)
                if given.keep:
                    os.makedirs(given.keep, exist_ok=True)
                    onnx.save(mutant.model, os.path.join(
                        given.keep, "seed%d-%d.onnx" % (given.seed, number - 1)))
    print(", ".join("%d %s" % (count, name) for name, count in totals.most_common()))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
