#===- byte_products.py - products of bytes, by integers of any length ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: byte_products.py TESTS FOLDER, TESTS being the folder of all tests.

Writes FOLDER/m.onnx, products and convolutions of bytes of odd sizes, FOLDER/open.onnx,
the same of open rows, images and batches, and the feeds of both as FOLDER/in.npz. With
results in FOLDER/out, of weir-run, compares: words exactly, bytes within one step.
"""
import math
import os
import random
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
import graph_writer  # noqa: E402
import wire  # noqa: E402
from graph_writer import FLOAT, INT8, INT32, UINT8, value_info  # noqa: E402

NAMES = {FLOAT: "<f4", UINT8: "|u1", INT8: "|i1", INT32: "<i4"}
LIMITS = {UINT8: (0, 255), INT8: (-128, 127)}


def count(shape):
    return math.prod(shape)


def npy(shape, kind, values):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        NAMES[kind], "".join("%d, " % s for s in shape))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
            + struct.pack("<%d%s" % (len(values), graph_writer.FORMATS[kind]), *values))


def read_npy(path, kind):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    form = graph_writer.FORMATS[kind]
    return struct.unpack("<%d%s" % ((len(data) - begin) // struct.calcsize(form), form),
                         data[begin:])


def convolution(x, shape, zero, w, filters, pads, stride, dilation):
    """Sums of a convolution, and their shape; as many groups as channels are more than a
    filter's."""
    images, channels, height, width = shape
    columns, own, high, wide = filters
    groups = channels // own
    out = [(height + 2 * pads - dilation * (high - 1) - 1) // stride + 1,
           (width + 2 * pads - dilation * (wide - 1) - 1) // stride + 1]
    sums = []
    for n in range(images):
        for k in range(columns):
            for y in range(out[0]):
                for z in range(out[1]):
                    total = 0
                    for d in range(own):
                        c = k // (columns // groups) * own + d
                        for i in range(high):
                            row = y * stride + i * dilation - pads
                            if not 0 <= row < height:
                                continue
                            for j in range(wide):
                                column = z * stride + j * dilation - pads
                                if 0 <= column < width:
                                    total += ((x[((n * channels + c) * height + row) * width + column]
                                               - zero)
                                              * w[((k * own + d) * high + i) * wide + j])
                    sums.append(total)
    return sums, [images, columns] + out


class Model:
    def __init__(self, folder):
        self.folder = folder
        self.random = random.Random(11)
        self.isSmall = False
        self.width = 0
        self.writer = graph_writer.Writer(self.random)
        self.feeds, self.opened, self.fetches, self.expected = b"", b"", b"", []
        self.inputs = zipfile.ZipFile(os.path.join(folder, "in.npz"), "w")

    def bytes(self, shape, kind):
        low, high = LIMITS[kind]
        return [self.random.randint(low, high) for _ in range(count(shape))]

    def weights(self, shape, kind):
        """`isSmall`: all but a few are so small that two of them, times the largest byte each, add
        to a half of a word. `width`: as networks have them, most of them near zero."""
        if self.width:
            return [max(-128, min(127, round(self.random.gauss(0, self.width))))
                    for _ in range(count(shape))]
        if not self.isSmall:
            return self.bytes(shape, kind)
        return [self.random.choice((-128, 127, -127, 2)) if self.random.random() < 0.008
                else self.random.randint(-64, 64) for _ in range(count(shape))]

    def feed(self, name, shape, kind, values, opened=()):
        """`opened`: the dimensions whose sizes are open in the second model."""
        self.feeds += wire.data(11, value_info(name, shape, kind))
        sizes = ["%s_%d" % (name, i) if i in opened else size for i, size in enumerate(shape)]
        self.opened += wire.data(11, value_info(name, sizes, kind))
        self.inputs.writestr(name + ".npy", npy(shape, kind, values))
        return name

    def fetch(self, name, shape, kind, values, most=0):
        """`most`: how far results may be from `values`."""
        sizes = ["%s_%d" % (name, i) for i in range(len(shape))]
        self.fetches += wire.data(12, value_info(name, sizes, kind))
        self.expected.append((name, kind, values, most))

    def scalar(self, kind, value):
        return self.writer.constant([], kind, [value])

    def matmul(self, shape, columns, kind, zero=0, zeroFeed=None, weights=INT8, weightZero=0,
               isFed=False):
        depth, n = shape[-1], len(self.expected)
        x, w = self.bytes(shape, kind), self.weights([depth, columns], weights)
        inputs = [self.feed("x%d" % n, shape, kind, x, range(len(shape) - 1)),
                  self.feed("w%d" % n, [depth, columns], weights, w) if isFed
                  else self.writer.constant([depth, columns], weights, w),
                  self.feed(zeroFeed, [], kind, [zero]) if zeroFeed else self.scalar(kind, zero),
                  self.scalar(weights, weightZero)]
        sums = [sum((x[r * depth + k] - zero) * (w[k * columns + c] - weightZero)
                    for k in range(depth))
                for r in range(count(shape) // depth) for c in range(columns)]
        self.fetch(self.writer.node("MatMulInteger", inputs), shape[:-1] + [columns], INT32, sums)

    def batches(self, batch, rows, depth, columns, kind, weights):
        n = len(self.expected)
        x, w = self.bytes([batch, rows, depth], kind), self.bytes([batch, depth, columns], weights)
        inputs = [self.feed("x%d" % n, [batch, rows, depth], kind, x, [0, 1]),
                  self.feed("w%d" % n, [batch, depth, columns], weights, w, [0])]
        sums = [sum(x[(b * rows + r) * depth + k] * w[(b * depth + k) * columns + c]
                    for k in range(depth))
                for b in range(batch) for r in range(rows) for c in range(columns)]
        self.fetch(self.writer.node("MatMulInteger", inputs), [batch, rows, columns], INT32, sums)

    def conv(self, shape, columns, size, kind, zero=0, pads=0, stride=1, dilation=1, groups=1,
             weights=INT8, weightZero=0, isFed=False):
        n, filters = len(self.expected), [columns, shape[1] // groups] + size
        x, w = self.bytes(shape, kind), self.weights(filters, weights)
        rank = len(size)
        inputs = [self.feed("x%d" % n, shape, kind, x, [0] + list(range(2, 2 + rank))),
                  self.feed("w%d" % n, filters, weights, w) if isFed
                  else self.writer.constant(filters, weights, w), self.scalar(kind, zero),
                  self.scalar(weights, weightZero)]
        own = [value - weightZero for value in w]
        if rank == 2:
            sums, out = convolution(x, shape, zero, own, filters, pads, stride, dilation)
        else:
            sums, out = self.line(x, shape, zero, own, filters, pads, stride)
        self.fetch(self.writer.node("ConvInteger", inputs, pads=[pads] * 2 * rank,
                                    strides=[stride] * rank, dilations=[dilation] * rank,
                                    group=groups), out, INT32, sums)

    def image(self, shape, columns, size, kind, zero, pads=0, stride=1):
        """An image of reals that is quantized for a convolution."""
        n, filters = len(self.expected), [columns, shape[1]] + size
        reals = [self.random.randint(-600, 600) for _ in range(count(shape))]
        w = self.weights(filters, INT8)
        low, high = LIMITS[kind]
        x = [min(max(round(value / 2) + zero, low), high) for value in reals]
        feed = self.feed("x%d" % n, shape, FLOAT, [value / 4 for value in reals], [0, 2, 3])
        made = self.writer.node("QuantizeLinear", [feed, self.scalar(FLOAT, 0.5),
                                                   self.scalar(kind, zero)])
        inputs = [made, self.writer.constant(filters, INT8, w), self.scalar(kind, zero),
                  self.scalar(INT8, 0)]
        sums, out = convolution(x, shape, zero, w, filters, pads, stride, 1)
        self.fetch(self.writer.node("ConvInteger", inputs, pads=[pads] * 4,
                                    strides=[stride] * 2), out, INT32, sums)

    @staticmethod
    def line(x, shape, zero, w, filters, pads, stride):
        images, channels, length = shape
        columns, _, window = filters
        size = (length + 2 * pads - window) // stride + 1
        sums = []
        for n in range(images):
            for k in range(columns):
                for z in range(size):
                    places = [(i, z * stride + i - pads) for i in range(window)]
                    sums.append(sum((x[(n * channels + c) * length + at] - zero)
                                    * w[(k * channels + c) * window + i]
                                    for c in range(channels) for i, at in places
                                    if 0 <= at < length))
        return sums, [images, columns, size]

    def quantized(self, shape, columns, kind, zero, outZero, pads, scale=0.5, groups=1,
                  isRead=False):
        """Dequantized operands, one scale a channel, a bias, a Relu, quantized; `isRead`: and read
        by a convolution by ones, as bytes between convolutions are."""
        n, filters = len(self.expected), [columns, shape[1] // groups, 3, 3]
        x, w = self.bytes(shape, kind), self.weights(filters, INT8)
        sx = 0.03
        sw = [struct.unpack("<f", struct.pack("<f", 0.01 + 0.001 * k))[0] for k in range(columns)]
        bias = [0.1 * k - 0.7 for k in range(columns)]
        writer = self.writer
        left = writer.node("DequantizeLinear", [self.feed("x%d" % n, shape, kind, x, [0, 2, 3]),
                                                self.scalar(FLOAT, sx), self.scalar(kind, zero)])
        right = writer.node("DequantizeLinear", [writer.constant(filters, INT8, w),
                                                 writer.constant([columns], FLOAT, sw)], axis=0)
        made = writer.node("Conv", [left, right, writer.constant([columns], FLOAT, bias)],
                           pads=[pads] * 4, group=groups)
        made = writer.node("QuantizeLinear", [writer.node("Relu", [made]), self.scalar(FLOAT, scale),
                                              self.scalar(kind, outZero)])
        sums, out = convolution(x, shape, zero, w, filters, pads, 1, 1)
        low, high = LIMITS[kind]
        each = out[2] * out[3]
        values = []
        for i, total in enumerate(sums):
            k = i // each % columns
            real = max(total * sx * sw[k] + bias[k], 0)
            values.append(min(max(round(real / scale) + outZero, low), high))
        if isRead:
            ones = [int(i // columns == i % columns) for i in range(columns * columns)]
            made = writer.node("ConvInteger", [
                made, writer.constant([columns, columns, 1, 1], INT8, ones),
                self.scalar(kind, outZero)])
            kind, values = INT32, [value - outZero for value in values]
        self.fetch(made, out, kind, values, most=1)

    def write(self):
        self.inputs.close()
        for name, feeds in ("m.onnx", self.feeds), ("open.onnx", self.opened):
            graph = (self.writer.nodes + wire.data(2, "bytes") + self.writer.initializers + feeds
                     + self.fetches)
            with open(os.path.join(self.folder, name), "wb") as out:
                out.write(wire.integer(1, 8) + wire.data(7, graph)
                          + wire.data(8, wire.integer(2, 17)))


def main():
    model = Model(sys.argv[2])
    # Rows and columns with rests, one row, sums that are no multiple of a step.
    model.matmul([7, 37], 45, UINT8, zero=9)
    model.matmul([33, 64], 96, INT8)
    model.matmul([1, 200], 70, INT8, zero=-3)
    model.matmul([2, 20, 100], 33, UINT8, zero=200, zeroFeed="zero")
    model.matmul([65, 68], 8, UINT8)
    # A border, few channels, windows that move by two and are spread, of one element.
    model.conv([2, 5, 9, 11], 13, [3, 3], UINT8, zero=7, pads=1)
    model.conv([1, 3, 21, 21], 16, [7, 7], INT8, zero=-5, pads=3, stride=2)
    model.conv([1, 16, 12, 10], 40, [3, 3], UINT8, pads=2, dilation=2)
    model.conv([1, 64, 7, 7], 64, [1, 1], UINT8, zero=128)
    model.conv([1, 32, 20, 20], 32, [1, 1], INT8, stride=2)
    # Windows that tiles take from the stack, where lines are short.
    model.conv([2, 20, 9, 9], 200, [3, 3], UINT8, zero=7, pads=1, stride=2)
    model.conv([1, 33, 14, 13], 150, [1, 1], INT8, zero=3, stride=2)
    model.conv([1, 8, 40, 3], 9, [5, 2], INT8)
    # Weights without a sign, of a zero point for which signed bytes hold them, and not; such
    # that are fed, and one matrix for each of a batch.
    model.matmul([5, 40], 35, UINT8, zero=3, weights=UINT8, weightZero=128)
    model.matmul([19, 40], 33, INT8, zero=3, weights=UINT8, weightZero=7)
    model.matmul([5, 64], 20, UINT8, zero=3, weights=UINT8)
    model.matmul([17, 38], 40, UINT8, zero=5, weights=UINT8, weightZero=131, isFed=True)
    model.matmul([3, 64], 70, INT8, zero=2, weights=INT8, weightZero=-1, isFed=True)
    model.batches(3, 9, 20, 34, UINT8, INT8)
    model.batches(2, 15, 16, 32, INT8, UINT8)
    # Groups that fill panels and fours, that do not, and one for each channel.
    model.conv([1, 16, 8, 9], 64, [3, 3], UINT8, zero=4, pads=1, groups=2)
    model.conv([2, 12, 7, 7], 24, [3, 3], INT8, zero=4, pads=1, groups=4, weights=UINT8,
               weightZero=9)
    # Those of fours whose columns are no whole panels have panels of their own.
    model.conv([1, 24, 9, 8], 120, [3, 3], UINT8, zero=4, pads=1, groups=3)
    model.conv([1, 36, 9, 8], 72, [3, 3], INT8, stride=2, groups=3, weights=UINT8, weightZero=100)
    model.conv([1, 37, 9, 8], 37, [3, 3], UINT8, zero=4, pads=1, stride=2, groups=37)
    model.conv([1, 20, 9, 8], 20, [5, 3], INT8, groups=20, weights=UINT8, weightZero=100)
    model.conv([2, 8, 31], 20, [5], UINT8, zero=200, pads=2)
    # Filters that are fed.
    model.conv([1, 7, 9, 11], 19, [3, 3], UINT8, zero=7, pads=1, isFed=True)
    model.conv([2, 16, 8, 8], 34, [1, 1], INT8, zero=-9, weights=UINT8, weightZero=77, isFed=True)
    model.conv([2, 8, 31], 20, [5], UINT8, pads=2, stride=2, weights=UINT8, isFed=True)
    model.quantized([1, 6, 10, 9], 21, UINT8, 12, 3, pads=1)
    model.quantized([1, 16, 10, 9], 64, INT8, -4, -128, pads=0)
    # Blocks of whole lines and parts of lines; reals that no word holds.
    model.quantized([1, 8, 14, 14], 64, UINT8, 0, 5, pads=1)
    model.quantized([1, 8, 7, 7], 32, UINT8, 9, 0, pads=1, scale=1e-9)
    model.conv([2, 8, 14, 14], 32, [3, 3], UINT8, zero=3, pads=1, stride=2)
    model.conv([1, 4, 28, 28], 32, [3, 3], INT8, zero=3, pads=1)
    # Several blocks of rows that fetch the next panel.
    model.matmul([15, 1040], 64, UINT8)
    # Panels of which a part are results, in fours.
    for columns in (16, 24, 60):
        model.quantized([1, 8, 7, 9], columns, UINT8, 0, 5, pads=0, isRead=True)
    # Windows by quads of lines, of channels that fill no vector, of both signs, with borders and
    # without; a line alone of the last quad, two and all four; steps, gaps, images narrower than
    # a block and than the window; weights without a sign.
    model.conv([2, 96, 9, 13], 96, [3, 3], UINT8, pads=1, groups=96)
    model.conv([1, 70, 8, 9], 70, [3, 3], INT8, zero=-5, pads=1, stride=2, groups=70)
    model.conv([1, 64, 6, 7], 64, [3, 3], INT8, pads=1, groups=64)
    model.conv([1, 16, 5, 31], 16, [3, 3], UINT8, zero=3, groups=16)
    model.conv([1, 40, 9, 10], 40, [5, 5], INT8, pads=2, groups=40)
    model.conv([1, 24, 11, 12], 24, [5, 5], UINT8, pads=2, stride=2, groups=24)
    model.conv([1, 33, 9, 9], 33, [6, 2], UINT8, pads=1, groups=33)
    model.conv([1, 48, 8, 9], 48, [4, 3], INT8, pads=1, dilation=2, groups=48)
    model.conv([2, 32, 2, 2], 32, [3, 3], UINT8, pads=1, groups=32)
    # Vectors of several pixels, and what computes the ends of their lines.
    model.conv([1, 32, 4, 45], 32, [3, 3], INT8, pads=1, groups=32)
    model.conv([1, 16, 6, 60], 16, [5, 5], UINT8, pads=2, groups=16)
    model.conv([1, 32, 5, 40], 32, [2, 3], UINT8, dilation=2, groups=32, weights=UINT8,
               weightZero=100)
    model.quantized([2, 32, 3, 40], 32, UINT8, 0, 2, pads=1, groups=32, scale=0.05, isRead=True)
    model.conv([1, 65, 3, 1], 65, [3, 3], UINT8, pads=1, groups=65, weights=UINT8, weightZero=100)
    model.conv([1, 17, 4, 300], 17, [2, 1], UINT8, groups=17)
    for channels, kind, zero, outZero in ((80, UINT8, 0, 0), (32, INT8, -128, -128),
                                          (19, UINT8, 12, 3)):
        model.quantized([1, channels, 7, 10], channels, kind, zero, outZero, pads=1,
                        groups=channels, scale=0.05, isRead=channels != 19)
    model.quantized([1, 16, 5, 9], 16, INT8, -3, 7, pads=1, groups=16, scale=1e-9, isRead=True)
    # Images whose channels take turns: vectors of 64 bytes, 32 and 16, rests, with borders and
    # without; lines of windows filled up to fours, which the last window reaches, and does not.
    model.image([1, 3, 8, 70], 16, [7, 7], UINT8, 120, pads=3, stride=2)
    model.image([2, 2, 9, 33], 9, [5, 3], INT8, -7, pads=1)
    model.image([1, 4, 6, 128], 8, [3, 3], INT8, 3, stride=3)
    model.image([1, 3, 5, 17], 8, [2, 3], UINT8, 0)
    model.image([1, 1, 9, 30], 8, [5, 5], UINT8, 8, pads=2)
    model.conv([2, 3, 5, 64], 8, [3, 3], UINT8, zero=9, pads=1, stride=2)
    model.conv([2, 2, 50], 8, [5], INT8, zero=9, pads=2, weights=UINT8, weightZero=3)
    # Weights of which few pairs are beyond a half of a word: of few rows and many, of both signs,
    # windows that move by two, lines of a few results, groups with panels of their own.
    model.isSmall = True
    model.matmul([33, 68], 45, UINT8, zero=9)
    model.matmul([2, 9, 100], 70, INT8, zero=-3)
    model.matmul([3, 64], 40, UINT8)
    model.conv([1, 16, 14, 13], 40, [3, 3], UINT8, zero=255, pads=1, stride=2)
    model.conv([2, 32, 7, 7], 72, [1, 1], INT8)
    model.conv([1, 36, 9, 8], 60, [3, 3], UINT8, zero=3, groups=3)
    model.conv([2, 8, 31], 20, [5], INT8, zero=100, pads=2)
    model.image([1, 3, 20, 22], 16, [7, 7], INT8, -7, pads=3, stride=2)
    model.quantized([1, 6, 10, 9], 21, INT8, 12, 3, pads=1, isRead=True)
    model.quantized([1, 64, 5, 6], 60, UINT8, 7, 5, pads=0, scale=0.2)
    # As networks have them, so that two pairs may be added: few that do not fit and many, of an odd
    # number of steps, of few rows, windows that move by two and lie apart.
    for model.width in (9, 26):
        model.matmul([33, 260], 45, UINT8, zero=9)
        model.matmul([2, 9, 100], 70, INT8, zero=-3)
        model.matmul([3, 64], 40, UINT8)
        # A part's rows are blocks and a rest.
        model.matmul([65, 4], 33, UINT8)
        model.matmul([2, 32, 8], 64, INT8, zero=5)
        model.conv([1, 16, 14, 13], 40, [3, 3], UINT8, zero=255, pads=1, stride=2)
        model.conv([1, 12, 9, 8], 33, [3, 3], INT8, zero=100, dilation=2)
        model.quantized([1, 64, 5, 6], 60, UINT8, 7, 5, pads=0, scale=0.2)
    model.write()
    folder = os.path.join(sys.argv[2], "out")
    if not os.path.isdir(folder):
        return
    for name, kind, values, most in model.expected:
        found = read_npy(os.path.join(folder, name + ".npy"), kind)
        wrong = [i for i, (a, b) in enumerate(zip(found, values)) if abs(a - b) > most]
        if wrong or len(found) != len(values):
            i = wrong[0] if wrong else 0
            sys.exit("%s: %d of %d differ, first at %d: %d, expected %d"
                     % (name, len(wrong), len(values), i, found[i], values[i]))
        print("%s: %d right" % (name, len(values)))


if __name__ == "__main__":
    main()
