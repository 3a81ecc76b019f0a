#===- onnx_oracle.py - What ONNX Runtime and the reference evaluator say ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""ONNX Runtime answers where it can, without optimisations; else ONNX's reference
evaluator does. Where both can, and differ, a line of disagreements.tsv decides, and
without one there is no answer."""
import csv
import os
import re

import ml_dtypes
import numpy as np
import onnx

import onnx_decoders
import onnx_searches  # which finds modules of ../models
import values
from shared_caches import run_shared

NEWEST = 100
PLAIN = [np.dtype(t) for t in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                               "uint32", "uint64", "float16", "float32", "float64")]


def decisions():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "disagreements.tsv")
    with open(path, newline="") as text:
        rows = [r for r in csv.reader(text, delimiter="\t") if r and not r[0].startswith("#")]
    limits = [(row[0], re.compile(row[3])) for row in rows if row[1] == "limit"]
    return {row[0]: row[1] for row in rows if row[1] != "limit"}, limits


# The second: what ONNX Runtime says where it refuses operands that the specification allows.
DECISIONS, LIMITS = decisions()

# ONNX Runtime lacks a kernel: only then the reference evaluator's word counts alone.
MISSING = re.compile(r"NOT_IMPLEMENTED|NotImplemented|Type Error|INVALID_GRAPH|find an implementation"
                     r"|packed feeds|results of type|under development|not implemented", re.I)
# Of a model that it answers with other operands, words that are no reason against these.
LACKS = re.compile(r"NOT_IMPLEMENTED|NotImplemented|not (yet )?(implemented|supported)|find an implementation"
                   r"|packed feeds|bad.?alloc|Failed to allocate|memory|too large|overflow", re.I)


def runtime(model, feeds):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    kinds = {o.name: o.type for o in session.get_outputs()}
    for value in feeds.values():
        if value.dtype != object and value.dtype not in PLAIN:
            return ort_values(session, feeds, kinds)
    if b"SparseAttention" in model:
        return run_shared(session, feeds, onnx_decoders.CACHES)
    results = session.run(None, feeds)
    if any("float8" in k or "bfloat16" in k or "int4" in k for k in kinds.values()):
        return ort_values(session, feeds, kinds)
    return onnx_searches.filled(model, feeds, results) if b"eos_token_id" in model else results


def ort_values(session, feeds, kinds):
    """Types that numpy lacks travel as OrtValues."""
    from onnxruntime import OrtValue
    given = {}
    for name, value in feeds.items():
        if value.dtype != object and value.dtype not in PLAIN:
            kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            if value.dtype.name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn"):
                raise TypeError("packed feeds")
            given[name] = OrtValue.ortvalue_from_numpy_with_onnx_type(
                value.view(np.uint16 if value.dtype.itemsize == 2 else np.uint8), kind)
        else:
            given[name] = OrtValue.ortvalue_from_numpy(value)
    results = []
    for out, (name, kind) in zip(session.run_with_ort_values(list(kinds), given), kinds.items()):
        inner = kind[len("tensor("):-1]
        try:
            results.append(out.numpy())
        except Exception:
            raise TypeError("results of type " + inner)
    return results


def reference(model, feeds):
    from onnx.reference import ReferenceEvaluator
    with np.errstate(all="ignore"):
        results = ReferenceEvaluator(model).run(None, feeds)
    for r in results:
        if not isinstance(r, (np.ndarray, np.generic)):
            raise TypeError("result is no tensor")
    return [np.asarray(r) for r in results]


def is_tame(array):
    """Whether the reference evaluator's detours through 32-bit integers bear the elements."""
    if array.dtype == object or not values.is_float(array.dtype):
        return True
    wide = array.astype(np.float64)
    return bool(np.all(np.isfinite(wide)) and np.max(np.abs(wide), initial=0) < 1e5)


def has_many_halves(array):
    return array.dtype != object and values.is_float(array.dtype) and array.itemsize <= 2 and \
        array.size > 64


