#===- chain_model.py - inverted residuals over large images ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: chain_model.py TESTS CHAINED.onnx PLAIN.onnx [N H W], TESTS being the folder of all tests.

Blocks of expansion, depthwise convolution and projection: windows of 3 and 5 that move by
one and two, spread, with borders on one side, a residual, two images of odd height; and a
cell whose blocks are added by pairs, and sums joined. In PLAIN the images between them are
fetched, too. Sizes of the images may be names, which are open.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "digits"))
import graph_writer  # noqa: E402
import wire  # noqa: E402
from graph_writer import value_info  # noqa: E402


class Writer(graph_writer.Writer):
    def weights(self, shape, rows):
        scale = (3.0 / rows) ** 0.5
        size = 1
        for s in shape:
            size *= s
        return self.constant(shape, values=[self.random.uniform(-scale, scale)
                                            for _ in range(size)])

    def conv(self, value, shape, channels, size, stride=1, pads=None, dilation=1, depthwise=False):
        pads = pads or [0] * 4
        groups = shape[1] if depthwise else 1
        fed = shape[1] // groups
        name = self.node("Conv", [value, self.weights([channels, fed, size, size],
                                                      fed * size * size),
                                  self.constant([channels])],
                         pads=pads, strides=[stride] * 2, dilations=[dilation] * 2, group=groups)
        span = dilation * (size - 1) + 1
        # Windows that move by one keep sizes that have names.
        sizes = [(size + "by" * (stride > 1) if isinstance(size, str)
                  else (size + pads[i] + pads[2 + i] - span) // stride + 1)
                 for i, size in enumerate(shape[2:])]
        return name, [shape[0], channels] + sizes

    def block(self, value, shape, size, stride, pads, dilation, between):
        """Relu twice; what is in between goes to `between`."""
        value, shape = self.conv(value, shape, 96, 1)
        value = self.node("Relu", [value])
        between.append((value, shape))
        value, shape = self.conv(value, shape, 96, size, stride, pads, dilation, depthwise=True)
        value = self.node("Relu", [value])
        between.append((value, shape))
        return self.conv(value, shape, 16, 1)


def main():
    w = Writer(random.Random(7))
    between, fetches = [], []
    images, height, width = [int(size) if size.isdigit() else size
                             for size in sys.argv[4:] or ["2", "63", "60"]]
    value, shape = "x", [images, 16, height, width]
    feed, feed_shape = value_info("x", shape), shape
    for size, stride, pads, dilation in ((3, 1, [1] * 4, 1), (5, 1, [2] * 4, 1),
                                         (3, 1, [2] * 4, 2), (3, 2, [0, 0, 1, 1], 1)):
        before, was = value, shape
        value, shape = w.block(value, shape, size, stride, pads, dilation, between)
        if shape == was:
            value = w.node("Add", [value, before])
        fetches.append((value, shape))
    sums = []
    for sizes in ((3, 5), (5, 3)):
        pair = []
        for size in sizes:
            narrow, shape = w.block("x", feed_shape, size, 1, [size // 2] * 4, 1, between)
            pair.append(w.node("Relu", [narrow]))
        sums.append(w.node("Add", pair))
    joined = w.node("Concat", sums, axis=1)
    fetches.append(w.conv(joined, [shape[0], 32] + shape[2:], 8, 1))
    for path, others in ((sys.argv[2], []), (sys.argv[3], between)):
        graph = w.nodes + wire.data(2, "chain") + w.initializers + wire.data(11, feed)
        for name, sizes in fetches + others:
            graph += wire.data(12, value_info(name, sizes))
        with open(path, "wb") as out:
            out.write(wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.integer(2, 17)))


if __name__ == "__main__":
    main()
