#===- export_tensorflow.py - The digits network as TensorFlow ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes the trained network as a frozen GraphDef and as a SavedModel.

Images are [N, 8, 8, 1] here, so filters become [3, 3, in, out] and the rows of
the dense layer follow H, W, C.
"""
import os

import bundle
from wire import data, entry, integer, packed

FLOAT, INT32, STRING, RESOURCE = 1, 3, 7, 20
PRODUCER = 1882


def shape_message(dims):
    return b"".join(data(2, integer(1, d)) for d in dims)


def type_of(t):
    return integer(6, t)


def shape_of(dims):
    return data(7, shape_message(dims))


def tensor_of(array, dtype):
    out = integer(1, dtype) + data(2, shape_message(array.shape))
    return data(8, out + data(4, array.tobytes()))


def strings_of(values, scalar=False):
    out = integer(1, STRING) + data(2, shape_message([] if scalar else [len(values)]))
    return data(8, out + b"".join(data(8, v) for v in values))


def node(name, op, inputs=(), **attributes):
    out = data(1, name) + data(2, op) + b"".join(data(3, i) for i in inputs)
    out += b"".join(entry(5, k, v) for k, v in sorted(attributes.items()))
    return data(1, out)


def constant(name, array, dtype=FLOAT):
    return node(name, "Const", dtype=type_of(dtype), value=tensor_of(array, dtype))


def to_tensorflow(p):
    """From ONNX's layouts to TensorFlow's."""
    dense = p["dense/weights"].reshape(10, 16, 4, 4).transpose(2, 3, 1, 0).reshape(256, 10)
    out = {k: v.transpose(2, 3, 1, 0) if v.ndim == 4 else v for k, v in p.items()}
    out["dense/weights"] = dense
    return {k: v.astype("<f4", order="C") for k, v in out.items()}


def network(weight):
    """The nodes from the image to the probabilities; weight: name to its reader's name."""
    f = dict(T=type_of(FLOAT))
    nhwc = dict(f, data_format=data(2, "NHWC"), padding=data(2, "SAME"))
    ones = data(1, packed(3, [1, 1, 1, 1]))
    twos = data(1, packed(3, [1, 2, 2, 1]))
    out = node("image", "Placeholder", dtype=type_of(FLOAT), shape=shape_of([-1, 8, 8, 1]))
    previous = "image"
    for k in "12":
        out += node(f"conv{k}", "Conv2D", [previous, weight(f"conv{k}/weights")],
                    dilations=ones, strides=ones, use_cudnn_on_gpu=integer(5, 1),
                    explicit_paddings=data(1, b""), **nhwc)
        out += node(f"bias{k}", "BiasAdd", [f"conv{k}", weight(f"conv{k}/bias")],
                    data_format=data(2, "NHWC"), **f)
        out += node(f"relu{k}", "Relu", [f"bias{k}"], **f)
        previous = f"relu{k}"
    out += node("pool", "MaxPool", ["relu2"], ksize=twos, strides=twos, **nhwc)
    out += node("flatten/shape", "Const", dtype=type_of(INT32), value=data(
        8, integer(1, INT32) + data(2, shape_message([2]))
        + data(4, b"\xff\xff\xff\xff\x00\x01\x00\x00")))
    out += node("flatten", "Reshape", ["pool", "flatten/shape"], Tshape=type_of(INT32), **f)
    out += node("dense", "MatMul", ["flatten", weight("dense/weights")],
                transpose_a=integer(5, 0), transpose_b=integer(5, 0), **f)
    out += node("logits", "BiasAdd", ["dense", weight("dense/bias")],
                data_format=data(2, "NHWC"), **f)
    return out + node("probabilities", "Softmax", ["logits"], **f)


def versions():
    return data(4, integer(1, PRODUCER))


def export_frozen(path, p):
    graph = b"".join(constant(k, v) for k, v in to_tensorflow(p).items())
    with open(path, "wb") as f:
        f.write(graph + network(lambda name: name) + versions())


def saver(names):
    """Save and restore nodes, which TensorFlow's loader runs to fill the variables."""
    out = node("save/Const", "Const", dtype=type_of(STRING), value=strings_of(["model"], True))
    out += node("save/names", "Const", dtype=type_of(STRING), value=strings_of(names))
    out += node("save/slices", "Const", dtype=type_of(STRING), value=strings_of([""] * len(names)))
    dtypes = data(1, packed(6, [FLOAT] * len(names)))
    where = ["save/Const", "save/names", "save/slices"]
    out += node("save/SaveV2", "SaveV2", where + [n + "/Read" for n in names], dtypes=dtypes)
    out += node("save/control_dependency", "Identity", ["save/Const", "^save/SaveV2"],
                T=type_of(STRING))
    out += node("save/RestoreV2", "RestoreV2", where, dtypes=dtypes)
    for k, name in enumerate(names):
        value = f"save/RestoreV2:{k}" if k else "save/RestoreV2"
        out += node(f"save/Assign_{k}", "AssignVariableOp", [name, value], dtype=type_of(FLOAT))
    return out + node("save/restore_all", "NoOp", [f"^save/Assign_{k}" for k in range(len(names))])


def variable(name, array):
    f = dict(dtype=type_of(FLOAT))
    out = node(name, "VarHandleOp", shape=shape_of(array.shape), shared_name=data(2, name),
               container=data(2, ""), **f)
    out += constant(name + "/Initial", array * 0)
    out += node(name + "/Assign", "AssignVariableOp", [name, name + "/Initial"], **f)
    return out + node(name + "/Read", "ReadVariableOp", [name], **f)


def export_saved_model(folder, p):
    """One meta graph with the tag `serve`, a signature `serving_default`, six variables."""
    p = to_tensorflow(p)
    names = sorted(p)
    graph = b"".join(variable(n, p[n]) for n in names)
    graph += network(lambda name: name + "/Read") + saver(names) + versions()

    def tensor_info(name, dims):
        return data(1, name) + integer(2, FLOAT) + data(3, shape_message(dims))

    signature = entry(1, "image", tensor_info("image:0", [-1, 8, 8, 1]))
    signature += entry(2, "probabilities", tensor_info("probabilities:0", [-1, 10]))
    signature += data(3, "tensorflow/serving/predict")
    saver_def = data(1, "save/Const:0") + data(2, "save/control_dependency:0")
    saver_def += data(3, "save/restore_all") + integer(7, 2)
    variables = b"".join(
        data(1, data(1, n + ":0") + data(2, n + "/Assign") + data(3, n + "/Read:0")
             + integer(5, 1) + integer(7, 1)) for n in names)
    collection = entry(4, "variables", data(2, variables))
    meta = data(1, data(4, "serve") + data(5, "2.21.0"))
    meta += data(2, graph) + data(3, saver_def) + collection
    meta += entry(5, "serving_default", signature)
    os.makedirs(os.path.join(folder, "variables"), exist_ok=True)
    with open(os.path.join(folder, "saved_model.pb"), "wb") as f:
        f.write(integer(1, 1) + data(2, meta))
    bundle.write(os.path.join(folder, "variables", "variables"), p)
