#===- products.py - products of tensors, in double precision -----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: products.py model FOLDER | products.py check FOLDER
          products.py open FOLDER | products.py check-open FOLDER WEIR_RUN

Products whose right operands are fed, each followed by an addition and ReLU: model.onnx
and in.npz in FOLDER, or how far some results in out.npz are from the same in double
precision. `open`: one whose number of rows is open, and a folder for each number with its
in.npz, which check-open runs.
"""
import os
import random
import subprocess
import sys

from floats import EPSILON, node, port, read_output, values, write_inputs, write_model

# (batch, rows, depth, columns): the last panel is not whole, nor the last tile of rows;
# two products side by side; several parts of rows; a sum of several blocks. The last two
# are brought into panels before.
SIZES = [(1, 70, 130, 300), (2, 61, 200, 203), (1, 301, 129, 257), (1, 59, 3500, 90),
         (1, 611, 200, 192), (2, 577, 96, 384)]
# What is left behind whole tiles: nothing, single rows, two halves, all smaller tiles.
ROWS = [1, 2, 7, 14, 15, 16, 27, 30, 155]
OPEN = (48, 80)


class Product:
    def __init__(self, number, sizes):
        self.number, self.sizes = number, sizes
        batch, rows, depth, columns = sizes
        self.tensors = [(f"{name}{number}", shape, values(shape, 3 * number + i))
                        for i, (name, shape) in enumerate((("x", (batch, rows, depth)),
                                                           ("w", (batch, depth, columns)),
                                                           ("b", (columns,))))]
        self.result = (f"y{number}", (batch, rows, columns))

    def graph(self, rows=None):
        x, w, b = (name for name, _, _ in self.tensors)
        batch, own, depth, columns = self.sizes
        rows = rows or own
        text = port(11, x, (batch, rows, depth)) + port(12, self.result[0], (batch, rows, columns))
        text += b"".join(port(11, name, shape) for name, shape, _ in self.tensors[1:])
        text += node("MatMul", f"m{self.number}", [x, w])
        text += node("Add", f"s{self.number}", [f"m{self.number}", b])
        return text + node("Relu", self.result[0], [f"s{self.number}"])

    def worst(self, folder):
        """The largest error, as a share of what a sum of this length may be off by."""
        batch, rows, depth, columns = self.sizes
        (_, _, x), (_, _, w), (_, _, b) = self.tensors
        got = read_output(folder, *self.result)
        chosen, worst = random.Random(5), 0.0
        for _ in range(60):
            n = chosen.randrange(batch)
            # Corners among them.
            row = chosen.choice([0, rows - 1, chosen.randrange(rows)])
            column = chosen.choice([0, columns - 1, chosen.randrange(columns)])
            products = [x[(n * rows + row) * depth + k] * w[(n * depth + k) * columns + column]
                        for k in range(depth)] + [b[column]]
            bound = (depth + 1) * EPSILON / 2 * sum(map(abs, products))
            wanted = max(sum(products), 0.0)
            worst = max(worst, abs(got[(n * rows + row) * columns + column] - wanted) / bound)
        return worst


def open_product(rows):
    return Product(0, (1, rows, *OPEN))


def write_open(folder):
    write_model(folder, open_product(1).graph("rows"))
    for rows in ROWS:
        os.makedirs(os.path.join(folder, str(rows)))
        write_inputs(os.path.join(folder, str(rows)), open_product(rows).tensors)


def run_open(folder, own, weir_run):
    subprocess.run([weir_run, os.path.join(folder, "model.onnx"),
                    "--input=" + os.path.join(own, "in.npz"),
                    "--output=" + os.path.join(own, "out.npz")], check=True,
                   stdout=subprocess.DEVNULL)


def report(product, folder):
    worst = product.worst(folder)
    print(product.result[0], "is right" if worst <= 1 else f"is off by {worst:.3g}")


def main():
    folder = sys.argv[2]
    if sys.argv[1] == "open":
        return write_open(folder)
    if sys.argv[1] == "check-open":
        for rows in ROWS:
            run_open(folder, os.path.join(folder, str(rows)), sys.argv[3])
            report(open_product(rows), os.path.join(folder, str(rows)))
        return
    products = [Product(i, sizes) for i, sizes in enumerate(SIZES)]
    if sys.argv[1] == "model":
        write_model(folder, b"".join(product.graph() for product in products))
        write_inputs(folder, [tensor for product in products for tensor in product.tensors])
        return
    for product in products:
        report(product, folder)


main()
