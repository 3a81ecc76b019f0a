#===- doubles.py - the same operations on f32 and f64, quotients of integers --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: doubles.py graph > G.pbtxt | doubles.py values IN.npz | doubles.py check IN.npz OUT.npz

Windows, reductions and convolutions of small whole numbers, whose results are exact in f32, in
f64 and, of some, in halves: what differs is wrong. Quotients and remainders of integers, beside Python's."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/Inputs"))
import npz

IMAGE, TAPS, DEPTHWISE, BACK = (2, 9, 11, 20), (3, 3, 20, 10), (3, 3, 20, 1), (2, 2, 6, 20)
# Operation, operands, attributes.
CASES = {
    "Conv2D": ("Conv2D", ["x", "w"], {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    "Depthwise": ("DepthwiseConv2dNative", ["x", "d"], {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    "Transposed": ("Conv2DBackpropInput", ["sizes", "b", "x"],
                   {"strides": [1, 2, 2, 1], "padding": "SAME"}),
    "MaxPool": ("MaxPool", ["x"], {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
    "AvgPool": ("AvgPool", ["x"], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}),
    "Sum": ("Sum", ["x", "axis"], {"Tidx": "DT_INT32"}),
    "Max": ("Max", ["x", "axis"], {"Tidx": "DT_INT32"}),
    "SumOfMany": ("Sum", ["m", "first"], {"Tidx": "DT_INT32"}),
    "ArgMax": ("ArgMax", ["x", "one"], {"output_type": "DT_INT32", "Tidx": "DT_INT32"}),
    "ArgMin": ("ArgMin", ["x", "one"], {"output_type": "DT_INT64", "Tidx": "DT_INT32"}),
}
# Those whose results are exact in halves, too; of sizes that are known, and open.
NARROW = {"_f16": "DT_HALF", "_bf16": "DT_BFLOAT16", "_open_f16": "DT_HALF", "_open_bf16": "DT_BFLOAT16"}
IN_HALVES = ("Max", "ArgMax", "ArgMin")
INTEGERS = {"int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1), "int16": (-2**15, 2**15 - 1),
            "uint16": (0, 2**16 - 1), "int8": (-128, 127), "uint8": (0, 255)}
DIVISIONS = {"TruncateDiv": lambda x, y: int_quotient(x, y),
             "TruncateMod": lambda x, y: x - y * int_quotient(x, y),
             "FloorDiv": lambda x, y: x // y, "FloorMod": lambda x, y: x % y}


def divisions(kind):
    """TensorFlow has remainders that are cut for words alone."""
    return [name for name in DIVISIONS if name != "TruncateMod" or kind == "int32"]


def int_quotient(x, y):
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def attribute(name, value):
    if isinstance(value, list):
        text = "list { " + " ".join("i: %d" % v for v in value) + " }"
    elif value.startswith("DT_"):
        text = "type: " + value
    else:
        text = 's: "%s"' % value
    return ' attr { key: "%s" value { %s } }' % (name, text)


def node(name, operation, inputs, **attributes):
    print('node { name: "%s" op: "%s"' % (name, operation) +
          "".join(' input: "%s"' % i for i in inputs) +
          "".join(attribute(*pair) for pair in attributes.items()) + " }")


def placeholder(name, shape):
    dims = " ".join("dim { size: %d }" % size for size in shape)
    print('node { name: "%s" op: "Placeholder" attr { key: "dtype" value { type: DT_DOUBLE } } '
          'attr { key: "shape" value { shape { %s } } } }' % (name, dims))


def constant(name, values, scalar=False):
    dims = "" if scalar else "dim { size: %d }" % len(values)
    print('node { name: "%s" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" '
          'value { tensor { dtype: DT_INT32 tensor_shape { %s } %s } } } }'
          % (name, dims, " ".join("int_val: %d" % v for v in values)))


SHAPES = {"x": IMAGE, "x_open": IMAGE, "w": TAPS, "d": DEPTHWISE, "b": BACK, "m": (1024, 1024)}


def values():
    made = random.Random(7)
    arrays = {name: (list(shape), [float(made.randint(-9, 9)) for _ in range(size_of(shape))])
              for name, shape in SHAPES.items()}
    for name, (low, high) in INTEGERS.items():
        edges = [low, low + 1, high, high - 1, 1, 2, 3, 7]
        x = edges * len(edges) + [made.randint(low, high) for _ in range(936)]
        y = [edge for edge in edges for _ in edges] + [made.randint(low, high) for _ in range(936)]
        # Multiples, and what lies beside them, where a rounded quotient would be the next one.
        for i in range(64, 700):
            y[i] = made.choice([v for v in (made.randint(low, high), made.randint(1, 100)) if v])
            x[i] = min(max(y[i] * (high // 3 // abs(y[i]) or 1) + i % 3 - 1, low), high)
        arrays["x" + name] = ([1000], [float(v) for v in x])
        arrays["y" + name] = ([1000], [float(v or 1) for v in y])
    arrays["x_open"] = arrays["x"]
    return arrays


def size_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def graph():
    for name, shape in SHAPES.items():
        placeholder(name, [-1] * len(shape) if name == "x_open" else shape)
        node(name + "_f32", "Cast", [name], SrcT="DT_DOUBLE", DstT="DT_FLOAT")
    constant("axis", [1, 2])
    constant("first", [0])
    constant("one", [1], scalar=True)
    constant("sizes", [2, 18, 21, 6])
    for name, (operation, inputs, attributes) in CASES.items():
        for suffix, kind in (("_f32", "DT_FLOAT"), ("", "DT_DOUBLE")):
            own = [i + suffix if i in SHAPES else i for i in inputs]
            node(name + suffix, operation, own, T=kind, **attributes)
            node("out_" + name + suffix, "Cast", [name + suffix],
                 SrcT=attributes.get("output_type", kind), DstT="DT_DOUBLE")
    for suffix, kind in NARROW.items():
        node("x" + suffix, "Cast", ["x_open" if "open" in suffix else "x"], SrcT="DT_DOUBLE", DstT=kind)
        if kind == "DT_HALF":  # so that it lies in memory
            node("kept" + suffix, "Identity", ["x" + suffix], T=kind)
        for name in IN_HALVES:
            operation, inputs, attributes = CASES[name]
            node(name + suffix, operation, ["x" + suffix, inputs[1]], T=kind, **attributes)
            node("out_" + name + suffix, "Cast", [name + suffix],
                 SrcT=attributes.get("output_type", kind), DstT="DT_FLOAT")
    for kind in INTEGERS:
        for operand in "xy":
            placeholder(operand + kind, (1000,))
            node(operand + "_" + kind, "Cast", [operand + kind], SrcT="DT_DOUBLE", DstT=dtype(kind))
        for operation in divisions(kind):
            node(operation + "_" + kind, operation, ["x_" + kind, "y_" + kind], T=dtype(kind))
            node("out_%s_%s" % (operation, kind), "Cast", [operation + "_" + kind], SrcT=dtype(kind),
                 DstT="DT_DOUBLE")


def dtype(kind):
    return "DT_" + kind.upper()


def check(given, results):
    for name in CASES:
        one, other = results["out_" + name], results["out_" + name + "_f32"]
        print(name, "is right" if one == other and any(one[1]) else "is wrong")
    for name in IN_HALVES:
        for suffix in NARROW:
            right = results["out_" + name + suffix] == results["out_" + name]
            print(name + suffix, "is right" if right else "is wrong")
    for kind, (low, high) in INTEGERS.items():
        x, y = given["x" + kind][1], given["y" + kind][1]
        for operation in divisions(kind):
            function = DIVISIONS[operation]
            # The lowest by -1 wraps.
            wanted = [(function(int(a), int(b)) - low) % (high - low + 1) + low for a, b in zip(x, y)]
            got = results["out_%s_%s" % (operation, kind)][1]
            print(operation, kind, "is right" if got == wanted else "is wrong")


if sys.argv[1] == "graph":
    graph()
elif sys.argv[1] == "values":
    npz.write(sys.argv[2], values(), "d")
else:
    check(npz.read(sys.argv[2]), npz.read(sys.argv[3]))
