#===- operations.py - The most used operations, as models --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes a model for each operation and size that weir-bench ops measures.

usage: operations.py FOLDER [REGEX]

Prints a line each: name, size in words, file stem; FOLDER/STEM.onnx is the model,
FOLDER/STEM.npz its inputs. The operations are those that occur in most models
(counted over the networks of the public test corpora and the model families), and
the kinds of convolution that models differ in.
"""
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
ROWS = []  # (name, [(size in words, function that builds)])


class Graph:
    """One operation: fed tensors, and constants, as models have their weights."""

    def __init__(self):
        self.random = np.random.default_rng(1)
        self.feeds, self.constants, self.count = {}, [], 0
        self.nodes, self.open = [], {}

    def name(self):
        self.count += 1
        return "x%d" % self.count

    def feed(self, value):
        name = self.name()
        self.feeds[name] = value
        return name

    def floats(self, *shape):
        return self.feed(self.random.standard_normal(shape).astype(np.float32))

    def positive(self, *shape):
        return self.feed((self.random.random(shape) + 0.5).astype(np.float32))

    def bytes(self, *shape, dtype=np.uint8):
        """Fed bytes of all values."""
        limits = np.iinfo(dtype)
        return self.feed(self.random.integers(limits.min, limits.max + 1, shape).astype(dtype))

    def byte_weight(self, *shape, dtype=np.int8):
        limits = np.iinfo(dtype)
        return self.constant(self.random.integers(limits.min, limits.max + 1, shape), dtype)

    def opened(self, name, *dims):
        """The fed tensor `name`, of whose sizes those of `dims` are open."""
        self.open[name] = dims
        return name

    def node(self, operator, inputs, outputs=1, **attributes):
        """A node before the operation that is measured."""
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def ints(self, high, *shape, dtype=np.int64):
        return self.feed(self.random.integers(0, high, shape).astype(dtype))

    def constant(self, value, dtype=None):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape):
        return self.constant(self.random.standard_normal(shape) * 0.1, np.float32)

    def write(self, path, operator, inputs, outputs, attributes):
        names = ["y%d" % i for i in range(outputs)]
        node = helper.make_node(operator, inputs, names, name=operator, **attributes)
        def sizes(name, value):
            return ["%s_%d" % (name, i) if i in self.open.get(name, ()) else size
                    for i, size in enumerate(value.shape)]

        feeds = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                               sizes(name, value))
                 for name, value in self.feeds.items()]
        fetches = [helper.make_empty_tensor_value_info(name) for name in names if name]
        graph = helper.make_graph(self.nodes + [node], "operation", feeds, fetches, self.constants)
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=9)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.save(model, path + ".onnx")
        np.savez(path + ".npz", **self.feeds)


def row(name, sizes, build, operator=None, outputs=1):
    """`build(graph, *size)` gives the inputs, and attributes if there are any."""
    ROWS.append((name, operator or name.split()[0], sizes, build, outputs))


FLAT = [(1, 64), (64, 1024), (1024, 4096)]
ROWWISE = [(1, 128), (128, 768), (2048, 1024)]
IMAGES = [(1, 16, 14, 14), (1, 64, 56, 56), (4, 64, 112, 112)]

for name in ("Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Softplus", "Erf", "Exp", "Abs", "Neg",
             "Floor", "HardSwish", "Gelu"):
    row(name, FLAT, lambda g, *s: [g.floats(*s)])
for name in ("Sqrt", "Log", "Reciprocal"):
    row(name, FLAT, lambda g, *s: [g.positive(*s)])
for name in ("Add", "Sub", "Mul", "Max", "Min"):
    row(name, FLAT, lambda g, *s: [g.floats(*s), g.floats(*s)])
row("Add of a row", FLAT, lambda g, *s: [g.floats(*s), g.weight(s[-1])])
row("Mul by a column", FLAT, lambda g, *s: [g.floats(*s), g.floats(s[0], 1)])
row("Sum", FLAT, lambda g, *s: [g.floats(*s) for _ in range(3)])
row("Div", FLAT, lambda g, *s: [g.floats(*s), g.positive(*s)])
row("Pow", FLAT, lambda g, *s: [g.positive(*s), g.floats(*s)])
row("PRelu", IMAGES, lambda g, *s: [g.floats(*s), g.weight(s[1], 1, 1)])
row("Clip", FLAT, lambda g, *s: [g.floats(*s), g.constant(0, np.float32), g.constant(6, np.float32)])
row("Cast", FLAT, lambda g, *s: ([g.floats(*s)], {"to": TensorProto.INT32}))
row("Equal", FLAT, lambda g, *s: [g.ints(4, *s), g.ints(4, *s)])
row("Less", FLAT, lambda g, *s: [g.floats(*s), g.floats(*s)])
row("And", FLAT, lambda g, *s: [g.ints(2, *s, dtype=bool), g.ints(2, *s, dtype=bool)])
row("Where", FLAT, lambda g, *s: [g.ints(2, *s, dtype=bool), g.floats(*s), g.floats(*s)])


def conv(g, shape, filters, kernel, stride=1, groups=1, dilation=1):
    rank = len(shape) - 2
    pad = dilation * (kernel // 2)
    return ([g.floats(*shape), g.weight(filters, shape[1] // groups, *[kernel] * rank),
             g.weight(filters)],
            {"kernel_shape": [kernel] * rank, "strides": [stride] * rank, "group": groups,
             "pads": [pad] * (2 * rank), "dilations": [dilation] * rank})


def transposed(g, shape, filters, kernel, stride):
    pad = (kernel - stride) // 2
    return ([g.floats(*shape), g.weight(shape[1], filters, kernel, kernel), g.weight(filters)],
            {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4})


row("Conv", [((1, 16, 14, 14), 16, 3), ((1, 64, 56, 56), 64, 3), ((1, 128, 56, 56), 256, 3)], conv)
row("Conv pointwise", [((1, 32, 14, 14), 32, 1), ((1, 64, 56, 56), 256, 1),
                       ((1, 256, 56, 56), 512, 1)], conv)
row("Conv strided", [((1, 3, 32, 32), 16, 3, 2), ((1, 3, 224, 224), 64, 7, 2),
                     ((1, 128, 56, 56), 256, 3, 2)], conv)
row("Conv depthwise", [((1, 32, 14, 14), 32, 3, 1, 32), ((1, 96, 56, 56), 96, 3, 1, 96),
                       ((1, 144, 112, 112), 144, 3, 1, 144)], conv)
row("Conv in groups", [((1, 32, 14, 14), 32, 3, 1, 8), ((1, 128, 56, 56), 128, 3, 1, 32),
                       ((1, 512, 28, 28), 512, 3, 1, 32)], conv)
row("Conv dilated", [((1, 16, 14, 14), 16, 3, 1, 1, 2), ((1, 64, 56, 56), 64, 3, 1, 1, 2),
                     ((1, 128, 56, 56), 128, 3, 1, 1, 4)], conv)
row("Conv along time", [((1, 16, 100), 16, 3), ((1, 80, 400), 192, 3), ((1, 384, 1500), 384, 3)], conv)
row("Conv in volumes", [((1, 4, 8, 8, 8), 8, 3), ((1, 16, 16, 32, 32), 16, 3),
                        ((1, 32, 16, 56, 56), 32, 3)], conv)
row("ConvTranspose", [((1, 16, 7, 7), 16, 2, 2), ((1, 128, 28, 28), 64, 2, 2),
                      ((1, 64, 56, 56), 64, 4, 2)], transposed)


def pool(g, shape, kernel, stride):
    pad = kernel // 2 if kernel % 2 else 0
    return ([g.floats(*shape)], {"kernel_shape": [kernel] * 2, "strides": [stride] * 2,
                                 "pads": [pad] * 4})


POOLS = [((1, 16, 14, 14), 2, 2), ((1, 64, 112, 112), 3, 2), ((4, 64, 112, 112), 3, 1)]
row("MaxPool", POOLS, pool)
row("AveragePool", POOLS, pool)
row("GlobalAveragePool", IMAGES, lambda g, *s: [g.floats(*s)])
PRODUCTS = [(1, 64, 64), (128, 768, 768), (512, 1024, 1024)]
row("Gemm", PRODUCTS, lambda g, m, k, n: [g.floats(m, k), g.weight(k, n), g.weight(n)])
row("Gemm transposed", PRODUCTS,
    lambda g, m, k, n: ([g.floats(m, k), g.weight(n, k), g.weight(n)], {"transB": 1}))
row("MatMul", PRODUCTS, lambda g, m, k, n: [g.floats(m, k), g.weight(k, n)])
row("MatMul of batches", [(2, 16, 32, 16), (12, 128, 64, 128), (12, 384, 64, 384)],
    lambda g, b, m, k, n: [g.floats(b, m, k), g.floats(b, k, n)])
row("MatMul by a vector", [(1, 64, 64), (1, 1024, 1024), (1, 4096, 4096)],
    lambda g, m, k, n: [g.floats(m, k), g.weight(k, n)])
row("Einsum", [(1, 16, 4, 16), (1, 128, 12, 64), (4, 256, 12, 64)],
    lambda g, b, l, h, d: ([g.floats(b, l, h, d), g.floats(b, l, h, d)],
                           {"equation": "blhd,bmhd->bhlm"}))


def recurrent(gates):
    def build(g, length, batch, given, hidden):
        return ([g.floats(length, batch, given), g.weight(1, gates * hidden, given),
                 g.weight(1, gates * hidden, hidden), g.weight(1, 2 * gates * hidden)],
                {"hidden_size": hidden})
    return build


SEQUENCES = [(8, 1, 16, 16), (32, 1, 128, 128), (64, 4, 256, 256)]
row("LSTM", SEQUENCES, recurrent(4))
row("GRU", SEQUENCES, recurrent(3))

row("BatchNormalization", IMAGES, lambda g, *s: [
    g.floats(*s), g.weight(s[1]), g.weight(s[1]), g.weight(s[1]),
    g.constant(np.full(s[1], 0.5), np.float32)])
row("InstanceNormalization", IMAGES, lambda g, *s: [g.floats(*s), g.weight(s[1]), g.weight(s[1])])
row("LayerNormalization", ROWWISE, lambda g, *s: [g.floats(*s), g.weight(s[1]), g.weight(s[1])])
row("GroupNormalization", IMAGES, lambda g, *s: (
    [g.floats(*s), g.weight(4), g.weight(4)], {"num_groups": 4}))
row("LRN", IMAGES, lambda g, *s: ([g.floats(*s)], {"size": 5}))
row("Softmax", ROWWISE, lambda g, *s: [g.floats(*s)])
row("Softmax over channels", IMAGES, lambda g, *s: ([g.floats(*s)], {"axis": 1}))
row("LogSoftmax", ROWWISE, lambda g, *s: [g.floats(*s)])
for name in ("ReduceSum", "ReduceMean", "ReduceMax"):
    row(name + " of rows", ROWWISE, lambda g, *s: [g.floats(*s), g.constant([1], np.int64)])
    row(name + " of columns", ROWWISE, lambda g, *s: [g.floats(*s), g.constant([0], np.int64)])
row("ReduceSum in the middle", [(2, 8, 16), (16, 128, 64), (32, 512, 256)],
    lambda g, *s: [g.floats(*s), g.constant([1], np.int64)])
row("ReduceMean of all", ROWWISE, lambda g, *s: [g.floats(*s)])
row("ArgMax", ROWWISE, lambda g, *s: ([g.floats(*s)], {"axis": 1}))
row("ArgMax over channels", IMAGES, lambda g, *s: ([g.floats(*s)], {"axis": 1}))
row("TopK", [(1, 100, 5), (32, 1000, 10), (128, 32000, 50)],
    lambda g, rows, size, k: [g.floats(rows, size), g.constant([k], np.int64)], outputs=2)
row("CumSum", ROWWISE, lambda g, *s: [g.floats(*s), g.constant(1, np.int64)])
row("CumSum down", ROWWISE, lambda g, *s: [g.floats(*s), g.constant(0, np.int64)])

row("Transpose", ROWWISE, lambda g, *s: ([g.floats(*s)], {"perm": [1, 0]}))
row("Transpose of heads", [(1, 16, 4, 8), (1, 128, 12, 64), (8, 384, 12, 64)],
    lambda g, *s: ([g.floats(*s)], {"perm": [0, 2, 1, 3]}))
row("Transpose to channels last", IMAGES, lambda g, *s: ([g.floats(*s)], {"perm": [0, 2, 3, 1]}))
row("Reshape", FLAT, lambda g, *s: [g.floats(*s), g.constant([-1], np.int64)])
row("Concat", FLAT, lambda g, *s: ([g.floats(*s), g.floats(*s)], {"axis": 1}))
row("Concat of channels", IMAGES, lambda g, *s: ([g.floats(*s), g.floats(*s)], {"axis": 1}))
row("Split", FLAT, lambda g, *s: ([g.floats(*s)], {"axis": 1, "num_outputs": 2}), outputs=2)
row("Slice", FLAT, lambda g, *s: [g.floats(*s)] + [
    g.constant([value], np.int64) for value in (8, s[1] - 8, 1)])
row("Slice with steps", FLAT, lambda g, *s: [g.floats(*s)] + [
    g.constant([value], np.int64) for value in (0, s[1], 1, 2)])
row("Pad", IMAGES, lambda g, *s: [g.floats(*s), g.constant([0, 0, 1, 1, 0, 0, 1, 1], np.int64)])
row("Gather", [(100, 16, 8), (30000, 768, 128), (30000, 768, 4096)],
    lambda g, rows, size, count: [g.weight(rows, size), g.ints(rows, count)])
row("Gather of columns", [(4, 64, 8), (128, 1024, 256), (1024, 4096, 512)],
    lambda g, rows, size, count: ([g.floats(rows, size), g.ints(size, count)], {"axis": 1}))
row("GatherElements", ROWWISE, lambda g, *s: ([g.floats(*s), g.ints(s[1], *s)], {"axis": 1}))
row("GatherND", [(16, 16, 8), (128, 768, 64), (2048, 1024, 1024)],
    lambda g, rows, size, count: [g.floats(rows, size), g.ints(rows, count, 1)])


def scattered(g, rows, size, count):
    places = g.feed(g.random.permutation(rows)[:count, None].astype(np.int64))
    return [g.floats(rows, size), places, g.floats(count, size)]


row("ScatterND", [(16, 16, 8), (128, 768, 64), (2048, 1024, 1024)], scattered)
row("ScatterElements", ROWWISE,
    lambda g, *s: ([g.floats(*s), g.ints(s[1], *s), g.floats(*s)], {"axis": 1}))
row("Expand", FLAT, lambda g, *s: [g.floats(1, s[1]), g.constant(s, np.int64)])
row("Tile", FLAT, lambda g, *s: [g.floats(*s), g.constant([2, 2], np.int64)])
row("OneHot", [(8, 16), (128, 1000), (2048, 1000)], lambda g, rows, depth: [
    g.ints(depth, rows), g.constant(depth, np.int64), g.constant([0, 1], np.float32)])


def resized(**attributes):
    def build(g, *s):
        return [g.floats(*s), "", g.constant([1, 1, 2, 2], np.float32)], attributes
    return build


row("Resize nearest", IMAGES, resized(mode="nearest", nearest_mode="floor",
                                      coordinate_transformation_mode="asymmetric"))
row("Resize linear", IMAGES, resized(mode="linear"))


def boxes(g, count):
    corners = g.random.random((1, count, 2)).astype(np.float32)
    both = np.concatenate([corners, corners + 0.2], 2)
    return [g.feed(both), g.positive(1, 1, count), g.constant([50], np.int64),
            g.constant([0.5], np.float32), g.constant([0.6], np.float32)]


row("NonMaxSuppression", [(20,), (500,), (5000,)], boxes)

# Products and convolutions of bytes: sizes known, rows or images open, operands computed.


def byte_product(is_open, weights=np.int8, is_fed=False):
    def build(g, m, k, n):
        x = g.bytes(m, k)
        if is_open:
            x = g.opened(x, 0)
        w = g.bytes(k, n, dtype=weights) if is_fed else g.byte_weight(k, n, dtype=weights)
        return [x, w, g.constant(121, np.uint8), g.constant(0 if weights == np.int8 else 131, weights)]
    return build


def byte_batches(g, b, m, k, n):
    return [g.bytes(b, m, k), g.bytes(b, k, n, dtype=np.int8)]


def linear_product(is_open):
    def build(g, m, k, n):
        x = g.bytes(m, k)
        if is_open:
            x = g.opened(x, 0)
        return [x, g.constant(0.02, np.float32), g.constant(121, np.uint8), g.byte_weight(k, n),
                g.constant(0.01, np.float32), g.constant(0, np.int8), g.constant(4.0, np.float32),
                g.constant(128, np.uint8)]
    return build


def dynamic_product(is_open):
    """What quantize_dynamic makes of a MatMul."""
    def build(g, m, k, n):
        x = g.floats(m, k)
        if is_open:
            x = g.opened(x, 0)
        q, scale, zero = g.node("DynamicQuantizeLinear", [x], 3)
        words = g.node("MatMulInteger", [q, g.byte_weight(k, n), zero, g.constant(0, np.int8)])
        both = g.node("Mul", [scale, g.constant(0.01, np.float32)])
        return [g.node("Cast", [words], to=TensorProto.FLOAT), both]
    return build


def linear_conv(is_open=False):
    def build(g, shape, filters, kernel, stride=1, groups=1):
        x = g.bytes(*shape)
        if is_open:
            x = g.opened(x, *range(2, len(shape)))
        rank, pad = len(shape) - 2, kernel // 2
        w = g.byte_weight(filters, shape[1] // groups, *[kernel] * rank)
        return ([x, g.constant(0.02, np.float32), g.constant(121, np.uint8), w,
                 g.constant(np.full(filters, 0.01), np.float32),
                 g.constant(np.zeros(filters), np.int8), g.constant(2.0, np.float32),
                 g.constant(128, np.uint8), g.constant(np.arange(filters), np.int32)],
                {"kernel_shape": [kernel] * rank, "strides": [stride] * rank, "group": groups,
                 "pads": [pad] * (2 * rank)})
    return build


row("MatMulInteger", PRODUCTS, byte_product(False))
row("MatMulInteger of open rows", PRODUCTS, byte_product(True))
row("MatMulInteger by unsigned", PRODUCTS, byte_product(False, np.uint8))
row("MatMulInteger of two fed", PRODUCTS, byte_product(False, np.uint8, True))
row("MatMulInteger of batches", [(2, 16, 32, 16), (12, 128, 64, 128), (12, 384, 64, 384)], byte_batches)
row("QLinearMatMul", PRODUCTS, linear_product(False))
row("QLinearMatMul of open rows", PRODUCTS, linear_product(True))
row("Mul behind a dynamic product", PRODUCTS, dynamic_product(False))
row("Mul behind an open dynamic product", PRODUCTS, dynamic_product(True))
BYTE_IMAGES = [((1, 32, 14, 14), 32, 3), ((1, 128, 56, 56), 128, 3), ((1, 128, 56, 56), 128, 3, 2)]
row("QLinearConv", BYTE_IMAGES, linear_conv())
row("QLinearConv of open images", BYTE_IMAGES, linear_conv(True))
row("QLinearConv pointwise", [((1, 32, 14, 14), 32, 1), ((1, 128, 56, 56), 128, 1),
                              ((1, 128, 56, 56), 128, 1, 2)], linear_conv())
row("QLinearConv depthwise", [((1, 32, 14, 14), 32, 3, 1, 32), ((1, 128, 56, 56), 128, 3, 1, 128),
                              ((1, 144, 112, 112), 144, 5, 1, 144)], linear_conv())
row("QLinearConv of open depthwise", [((1, 32, 14, 14), 32, 3, 1, 32),
                                      ((1, 128, 56, 56), 128, 3, 2, 128)], linear_conv(True))
row("QLinearConv in groups", [((1, 32, 14, 14), 32, 3, 1, 4), ((1, 128, 56, 56), 128, 3, 1, 4),
                              ((1, 128, 56, 56), 128, 3, 1, 32)], linear_conv())
row("QLinearConv of three channels", [((1, 3, 32, 32), 16, 3, 2), ((1, 3, 224, 224), 64, 7, 2)],
    linear_conv())
row("QLinearConv along time", [((1, 16, 100), 16, 3), ((1, 80, 400), 192, 3)], linear_conv())


def few_bits(bits, block, has_zeros=False):
    def build(g, m, k, n):
        blocks = k // block
        inputs = [g.floats(m, k), g.byte_weight(n, blocks, block * bits // 8, dtype=np.uint8),
                  g.constant(g.random.random(n * blocks) * 0.1, np.float32)]
        if has_zeros:
            inputs.append(g.byte_weight(n * ((blocks * bits + 7) // 8), dtype=np.uint8))
        return inputs, {"domain": "com.microsoft", "K": k, "N": n, "bits": bits, "block_size": block}
    return build


FEW_BITS = [(1, 1024, 1024), (1, 4096, 11008), (16, 1024, 1024), (128, 1024, 1024)]
row("MatMulNBits of 4 by 32", FEW_BITS, few_bits(4, 32))
row("MatMulNBits of 4 by 128", FEW_BITS, few_bits(4, 128))
row("MatMulNBits with zero points", FEW_BITS, few_bits(4, 32, True))
row("MatMulNBits of 8 by 32", FEW_BITS, few_bits(8, 32))


def main():
    folder = sys.argv[1]
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    for number, (name, operator, sizes, build, outputs) in enumerate(ROWS):
        if not wanted.search(name):
            continue
        for place, size in enumerate(sizes):
            graph = Graph()
            made = build(graph, *size)
            inputs, attributes = made if isinstance(made, tuple) else (made, {})
            stem = "%d_%d" % (number, place)
            graph.write("%s/%s" % (folder, stem), operator, inputs, outputs, attributes)
            # A size of parts, such as a convolution's: its operand's shape, then the rest.
            parts = ["x".join(map(str, part if isinstance(part, tuple) else (part,)))
                     for part in (size if isinstance(size[0], tuple) else (size,))]
            print("\t".join([name, " ".join(parts), stem]))


if __name__ == "__main__":
    main()
