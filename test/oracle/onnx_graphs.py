#===- onnx_graphs.py - Small graphs of ONNX operators -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Two to five operators, each of which takes a result of one before; plain, in the branch
of an If that captures its operands, in a Loop, or as a function of the model."""
import re

import numpy as np
import onnx
from onnx import TensorProto, helper

import cases
import onnx_open
import onnx_oracle
import onnx_roles
import onnx_single
import onnx_source
import pool
import values

OPSET = 21
# Operators that move or choose elements, or whose results are integers.
EXACT = {"Abs", "Ceil", "Clip", "Concat", "Expand", "Flatten", "Floor", "Gather", "Max", "Min", "Neg",
         "Pad", "Relu", "Reshape", "Round", "Sign", "Slice", "Tile", "TopK", "Transpose", "Trilu",
         "Unsqueeze", "Where"}
COARSE = re.compile("^(Layer|Group)Normalization$")
# Whose results' sizes hang on elements.
OF_DATA = {"Compress", "NonMaxSuppression", "NonZero", "Range", "Unique"}
# Which ONNX Runtime replaces by their definitions, whose sizes it does not know in a loop's body.
FUNCTIONS = {"MeanVarianceNormalization"}
# Which tell a zero from a number of either sign that is almost one.
AT_ZERO = {"Div", "Log", "Pow", "Reciprocal", "Sqrt"}
FORMS = ["plain", "plain", "if", "loop", "function"]


class Graphs(onnx_source.Singles):
    def __init__(self, given):
        super().__init__(given)
        self.schemas = [s for s in self.schemas if s.since <= OPSET <= s.until and not s.domain
                        and s.name not in ("Optional", "Split", "SplitToSequence", "Constant",
                                           "OptionalGetElement", "Identity", "GatherND", "Squeeze")
                        and onnx_oracle.DECISIONS.get(s.name) != "none"]

    def draw(self, random):
        try:
            return Drawing(random, self.schemas).case()
        except (ValueError, IndexError, OverflowError, TypeError, ZeroDivisionError) as error:
            raise cases.Reject(str(error)[:100])


class Drawing:
    def __init__(self, random, schemas):
        self.random, self.schemas = random, schemas
        self.nodes, self.feeds, self.initializers = [], {}, []
        self.known = {}  # name -> a value of its type and shape
        self.inexact = set()  # results that may be rounded otherwise
        self.length = 1
        # What constants lead to is computed while compiling, by an evaluator of its own.
        self.share = 1 if random.random() < 0.15 else 0.35

    def operand(self, value):
        name = "x%d" % (len(self.feeds) + len(self.initializers))
        if self.random.random() < self.share or value.ndim == 1 and value.dtype.kind == "i":
            self.initializers.append(onnx_single.tensor_of(value, name))
        else:
            self.feeds[name] = value
        self.known[name] = value
        return name

    def step(self):
        """One more operator, whose result the reference evaluator or ONNX Runtime says."""
        random = self.random
        for _ in range(40):
            schema = values.pick(random, self.schemas)
            made = [n for n in self.known if n.startswith("y")]
            source = str(random.choice(made)) if made else None
            if source and not any(t.startswith("tensor(") for p in schema.inputs[:1]
                                  for t in schema.types_of(p)):
                continue  # the reference evaluator takes a tensor for a sequence
            try:
                drawn = onnx_single.Draw(random, schema, self.known.get(source)).draw()
                onnx_open.reject_open(schema, drawn)
            except (cases.Reject, ValueError, IndexError, TypeError, OverflowError,
                    ZeroDivisionError):
                continue
            names = []
            trial = {}
            for i, value in enumerate(drawn.inputs):
                names.append("" if value is None else source if source and not i else "t%d" % i)
                if value is not None and names[-1] != source:
                    trial[names[-1]] = value
            attributes = {k: v for k, v in drawn.attributes.items() if v is not None}
            out = "y%d" % len(self.nodes)
            outs = [out] + ["%s_%d" % (out, i) for i in range(1, schema.least_outputs)]
            node = helper.make_node(schema.name, names, outs, name="n%d" % len(self.nodes),
                                    **attributes)
            given = dict(trial)
            if source:
                given[source] = self.known[source]
            divisor = given.get(names[1]) if schema.name in ("Div", "Mod") else None
            if divisor is not None and divisor.dtype.kind in "iu" and not np.all(divisor):
                continue  # NumPy gives zeros, a program a status
            if schema.name == "QLinearConv" and any(v.size == 0 for v in given.values()):
                continue  # ONNX Runtime leaves the result of no channels as memory was
            floats = {v.dtype for v in given.values() if values.is_float(v.dtype)}
            if len(floats) > 1 or COARSE.search(schema.name) and np.float64 in floats:
                continue  # computed in the narrower type, or in f32
            if schema.name.startswith("Cast") and source and not fits_all(self.known[source]):
                continue  # out of range is not defined
            try:
                results = computed(node, given)
            except Exception:  # noqa
                continue
            if any(r.size > values.LARGEST or r.dtype == object or
                   not values.is_finite(r) and
                   random.random() < 0.8 for r in results):
                continue
            declared = [drawn.bound.get(o.type) for o in schema.outputs]
            if any(d is not None and d != r.dtype for d, r in zip(declared, results)):
                continue  # the reference evaluator's own types
            if source in self.inexact and schema.name in AT_ZERO and \
                    self.known[source].dtype.itemsize == 2 and not np.all(self.known[source]):
                continue  # ONNX Runtime keeps f32 between the steps of a definition, and behind it
            if source in self.inexact and not self.is_steady(node, given, source, results):
                continue
            for name, result in zip(outs, results):
                if values.is_float(result.dtype) and (source in self.inexact or
                                                      schema.name not in EXACT):
                    self.inexact.add(name)
                self.known[name] = result
            for i, name in enumerate(names):
                if name in trial:
                    node.input[i] = self.operand(trial[name])
            self.nodes.append(node)
            self.length = max([self.length] + [v.size for v in given.values()])
            return
        raise cases.Reject("no operator fits")

    def is_steady(self, node, given, source, results):
        """Whether roundings of the source change the result by roundings alone: no floor, no
        comparison, no cast has them decide."""
        exact = self.known[source]
        if not values.is_float(exact.dtype):
            return True
        with np.errstate(all="ignore"):
            wide = exact.astype(np.float64)
            finite = np.abs(wide[np.isfinite(wide)])
            step = 64 * values.epsilon(exact.dtype) * (np.abs(wide) + 0.05 * np.max(finite, initial=0))
            mixed = np.where(self.random.random(wide.shape) < 0.5, -1, 1)
            # What is hardly more than 0 may be 0.
            for change in (-step, step, mixed * step, np.where(np.abs(wide) < step, -wide, 0)):
                moved = dict(given)
                moved[source] = np.where(np.isfinite(wide), wide + change, wide).astype(exact.dtype)
                try:
                    others = computed(node, moved)
                except Exception:  # noqa
                    return False
                if any(o.shape != r.shape or not onnx_oracle.near(r, o)
                       for o, r in zip(others, results)):
                    return False
        return True

    def case(self):
        random = self.random
        for _ in range(int(random.integers(2, 6))):
            self.step()
        used = {i for n in self.nodes for i in n.input}
        outputs = [o for n in self.nodes for o in n.output if o not in used]
        form = str(random.choice(FORMS))
        sizes = "fixed" if random.random() < 0.6 else "open"
        model = wrapped(form, self.nodes, self.feeds, outputs, self.initializers, sizes, random,
                        self.known)
        kinds = sorted({n.op_type for n in self.nodes})
        dtype = self.known[outputs[0]].dtype.name
        case = cases.Case("onnx", "+".join(kinds)[:80], model, dict(self.feeds), (dtype, form, sizes),
                          length=self.length)
        case.dtypes = [self.known[o].dtype for o in outputs]
        if form == "if":
            case.feeds["cond"] = np.array(random.random() < 0.7)
        case.least = 1024  # errors add up, and grow where functions are steep
        return case


# ONNX Runtime, while cases are drawn: a process of its own, which may crash.
DRAWER = pool.Oracle("onnx")


def computed(node, given):
    """The results of one operator, by the engine that is trusted with it: a graph may ask
    another, so where two answer and differ there are none."""
    model = model_of([node], given, node.output, []).SerializeToString()
    answer = DRAWER.ask((model, given, node.op_type, [None] * len(node.output)))
    if answer[0] != "results":
        raise ValueError(answer[1])
    return [np.asarray(r) for r in answer[1]]


def fits_all(value):
    """Whether all types of numbers hold the elements, but for what comes after the point."""
    if not values.is_float(value.dtype):
        return True
    wide = value.astype(np.float64)
    return bool(np.all((wide >= 0) & (wide < 8)))


def info(name, value, sizes):
    dims = list(value.shape)
    if sizes == "open" and (value.dtype.kind != "i" or value.ndim > 1):
        dims = ["%s_%d" % (name, i) for i in range(value.ndim)]
    return helper.make_tensor_value_info(name, onnx_single.element_type(value.dtype), dims)


def model_of(nodes, feeds, outputs, initializers, sizes="fixed", functions=(), extra=()):
    graph = helper.make_graph(nodes, "g", [info(n, v, sizes) for n, v in feeds.items()] + list(extra),
                              [onnx.ValueInfoProto(name=o) for o in outputs],
                              initializer=initializers)
    imports = [helper.make_opsetid("", OPSET)]
    if functions:
        imports.append(helper.make_opsetid("local", 1))
    return helper.make_model(graph, ir_version=10, opset_imports=imports, functions=functions)


def typed(name, value):
    return helper.make_tensor_value_info(name, onnx_single.element_type(value.dtype), None)


def rounds_up(node):
    """Whether a pool rounds sizes up, of which ONNX's inference counts windows beyond the image."""
    return any(a.name == "ceil_mode" and a.i for a in node.attribute)