def near(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object or a.dtype.kind in "US":
        return [str(x) for x in a.ravel()] == [str(x) for x in b.ravel()]
    if not values.is_float(a.dtype):
        return bool(np.array_equal(a, b))
    x, y = a.astype(np.float64), b.astype(np.float64)
    wide = max(np.max(np.abs(x[np.isfinite(x)]), initial=0), 0)
    with np.errstate(all="ignore"):
        good = np.abs(x - y) <= (1000 if a.dtype.itemsize > 2 else 16) * values.epsilon(a.dtype) * (
            np.abs(x) + 0.05 * wide)
    return bool(np.all(good | (x == y) | (np.isnan(x) & np.isnan(y))))


def feeds_and_constants(model, feeds):
    held = onnx.load_model_from_string(model).graph.initializer
    return list(feeds.values()) + [onnx.numpy_helper.to_array(t) for t in held]


def decision(operators):
    """The engine to ask for a graph of such operators: none where they want several."""
    asked = {DECISIONS[o] for o in operators if o in DECISIONS}
    if "none" in asked or len(asked & {"runtime", "reference", "both"}) > 1:
        return "none"
    return next((a for a in ("runtime", "reference", "both", "wide", "tame") if a in asked), "")


def refusal(request, engine):
    """What an engine, which answers such a model with other operands, says against these: ("error",
    reason), or as answer()."""
    model, feeds, operation, dtypes = request
    try:
        (runtime if engine == "runtime" else reference)(model, feeds)
    except Exception as error:  # noqa
        reason = str(error) or type(error).__name__
        if LACKS.search(reason):
            return "refused", reason
        if any(of in ("*", operation.rpartition("-")[0]) and words.search(reason)
               for of, words in LIMITS):
            return "refused", "a limit of the oracle: " + reason[:150]
        return "error", reason
    return answer(request)


def answer(request):
    if len(request) > 4:
        return refusal(request[:4], request[4])
    model, feeds, operation, dtypes = request
    operators, _, since = operation.rpartition("-") if "-" in operation else (operation, "", "")
    since = int(since or NEWEST)
    asked = decision(operators.split("+"))
    answers, reasons = {}, []
    engines = {"runtime": runtime, "reference": reference}
    for name, engine in engines.items():
        if asked in engines and asked != name or asked == "none":
            continue
        try:
            answers[name] = engine(model, feeds)
        except Exception as error:  # noqa
            if name == "runtime" and not MISSING.search(str(error)) and asked != "reference":
                return "refused", "ONNX Runtime: " + str(error)[:200]
            reasons.append("%s: %s" % (name, str(error).splitlines()[0][:200] if str(error) else
                                       type(error).__name__))
    if not answers:
        return "refused", "; ".join(reasons)
    if asked == "none":
        return "refused", "the oracles are not trusted"
    if asked == "both" and len(answers) < 2:
        return "refused", "only one oracle answers"
    if len(answers) == 2:
        first, second = answers.values()
        if len(first) != len(second) or not all(map(near, map(np.asarray, first), second)):
            return "split", "ONNX Runtime and the reference evaluator differ", answers
    name = next(iter(answers))
    if name == "reference" and "+" in operators and "QLinear" in operators:
        return "refused", "the reference evaluator scales integers as doubles, and ties move"
    if name == "runtime" and len(answers) == 1 and operators == "Cast" and any(
            np.asarray(r).dtype.kind in "OU" for r in answers[name]) and any(
                values.is_float(v.dtype) for v in feeds_and_constants(model, feeds)):
        return "refused", "text of floats, which each oracle writes in its own way"
    if name == "reference" and since < 7:
        return "refused", "the reference evaluator knows newer versions"
    if name == "reference" and asked == "tame" and not all(map(is_tame, feeds_and_constants(
            model, feeds))):
        return "refused", "the reference evaluator's integers overflow"
    if name == "reference" and asked == "wide" and any(map(has_many_halves, feeds_and_constants(
            model, feeds))):
        return "refused", "the reference evaluator adds halves up as halves"
    if any(isinstance(r, (list, dict)) or r is None for r in answers[name]):
        return "refused", "a result is no tensor"
    results = [np.asarray(r) for r in answers[name]]
    if any(r.dtype == bool and np.any(r.view(np.uint8) > 1) for r in results):
        return "refused", "a result has booleans that are neither true nor false"
    for result, dtype in zip(results, dtypes):
        if dtype is not None and result.dtype != dtype and result.dtype.kind not in "OU":
            return "refused", "a result has not the schema's type"
    return "results", results, name
