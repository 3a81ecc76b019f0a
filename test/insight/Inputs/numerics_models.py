#!/usr/bin/env python3
#===- numerics_models.py - errors of nodes beside NumPy's f64 ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""The error that weir-run --numerics tells for each value of twenty models, beside one that is
computed without weir: the model in f64 by ONNX's reference evaluator, which is NumPy.

usage: numerics_models.py FOLDER      works there; wants numpy and onnx; $WEIR_CORPORA adds models

The values whose distance is measured are those of the same program, fetched by name. An error that
is above a millionth of an epsilon of f32 must be told to a twentieth.
"""
import json
import math
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "models"))
import make_models as m  # noqa: E402
import sequence_models as s  # noqa: E402


def chain(name, operators, shape=(4, 32), seed=0):
    """Operators one behind the other; pairs take a constant, too."""
    g = m.Graph(name)
    rng = np.random.default_rng(seed)
    x = g.input("x", list(shape))
    for i, op in enumerate(operators):
        inputs = [x]
        if op in ("Add", "Mul", "Sub", "Div", "Max", "Min"):
            inputs.append(g.initializer(f"c{i}", rng.uniform(.5, 1.5, shape).astype(np.float32)))
        if op == "MatMul":
            inputs.append(g.normal(f"c{i}", (shape[-1], shape[-1]), shape[-1] ** -.5))
        x = g.node(op, f"n{i}_{op}", inputs)
    g.output(x, list(shape))
    return g


def reductions():
    g = m.Graph("reductions")
    x = g.input("x", [3, 8, 16])
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd"):
        inputs = [x] + ([g.constant([2], np.int64)] if op == "ReduceSum" else [])
        y = g.node(op, op.lower(), inputs, **({} if op == "ReduceSum" else {"axes": [2]}), keepdims=1)
        x = g.node("Add", op.lower() + "_sum", [x, g.node("Tanh", op.lower() + "_tanh", [y])])
    g.output(x, [3, 8, 16])
    return g


def scaled(name, power):
    """A dense network whose values are powers of ten apart."""
    g = m.Graph(name)
    x = g.input("x", [4, 16])
    for i in range(4):
        x = g.node("Mul", f"scale{i}", [x, g.constant(10.0 ** power)])
        x = g.node("MatMul", f"product{i}", [x, g.normal(f"w{i}", (16, 16), 0.25)])
        x = g.node("Mul", f"back{i}", [x, g.constant(10.0 ** -power)])
    g.output(x, [4, 16])
    return g


GENERATED = {
    "resnet": lambda: m.resnet50(size=32, base=8),
    "unet": lambda: m.unet(size=32, base=4),
    "nas": lambda: m.nas(cells=1, width=4, size=8),
    "transformer": lambda: m.bert_base(layers=2, width=32, heads=2, length=8, vocabulary=50),
    "transformer_deep": lambda: m.bert_base(layers=6, width=16, heads=2, length=4, vocabulary=50),
    "gpt2_prefill": lambda: s.gpt2("gpt2", 8, 0, layers=2, width=32, heads=2, vocabulary=64),
    "gpt2_decode": lambda: s.gpt2("gpt2", 1, 7, layers=2, width=32, heads=2, vocabulary=64),
    "reductions": reductions,
    "large_values": lambda: scaled("large", 6),
    "small_values": lambda: scaled("small", -6),
    "activations": lambda: chain("activations", ["Tanh", "Mul", "Sigmoid", "Add", "Softplus", "Elu"]),
    "exponents": lambda: chain("exponents", ["Exp", "Add", "Log", "Mul", "Sqrt", "Add", "Reciprocal"]),
    "angles": lambda: chain("angles", ["Sin", "Mul", "Cos", "Add", "Atan", "Mul", "Erf"]),
    "products": lambda: chain("products", ["MatMul", "Tanh", "MatMul", "Add", "MatMul", "Softmax"],
                              (16, 64)),
    "cancellation": lambda: chain("cancellation", ["Add", "Sub", "Mul", "Sub", "Add", "Div"]),
    "selection": lambda: chain("selection", ["Relu", "Max", "Min", "Neg", "Abs", "LeakyRelu"]),
    "deep_chain": lambda: chain("deep", ["Tanh", "Mul", "Add"] * 12, (2, 64), 5),
    "softmax_rows": lambda: chain("softmax", ["MatMul", "Softmax", "MatMul", "Softmax"], (32, 48)),
    "roots": lambda: chain("roots", ["Abs", "Add", "Sqrt", "Mul", "Log", "Sub", "Exp"], (8, 8), 3),
}
# Not the face detector: the evaluator pads its odd strides otherwise than ONNX Runtime does.
CORPORA = ["mnist/mnist.onnx", "speech-denoise/model_1.onnx"]


class Erf(OpRun):
    """ONNX's evaluator has it in f32, whatever it is of."""

    def _run(self, x):
        return (np.vectorize(math.erf, otypes=[x.dtype])(x),)


