#!/usr/bin/env python3
#===- make_models.py - Well-known architectures with random weights ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes ONNX models of published architectures with random weights.

  make_models.py OUT_DIR [NAME...]

The time and memory of a network follow from its shapes, not from its training,
so these stand in for the trained models where those cannot be downloaded. The
weights come from a fixed seed: the same numpy writes the same bytes every time.
They are scaled so that activations neither vanish nor overflow.
"""
import argparse
import os
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "digits"))
from wire import data, fixed32, integer, packed, varint  # noqa: E402

# TensorProto.DataType and AttributeProto.AttributeType.
FLOAT, INT64 = 1, 7
ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_INTS = 1, 2, 3, 7
IR_VERSION, OPSET = 8, 17
SEED = 20260


def attribute(name, value):
    out = data(1, name)
    if isinstance(value, float):
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        out += fixed32(2, bits) + integer(20, ATTRIBUTE_FLOAT)
    elif isinstance(value, str):
        out += data(4, value) + integer(20, ATTRIBUTE_STRING)
    elif isinstance(value, int):
        out += integer(3, value) + integer(20, ATTRIBUTE_INT)
    else:
        out += packed(8, value) + integer(20, ATTRIBUTE_INTS)
    return data(5, out)


class Graph:
    """A GraphProto in the making, as a list of encoded fields.

    The fields are joined only in the file: a large model is not held twice.
    """

    kind, opset, ir_version = FLOAT, OPSET, IR_VERSION  # of weights and ports

    def __init__(self, name):
        self.rng = np.random.default_rng(SEED)
        self.fields = [data(2, name)]
        self.constants = {}

    def node(self, op, name, inputs, output=None, **attributes):
        """Adds a node of one output, called like the node unless said, and returns that."""
        output = output or name
        out = b"".join(data(1, i) for i in inputs) + data(2, output)
        out += data(3, name) + data(4, op)
        out += b"".join(attribute(k, v) for k, v in sorted(attributes.items()))
        self.fields.append(data(1, out))
        return output

    def initializer(self, name, array):
        array = np.asarray(array)
        kind = INT64 if array.dtype == np.int64 else FLOAT
        raw = array.astype("<i8" if kind == INT64 else "<f4", copy=False).tobytes()
        dims = packed(1, array.shape) if array.shape else b""
        head = dims + integer(2, kind) + data(8, name)
        head += varint(9 << 3 | 2) + varint(len(raw))
        self.fields.append(varint(5 << 3 | 2) + varint(len(head) + len(raw)) + head)
        self.fields.append(raw)
        return name

    def constant(self, value, dtype=np.float32):
        """An initializer that all its users share."""
        array = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            name = f"constant_{len(self.constants)}"
            self.constants[key] = self.initializer(name, array)
        return self.constants[key]

    def normal(self, name, shape, deviation):
        array = self.rng.standard_normal(shape, np.float32)
        array *= np.float32(deviation)
        return self.initializer(name, array)

    def uniform(self, name, shape, low, high):
        return self.initializer(name, self.rng.uniform(low, high, shape).astype(np.float32))

    def port(self, field, name, dims, kind=None):
        """A graph input (11) or output (12); a size may be a name."""
        shape = b"".join(data(1, data(2, d) if isinstance(d, str) else integer(1, d)) for d in dims)
        tensor = integer(1, kind or self.kind) + data(2, shape)
        self.fields.append(data(field, data(1, name) + data(2, data(1, tensor))))

    def input(self, name, dims, kind=None):
        self.port(11, name, dims, kind)
        return name

    def output(self, name, dims):
        self.port(12, name, dims)

    def write(self, path):
        length = sum(len(f) for f in self.fields)
        with open(path, "wb") as f:
            f.write(integer(1, self.ir_version) + data(2, "weir test models"))
            f.write(data(8, data(1, "") + integer(2, self.opset)))
            f.write(varint(7 << 3 | 2) + varint(length))
            f.writelines(self.fields)


#===-------------------------------------------------------------------------===#
# Image networks
#===-------------------------------------------------------------------------===#


def conv_bn(g, x, name, channels, out, kernel, stride=1, group=1, scale=1.0):
    """Convolution without bias, then BatchNormalization in its inference form.

    `scale` is the middle of the normalization's scales: below 1 for the last of
    a residual branch, whose sum would otherwise grow with every block.
    """
    fan_in = channels // group * kernel * kernel
    weights = g.normal(
        f"{name}.weight", (out, channels // group, kernel, kernel), (2 / fan_in) ** 0.5
    )
    pad = kernel // 2
    x = g.node(
        "Conv", name, [x, weights], dilations=[1, 1], group=group,
        kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride, stride],
    )
    bn = f"{name}.bn"
    parameters = [
        g.uniform(f"{bn}.weight", (out,), 0.8 * scale, 1.2 * scale),
        g.normal(f"{bn}.bias", (out,), 0.1),
        g.normal(f"{bn}.running_mean", (out,), 0.1),
        g.uniform(f"{bn}.running_var", (out,), 0.8, 1.2),
    ]
    return g.node("BatchNormalization", bn, [x] + parameters, epsilon=1e-5, momentum=0.9)


def classifier(g, x, name, channels, classes=1000, batch=1):
    x = g.node("GlobalAveragePool", "avgpool", [x])
    x = g.node("Flatten", "flatten", [x], axis=1)
    weights = g.normal(f"{name}.weight", (classes, channels), channels**-0.5)
    bias = g.normal(f"{name}.bias", (classes,), 0.1)
    g.node("Gemm", name, [x, weights, bias], "logits", alpha=1.0, beta=1.0, transB=1)
    g.output("logits", [batch, classes])


def resnet50(batch=1, size=224, base=64, make=Graph):
    """He et al. 2015, arXiv:1512.03385, table 1; v1.5: the 3x3 takes the stride."""
    g = make("resnet50")
    x = conv_bn(g, g.input("image", [batch, 3, size, size]), "conv1", 3, base, 7, 2)
    x = g.node("Relu", "relu", [x])
    x = g.node(
        "MaxPool", "maxpool", [x], ceil_mode=0, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2]
    )
    channels = base
    for stage, blocks in enumerate([3, 4, 6, 3], 1):
        width = base << stage - 1
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            stride = 2 if block == 0 and stage > 1 else 1
            y = conv_bn(g, x, f"{name}.conv1", channels, width, 1)
            y = g.node("Relu", f"{name}.relu1", [y])
            y = conv_bn(g, y, f"{name}.conv2", width, width, 3, stride)
            y = g.node("Relu", f"{name}.relu2", [y])
            y = conv_bn(g, y, f"{name}.conv3", width, 4 * width, 1, scale=0.3)
            if block == 0:
                x = conv_bn(g, x, f"{name}.downsample", channels, 4 * width, 1, stride)
            x = g.node("Add", f"{name}.add", [y, x])
            x = g.node("Relu", f"{name}.relu3", [x])
            channels = 4 * width
    classifier(g, x, "fc", channels, batch=batch)
    return g


def mobilenet_v2():
    """Sandler et al. 2018, arXiv:1801.04381, table 2, width 1.0; ReLU6 as Clip."""
    g = Graph("mobilenet_v2")
    limits = [g.constant(0.0), g.constant(6.0)]

    def relu6(x, name):
        return g.node("Clip", name, [x] + limits)

    x = conv_bn(g, g.input("image", [1, 3, 224, 224]), "features.0", 3, 32, 3, 2)
    x = relu6(x, "features.0.relu6")
    channels, index = 32, 1
    # Expansion, output channels, repeats, stride of the first.
    settings = [
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
        (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ]
    for expansion, out, repeats, first_stride in settings:
        for repeat in range(repeats):
            name = f"features.{index}"
            stride = first_stride if repeat == 0 else 1
            hidden = channels * expansion
            y = x
            if expansion != 1:
                y = conv_bn(g, y, f"{name}.expand", channels, hidden, 1)
                y = relu6(y, f"{name}.expand.relu6")
            y = conv_bn(g, y, f"{name}.depthwise", hidden, hidden, 3, stride, group=hidden)
            y = relu6(y, f"{name}.depthwise.relu6")
            y = conv_bn(g, y, f"{name}.project", hidden, out, 1)
            if stride == 1 and channels == out:
                y = g.node("Add", f"{name}.add", [x, y])
            x, channels, index = y, out, index + 1
    x = conv_bn(g, x, f"features.{index}", channels, 1280, 1)
    x = relu6(x, f"features.{index}.relu6")
    classifier(g, x, "classifier", 1280)
    return g


def conv_relu(g, x, name, channels, out, kernel, stride=1, group=1):
    x = conv_bn(g, x, name, channels, out, kernel, stride, group)
    return g.node("Relu", f"{name}.relu", [x])


def pool(g, x, name, kernel, stride, kind="MaxPool"):
    return g.node(
        kind, name, [x], ceil_mode=0, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4,
        strides=[stride] * 2,
    )


def inception():
    """Szegedy et al. 2014, arXiv:1409.4842, table 1, with batch normalization."""
    g = Graph("inception")
    x = conv_relu(g, g.input("image", [1, 3, 224, 224]), "conv1", 3, 64, 7, 2)
    x = pool(g, x, "pool1", 3, 2)
    x = conv_relu(g, x, "conv2.reduce", 64, 64, 1)
    x = conv_relu(g, x, "conv2", 64, 192, 3)
    x = pool(g, x, "pool2", 3, 2)
    channels = 192
    # 1x1; 3x3 reduced, 3x3; 5x5 reduced, 5x5; projected pool.
    modules = [
        ("3a", (64, 96, 128, 16, 32, 32)), ("3b", (128, 128, 192, 32, 96, 64)), None,
        ("4a", (192, 96, 208, 16, 48, 64)), ("4b", (160, 112, 224, 24, 64, 64)),
        ("4c", (128, 128, 256, 24, 64, 64)), ("4d", (112, 144, 288, 32, 64, 64)),
        ("4e", (256, 160, 320, 32, 128, 128)), None,
        ("5a", (256, 160, 320, 32, 128, 128)), ("5b", (384, 192, 384, 48, 128, 128)),
    ]
    for module in modules:
        if module is None:
            x = pool(g, x, f"pool.{channels}", 3, 2)
            continue
        name, (one, three_in, three, five_in, five, projected) = module
        # As frameworks number them: level by level.
        a = conv_relu(g, x, f"{name}.1x1", channels, one, 1)
        b = conv_relu(g, x, f"{name}.3x3.reduce", channels, three_in, 1)
        c = conv_relu(g, x, f"{name}.5x5.reduce", channels, five_in, 1)
        d = pool(g, x, f"{name}.pool", 3, 1)
        b = conv_relu(g, b, f"{name}.3x3", three_in, three, 3)
        c = conv_relu(g, c, f"{name}.5x5", five_in, five, 5)
        d = conv_relu(g, d, f"{name}.project", channels, projected, 1)
        x = g.node("Concat", f"{name}.concat", [a, b, c, d], axis=1)
        channels = one + three + five + projected
    classifier(g, x, "fc", channels)
    return g


def unet(size=192, base=32):
    """Ronneberger et al. 2015, arXiv:1505.04597, padded, with half the channels."""
    g = Graph("unet")
    x, channels, skips = g.input("image", [1, 3, size, size]), 3, []
    for level in range(5):
        out = base << level
        x = conv_relu(g, x, f"down{level}.conv1", channels, out, 3)
        x = conv_relu(g, x, f"down{level}.conv2", out, out, 3)
        channels = out
        if level < 4:
            skips.append(x)
            x = g.node("MaxPool", f"down{level}.pool", [x], kernel_shape=[2, 2], strides=[2, 2])
    for level in reversed(range(4)):
        out = base << level
        weights = g.normal(f"up{level}.weight", (channels, out, 2, 2), channels**-0.5)
        x = g.node("ConvTranspose", f"up{level}", [x, weights], kernel_shape=[2, 2], strides=[2, 2])
        x = g.node("Concat", f"up{level}.concat", [skips[level], x], axis=1)
        x = conv_relu(g, x, f"up{level}.conv1", 2 * out, out, 3)
        x = conv_relu(g, x, f"up{level}.conv2", out, out, 3)
        channels = out
    weights = g.normal("head.weight", (2, channels, 1, 1), channels**-0.5)
    g.node("Conv", "head", [x, weights], "mask", kernel_shape=[1, 1], strides=[1, 1], pads=[0] * 4)
    g.output("mask", [1, 2, size, size])
    return g


def densenet121():
    """Huang et al. 2016, arXiv:1608.06993, table 1: every layer reads all before it."""
    g = Graph("densenet121")
    x = conv_relu(g, g.input("image", [1, 3, 224, 224]), "conv0", 3, 64, 7, 2)
    x, channels, growth = pool(g, x, "pool0", 3, 2), 64, 32
    for block, layers in enumerate((6, 12, 24, 16), 1):
        parts = [x]
        for layer in range(layers):
            name = f"block{block}.{layer}"
            y = g.node("Concat", f"{name}.concat", parts, axis=1) if layer else x
            y = conv_relu(g, y, f"{name}.conv1", channels, 4 * growth, 1)
            parts.append(conv_relu(g, y, f"{name}.conv2", 4 * growth, growth, 3))
            channels += growth
        x = g.node("Concat", f"block{block}.concat", parts, axis=1)
        if block < 4:
            x = conv_relu(g, x, f"transition{block}", channels, channels // 2, 1)
            x = pool(g, x, f"transition{block}.pool", 3, 2, "AveragePool")
            channels //= 2
    classifier(g, x, "fc", channels)
    return g


def efficientnet_b0():
    """Tan and Le 2019, arXiv:1905.11946, table 1: inverted residuals with squeeze and
    excitation, swish as a product with its sigmoid."""
    g = Graph("efficientnet_b0")

    def swish(x, name):
        return g.node("Mul", f"{name}.swish", [x, g.node("Sigmoid", f"{name}.sigmoid", [x])])

    def pointwise(x, name, channels, out):
        weights = g.normal(f"{name}.weight", (out, channels, 1, 1), channels**-0.5)
        bias = g.normal(f"{name}.bias", (out,), 0.1)
        return g.node("Conv", name, [x, weights, bias], kernel_shape=[1, 1])

    x = conv_bn(g, g.input("image", [1, 3, 224, 224]), "stem", 3, 32, 3, 2)
    x = swish(x, "stem")
    channels, index = 32, 0
    # Expansion, output channels, repeats, stride of the first, window.
    settings = [
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
    ]
    for expansion, out, repeats, first_stride, kernel in settings:
        for repeat in range(repeats):
            name, stride = f"blocks.{index}", first_stride if repeat == 0 else 1
            hidden, y = channels * expansion, x
            if expansion != 1:
                y = swish(conv_bn(g, y, f"{name}.expand", channels, hidden, 1), f"{name}.expand")
            y = conv_bn(g, y, f"{name}.depthwise", hidden, hidden, kernel, stride, group=hidden)
            y = swish(y, f"{name}.depthwise")
            gate = g.node("GlobalAveragePool", f"{name}.squeeze", [y])
            gate = pointwise(gate, f"{name}.reduce", hidden, channels // 4)
            gate = pointwise(swish(gate, f"{name}.reduce"), f"{name}.widen", channels // 4, hidden)
            gate = g.node("Sigmoid", f"{name}.gate", [gate])
            y = g.node("Mul", f"{name}.excite", [y, gate])
            y = conv_bn(g, y, f"{name}.project", hidden, out, 1)
            if stride == 1 and channels == out:
                y = g.node("Add", f"{name}.add", [x, y])
            x, channels, index = y, out, index + 1
    x = swish(conv_bn(g, x, "head", channels, 1280, 1), "head")
    classifier(g, x, "classifier", 1280)
    return g


def nas(cells=6, width=44, size=56):
    """Cells as in Zoph et al. 2017, arXiv:1707.07012: five pairs of operations on
    the two cells before, put together at the end; numbered level by level."""
    g = Graph("nas")
    choose = np.random.default_rng(SEED)
    x = conv_relu(g, g.input("image", [1, 3, 2 * size, 2 * size]), "stem", 3, 5 * width, 3, 2)
    before, last = x, x
    for cell in range(cells):
        inputs = [conv_relu(g, before, f"cell{cell}.in0", 5 * width, width, 1),
                  conv_relu(g, last, f"cell{cell}.in1", 5 * width, width, 1)]
        # First of all pairs the depthwise halves, widened, then the rest: an
        # order that keeps all of them.
        wide, plan = [], []
        for pair in range(5):
            for side in range(2):
                name = f"cell{cell}.{pair}.{side}"
                source = inputs[int(choose.integers(2))]
                kernel = int(choose.choice([3, 5]))
                y = conv_relu(g, source, f"{name}.expand", width, 4 * width, 1)
                wide.append(conv_relu(g, y, f"{name}.depthwise", 4 * width, 4 * width, kernel,
                                      group=4 * width))
                plan.append(name)
        narrow = [conv_relu(g, y, f"{name}.project", 4 * width, width, 1)
                  for y, name in zip(wide, plan)]
        sums = [g.node("Add", f"cell{cell}.{pair}.add", narrow[2 * pair:2 * pair + 2])
                for pair in range(5)]
        before, last = last, g.node("Concat", f"cell{cell}.concat", sums, axis=1)
    classifier(g, last, "fc", 5 * width)
    return g


#===-------------------------------------------------------------------------===#
# Text
#===-------------------------------------------------------------------------===#


def linear(g, x, name, inputs, outputs):
    """A dense layer over the last of three axes: there PyTorch writes no Gemm."""
    weights = g.normal(f"{name}.weight", (inputs, outputs), inputs**-0.5)
    bias = g.normal(f"{name}.bias", (outputs,), 0.02)
    x = g.node("MatMul", f"{name}.matmul", [x, weights])
    return g.node("Add", name, [bias, x])


def layer_norm(g, x, name, width, output=None):
    parameters = [
        g.uniform(f"{name}.weight", (width,), 0.8, 1.2),
        g.normal(f"{name}.bias", (width,), 0.02),
    ]
    return g.node(
        "LayerNormalization", name, [x] + parameters, output, axis=-1, epsilon=1e-12
    )


def gelu(g, x, name):
    """x * (1 + erf(x / sqrt 2)) / 2, in the nodes that PyTorch writes for it."""
    y = g.node("Div", f"{name}.div", [x, g.constant(2**0.5)])
    y = g.node("Erf", f"{name}.erf", [y])
    y = g.node("Add", f"{name}.add", [y, g.constant(1.0)])
    y = g.node("Mul", f"{name}.mul", [x, y])
    return g.node("Mul", f"{name}.half", [y, g.constant(0.5)])


def attention(g, x, mask, name, batch, length, width, heads):
    size = width // heads
    split = g.constant([batch, length, heads, size], np.int64)

    def head(part, perm):
        y = linear(g, x, f"{name}.{part}", width, width)
        y = g.node("Reshape", f"{name}.{part}.split", [y, split])
        return g.node("Transpose", f"{name}.{part}.heads", [y], perm=perm)

    query = head("query", [0, 2, 1, 3])
    key = head("key", [0, 2, 3, 1])
    value = head("value", [0, 2, 1, 3])
    scores = g.node("MatMul", f"{name}.scores", [query, key])
    scores = g.node("Div", f"{name}.scaled", [scores, g.constant(size**0.5)])
    scores = g.node("Add", f"{name}.masked", [scores, mask])
    weights = g.node("Softmax", f"{name}.softmax", [scores], axis=-1)
    y = g.node("MatMul", f"{name}.context", [weights, value])
    y = g.node("Transpose", f"{name}.context.rows", [y], perm=[0, 2, 1, 3])
    y = g.node(
        "Reshape", f"{name}.context.join", [y, g.constant([batch, length, width], np.int64)]
    )
    y = linear(g, y, f"{name}.output", width, width)
    y = g.node("Add", f"{name}.residual", [y, x])
    return layer_norm(g, y, f"{name}.norm", width)


def bert_base(layers=12, width=768, heads=12, length=128, vocabulary=30522, batch=1, make=Graph):
    """Devlin et al. 2018, arXiv:1810.04805, BERT-base, uncased vocabulary."""
    g = make("bert_base")
    shape = [batch, length]
    ids = g.input("input_ids", shape, INT64)
    mask = g.input("attention_mask", shape, INT64)
    types = g.input("token_type_ids", shape, INT64)

    words = g.normal("embeddings.word.weight", (vocabulary, width), 0.5)
    kinds = g.normal("embeddings.type.weight", (2, width), 0.5)
    positions = g.normal("embeddings.position.weight", (512, width), 0.5)
    index = g.initializer("embeddings.position_ids", np.arange(length, dtype=np.int64)[None])
    x = g.node("Gather", "embeddings.word", [words, ids], axis=0)
    y = g.node("Gather", "embeddings.type", [kinds, types], axis=0)
    x = g.node("Add", "embeddings.add1", [x, y])
    y = g.node("Gather", "embeddings.position", [positions, index], axis=0)
    x = g.node("Add", "embeddings.add2", [x, y])
    x = layer_norm(g, x, "embeddings.norm", width)

    # Added to the scores: 0 where the mask is 1, the lowest float where it is 0.
    m = g.node("Unsqueeze", "mask.row", [mask, g.constant([1], np.int64)])
    m = g.node("Unsqueeze", "mask.head", [m, g.constant([2], np.int64)])
    m = g.node("Cast", "mask.cast", [m], to=g.kind)
    m = g.node("Sub", "mask.sub", [g.constant(1.0), m])
    m = g.node("Mul", "mask.mul", [m, g.constant(np.finfo(np.float32).min)])

    for i in range(layers):
        name = f"layer.{i}"
        x = attention(g, x, m, f"{name}.attention", batch, length, width, heads)
        y = linear(g, x, f"{name}.intermediate", width, 4 * width)
        y = gelu(g, y, f"{name}.gelu")
        y = linear(g, y, f"{name}.output", 4 * width, width)
        y = g.node("Add", f"{name}.residual", [y, x])
        last = "last_hidden_state" if i == layers - 1 else None
        x = layer_norm(g, y, f"{name}.norm", width, last)

    y = g.node("Gather", "pooler.first", [x, g.constant(0, np.int64)], axis=1)
    weights = g.normal("pooler.weight", (width, width), width**-0.5)
    bias = g.normal("pooler.bias", (width,), 0.02)
    y = g.node("Gemm", "pooler.dense", [y, weights, bias], alpha=1.0, beta=1.0, transB=1)
    g.node("Tanh", "pooler.tanh", [y], "pooler_output")
    g.output("last_hidden_state", [batch, length, width])
    g.output("pooler_output", [batch, width])
    return g


MODELS = {
    "resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "bert_base": bert_base,
    "inception": inception, "unet": unet, "densenet121": densenet121, "nas": nas,
    "efficientnet_b0": efficientnet_b0,
}


def main():
    import sequence_models  # which builds on what is here

    MODELS.update(sequence_models.MODELS)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out_dir", metavar="OUT_DIR", help="made if it does not exist")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"of {', '.join(MODELS)} (default: all)"
    )
    options = parser.parse_args()
    unknown = [n for n in options.names if n not in MODELS]
    if unknown:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(MODELS)}")
    os.makedirs(options.out_dir, exist_ok=True)
    for name in options.names or MODELS:
        path = os.path.join(options.out_dir, f"{name}.onnx")
        MODELS[name]().write(path)
        print(f"{path}: {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
