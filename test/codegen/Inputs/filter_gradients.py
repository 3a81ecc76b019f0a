#===- filter_gradients.py - gradients of filters, in double precision --------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: filter_gradients.py model FOLDER | filter_gradients.py check FOLDER

Filters' gradients as gradient rules write them, convolutions of a turned image by a turned
gradient: model.mlir and in.npz in FOLDER, or how far some elements in out.npz are from the
same in double precision, as a share of what a sum by blocks may be off by.
"""
import array
import math
import os
import random
import sys
import zipfile

from floats import npy, values

EPSILON = 2.0**-24
# Images, their height and width, channels in and out; window, stride, dilation, padding
# before. Channels that fill tiles and vectors, and that do not; a window of one element;
# lines that are longer than a block.
CASES = [(5, 20, 20, 12, 40, 3, 1, 1, 1), (5, 20, 21, 16, 48, 3, 2, 1, 0),
         (5, 18, 20, 30, 33, 3, 1, 2, 2), (6, 20, 20, 17, 20, 1, 1, 1, 0),
         (5, 24, 25, 6, 16, 5, 1, 1, 2), (2, 6, 600, 3, 16, 3, 1, 1, 1)]


class Case:
    def __init__(self, number, numbers):
        (self.images, self.height, self.width, self.inputs, self.outputs, self.window,
         self.stride, self.dilation, self.before) = numbers
        self.number = number
        reach = (self.window - 1) * self.dilation
        # As many steps as a border of as much behind gives.
        self.steps = [(size + 2 * self.before - reach - 1) // self.stride + 1
                      for size in (self.height, self.width)]
        self.after = [reach + (steps - 1) * self.stride + 1 - size - self.before
                      for steps, size in zip(self.steps, (self.height, self.width))]
        self.x = (self.images, self.height, self.width, self.inputs)
        self.dy = (self.images, *self.steps, self.outputs)
        self.dw = (self.inputs, self.window, self.window, self.outputs)

    def text(self, shape):
        return "tensor<" + "x".join(map(str, shape)) + "xf32>"

    def body(self):
        n = self.number
        turned = (self.inputs, self.height, self.width, self.images)
        filter_ = (*self.steps, self.images, self.outputs)
        pads = f"{self.before}, {self.after[0]}, {self.before}, {self.after[1]}"
        return f"""    %a{n} = weir.transpose %x{n} {{permutation = array<i64: 3, 1, 2, 0>}} : ({self.text(self.x)}) -> {self.text(turned)}
    %b{n} = weir.transpose %d{n} {{permutation = array<i64: 1, 2, 0, 3>}} : ({self.text(self.dy)}) -> {self.text(filter_)}
    %y{n} = weir.conv %a{n}, %b{n} {{strides = array<i64: {self.dilation}, {self.dilation}>, pads = array<i64: {pads}>, dilations = array<i64: {self.stride}, {self.stride}>, groups = 1 : i64, channels_last = true, accumulator = f32}} : ({self.text(turned)}, {self.text(filter_)}) -> {self.text(self.dw)}
"""

    def tensors(self):
        return ((f"x{self.number}", self.x, values(self.x, self.number)),
                (f"d{self.number}", self.dy, values(self.dy, 100 + self.number)))

    def worst(self, got):
        (_, _, x), (_, _, dy) = self.tensors()
        chosen, worst = random.Random(self.number), 0.0
        for _ in range(50):
            c, i, j, o = (chosen.randrange(size) for size in self.dw)
            terms = []
            for n in range(self.images):
                for row in range(self.steps[0]):
                    y = row * self.stride + i * self.dilation - self.before
                    for column in range(self.steps[1]):
                        at = column * self.stride + j * self.dilation - self.before
                        if not (0 <= y < self.height and 0 <= at < self.width):
                            continue
                        a = x[((n * self.height + y) * self.width + at) * self.inputs + c]
                        b = dy[((n * self.steps[0] + row) * self.steps[1] + column)
                               * self.outputs + o]
                        terms.append(a * b)
            # Blocks of some 256 terms, and a sum of their sums.
            bound = EPSILON * (256 + len(terms) / 256 + 2) * math.fsum(map(abs, terms))
            own = got[((c * self.window + i) * self.window + j) * self.outputs + o]
            worst = max(worst, abs(own - math.fsum(terms)) / bound)
        return worst


def main():
    what, folder = sys.argv[1:]
    cases = [Case(i, numbers) for i, numbers in enumerate(CASES)]
    if what == "model":
        arguments = ", ".join(f'%{name}: {case.text(shape)} {{weir.name = "{name}"}}'
                              for case in cases for name, shape, _ in case.tensors())
        results = ", ".join(f'{c.text(c.dw)} {{weir.name = "y{c.number}"}}' for c in cases)
        with open(os.path.join(folder, "model.mlir"), "w") as file:
            file.write('module attributes {weir.stage = "simplify"} {\n'
                       f"  func.func @main({arguments}) -> ({results}) {{\n"
                       + "".join(case.body() for case in cases)
                       + "    return " + ", ".join(f"%y{c.number}" for c in cases) + " : "
                       + ", ".join(c.text(c.dw) for c in cases) + "\n  }\n}\n")
        with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w") as archive:
            for case in cases:
                for name, shape, given in case.tensors():
                    archive.writestr(name + ".npy", npy(shape, given))
        return
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as archive:
        for case in cases:
            got = array.array("f", archive.read(f"y{case.number}.npy")[-4 * math.prod(case.dw):])
            worst = case.worst(got)
            print(f"{case.number}: {worst:.3f} of the bound {'is right' if worst < 1 else 'is WRONG'}")


main()
