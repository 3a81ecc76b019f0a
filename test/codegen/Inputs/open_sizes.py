#===- open_sizes.py - open sizes against fixed ones --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: open_sizes.py check FOLDER WEIR_RUN WEIRC

Programs with open sizes, run for several of them, against the same with these sizes
fixed: results have the same bits, whatever the sizes are and however many threads there
are. Fixed lines that are too short or too long for passes add up in another order. With
weirc: which kernels have which strategy.
"""
import array
import os
import re
import subprocess
import sys
import zipfile

from floats import npy, values

DOT = ("{{accumulator = {e}, lhs_batch = array<i64{b}>, rhs_batch = array<i64{b}>, "
       "lhs_contract = array<i64: {l}>, rhs_contract = array<i64: {r}>}}")


def dot(element, batch="", left="1", right="0"):
    return DOT.format(e=element, b=batch, l=left, r=right)


def tensor(sizes, element="f32"):
    return f"tensor<{'x'.join([str(size) for size in sizes] + [element])}>"


class Case:
    """`body` is MLIR behind the entry's head, in which {x}, {y}, {z} are the types of
    operands and {r} that of the result; `shapes` make them of sizes by name."""

    def __init__(self, name, operands, result, body, sizes, strategies, element="f32"):
        self.name, self.operands, self.result = name, operands, result
        self.body, self.sizes, self.strategies, self.element = body, sizes, strategies, element

    def text(self, sizes):
        """For known sizes, or None: open ones."""

        def shape(names):
            return [name if isinstance(name, int) else (sizes[name] if sizes else "?")
                    for name in names]

        types = {key: tensor(shape(names), self.element) for key, names in self.operands.items()}
        for key, (names, element) in self.result.items():
            types[key] = tensor(shape(names), element)
        heads = ", ".join(f'%{key}: {types[key]} {{weir.name = "{key}"}}' for key in self.operands)
        body = self.body
        for key, text in types.items():
            body = body.replace("{" + key + "}", text)
        return f"""module attributes {{weir.stage = "import"}} {{
  func.func @main({heads}) -> ({types["r"]} {{weir.name = "r"}}) attributes {{weir.entry = "main"}} {{
{body}
  }}
}}
"""

    def write_inputs(self, path, sizes):
        with zipfile.ZipFile(path, "w") as file:
            for number, (key, names) in enumerate(self.operands.items()):
                shape = [name if isinstance(name, int) else sizes[name] for name in names]
                file.writestr(key + ".npy", npy(tuple(shape), values(shape, number)))


def slice_behind_first(whole, part):
    """All but the first line of matrices."""
    bounds = "".join(f"    %{name} = weir.constant dense<{value}> : tensor<1xi64>\n"
                     for name, value in (("from", 1), ("to", 2**31 - 1), ("by", 1)))
    return (f"{bounds}    %part = weir.slice %{whole}, %from, %to, %by {{axes = array<i64: 1>, "
            f"strict = false}} : ({{{whole}}}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> "
            f"{{{part}}}\n")


def reduce(kind, axis, of, to):
    return (f'weir.reduce {of} {{axes = array<i64: {axis}>, keep_dims = true, kind = "{kind}"}} : '
            f"({{x}}) -> {{{to}}}")


SOFTMAX = f"""    %0 = {reduce("max", 1, "%x", "o")}
    %1 = weir.sub %x, %0 : ({{x}}, {{o}}) -> {{x}}
    %2 = weir.exp %1 : ({{x}}) -> {{x}}
    %3 = {reduce("sum", 1, "%2", "o")}
    %4 = weir.div %2, %3 : ({{x}}, {{o}}) -> {{x}}
    return %4 : {{x}}"""


def lone(kind):
    return f"    %0 = {reduce(kind, 1, '%x', 'r')}\n    return %0 : {{r}}"


LENGTHS = [{"N": n, "L": length} for n, length in
           ((3, 1), (2, 3), (5, 15), (4, 16), (2, 17), (3, 63), (3, 64), (2, 65), (7, 200), (0, 5),
            (2, 9000))]
COLUMNS = [{"N": n, "L": length, "O": 1} for n, length in
           ((3, 1), (2, 15), (4, 16), (2, 17), (3, 63), (5, 65), (2, 513), (300, 1100))]

CASES = [
    Case("softmax", {"x": "NL"}, {"r": ("NL", "f32"), "o": (["N", 1], "f32")}, SOFTMAX, LENGTHS,
         ["row_reduction"]),
    Case("mean", {"x": "NL"}, {"r": (["N", 1], "f32")}, lone("mean"), LENGTHS, ["row_reduction"]),
    Case("maximum", {"x": "NL"}, {"r": (["N", 1], "f32")}, lone("max"), LENGTHS, ["row_reduction"]),
    Case("product", {"x": "NL"}, {"r": (["N", 1], "f32")}, lone("prod"), LENGTHS, ["row_reduction"]),
] + [
    Case("columns " + kind, {"x": "NL"}, {"r": ([1, "L"], "f32")},
         f"    %0 = {reduce(kind, 0, '%x', 'r')}\n    return %0 : {{r}}", COLUMNS, ["lanes"])
    for kind in ("sum", "mean", "min", "prod")
] + [
    # Columns of what is computed of two tensors, of which one may turn out to have one column.
    Case("columns of differences " + "".join(y), {"x": "NL", "y": y}, {"r": ([1, "L"], "f32")},
         f"""    %0 = weir.sub %x, %y : ({{x}}, {{y}}) -> {{x}}
    %1 = weir.mul %0, %0 : ({{x}}, {{x}}) -> {{x}}
    %2 = {reduce("sum", 0, "%1", "r")}
    %3 = weir.sqrt %2 : ({{r}}) -> {{r}}
    return %3 : {{r}}""", COLUMNS, ["lanes"])
    for y in ("NL", ["N", "O"])
] + [
    Case(f"extreme {largest} {last}", {"x": "NL"}, {"r": ([1, "L"], "i64")},
         f"""    %0 = weir.arg_reduce %x {{largest = {largest}, axis = 0 : i64, keep_dims = true, """
         f"""select_last = {last}, index_type = i64}} : ({{x}}) -> {{r}}
    return %0 : {{r}}""", COLUMNS, ["lanes"])
    for largest in ("true", "false") for last in ("true", "false")
] + [
    Case("matrices", {"x": "MK", "y": "KN"}, {"r": ("MN", "f32")},
         f"    %0 = weir.dot_general %x, %y {dot('f32')} : ({{x}}, {{y}}) -> {{r}}\n"
         "    return %0 : {r}",
         [{"M": m, "K": k, "N": n} for m, k, n in
          ((1, 5, 3), (3, 512, 33), (70, 130, 300), (150, 1025, 65), (301, 129, 257), (2, 0, 4))],
         ["gemm"]),
    Case("lines along the depth", {"x": "MK", "y": "NK"}, {"r": ("MN", "f32"), "t": ("KN", "f32")},
         "    %t = weir.transpose %y {permutation = array<i64: 1, 0>} : ({y}) -> {t}\n"
         f"    %0 = weir.dot_general %x, %t {dot('f32')} : ({{x}}, {{t}}) -> {{r}}\n"
         "    return %0 : {r}",
         [{"M": m, "K": k, "N": n} for m, k, n in
          ((1, 5, 3), (3, 512, 33), (70, 130, 300), (150, 1025, 65), (2, 0, 4), (9, 31, 48))],
         ["gemm"]),
    Case("side by side", {"x": "BMK", "y": "BKN"}, {"r": ("BMN", "f32")},
         f"    %0 = weir.dot_general %x, %y {dot('f32', ': 0', '2', '1')} : ({{x}}, {{y}}) -> {{r}}\n"
         "    return %0 : {r}",
         [{"B": 2, "M": 70, "K": 200, "N": 203}, {"B": 3, "M": 4, "K": 9, "N": 16}], ["gemm"]),
    # Open slices are cut out by the product, fixed ones are copied.
    Case("a slice's columns", {"x": "BMK", "y": "BLK"},
         {"r": ("BMP", "f32"), "p": ("BPK", "f32"), "t": ("BKP", "f32")},
         slice_behind_first("y", "p") +
         "    %t = weir.transpose %part {permutation = array<i64: 0, 2, 1>} : ({p}) -> {t}\n"
         f"    %0 = weir.dot_general %x, %t {dot('f32', ': 0', '2', '1')} : ({{x}}, {{t}}) -> {{r}}\n"
         "    return %0 : {r}",
         [{"B": b, "M": m, "K": k, "L": rows, "P": max(rows - 1, 0)} for b, m, k, rows in
          ((2, 4, 64, 129), (3, 1, 9, 17), (2, 70, 130, 66), (2, 3, 8, 1))], ["gemm"]),
    Case("a slice's rows", {"x": "BMP", "y": "BLN"}, {"r": ("BMN", "f32"), "p": ("BPN", "f32")},
         slice_behind_first("y", "p") +
         f"    %0 = weir.dot_general %x, %part {dot('f32', ': 0', '2', '1')} : ({{x}}, {{p}}) -> "
         "{r}\n    return %0 : {r}",
         [{"B": b, "M": m, "N": n, "L": rows, "P": max(rows - 1, 0)} for b, m, n, rows in
          ((2, 4, 64, 129), (3, 1, 9, 17), (2, 70, 130, 66), (2, 3, 8, 1))], ["gemm"]),
    Case("several columns", {"x": "BSD", "y": ["D", "H", 8]},
         {"r": (["B", "S", "H", 8], "f32")},
         f"    %0 = weir.dot_general %x, %y {dot('f32', '', '2', '0')} : ({{x}}, {{y}}) -> {{r}}\n"
         "    return %0 : {r}", [{"B": 2, "S": 5, "D": 16, "H": 3}], ["gemm"]),
    Case("several sums", {"x": ["B", "S", "H", 8], "y": ["H", 8, "D"]},
         {"r": ("BSD", "f32")},
         f"    %0 = weir.dot_general %x, %y {dot('f32', '', '2, 3', '0, 1')} : ({{x}}, {{y}}) -> "
         "{r}\n    return %0 : {r}", [{"B": 2, "S": 5, "D": 16, "H": 3}], ["gemm"]),
]


def weights(depth, columns, value):
    """A product with a constant matrix, of which one row may be there, or some."""
    matrix = tensor([depth, columns])
    return (f"    %w = weir.constant dense<{value}> : {matrix}\n"
            f"    %0 = weir.dot_general %x, %w {dot('f32')} : ({{x}}, {matrix}) -> {{r}}\n"
            "    %1 = weir.add %0, %y : ({r}, {y}) -> {r}\n    return %1 : {r}")


# Panels side by side, of which the last is narrower, and a sum that takes several parts.
CASES += [
    Case(f"weights {depth} by {columns}", {"x": ["M", depth], "y": [columns]},
         {"r": (["M", columns], "f32")}, weights(depth, columns, value),
         [{"M": m} for m in (1, 0, 2, 3, 5, 17)], ["gemm"])
    for depth, columns, value in (
        (21, 170, '"0x' + array.array("f", values([21, 170], 3)).tobytes().hex() + '"'),
        (9, 30, '"0x' + array.array("f", values([9, 30], 3)).tobytes().hex() + '"'),
        (3200, 170, "0.3"))
]

# Operands that are stretched along different dimensions, which only running tells.
BROADCASTS = [dict(zip("ABCDEFRST", [*x, *y, *(b if a == 1 else a for a, b in zip(x, y))]))
              for x, y in (((3, 4, 5), (3, 4, 5)), ((3, 4, 5), (1, 1, 5)), ((3, 1, 1), (3, 4, 5)),
                           ((1, 4, 1), (3, 1, 5)), ((3, 4, 1), (3, 4, 5)), ((3, 4, 1), (1, 4, 1)),
                           ((2, 1, 40), (2, 70, 1)), ((1, 1, 1), (6, 1, 7)), ((0, 4, 5), (1, 4, 1)),
                           ((300, 2, 1), (300, 1, 1)), ((1, 1, 90), (90, 9, 1)))]
CASES += [
    Case("two operands", {"x": "ABC", "y": "DEF"}, {"r": ("RST", "f32")},
         "    %0 = weir.sub %x, %y : ({x}, {y}) -> {r}\n    return %0 : {r}", BROADCASTS, []),
    Case("three operands", {"x": "ABC", "y": "DEF", "z": ["A", 1, "F"]}, {"r": ("RST", "f32")},
         "    %0 = weir.tanh %x : ({x}) -> {x}\n    %1 = weir.sub %0, %y : ({x}, {y}) -> {r}\n"
         "    %2 = weir.mul %z, %1 : ({z}, {r}) -> {r}\n    return %2 : {r}",
         [each for each in BROADCASTS if each["A"] == each["R"] and each["F"] == each["T"]], []),
    Case("fewer dimensions", {"x": "ABC", "y": "EF"}, {"r": ("RST", "f32")},
         "    %0 = weir.sub %x, %y : ({x}, {y}) -> {r}\n    return %0 : {r}",
         [each for each in BROADCASTS if each["A"] == each["R"]], []),
    # What stays along a row by its type, beside what may turn out to.
    Case("lines", {"x": "RST", "y": ["S", 1], "z": ["D", "E", "T"], "u": ["R", 1, 1]},
         {"r": ("RST", "f32")},
         "    %0 = weir.sub %x, %y : ({x}, {y}) -> {x}\n    %1 = weir.mul %0, %u : ({x}, {u}) -> {x}\n"
         "    %2 = weir.add %1, %z : ({x}, {z}) -> {r}\n    return %2 : {r}",
         [each for each in BROADCASTS if each["D"] in (1, each["R"]) and each["F"] == each["T"]], []),
    Case("short rows", {"x": ["A", "B", 3], "y": ["D", "E", 1]}, {"r": (["R", "S", 3], "f32")},
         "    %0 = weir.sub %x, %y : ({x}, {y}) -> {r}\n    return %0 : {r}", BROADCASTS, []),
]


WINDOW = ("strides = array<i64: {s}, {s}>, pads = array<i64: {p}, {p}, {p}, {p}>, dilations = "
          "array<i64: 1, 1>, ")
IMAGES = [{"H": h, "W": w} for h, w in ((9, 7), (5, 13), (8, 40), (3, 3), (20, 6))]


def pool(kind, stride, pad):
    window = WINDOW.replace("{s}", str(stride)).replace("{p}", str(pad))
    return ('    %0 = weir.pool %x {kind = "' + kind + '", window = array<i64: 3, 3>, ' + window +
            "ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : "
            "({x}) -> {r}\n    return %0 : {r}")


CASES += [
    Case("pool " + kind, {"x": [1, "H", "W", 20]}, {"r": ([1, "H", "W", 20], "f32")},
         pool(kind, 1, 1), IMAGES, ["lanes"]) for kind in ("max", "average")
]
# Windows along the last dimension, of rows and columns that the border cuts and others, and of images
# that are nothing but border.
CASES += [
    Case(f"rows of maxima {border} by {stride}", {"x": [2, "C", "H", "W"]},
         {"r": ([2, "C", "P", "Q"], "f32")},
         pool("max", stride, border).replace("channels_last = true", "channels_last = false"),
         [{**each, "P": (each["H"] + 2 * border - 3) // stride + 1,
           "Q": (each["W"] + 2 * border - 3) // stride + 1, "C": 9}
          for each in IMAGES + [{"H": 3, "W": 1}, {"H": 1, "W": 70}]
          if border or min(each["H"], each["W"]) > 2], [])
    for stride, border in ((1, 0), (1, 1), (2, 1), (3, 2))
]


def convolution(stride, pad=0):
    window = WINDOW.replace("{s}", str(stride)).replace("{p}", str(pad))
    return ("    %0 = weir.conv %x, %y {" + window + "groups = 1 : i64, channels_last = true, "
            "accumulator = f32} : ({x}, {y}) -> {r}\n    return %0 : {r}")


def results(stride):
    """P and Q are what a window of 3x3 makes of H and W."""
    return [{**each, "P": (each["H"] - 3) // stride + 1, "Q": (each["W"] - 3) // stride + 1}
            for each in IMAGES + [{"H": 16, "W": 9}, {"H": 4, "W": 31}, {"H": 40, "W": 31}]]


# Lines of few windows and of many, that the input ends within or before.
CASES += [
    Case(f"depthwise {window}x{window} by {stride}",
         {"x": [1, "H", "W", 20], "y": [window, window, 1, 20]}, {"r": ([1, "P", "Q", 20], "f32")},
         convolution(stride, window // 2).replace("groups = 1 ", "groups = 20 "),
         [{**each, "P": (each["H"] - 1) // stride + 1, "Q": (each["W"] - 1) // stride + 1}
          for each in IMAGES + [{"H": 1, "W": 1}, {"H": 2, "W": 14}, {"H": 7, "W": 27}]], ["lanes"])
    for window in (3, 5) for stride in (1, 2)
]

# Lines by twos, of which the last may be alone, and tiles that do not fill them.
CASES += [
    Case(f"convolution by {stride}", {"x": [2, "H", "W", 24], "y": [3, 3, 24, 40]},
         {"r": ([2, "P", "Q", 40], "f32")}, convolution(stride), results(stride), ["convolution"])
    for stride in (1, 2)
] + [
    Case("positions", {"x": [2, "H", "W", 24], "y": [1, 1, 24, 40]},
         {"r": ([2, "H", "W", 40], "f32")}, convolution(1), IMAGES, ["gemm"])
]


def padded(pads="[0, 1, 2, 0, 0, 1, 1, 0]"):
    """What is padded is computed inside of the padded image, whose border is written alone."""
    window = WINDOW.replace("{p}", "0") + "groups = 1 : i64, channels_last = true, accumulator = f32"
    return ("    %0 = weir.conv %x, %y {" + window.replace("{s}", "1") + "} : ({x}, {y}) -> {a}\n"
            f"    %pads = weir.constant dense<{pads}> : tensor<8xi64>\n"
            "    %rim = weir.constant dense<1.5> : tensor<f32>\n"
            '    %1 = weir.pad %0, %pads, %rim {mode = "constant"} : ({a}, tensor<8xi64>, tensor<f32>) '
            "-> {b}\n    %2 = weir.conv %1, %z {" + window.replace("{s}", "2") +
            "} : ({b}, {z}) -> {r}\n    return %2 : {r}")


PADDED = [{**each, "A": each["H"] + 2, "B": each["W"] + 3, "P": (each["H"] + 1) // 2,
           "Q": each["W"] // 2 + 1} for each in IMAGES]
FILTERS = {"y": [1, 1, 24, 40], "z": [3, 3, 40, 24]}
CASES += [
    Case("padded images", {"x": [1, "H", "W", 24], **FILTERS},
         {"r": ([1, "P", "Q", 24], "f32"), "a": ([1, "H", "W", 40], "f32"),
          "b": ([1, "A", "B", 40], "f32")}, padded(), PADDED, ["gemm", "convolution"]),
    Case("padded batches", {"x": ["N", 9, 8, 24], **FILTERS},
         {"r": (["N", 5, 5, 24], "f32"), "a": (["N", 9, 8, 40], "f32"),
          "b": (["N", 11, 11, 40], "f32")}, padded(), [{"N": n} for n in (0, 1, 2, 5)],
         ["convolution", "convolution"]),
]


def strategies(text):
    found = re.findall(r'weir_plan.kernel @\S+ schedule <(\w+)', text)
    return [each for each in found if each != "loops"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")


def contents(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def floats(data):
    found = array.array("f")
    found.frombytes(data[10 + int.from_bytes(data[8:10], "little"):])
    return found


def agree(sizes, fixed, opened):
    if fixed == opened:
        return True
    if 4 <= sizes.get("L", 4) <= 8192:
        return False
    return all(abs(x - y) <= 1e-5 * (abs(x) + 1e-30)
               for name in fixed for x, y in zip(floats(fixed[name]), floats(opened[name])))


def main():
    _, _, folder, weir_run, weirc = sys.argv
    for case in CASES:
        model, kernels = os.path.join(folder, "open.mlir"), os.path.join(folder, "kernels.mlir")
        with open(model, "w") as file:
            file.write(case.text(None))
        run([weirc, model, "--stop-after=kernelize", "-o", kernels])
        with open(kernels) as file:
            found = strategies(file.read())
        if found != case.strategies:
            sys.exit(f"{case.name}: strategies {found}")
        for sizes in case.sizes:
            fixed, inputs = os.path.join(folder, "fixed.mlir"), os.path.join(folder, "in.npz")
            with open(fixed, "w") as file:
                file.write(case.text(sizes))
            case.write_inputs(inputs, sizes)
            results = []
            for program, threads in ((fixed, 1), (model, 1), (model, 3)):
                out = os.path.join(folder, "out.npz")
                run([weir_run, program, f"--input={inputs}", f"--threads={threads}",
                     f"--output={out}"])
                results.append(contents(out))
            if not agree(sizes, results[0], results[1]) or results[1] != results[2]:
                sys.exit(f"{case.name}: {sizes} differs")
        print(f"{case.name} is the same")


if __name__ == "__main__":
    main()
