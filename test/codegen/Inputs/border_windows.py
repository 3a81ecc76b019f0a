#===- border_windows.py - convolutions with borders, in double precision -----===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: border_windows.py model FOLDER | border_windows.py check FOLDER

Convolutions over images with borders of zeros: model.onnx and in.npz in FOLDER, or how far out.npz
is from the same in double precision.
"""
import math
import sys

from floats import EPSILON, constant, node, port, read_output, values, write_inputs, write_model

# (images, channels, filters, height, width, window, strides, dilations, pads before and behind):
# whole tiles in a line, and a rest; lines that go together, of which the first and the last have
# less of a window; borders on one side; windows that lie in the border as a whole; lines shorter
# than a window; channels that fill no vector; a dimension without a border.
CASES = [(1, 16, 32, 8, 57, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
         (1, 17, 19, 5, 31, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
         (2, 16, 16, 9, 13, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
         (3, 20, 33, 7, 8, (3, 3), (2, 2), (1, 1), (0, 1, 1, 0)),
         (1, 16, 16, 10, 11, (3, 3), (1, 1), (2, 2), (2, 2, 2, 2)),
         (1, 16, 16, 3, 30, (5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
         (1, 24, 16, 6, 6, (3, 3), (3, 3), (1, 1), (8, 8, 8, 8)),
         (1, 16, 16, 3, 4, (7, 7), (1, 1), (1, 1), (3, 3, 3, 3)),
         (1, 16, 16, 4, 5, (3, 3), (2, 2), (3, 3), (5, 5, 4, 6)),
         (1, 16, 20, 12, 3, (5, 1), (1, 1), (1, 1), (2, 0, 2, 0)),
         (1, 18, 16, 3, 20, (1, 7), (1, 1), (1, 1), (0, 3, 0, 3)),
         (1, 16, 16, 5, 22, (4, 4), (2, 3), (1, 2), (1, 2, 2, 1)),
         (1, 160, 16, 5, 9, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1))]


class Convolution:
    def __init__(self, number, case):
        self.number = number
        (images, self.channels, self.filters, self.height, self.width, self.window, self.strides,
         self.dilations, self.pads) = case
        self.shape = (images, self.channels, self.height, self.width)
        self.x = values(self.shape, 2 * number)
        self.filter = (self.filters, self.channels, *self.window)
        self.w = values(self.filter, 2 * number + 1)
        self.result = (f"y{number}", (images, self.filters, self.size(0), self.size(1)))

    def size(self, along):
        input = (self.height, self.width)[along]
        reach = (self.window[along] - 1) * self.dilations[along] + 1
        return (input + self.pads[along] + self.pads[2 + along] - reach) // self.strides[along] + 1

    def graph(self):
        x, w, sums = f"x{self.number}", f"w{self.number}", f"o{self.number}"
        text = port(11, x, self.shape) + port(12, *self.result)
        attributes = [("kernel_shape", self.window), ("strides", self.strides),
                      ("dilations", self.dilations), ("pads", self.pads)]
        text += constant(w, self.filter, self.w) + node("Conv", sums, [x, w], attributes)
        return text + node("LeakyRelu", self.result[0], [sums])

    def inside(self, along, out):
        input = (self.height, self.width)[along]
        start = out * self.strides[along] - self.pads[along]
        at = [(k, start + k * self.dilations[along]) for k in range(self.window[along])]
        return [(k, place) for k, place in at if 0 <= place < input]

    def worst(self, folder):
        """The largest error as a share of what it may be."""
        got = read_output(folder, *self.result)
        images, filters, height, width = self.result[1]
        high, wide = self.window
        worst, at = 0.0, 0
        for n in range(images):
            for f in range(filters):
                for y in range(height):
                    for x in range(width):
                        products = []
                        for i, row in self.inside(0, y):
                            for j, column in self.inside(1, x):
                                for c in range(self.channels):
                                    w = ((f * self.channels + c) * high + i) * wide + j
                                    e = ((n * self.channels + c) * self.height + row) * self.width
                                    products.append(self.w[w] * self.x[e + column])
                        value = sum(products)
                        # ONNX's default slope.
                        wanted = value if value >= 0 else value * 0.01
                        bound = (len(products) + 1) * EPSILON * sum(map(abs, products)) + 1e-38
                        error = abs(got[at] - wanted) / bound
                        worst = max(worst, math.inf if math.isnan(error) else error)
                        at += 1
        return worst


def main():
    folder = sys.argv[2]
    all = [Convolution(i, case) for i, case in enumerate(CASES)]
    if sys.argv[1] == "model":
        write_model(folder, b"".join(each.graph() for each in all))
        write_inputs(folder, [(f"x{each.number}", each.shape, each.x) for each in all])
        return
    for each in all:
        worst = each.worst(folder)
        print(each.result[0], "is right" if worst <= 1 else f"is off by {worst:.3g}")


main()
