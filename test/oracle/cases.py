#===- cases.py - A case, and how it lies on disk ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""A case is a model, what is fed, and, once an oracle has answered, what is to come of it.

On disk it has a layout of weir-conformance (docs/tools.md): an ONNX test's folder, or a
scripted session.
"""
import base64
import json
import os

import numpy as np

import values

# Types that .npz files have no name for lie there as integers of the same bits.
STORED = {1: np.uint8, 2: np.uint16}


class Reject(Exception):
    """What was drawn makes no case."""


class Case:
    def __init__(self, suite, operation, model, feeds, cell, bounds=(), length=1, epsilons=None):
        self.suite = suite          # onnx or tf
        self.operation = operation  # the row of the table of coverage
        self.model = model          # ModelProto or GraphDef
        self.feeds = feeds          # ONNX: name -> array; TF: a list of runs' {edge: array}
        self.cell = cell            # type, form of the operands, fixed/open/bounded
        self.bounds = list(bounds)  # --dim
        self.length = length        # terms of a reduction
        self.epsilons = epsilons    # None: of the operation
        self.results = None         # ONNX: list of arrays; TF: a list a run: arrays or ("error", code)
        self.declares = False       # ONNX: the ranks of results are to be written into the model
        self.error = None           # ONNX: the code that the run is to end with,
        self.refusal = ""           # and the oracle's words
        self.given = None           # ONNX: model and feeds that are asked, where they are others
        self.fetches = None         # TF: a list a run
        self.gradients = None       # TF: ys, xs
        self.oracle = ""            # whose answer it is
        self.name = ""


def short(value):
    value = np.asarray(value)
    text = "%s%s" % (value.dtype.name, list(value.shape))
    if value.size <= 6:
        text += "=" + " ".join(str(v) for v in value.ravel())
    return text


def describe(case):
    """One line: the nodes with their attributes, and what they are given."""
    if case.suite != "onnx":
        import tf_single
        return tf_single.describe(case)
    import onnx
    from onnx import numpy_helper
    model, feeds = case.given or (case.model, case.feeds)
    graph, parts = model.graph, []
    for node in graph.node:
        attributes = ["%s=%s" % (a.name, onnx.helper.get_attribute_value(a)) for a in node.attribute
                      if a.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.TENSOR)]
        parts.append("%s(%s) %s" % (node.op_type, ",".join(node.input), " ".join(attributes)))
    parts += ["%s:%s" % (n, short(v)) for n, v in feeds.items()]
    parts += ["%s:const %s" % (t.name, short(numpy_helper.to_array(t))) for t in graph.initializer]
    said = ": " + " ".join(case.refusal.split())[-160:] if case.error else ""
    return "; ".join(parts) + " (%s, opset %d%s)" % (case.oracle, model.opset_import[0].version, said)


def tolerance(case, dtype, through=0):
    """Relative error and steps that two right implementations may be apart. `through`: the epsilon of a
    coarser type, through which a result has gone."""
    if case.epsilons:
        return case.epsilons * values.epsilon(dtype)
    half = dtype.itemsize <= 2
    terms = min(case.length, 1 << 20)
    count = 16 + 4 * (terms if half else terms ** 0.5)
    count = max(count, getattr(case, "least", 0))
    return min(count * max(values.epsilon(dtype), through), 0.3)


def options_of(case):
    """Lines of options.txt."""
    float_types = [a.dtype for a in case.results if values.is_float(a.dtype) or a.dtype.kind == "c"]
    lines = ["dim " + b for b in case.bounds]
    if case.error:
        return lines + ["error " + case.error]
    if float_types:
        # Of operands of two types the reference evaluator computes some in the narrower one.
        coarse = getattr(case, "coarsest", 0) if case.oracle == "reference" else 0
        widest = max(tolerance(case, t) / values.epsilon(t) * max(1, coarse / values.epsilon(t))
                     for t in float_types)
        lines.append("epsilons %g" % widest)
    else:
        lines.append("epsilons 16")
    steps = getattr(case, "steps", 0)
    # The reference evaluator scales integers as doubles, others as floats: ties move.
    if case.oracle == "reference" and case.operation.startswith("QLinear"):
        steps = max(steps, 1)
    if steps:
        lines.append("steps %d" % steps)
    return lines


def write(case, folder):
    os.makedirs(folder)
    (write_onnx if case.suite == "onnx" else write_script)(case, folder)


def write_onnx(case, folder):
    from onnx import numpy_helper
    import onnx_single
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    asked, feeds = case.given or (case.model, case.feeds)
    model = type(asked)()
    model.CopyFrom(asked)
    for info, result in zip(model.graph.output, case.results):
        if isinstance(result, np.ndarray):
            info.type.tensor_type.elem_type = onnx_single.element_type(result.dtype)
    with open(os.path.join(folder, "model.onnx"), "wb") as out:
        out.write(model.SerializeToString())
    order = [i.name for i in model.graph.input]
    parts = [("input", [feeds[name] for name in order]),
             ("output", [] if case.error else case.results)]
    for side, arrays in parts:
        for i, value in enumerate(arrays):
            with open(os.path.join(data, "%s_%d.pb" % (side, i)), "wb") as out:
                out.write(onnx_single.tensor_of(np.asarray(value), "%s%d" % (side, i))
                          .SerializeToString())
    with open(os.path.join(folder, "options.txt"), "w") as out:
        out.write("\n".join(options_of(case)) + "\n")


def largest(value):
    """Of the finite elements."""
    with np.errstate(all="ignore"):
        sizes = np.abs(value.astype(np.complex128 if value.dtype.kind == "c" else np.float64))
    return float(np.max(sizes[np.isfinite(sizes)], initial=0))


def write_script(case, folder):
    with open(os.path.join(folder, "graph.pb"), "wb") as out:
        out.write(case.model.SerializeToString())
    arrays, stored, steps = {}, {}, []

    def keep(value):
        value = np.asarray(value)
        name = "a%d" % len(arrays)
        if value.dtype == object or value.dtype.kind in "SU":
            texts = [v if isinstance(v, bytes) else str(v).encode() for v in value.ravel()]
            arrays[name] = {"dtype": "string", "shape": list(value.shape),
                            "base64": [base64.b64encode(t).decode() for t in texts]}
            return name
        arrays[name] = {"dtype": value.dtype.name, "shape": list(value.shape)}
        if value.dtype.kind == "V" or value.dtype.name == "bfloat16":
            value = value.view(STORED[value.dtype.itemsize])
        stored[name] = value
        return name

    def allowed(number, value):
        """Elements that cancellation has made small are judged by their neighbours' size. The noise is
        what an epsilon at each step makes: a step of an implementation, a function of the math library
        at worst, may be four off, there are two implementations, and three draws see about half of the
        worst."""
        if not values.is_float(value.dtype) and value.dtype.kind != "c":
            return {"rtol": 0.0, "atol": 0.0}
        through = getattr(case, "through", None)
        relative = tolerance(case, value.dtype, through[number] if through else 0)
        return {"rtol": relative, "atol": max(0.05 * relative * largest(value),
                                              16 * getattr(case, "noise", 0.0))}

    targets = getattr(case, "targets", None) or [[]] * len(case.feeds)
    for feeds, fetches, steps_of, results in zip(case.feeds, case.fetches, targets, case.results):
        step = {"run": {"feeds": {edge: keep(v) for edge, v in feeds.items()},
                        "fetches": list(fetches), "targets": list(steps_of)}}
        if isinstance(results, tuple):
            step["expect"] = {"error": {"code": results[1]}}
        else:
            step["expect"] = {"fetches": [keep(v) for v in results],
                              "tolerances": [allowed(i, np.asarray(v))
                                             for i, v in enumerate(results)]}
        steps.append(step)
    script = {"description": case.operation, "graph": "graph.pb", "arrays": arrays, "steps": steps}
    if stored:
        np.savez(os.path.join(folder, "data.npz"), **stored)
    with open(os.path.join(folder, "case.json"), "w") as out:
        json.dump(script, out, indent=1)
