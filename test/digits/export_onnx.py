#===- export_onnx.py - The digits network as ONNX ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes the trained network as an ONNX model, images as [N, 1, 8, 8]."""
from wire import data, integer, packed

FLOAT = 1
ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_INTS = 2, 3, 7


def attribute(name, value):
    out = data(1, name)
    if isinstance(value, int):
        out += integer(3, value) + integer(20, ATTRIBUTE_INT)
    elif isinstance(value, str):
        out += data(4, value) + integer(20, ATTRIBUTE_STRING)
    else:
        out += packed(8, value) + integer(20, ATTRIBUTE_INTS)
    return data(5, out)


def node(op, name, inputs, output, **attributes):
    out = b"".join(data(1, i) for i in inputs) + data(2, output)
    out += data(3, name) + data(4, op)
    out += b"".join(attribute(k, v) for k, v in sorted(attributes.items()))
    return data(1, out)


def initializer(name, array):
    out = packed(1, array.shape) + integer(2, FLOAT) + data(8, name)
    return data(5, out + data(9, array.astype("<f4").tobytes()))


def value(field, name, dims):
    """A graph input (11) or output (12); a dimension is a number or a name."""
    shape = b"".join(
        data(1, integer(1, d) if isinstance(d, int) else data(2, d)) for d in dims
    )
    tensor = integer(1, FLOAT) + data(2, shape)
    return data(field, data(1, name) + data(2, data(1, tensor)))


def export(path, p):
    """p: convolutions as [out, in, 3, 3], the dense layer as [10, 256] over C, H, W."""
    window = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    graph = node("Conv", "conv1", ["image", "conv1/weights", "conv1/bias"], "conv1", **window)
    graph += node("Relu", "relu1", ["conv1"], "relu1")
    graph += node("Conv", "conv2", ["relu1", "conv2/weights", "conv2/bias"], "conv2", **window)
    graph += node("Relu", "relu2", ["conv2"], "relu2")
    graph += node("MaxPool", "pool", ["relu2"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    graph += node("Flatten", "flatten", ["pool"], "flatten", axis=1)
    graph += node("Gemm", "dense", ["flatten", "dense/weights", "dense/bias"], "logits", transB=1)
    graph += node("Softmax", "softmax", ["logits"], "probabilities", axis=1)
    graph += data(2, "digits")
    graph += b"".join(initializer(name, array) for name, array in p.items())
    graph += value(11, "image", ["N", 1, 8, 8]) + value(12, "probabilities", ["N", 10])
    opset = data(8, data(1, "") + integer(2, 13))
    model = integer(1, 8) + data(2, "weir digits") + data(7, graph) + opset
    with open(path, "wb") as f:
        f.write(model)
