#===- narrow_columns.py - reductions over rows of a few columns ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""narrow_columns.py FOLDER: writes model.mlir, and its feeds to in.npz. With `compare`: fails where a
result in out.npz is not what it should be. All numbers are exact."""
import array
import random
import sys

from floats import count, read_output, write_inputs

FOLDER = sys.argv[1]
#: Feeds: sizes, those that the model leaves open, and how many of them are reduced.
FEEDS = {"a": ((3, 101, 3), (1,), 1), "b": ((4, 70, 7), (), 1), "c": ((2, 9, 11, 2), (0, 2), 2),
         "d": ((5, 3, 5), (1,), 1)}
KINDS = ("sum", "max", "min", "prod")


def values(name):
    random.seed(name)
    # Products stay exact: signs, and a few twos.
    return array.array("f", (random.choice((-1.0, 1.0, 1.0, -1.0, 2.0, 0.5))
                             for _ in range(count(FEEDS[name][0]))))


def text(shape):
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


def write_model():
    arguments, results, body, names = [], [], [], []
    for name, (shape, opened, reduced) in FEEDS.items():
        sizes = ["?" if i in opened else size for i, size in enumerate(shape)]
        arguments.append(f'%{name}: {text(sizes)} {{weir.name = "{name}"}}')
        first = len(shape) - 1 - reduced
        left = sizes[:first] + sizes[-1:]
        axes = ", ".join(str(first + i) for i in range(reduced))
        for kind in KINDS:
            value = f"%{name}_{kind}"
            body.append(f'{value} = weir.reduce %{name} {{axes = array<i64: {axes}>, keep_dims = false, '
                        f'kind = "{kind}"}} : ({text(sizes)}) -> {text(left)}')
            names.append((value, text(left)))
            results.append(f'{text(left)} {{weir.name = "{name}_{kind}"}}')
    with open(f"{FOLDER}/model.mlir", "w") as file:
        file.write(f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) "
                   'attributes {weir.entry = "main"} {\n' + "\n".join(body) +
                   f"\nreturn {', '.join(v for v, _ in names)} : "
                   f"{', '.join(t for _, t in names)}\n}}\n")


def expected(name, kind):
    shape, _, reduced = FEEDS[name]
    first = len(shape) - 1 - reduced
    columns, rows, outer = shape[-1], count(shape[first:-1]), count(shape[:first])
    numbers, result = values(name), []
    for o in range(outer):
        for column in range(columns):
            line = [numbers[(o * rows + row) * columns + column] for row in range(rows)]
            if kind == "prod":
                product = 1.0
                for number in line:
                    product *= number
                result.append(product)
            else:
                result.append({"sum": sum, "max": max, "min": min}[kind](line))
    return result


if len(sys.argv) == 2:
    write_model()
    write_inputs(FOLDER, [(feed, sizes, values(feed)) for feed, (sizes, _, _) in FEEDS.items()])
else:
    for feed, (sizes, _, reduced) in FEEDS.items():
        left = sizes[:len(sizes) - 1 - reduced] + sizes[-1:]
        for kind in KINDS:
            found = list(read_output(FOLDER, f"{feed}_{kind}", left))
            if found != expected(feed, kind):
                sys.exit(f"{feed} {kind}: {found} for {expected(feed, kind)}")