def wrapped(form, nodes, feeds, outputs, initializers, sizes, random, known):
    if form == "plain":
        return model_of(nodes, feeds, outputs, initializers, sizes)
    results = ["r%d" % i for i in range(len(outputs))]
    if form == "function":
        inputs = list(feeds) + [t.name for t in initializers]
        function = helper.make_function("local", "F", inputs, outputs, nodes,
                                        [helper.make_opsetid("", OPSET)])
        call = helper.make_node("F", inputs, results, name="call", domain="local")
        return model_of([call], feeds, results, initializers, sizes, [function])
    body = helper.make_graph(nodes, "body", [], [typed(o, known[o]) for o in outputs])
    if form == "if":
        others = [helper.make_node("Identity", [o + "_c"], [o + "_e"], name="e_" + o)
                  for o in outputs]
        constants = [onnx_single.tensor_of(np.zeros_like(known[o]), o + "_c") for o in outputs]
        other = helper.make_graph(others, "other", [], [typed(o + "_e", known[o]) for o in outputs],
                                  initializer=constants)
        node = helper.make_node("If", ["cond"], results, name="if", then_branch=body,
                                else_branch=other)
        cond = helper.make_tensor_value_info("cond", TensorProto.BOOL, [])
        return model_of([node], feeds, results, initializers, sizes, extra=[cond])
    # A loop whose scan outputs are what the nodes compute in each turn.
    again = helper.make_node("Identity", ["go"], ["go_on"], name="again")
    body = helper.make_graph(list(nodes) + [again], "body",
                             [helper.make_tensor_value_info("turn", TensorProto.INT64, []),
                              helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
                             [helper.make_tensor_value_info("go_on", TensorProto.BOOL, [])] +
                             [typed(o, known[o]) for o in outputs])
    # What is stacked in no turn at all has sizes that ONNX leaves open.
    is_open = sizes == "open" or any(n.op_type in OF_DATA or n.op_type in FUNCTIONS or
                                     rounds_up(n) for n in nodes)
    turns = int(random.integers(1 if is_open else 0, 4))
    turns = onnx_single.tensor_of(np.array(turns, np.int64), "turns")
    node = helper.make_node("Loop", ["turns", ""], results, name="loop", body=body)
    return model_of([node], feeds, results, list(initializers) + [turns], sizes)
