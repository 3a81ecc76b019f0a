#===- tf_graphs.py - Small graphs of TensorFlow, and their gradients ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Two to five operations, each of which takes a result of one before; plain, or in a
function: called, a branch of an If with a condition of any type, a loop's body.

Gradients are TensorFlow's own, of first or second order: either their nodes are in the
graph, or weir differentiates it."""
import re

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2
from tensorflow.python.framework import op_def_registry

import cases
import tf_noise
import tf_single
import tf_source
import values

# What hangs on the last bits of an operand, on numbers that no integer holds, and what has results
# that TensorFlow leaves unset.
ALONE = re.compile(r"^(Fingerprint|_HostCast|StochasticCastToInt|SerializeTensor)$|Svd|SelfAdjointEig|Bessel[JY]")
# Which take what a step before them kept: of numbers that are drawn, TensorFlow's gradients take
# others for them.
RESERVED = re.compile("FusedBatchNormGrad")
PERIODIC = re.compile("Sin|Cos|Tan|Fresnel")
# Whose gradients are differences, or quotients of one, of which a large operand, or one beside the end
# of the range, leaves no digit.
CANCELLING = re.compile(r"Dawsn|BesselI[01]e|Acosh|(Acos|Asin|Atanh)\b")
# TensorFlow's gradients of them take diagonals for aligned to the right, as those of version 3 are.
LEFT_ALIGNED = re.compile("Matrix(Set)?Diag(Part)?V2")
FORMS = ["plain", "plain", "call", "if", "while", "switch"]


class Graphs(tf_source.Singles):
    """Draws with an oracle's help: which shapes come out, TensorFlow knows."""
    gradients = False

    def __init__(self, given):
        super().__init__(given)
        self.helper = given.oracle

    def make(self, random):
        if self.gradients:
            return self.make_gradient(random)
        drawing = Drawing(random, self.operations, self.helper, [np.dtype(t) for t in (
            "float32", "float32", "float64", "int32", "int64", "float16", "complex64", "bool")])
        for _ in range(int(random.integers(2, 6))):
            drawing.step()
        return drawing.case(str(random.choice(FORMS)))

    def make_gradient(self, random):
        drawing = Drawing(random, self.operations, self.helper, [np.dtype(t) for t in (
            "float32", "float64", "float64")], only_float=True)
        for _ in range(int(random.integers(1, 4))):
            drawing.step(only_float=True)
        return drawing.gradient_case()

    def settle(self, oracle, case):
        """Of a case that differs, what the roundings of steps change: the case's noise. Whether
        some change more than roundings: a floor, a comparison, a pole has the last bits decide."""
        drawn = getattr(case, "drawn", None)
        if not drawn:
            return False
        definition, feeds, fetches, largest = drawn
        plain = (definition, feeds, fetches)
        asked = [plain] + [(tf_noise.with_noise(np.random.default_rng(i), definition, largest,
                                                each=i % 2 == 1), feeds, fetches)
                           for i in range(6)]
        pairs = self.pairs(oracle, asked)
        is_steady = not any(tf_noise.jumps(a, b) or tf_noise.decides(a, b) for a, b in pairs)
        if case.cell[1] == "while":  # each turn has the roundings of the one before
            whole = (case.model, case.feeds[0], case.fetches[0])
            moved = [{e: tf_noise.nudged(np.random.default_rng(i), v) for e, v in whole[1].items()}
                     for i in range(6)]
            turned = self.pairs(oracle, [whole] + [(whole[0], m, whole[2]) for m in moved])
            is_steady = is_steady and not any(tf_noise.jumps(a, b) for a, b in turned)
            pairs += turned
        case.noise = max([tf_noise.noise(a, b) for a, b in pairs], default=0.0)
        return not is_steady

    @staticmethod
    def pairs(oracle, asked):
        """The first graph's results beside those of each other, where all have some."""
        answers = [oracle.ask((graph.SerializeToString(), [(feeds, fetches, [])]))
                   for graph, feeds, fetches in asked]
        if any(a[0] != "results" for a in answers):
            return []
        first = answers[0][1][0]
        return [(a, b) for other in answers[1:] for a, b in zip(first, other[1][0])]


