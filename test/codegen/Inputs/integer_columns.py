#===- integer_columns.py - reductions of integers by columns --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""integer_columns.py FOLDER: writes model.mlir, reductions of integers of several types and sizes,
and its feeds to in.npz. With `compare`: fails where a result in out.npz is not what it should be."""
import array
import random
import sys

from floats import count, read_output, write_inputs

FOLDER = sys.argv[1]
#: Types: of arrays, the least and the greatest.
TYPES = {"ui8": ("B", 0, 255), "i16": ("h", -2**15, 2**15 - 1), "i32": ("i", -2**31, 2**31 - 1),
         "ui32": ("I", 0, 2**32 - 1), "i64": ("q", -2**63, 2**63 - 1)}
#: Sizes, the dimensions that are open, and the one that is reduced.
FORMS = {"wide": ((3, 21, 150), (), 1), "open": ((2, 19, 70), (0, 1, 2), 1),
         "narrow": ((61, 3), (0,), 0), "first": ((13, 2, 37), (1,), 0), "even": ((4, 6, 64), (), 1)}
KINDS = ("max", "min", "sum")


def feeds():
    for element, (typecode, least, most) in TYPES.items():
        for form, (shape, opened, axis) in FORMS.items():
            yield element, form, typecode, least, most, shape, opened, axis


def values(element, form):
    typecode, least, most = TYPES[element]
    random.seed(element + form)
    # Equal ones, and bounds: the first of them counts, or the last.
    chosen = (least, least, most, 3, 7, random.randint(least, most))
    return array.array(typecode, (random.choice(chosen) for _ in range(count(FORMS[form][0]))))


def text(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + f"{element}>"


def write_model():
    arguments, results, body, names = [], [], [], []

    def add(name, operation, operand, result):
        body.append(f"%{name} = {operation} : ({operand}) -> {result}")
        names.append((f"%{name}", result))
        results.append(f'{result} {{weir.name = "{name}"}}')

    for element, form, _, _, _, shape, opened, axis in feeds():
        sizes = ["?" if i in opened else size for i, size in enumerate(shape)]
        name, own = f"{element}_{form}", text(sizes, element)
        left = sizes[:axis] + sizes[axis + 1:]
        arguments.append(f'%{name}: {own} {{weir.name = "{name}"}}')
        for kind in KINDS:
            add(f"{name}_{kind}", f"weir.reduce %{name} {{axes = array<i64: {axis}>, "
                f'keep_dims = false, kind = "{kind}"}}', own, text(left, element))
        for largest in ("true", "false"):
            for last in ("true", "false"):
                add(f"{name}_{largest}_{last}", f"weir.arg_reduce %{name} {{axis = {axis} : i64, "
                    f"largest = {largest}, keep_dims = false, select_last = {last}, "
                    "index_type = i64}", own, text(left, "i64"))
    with open(f"{FOLDER}/model.mlir", "w") as file:
        file.write(f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) "
                   'attributes {weir.entry = "main"} {\n' + "\n".join(body) +
                   f"\nreturn {', '.join(v for v, _ in names)} : "
                   f"{', '.join(t for _, t in names)}\n}}\n")


def lines(numbers, shape, axis):
    """The elements along `axis`, for each place of the others."""
    inner = count(shape[axis + 1:])
    for outer in range(count(shape[:axis])):
        for column in range(inner):
            yield [numbers[(outer * shape[axis] + i) * inner + column]
                   for i in range(shape[axis])]


def wrapped(number, least, most):
    return (number - least) % (most - least + 1) + least


def position(line, largest, last):
    best = max(line) if largest == "true" else min(line)
    return len(line) - 1 - line[::-1].index(best) if last == "true" else line.index(best)


def compare():
    for element, form, typecode, least, most, shape, _, axis in feeds():
        name, left = f"{element}_{form}", shape[:axis] + shape[axis + 1:]
        whole = list(lines(values(element, form), shape, axis))

        def check(suffix, kind, wanted):
            found = list(read_output(FOLDER, f"{name}_{suffix}", left, kind))
            if found != wanted:
                sys.exit(f"{name}_{suffix} is wrong")

        check("max", typecode, [max(line) for line in whole])
        check("min", typecode, [min(line) for line in whole])
        check("sum", typecode, [wrapped(sum(line), least, most) for line in whole])
        for largest in ("true", "false"):
            for last in ("true", "false"):
                check(f"{largest}_{last}", "q", [position(line, largest, last) for line in whole])


if len(sys.argv) == 2:
    write_model()
    write_inputs(FOLDER, [(f"{element}_{form}", shape, values(element, form))
                          for element, form, _, _, _, shape, _, _ in feeds()])
else:
    compare()
