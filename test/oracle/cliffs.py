#!/usr/bin/env python3
#===- cliffs.py - Models whose times may have cliffs --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws models of one operator for weir-bench cliffs.

usage: cliffs.py FOLDER [REGEX]

Every operator that weir imports, at its newest version, with each type its schema allows
of TYPES; at a small and a large size; sizes fixed, open and bounded; operands behind the
first fed and constant; the first operand as it is, or transposed. REGEX chooses operators.
FOLDER/list.tsv describes the models; weir-bench says how.
"""
import argparse
import os
import re
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper  # noqa: E402

import cases  # noqa: E402
import onnx_single  # noqa: E402
import onnx_source  # noqa: E402
import pool  # noqa: E402
import values  # noqa: E402

TYPES = ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int4", "int32"]
SIZES = {"small": ([(1.1, (15, 16, 17, 31, 32))], 20000),
         "large": ([(1.1, (63, 64, 65, 128, 129, 200))], 2000000)}
ATTEMPTS = 60


def is_run(drawn):
    """Whether ONNX Runtime runs the node, where it is there and knows operator and types."""
    model, feeds, _ = model_of(drawn, "fixed", "fed", "plain")
    if any(value.dtype.kind not in "biuf" or value.dtype.name == "int4" for value in feeds.values()):
        return True
    try:
        import onnxruntime as ort
    except ImportError:
        return True
    # What it asserts ends its process.
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    code = 0
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        options = ort.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        ort.InferenceSession(model.SerializeToString(), options).run(None, feeds)
    except Exception as error:
        code = 0 if type(error).__name__ == "NotImplemented" else 1
    os._exit(code)


def without_zeros(drawn):
    """Integers are not divided by zero, which ends ONNX Runtime's process."""
    if drawn.schema.name in ("Div", "Mod") and drawn.inputs[1].dtype.kind in "iu":
        drawn.inputs[1] = np.where(drawn.inputs[1] == 0, 1, drawn.inputs[1]).astype(drawn.inputs[1].dtype)


def draw(schema, dtype, size, number):
    """The first draw of its seed whose first operand has the type, and that is run."""
    values.SIZES, values.LARGEST = SIZES[size]
    values.kind_of_values = lambda random: "calm"
    onnx_single.Draw.ensembles = "timed"
    for attempt in range(ATTEMPTS):
        random = np.random.default_rng([number, attempt])
        drawn = onnx_single.Draw(random, schema)
        if schema.inputs:
            allowed = [onnx_single.numpy_type(t) for t in
                       schema.types.get(schema.inputs[0].type, [schema.inputs[0].type])]
            fit = [t for t in allowed if t is not None and t.name == dtype]
            if not fit:
                return None
            drawn.bound[schema.inputs[0].type] = fit[0]
        try:
            drawn.draw()
        except (cases.Reject, ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError):
            continue
        if not drawn.inputs or drawn.inputs[0] is None or not drawn.inputs[0].size:
            continue
        fewest = 3000 if size == "small" else 100000
        if sum(v.size for v in drawn.inputs if v is not None) < fewest / 4:
            continue
        without_zeros(drawn)
        if is_run(drawn):
            return drawn
    return None


def flops(drawn):
    """Of what adds products or walks through trees; otherwise one an element."""
    name, inputs = drawn.schema.name, [v for v in drawn.inputs if v is not None]
    size = drawn.sizes
    if name.startswith("TreeEnsemble"):
        return 3.0 * inputs[0].shape[0] * drawn.steps
    if re.search("MatMul|Gemm", name) and "K" in size:
        batch = np.prod(drawn.lists.get("B", [1]))
        return 2.0 * batch * size["M"] * size["N"] * size["K"]
    if "Conv" in name and "K" in drawn.lists and len(inputs) > 1:
        return 2.0 * inputs[0].size * np.prod(drawn.lists["K"]) * size.get("M", 1)
    return float(sum(v.size for v in inputs))