class Gradients(Graphs):
    gradients = True

    def ask(self, oracle, case):
        """Where terms cancel, what is left is rounding: how much of it there is shows when the
        operands and what each node gives are moved by an epsilon. A step, at a kink, is far
        more than that."""
        answer = super().ask(oracle, case)
        if answer[0] != "results":
            return answer
        given = getattr(case, "asked", case.model)
        jumped = tf_noise.measure(oracle, case, lambda random: tf_noise.with_noise(random, given))
        # Of a huge operand the last bit says where in its period a function is.
        if jumped and PERIODIC.search(case.operation):
            return "refused", "a periodic function of huge operands"
        if jumped and CANCELLING.search(case.operation):
            return "refused", "a gradient of which a difference leaves no digit"
        return answer


def fits(value, dtype):
    """Whether a type of integers holds what is cast to it: C++ leaves the rest open."""
    if value.dtype.kind not in "fc" or dtype.kind not in "iu" or not value.size:
        return True
    whole, range_of = np.trunc(value.real.astype(np.float64)), np.iinfo(dtype)
    return bool(range_of.min <= whole.min() and whole.max() <= range_of.max)


class Drawing:
    def __init__(self, random, operations, oracle, dtypes, only_float=False):
        self.random, self.operations, self.oracle = random, operations, oracle
        self.definition = graph_pb2.GraphDef()
        self.definition.versions.producer = 2474
        self.feeds, self.known, self.count, self.length = {}, {}, 0, 1
        self.names, self.operands = [], 0
        self.coarser = {}  # by the name of a step between floats of two types: the larger epsilon
        # What constants lead to is computed while compiling, by an evaluator of its own.
        self.is_constant = not only_float and random.random() < 0.15
        dtype = values.pick(random, dtypes)
        self.form = "open" if random.random() < 0.4 else "fixed"
        self.add_operand(values.elements(random, dtype, values.shape(random, empty=random.random() < 0.2),
                                         "plain"), feed=True)

    def add_operand(self, value, feed):
        name = "x%d" % self.operands
        self.operands += 1
        if feed and not self.is_constant:
            shape = value.shape if self.form == "fixed" else [None] * value.ndim
            tf_single.add_placeholder(self.definition, name, value.dtype, shape)
            self.feeds[name + ":0"] = value
        else:
            tf_single.add_constant(self.definition, name, value)
        self.known[name + ":0"] = value
        return name

    def step(self, only_float=False):
        random = self.random
        for _ in range(30):
            op = values.pick(random, self.operations)
            if op.HasField("deprecation") or ALONE.search(op.name) or \
                    only_float and RESERVED.search(op.name):
                continue
            sources = list(self.known)
            source = sources[-1 - int(random.integers(min(len(sources), 2)))]
            if self.known[source].dtype == object:
                source = sources[0]
            try:
                drawn = tf_single.Draw(random, op, self.known[source]).draw()
            except (cases.Reject, ValueError, IndexError, TypeError, KeyError, OverflowError,
                    ZeroDivisionError, AttributeError):
                continue
            before = graph_pb2.GraphDef()
            before.CopyFrom(self.definition)
            feeds, known, operands = dict(self.feeds), dict(self.known), self.operands
            name = "n%d" % self.count
            try:
                trial = graph_pb2.GraphDef()
                outputs = tf_single.defined(op, tf_single.add_node(trial, op, drawn))
                node = trial.node[0]
                node.name = name
                inputs = [source if source.endswith(":0") is False else source[:-2]]
                if op.name.startswith("Inplace"):
                    # TensorFlow's write into their operand's memory, which others may read
                    # before or after; the specification says that they make a copy.
                    copy = self.definition.node.add(name=name + "_copy", op="DeepCopy",
                                                    input=inputs)
                    copy.attr["T"].type = tf_single.enum_of(self.known[source].dtype)
                    inputs = [copy.name]
                roles = {n for n, r in drawn.rule.items() if r[4]}
                for arg, value in drawn.operands[1:]:
                    feed = arg not in roles and random.random() < 0.4
                    inputs.append(self.add_operand(value, feed))
                del node.input[:]
                node.input.extend(inputs)
                self.definition.node.append(node)
                fetches = ["%s:%d" % (name, i) for i in range(outputs)]
                answer = self.oracle.ask((self.definition.SerializeToString(),
                                          [(self.feeds, fetches, [])]))
            except cases.Reject:
                answer = ("refused",)
            good = answer[0] == "results"
            if good:
                # What comes after NaN says little, and after infinities depends on the order of sums.
                results = [np.asarray(r) for r in answer[1][0]]
                good = all(r.size <= values.LARGEST for r in results) and \
                    not (only_float and results[0].dtype.kind != "f") and \
                    all(map(values.is_finite, results)) and \
                    not (only_float and "Pool" in op.name and not results[0].size) and \
                    (op.name != "Cast" or fits(self.known[source], results[0].dtype))
            if not good:
                self.definition.CopyFrom(before)
                self.feeds, self.known, self.operands = feeds, known, operands
                continue
            for fetch, result in zip(fetches, results):
                self.known[fetch] = result
            if only_float:
                for fetch in fetches[1:]:
                    del self.known[fetch]
            passed = {values.epsilon(v.dtype) for v in results + [v for _, v in drawn.operands]
                      if v.dtype.kind == "f"}
            if len(passed) > 1:
                self.coarser[name] = max(passed)
            if tf_single.SUMS.search(op.name):
                self.length = max(self.length, max(v.size for _, v in drawn.operands))
            self.count += 1
            self.names.append(op.name)
            return
        raise cases.Reject("no operation fits")

    def fetches(self):
        used = {i.split(":")[0] for n in self.definition.node for i in n.input}
        return [t for t in self.known if t.startswith("n") and t.split(":")[0] not in used]

    def coarsest(self, definition, fetch):
        """The largest epsilon of steps between floats of two types, or of their gradients, on which a
        gradient hangs; 0 without any."""
        inputs = {n.name: [i.lstrip("^").split(":")[0] for i in n.input] for n in definition.node}
        seen, left, found = set(), [fetch.split(":")[0]], 0
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            left += inputs.get(name, [])
            for step, epsilon in self.coarser.items():
                if name == step or step + "_grad/" in name:
                    found = max(found, epsilon)
        return found

    def make(self, definition, feeds, fetches, form):
        case = cases.Case("tf", "+".join(sorted(set(self.names)))[:80], definition, [feeds],
                          (self.known[next(iter(self.known))].dtype.name, form, self.form),
                          length=self.length)
        case.fetches = [fetches]
        case.least = 1024
        return case

    def case(self, form):
        import tf_control
        fetches, drawn = self.fetches(), graph_pb2.GraphDef()
        drawn.CopyFrom(self.definition)
        definition, feeds, results = tf_control.wrap(form, self, fetches)
        case = self.make(definition, feeds, results, form)
        largest = {e: cases.largest(v) for e, v in self.known.items() if v.dtype.kind in "fc"}
        case.drawn = drawn, dict(self.feeds), fetches, largest
        return case

    def gradient_case(self):
        y = list(self.known)[-1]
        xs = [e for e, v in self.feeds.items() if v.dtype.kind == "f"]
        order = 2 if self.random.random() < 0.3 else 1
        own = order == 1 and self.random.random() < 0.5
        answer = self.oracle.ask(("gradients", self.definition.SerializeToString(), y, xs, order))
        if answer[0] != "gradients":
            raise cases.Reject(str(answer[1])[:100])
        definition = written = graph_pb2.GraphDef.FromString(answer[1])
        names = answer[2]
        if own and any(map(LEFT_ALIGNED.search, self.names)):
            raise cases.Reject("gradients of diagonals that TensorFlow takes for others")
        if own:
            definition = self.definition
        case = self.make(definition, dict(self.feeds), [n for n in names if n],
                         "order%d%s" % (order, " by weir" if own else ""))
        case.wanted, case.least = case.fetches, 64  # what is more is measured (noise)
        case.through = [self.coarsest(written, n) for n in names if n]
        if own:
            case.asked = written
            case.written = [["d(%s)/d(%s)" % (y, x) for x, n in zip(xs, names) if n]]
        if not case.fetches[0]:
            raise cases.Reject("no gradient")
        return case