def in_f64(model):
    """The model with f64 in the place of f32."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)

    def convert(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(
                numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    for tensor in wide.graph.initializer:
        convert(tensor)
    for value in list(wide.graph.input) + list(wide.graph.output) + list(wide.graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in wide.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                convert(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    return wide


def feeds_of(model):
    rng, feeds = np.random.default_rng(7), {}
    known = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in known:
            continue
        shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 2, shape)
        else:
            feeds[value.name] = rng.uniform(0.05, 1, shape).astype(np.float32)
    return feeds


def check(name, path):
    model = onnx.load(path)
    feeds = feeds_of(model)
    np.savez("in.npz", **feeds)
    done = subprocess.run(["weir-run", path, "--input=in.npz", "--numerics=stop",
                           "--numerics-out=n.json"], capture_output=True, text=True)
    if done.returncode:
        return [f"--numerics: {done.stderr.strip()}"], 0, 0
    with open("n.json") as file:
        table = json.load(file)
    if table["reference"] != "f64":
        return [f"the reference is {table['reference']}"], 0, 0
    told = {v["value"]: v for v in table["values"] if "relative_error" in v}
    run = ["weir-run", path, "--input=in.npz", "--output=got.npz"]
    run += [f'--fetch="{value}"' for value in told]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode:
        return [f"fetching: {done.stderr.strip()[:300]}"], 0, 0
    got = np.load("got.npz")
    wide = in_f64(model)
    del wide.graph.output[:]
    wide.graph.output.extend(onnx.ValueInfoProto(name=value) for value in told)
    inputs = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in feeds.items()}
    want = dict(zip(told, ReferenceEvaluator(wide, new_ops=[Erf]).run(list(told), inputs)))
    problems, most = [], 0.0
    for value, row in told.items():
        exact = np.asarray(want[value], np.float64)
        if exact.shape != got[value].shape:
            problems.append(f"{value}: shapes {exact.shape} and {got[value].shape}")
            continue
        finite = np.isfinite(exact)
        off = (got[value].astype(np.float64) - exact)[finite]
        norm = np.sqrt((exact[finite] ** 2).sum())
        error = np.sqrt((off ** 2).sum()) / norm if norm else 0.0
        most = max(most, error)
        if abs(error - row["relative_error"]) > 0.05 * max(error, row["relative_error"]) + 1e-13:
            problems.append(f"{value}: NumPy has {error:.4g}, weir {row['relative_error']:.4g}")
        if finite.any() and not np.isclose(row["least"], got[value][np.isfinite(got[value])].min(), rtol=1e-6):
            problems.append(f"{value}: least {row['least']}")
    return problems, len(told), most


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    os.chdir(sys.argv[1])
    models = {}
    for name, make in GENERATED.items():
        make().write(name + ".onnx")
        models[name] = name + ".onnx"
    digits = os.path.join(HERE, "..", "..", "digits", "digits.onnx")
    models["digits"] = digits
    base = os.environ.get("WEIR_CORPORA", os.path.join(HERE, "..", "..", "..", "..", "shared", "corpora"))
    for path in CORPORA:
        whole = os.path.join(base, "models", path)
        if os.path.exists(whole):
            models[os.path.basename(path)] = whole
    wrong = 0
    for name, path in models.items():
        problems, values, most = check(name, path)
        print(f"{name}: {values} values, errors up to {most:.3g}, {len(problems)} not agreed on", flush=True)
        for problem in problems[:5]:
            print("  " + problem)
        wrong += bool(problems)
    print(f"{len(models)} models, {wrong} with another error than NumPy's")
    sys.exit(1 if wrong or len(models) < 20 else 0)


main()