def model_of(drawn, form, operands, layout):
    schema, names, infos, constants, feeds, bounds = drawn.schema, [], [], [], {}, []
    nodes = []
    for i, value in enumerate(drawn.inputs):
        if value is None:
            names.append("")
            continue
        name = "x%d" % i
        names.append(name)
        if i and (operands == "const" or value.ndim < 2 and value.dtype.kind == "i"):
            constants.append(onnx_single.tensor_of(value, name))
            continue
        if not i and layout == "transposed":
            order = list(range(value.ndim))[::-1]
            value = np.ascontiguousarray(value.transpose(order))
            nodes.append(helper.make_node("Transpose", ["t0"], ["x0"], perm=order))
            name = "t0"
        dims = list(value.shape)
        if form != "fixed":
            dims = onnx_single.open_dims(schema, i, value, len(drawn.inputs))
            if form == "bounded":
                bounds += ["%s=1..%d" % (d, 2 * s) for d, s in zip(dims, value.shape)
                           if isinstance(d, str)]
        infos.append(helper.make_tensor_value_info(name, onnx_single.element_type(value.dtype), dims))
        feeds[name] = value
    outputs = ["y%d" % i for i in range(drawn.outputs())]
    attributes = {k: v for k, v in drawn.attributes.items() if v is not None}
    nodes.append(helper.make_node(schema.name, names, outputs, name="node", domain=schema.domain,
                                  **attributes))
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs],
                              initializer=constants)
    imports = [helper.make_opsetid(schema.domain, drawn.opset)]
    if schema.domain:
        imports.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, ir_version=10, opset_imports=imports), feeds, bounds


def stored(feeds):
    """Types that .npz has no name for lie there as bits, with the type behind a bar."""
    packed = {}
    for name, value in feeds.items():
        if value.dtype.kind == "V" or value.dtype.name in ("bfloat16", "int4"):
            bits = value.view(np.uint16) if value.dtype.itemsize == 2 else value.astype(np.int8)
            packed["%s|%s" % (name, value.dtype.name)] = bits
        else:
            packed[name] = value
    return packed


def arguments(description):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("regex", nargs="?", default="")
    return parser.parse_args()


class Models:
    """The models in a folder, and the list of them."""

    def __init__(self, folder, letter):
        self.folder, self.letter, self.count = folder, letter, 0
        os.makedirs(folder, exist_ok=True)
        self.listed = open(os.path.join(folder, "list.tsv"), "w")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listed.close()
        print("%d models in %s" % (self.count, self.folder))

    def add(self, model, feeds, fields, operations, bounds=""):
        """`fields`: operator, type, size, sizes, operands, layout."""
        stem = "%s%d" % (self.letter, self.count)
        self.count += 1
        onnx.save(model, os.path.join(self.folder, stem + ".onnx"))
        np.savez(os.path.join(self.folder, stem + ".npz"), **stored(feeds))
        self.listed.write("\t".join([*fields, stem, "%g" % operations, bounds]) + "\n")


def main():
    asked = arguments(__doc__)
    build = os.environ.get("WEIR_BUILD") or os.path.join(pool.ROOT, "build", "release")
    known = onnx_source.imported(build)
    newest = {}
    for schema in onnx_single.all_schemas():
        if (schema.domain, schema.name) in known and re.search(asked.regex, schema.key):
            newest[schema.domain, schema.name] = schema
    with Models(asked.folder, "m") as models:
        for _, schema in sorted(newest.items()):
            # The same models, whichever operators are drawn beside it.
            number = zlib.crc32(schema.key.encode())
            for dtype in TYPES:
                for size in SIZES:
                    try:
                        drawn = draw(schema, dtype, size, number)
                    except cases.Reject:
                        continue
                    if drawn is None:
                        continue
                    several = sum(v is not None for v in drawn.inputs) > 1
                    for form in ("fixed", "open", "bounded"):
                        for operands in ("fed", "const") if several else ("fed",):
                            for layout in ("plain", "transposed") if drawn.inputs[0].ndim > 1 and \
                                    form == "fixed" and operands == "fed" else ("plain",):
                                model, feeds, bounds = model_of(drawn, form, operands, layout)
                                name = schema.key.rsplit("-", 1)[0]
                                models.add(model, feeds,
                                           [name, dtype, size, form, operands, layout],
                                           flops(drawn), " ".join(bounds))


if __name__ == "__main__":
    main()
