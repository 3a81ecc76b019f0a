#===- windows.py - depthwise convolutions and pools, in double precision -----===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: windows.py model FOLDER | windows.py check FOLDER

Windows over images in many widths, strides, dilations and paddings: model.onnx and in.npz
in FOLDER, or how far out.npz is from the same in double precision.
"""
import math
import sys

from floats import EPSILON, constant, node, port, read_output, values, write_inputs, write_model

# (operation, channels, height, width, window, stride, dilation, pads before, pads after):
# one block that has both ends; lines of whole blocks, and with a shorter last one; ends on
# one side; windows wider than what is inside; too many ends for code of their own; a
# window of one element; channels that fill no vector, and several; a line of which six, or five,
# at a time would leave two blocks with cut windows at its end, and four do not.
CASES = [("Conv", 16, 6, 5, 3, 1, 1, 1, 1), ("Conv", 40, 5, 24, 3, 1, 1, 1, 1),
         ("Conv", 7, 9, 31, 3, 2, 1, 0, 1), ("Conv", 33, 8, 29, 5, 1, 2, 4, 4),
         ("Conv", 16, 4, 30, 7, 3, 1, 3, 3), ("Conv", 20, 3, 20, 5, 1, 6, 12, 12),
         ("Conv", 18, 2, 13, 1, 1, 1, 0, 0), ("Conv", 16, 3, 2, 3, 1, 1, 2, 2),
         ("MaxPool", 24, 12, 25, 3, 2, 1, 1, 1), ("MaxPool", 16, 7, 14, 2, 2, 1, 0, 0),
         ("AveragePool", 35, 6, 17, 3, 1, 1, 1, 1), ("AveragePool", 16, 9, 9, 4, 3, 1, 2, 1),
         ("AveragePadded", 16, 6, 17, 3, 2, 1, 1, 1), ("AveragePadded", 19, 5, 4, 3, 1, 1, 0, 1),
         ("Conv", 16, 7, 32, 7, 1, 1, 3, 3)]
# The same of convolutions in `channels` groups, with the channels that each has, in and out:
# several results of one channel; groups that divide a vector, and that do not; six results of a
# line by eight channels each; panels of one and a half vectors, and one that several tiles read.
GROUPED = [(32, 5, 13, 3, 1, 1, 1, 1, 1, 2), (7, 6, 9, 3, 2, 1, 1, 1, 1, 3),
           (10, 4, 20, 3, 1, 1, 1, 1, 8, 8), (5, 5, 7, 3, 1, 1, 1, 1, 4, 8),
           (3, 6, 6, 1, 1, 1, 0, 0, 6, 12), (9, 3, 8, 5, 1, 1, 2, 2, 2, 1),
           (4, 5, 25, 3, 2, 1, 1, 1, 8, 8), (3, 6, 9, 3, 1, 1, 1, 1, 5, 24),
           (2, 4, 5, 3, 1, 1, 1, 1, 3, 72)]


class Window:
    def __init__(self, number, case, inputs=1, outputs=1):
        self.number, self.inputs, self.outputs = number, inputs, outputs
        (self.operation, self.channels, self.height, self.width, self.window, self.stride,
         self.dilation, self.before, self.after) = case
        self.shape = (1, self.channels * inputs, self.height, self.width)
        self.x = values(self.shape, 2 * number)
        self.filter = (self.channels * outputs, inputs, self.window, self.window)
        self.w = values(self.filter, 2 * number + 1)
        self.result = (f"y{number}", (1, self.channels * outputs, self.size(self.height),
                                      self.size(self.width)))

    def size(self, input):
        reach = (self.window - 1) * self.dilation + 1
        return (input + self.before + self.after - reach) // self.stride + 1

    def graph(self):
        names = [f"x{self.number}"]
        text = port(11, names[0], self.shape) + port(12, *self.result)
        attributes = [("kernel_shape", [self.window] * 2), ("strides", [self.stride] * 2),
                      ("pads", [self.before] * 2 + [self.after] * 2)]
        if self.dilation > 1:
            attributes.append(("dilations", [self.dilation] * 2))
        operation = self.operation
        if operation == "Conv":
            attributes.append(("group", self.channels))
            names.append(f"w{self.number}")
            text += constant(names[1], self.filter, self.w)
        if operation == "AveragePadded":
            operation = "AveragePool"
            attributes.append(("count_include_pad", 1))
        text += node(operation, f"o{self.number}", names, attributes)
        return text + node("LeakyRelu", self.result[0], [f"o{self.number}"])

    def inside(self, out, input):
        at = [(k, out * self.stride - self.before + k * self.dilation) for k in range(self.window)]
        return [(k, place) for k, place in at if 0 <= place < input]

    def value(self, c, y, x):
        """The result before LeakyRelu, and how far off it may be."""
        weights, elements = [], []
        for k in range(self.inputs):
            weight, channel = c * self.inputs + k, c // self.outputs * self.inputs + k
            for i, row in self.inside(y, self.height):
                for j, column in self.inside(x, self.width):
                    weights.append(self.w[(weight * self.window + i) * self.window + j])
                    elements.append(self.x[(channel * self.height + row) * self.width + column])
        if self.operation == "MaxPool":
            return max(elements), 0.0
        if self.operation == "Conv":
            products = [weight * element for weight, element in zip(weights, elements)]
            return sum(products), len(products) * EPSILON * sum(map(abs, products))
        count = len(elements)
        if self.operation == "AveragePadded":
            count = (self.padded(y, self.height) * self.padded(x, self.width))
        total = sum(map(abs, elements)) / count
        return sum(elements) / count, (len(elements) + 2) * EPSILON * total

    def padded(self, out, input):
        first = out * self.stride - self.before
        return sum(first + k < input + self.after for k in range(self.window))

    def worst(self, folder):
        """The largest error as a share of what it may be."""
        got = read_output(folder, *self.result)
        _, channels, height, width = self.result[1]
        worst, at = 0.0, 0
        for c in range(channels):
            for y in range(height):
                for x in range(width):
                    value, bound = self.value(c, y, x)
                    # ONNX's default slope.
                    wanted = value if value >= 0 else value * 0.01
                    bound += EPSILON * abs(wanted) + 1e-38
                    error = abs(got[at] - wanted) / bound
                    worst = max(worst, math.inf if math.isnan(error) else error)
                    at += 1
        return worst


def main():
    folder = sys.argv[2]
    windows = [Window(i, case) for i, case in enumerate(CASES)]
    windows += [Window(len(CASES) + i, ("Conv", *case[:-2]), *case[-2:])
                for i, case in enumerate(GROUPED)]
    if sys.argv[1] == "model":
        write_model(folder, b"".join(window.graph() for window in windows))
        write_inputs(folder, [(f"x{window.number}", window.shape, window.x)
                              for window in windows])
        return
    for window in windows:
        worst = window.worst(folder)
        print(window.result[0], "is right" if worst <= 1 else f"is off by {worst:.3g}")


main()
