#===- long_sums.py - how errors of sums grow with their length ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: long_sums.py FORM LENGTH FOLDER WEIR_RUN [FLAG...]

Sums LENGTH positive elements of f32 in one of the forms in which kernels do: columns of a
matrix, in registers, in memory, element by element; lines; products; convolutions that are
filters' gradients; pools. The largest error over all results, relative to the sum, is to be
less than blocks allow, whatever the length: chains of additions have no more than 512
links, and few levels. One after the other, 100,000 additions are off by more.
"""
import array
import math
import os
import random
import subprocess
import sys
import zipfile

from floats import npy

EPSILON = 2.0**-24
REDUCE = ("weir.reduce %x {{axes = array<i64: {axes}>, keep_dims = false, kind = \"{kind}\"}} :"
          " ({x}) -> {y}")
CONV = ("weir.conv %x, %w {{strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations ="
        " array<i64: 1>, groups = 1 : i64, channels_last = true, accumulator = f32}} :"
        " ({x}, {w}) -> {y}")
DOT = ("weir.dot_general %x, %w {{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract ="
       " array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f32}} : ({x}, {w}) -> {y}")
POOL = ("weir.pool %x {{kind = \"average\", window = array<i64: {n}>, strides = array<i64: 1>, pads ="
        " array<i64: 0, 0>, dilations = array<i64: 1>, ceil_mode = false, count_include_pad ="
        " false, p = 0 : i64, channels_last = true}} : ({x}) -> {y}")
# Form: shapes of x, of w, of the result, the operation, and how many dimensions of x may be
# open.
FORMS = {
    "columns": (("n", 40), None, (40,), REDUCE.replace("{axes}", "0").replace("{kind}", "mean")),
    "streamed": (("n", 1024), None, (1024,),
                 REDUCE.replace("{axes}", "0").replace("{kind}", "sum")),
    "open": (("n", 40), None, (40,), REDUCE.replace("{axes}", "0").replace("{kind}", "sum")),
    "planes": (("n", 3, 5), None, (3,), REDUCE.replace("{axes}", "0, 2").replace("{kind}", "sum")),
    "all": (("n", 3), None, (), REDUCE.replace("{axes}", "0, 1").replace("{kind}", "mean")),
    "lines": ((6, "n"), None, (6,), REDUCE.replace("{axes}", "1").replace("{kind}", "sum")),
    "product": ((18, "n"), ("n", 40), (18, 40), DOT),
    "row": ((1, "n"), ("n", 40), (1, 40), DOT),
    "filter": ((9, "n", 2), ("n", 2, 24), (9, 1, 24), CONV),
    "pool": ((2, "n", 20), None, (2, 1, 20), POOL),
}


def text(shape):
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


def total(shape):
    return math.prod(shape)


def main():
    form, length, folder, tool, *flags = sys.argv[1:]
    length = int(length)
    shapes = [tuple(length if size == "n" else size for size in shape)
              for shape in FORMS[form][:3] if shape is not None]
    result = shapes[-1]
    typed = list(shapes)
    if form == "open":
        typed[0] = ("?",) + shapes[0][1:]
    names = ["x", "w"][:len(shapes) - 1]
    body = FORMS[form][3].format(x=text(typed[0]), y=text(result), n=length,
                                 w=text(shapes[1]) if "w" in names else "")
    arguments = ", ".join(f'%{name}: {text(shape)} {{weir.name = "{name}"}}'
                          for name, shape in zip(names, typed))
    with open(os.path.join(folder, "model.mlir"), "w") as file:
        file.write(f"""module attributes {{weir.stage = "simplify"}} {{
  func.func @main({arguments}) -> ({text(result)} {{weir.name = "y"}}) {{
    %y = {body}
    return %y : {text(result)}
  }}
}}
""")
    chosen = random.Random(length)
    tensors = [array.array("f", (chosen.random() for _ in range(total(shape))))
               for shape in shapes[:-1]]
    with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w") as archive:
        for name, shape, values in zip(names, shapes, tensors):
            archive.writestr(name + ".npy", npy(shape, values))
    subprocess.run([tool, f"{folder}/model.mlir", f"--input={folder}/in.npz",
                    f"--output={folder}/out.npz", *flags], check=True, stdout=subprocess.DEVNULL)
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as archive:
        got = array.array("f", archive.read("y.npy")[-4 * total(result):])
    worst = max(abs(got[i] - exact) / exact for i, exact in wanted(form, shapes, tensors))
    # A chain of 512 additions is off by some 15 roundings at most among that many results,
    # and there are two or three levels.
    bound = 48 * EPSILON
    verdict = "is right" if worst < bound else "is WRONG"
    print(f"{form} of {length}: {worst / EPSILON:.1f} roundings {verdict}")
    sys.exit(worst >= bound)


def wanted(form, shapes, tensors):
    """(number, exact result) of some results."""
    x, shape = tensors[0], shapes[0]
    length = max(shape)
    if form in ("columns", "streamed", "open"):
        for column in range(0, shape[1], max(1, shape[1] // 40)):
            yield column, math.fsum(x[column::shape[1]]) / (length if form == "columns" else 1)
    elif form == "planes":
        for plane in range(3):
            yield plane, math.fsum(math.fsum(x[plane * 5 + i::15]) for i in range(5))
    elif form == "all":
        yield 0, math.fsum(x) / len(x)
    elif form == "lines":
        for line in range(shape[0]):
            yield line, math.fsum(x[line * length:(line + 1) * length])
    elif form == "pool":
        for image in range(2):
            for channel in range(20):
                yield (image * 20 + channel,
                       math.fsum(x[image * length * 20 + channel:(image + 1) * length * 20:20])
                       / length)
    else:
        # Products: the terms of each result, in f64 exact.
        w, columns, depth = tensors[1], shapes[1][-1], len(x) // shape[0]
        for row in range(shape[0]):
            for column in range(row % 5, columns, 5):
                line = x[row * depth:(row + 1) * depth]
                yield (row * columns + column,
                       math.fsum(a * b for a, b in zip(line, w[column::columns])))


main()
