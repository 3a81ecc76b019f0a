#===- packed_rows.py - large products, in double precision -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: packed_rows.py model FOLDER | packed_rows.py check FOLDER

Products large enough that blocks of their left operands are packed: model.onnx and in.npz in
FOLDER, or how far some results in out.npz are from the same in double precision. Each has a
bias, and a further operand of the result's shape, which nothing else reads, so that memory of
the result might be thought to be its own.
"""
import random
import sys
from dataclasses import dataclass

from floats import (EPSILON, constant, node, port, read_output, values, write_inputs,
                    write_model)


@dataclass
class Product:
    number: int
    batch: tuple  # sizes in front of the matrices' rows
    rows: int
    depth: int
    columns: int
    isConstant: bool = False  # the right operand
    leftTurned: bool = False
    rightTurned: bool = False
    manyMatrices: bool = False  # of a batch; else rows of several dimensions

    def __post_init__(self):
        lead = self.batch if self.manyMatrices else ()
        turn = lambda shape, turned: shape[:-2] + shape[:-3:-1] if turned else shape
        self.left = self.batch + (self.rows, self.depth)
        self.right = lead + (self.depth, self.columns)
        self.result = self.batch + (self.rows, self.columns)
        shapes = {"x": turn(self.left, self.leftTurned), "w": turn(self.right, self.rightTurned),
                  "b": (self.columns,), "r": self.result}
        self.tensors = {name: (f"{name}{self.number}", shape, values(shape, 4 * self.number + i))
                        for i, (name, shape) in enumerate(shapes.items())}

    def fed(self):
        return [tensor for name, tensor in self.tensors.items()
                if not (name == "w" and self.isConstant)]

    def graph(self):
        n = str(self.number)
        text = port(12, "y" + n, self.result)
        text += b"".join(port(11, name, shape) for name, shape, _ in self.fed())
        if self.isConstant:
            text += constant(*self.tensors["w"])
        operands = ["x" + n, "w" + n]
        order = list(range(len(self.left)))
        order[-2:] = order[:-3:-1]
        for i, turned in enumerate((self.leftTurned, self.rightTurned)):
            if turned:
                text += node("Transpose", f"t{i}_{n}", [operands[i]],
                             [("perm", order if i == 0 else [1, 0])])
                operands[i] = f"t{i}_{n}"
        text += node("MatMul", "m" + n, operands) + node("Add", "s" + n, ["m" + n, "b" + n])
        # The further operand is made by another kernel, so that its buffer ends here.
        text += node("Abs", "a" + n, ["r" + n]) + node("Sqrt", "q" + n, ["a" + n])
        return text + node("Sub", "y" + n, ["s" + n, "q" + n])

    def element(self, name, at):
        """Of an operand as the product reads it."""
        _, shape, floats = self.tensors[name]
        if (name == "x" and self.leftTurned) or (name == "w" and self.rightTurned):
            at = at[:-2] + at[:-3:-1]
        place = 0
        for size, index in zip(shape, at):
            place = place * size + index
        return floats[place]

    def worst(self, folder):
        """The largest error, as a share of what a sum of this length may be off by."""
        got = read_output(folder, "y" + str(self.number), self.result)
        chosen, worst = random.Random(5), 0.0
        for _ in range(80):
            # Corners among them.
            *lead, row, column = (chosen.choice([0, size - 1, chosen.randrange(size)])
                                  for size in self.result)
            own = tuple(lead) if self.manyMatrices else ()
            terms = [self.element("x", (*lead, row, k)) * self.element("w", own + (k, column))
                     for k in range(self.depth)]
            terms += [self.element("b", (column,)),
                      -abs(self.element("r", (*lead, row, column)))**0.5]
            bound = (self.depth + 2) * EPSILON / 2 * sum(map(abs, terms))
            place = 0
            for size, index in zip(self.result, (*lead, row, column)):
                place = place * size + index
            worst = max(worst, abs(got[place] - sum(terms)) / bound)
        return worst


def products():
    """What is not whole: panels, blocks of the sum, tiles of rows, one of each alone; several
    blocks of rows; panels that are copied, or made before."""
    return [
        Product(0, (), 141, 1025, 517),
        Product(1, (), 300, 530, 544, isConstant=True),
        Product(2, (), 601, 1024, 512),
        Product(3, (2,), 150, 530, 530, manyMatrices=True),
        Product(4, (3,), 67, 600, 519, isConstant=True),
        Product(5, (), 157, 540, 521, leftTurned=True),
        Product(6, (), 290, 531, 530, rightTurned=True),
        # Narrow vectors have as many panels of fewer columns, and longer sums pay.
        Product(7, (), 193, 1100, 300, isConstant=True),
        Product(8, (2,), 195, 1030, 261, manyMatrices=True),
        Product(9, (), 271, 1027, 263, leftTurned=True),
    ]


def main():
    mode, folder = sys.argv[1:]
    every = products()
    if mode == "model":
        write_model(folder, b"".join(product.graph() for product in every))
        write_inputs(folder, [tensor for product in every for tensor in product.fed()])
        return
    for product in every:
        worst = product.worst(folder)
        print("y" + str(product.number), "is right" if worst <= 1 else f"is off by {worst:.3g}")


main()
