#!/usr/bin/env python3
# ===- onnx_families.py - models of well-known families, as ONNX -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Each function writes a model and gives its node count and inputs to try it on.

Sizes are small where a family's structure does not need large ones. Where a
model's shapes are open, the inputs have several.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from graph_builder import Builder


def floats(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def vision_transformer(path):
    """ViT-Tiny on 224 x 224: 12 blocks of 192, 3 heads, patches of 16."""
    b = Builder(1)
    hidden, heads, blocks, patches = 192, 3, 12, 196
    x = b.input("image", "f32", ["batch", 3, 224, 224])
    x = b.op("Conv", x, b.weight(hidden, 3, 16, 16), b.weight(hidden, scale=0.1),
             kernel_shape=[16, 16], strides=[16, 16])
    x = b.op("Transpose", b.op("Reshape", x, b.ints(0, hidden, -1)), perm=[0, 2, 1])
    batch = b.op("Slice", b.op("Shape", x), b.ints(0), b.ints(1))
    token = b.op("Expand", b.weight(1, 1, hidden, scale=0.1),
                 b.op("Concat", batch, b.ints(1, hidden), axis=0))
    x = b.op("Add", b.op("Concat", token, x, axis=1),
             b.weight(1, patches + 1, hidden, scale=0.02))
    for _ in range(blocks):
        x = b.op("Add", x, b.attention(b.layer_norm(x, hidden), hidden, heads))
        up = b.gelu(b.dense(b.layer_norm(x, hidden), hidden, 4 * hidden))
        x = b.op("Add", x, b.dense(up, 4 * hidden, hidden))
    first = b.op("Gather", b.layer_norm(x, hidden), b.constant(0, np.int64), axis=1)
    b.op("Identity", b.dense(first, hidden, 1000), out="logits")
    b.output("logits")
    return b.model(path), [{"image": floats(n, n, 3, 224, 224)} for n in (1, 2)]


def detector(path):
    """YOLO-like: a CSP backbone, three scales, boxes decoded and suppressed inside."""
    b = Builder(2)
    classes, size = 8, 128

    def block(x, given, made, stride=1):
        return b.silu(b.batch_norm(b.conv(x, given, made, 3, stride), made))

    def csp(x, channels):
        left, right = b.op("Split", x, outputs=2, axis=1)
        inner = block(block(right, channels // 2, channels // 2), channels // 2, channels // 2)
        return b.op("Concat", left, b.op("Add", right, inner), axis=1)

    x = b.input("image", "f32", [1, 3, size, size])
    x = block(x, 3, 16, 2)
    x = csp(block(x, 16, 32, 2), 32)
    p3 = csp(block(x, 32, 64, 2), 64)
    p4 = csp(block(p3, 64, 128, 2), 128)
    p5 = csp(block(p4, 128, 256, 2), 256)
    up = b.op("Resize", p5, "", b.floats([1, 1, 2, 2]), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    n4 = block(b.op("Concat", up, p4, axis=1), 384, 128)
    up = b.op("Resize", n4, "", b.floats([1, 1, 2, 2]), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    n3 = block(b.op("Concat", up, p3, axis=1), 192, 64)
    boxes, scores = [], []
    for feature, channels, stride in ((n3, 64, 8), (n4, 128, 16), (p5, 256, 32)):
        cells = size // stride
        head = b.op("Reshape", b.conv(feature, channels, 5 + classes, 1),
                    b.ints(1, 5 + classes, -1))
        head = b.op("Transpose", head, perm=[0, 2, 1])
        centre, extent, objects, kinds = b.op(
            "Split", head, b.ints(2, 2, 1, classes), outputs=4, axis=2)
        ys, xs = np.mgrid[:cells, :cells]
        grid = np.stack([xs, ys], -1).reshape(1, -1, 2)
        centre = b.op("Mul", b.op("Add", b.op("Sigmoid", centre), b.floats(grid)),
                      b.floats(stride))
        extent = b.op("Mul", b.op("Exp", extent), b.floats(2.0 * stride))
        boxes.append(b.op("Concat", centre, extent, axis=2))
        scores.append(b.op("Mul", b.op("Sigmoid", objects), b.op("Sigmoid", kinds)))
    boxes = b.op("Concat", *boxes, axis=1)
    scores = b.op("Transpose", b.op("Concat", *scores, axis=1), perm=[0, 2, 1])
    chosen = b.op("NonMaxSuppression", boxes, scores, b.ints(10), b.floats([0.5]),
                  b.floats([0.25]), center_point_box=1)
    index = b.op("Squeeze", b.op("Slice", chosen, b.ints(2), b.ints(3), b.ints(1)), b.ints(1))
    b.op("Gather", b.op("Squeeze", boxes, b.ints(0)), index, axis=0, out="chosen_boxes")
    b.op("GatherND", scores, chosen, out="chosen_scores")
    b.op("Identity", chosen, out="chosen")
    b.output("chosen", "i64")
    b.output("chosen_boxes")
    b.output("chosen_scores")
    return b.model(path), [{"image": floats(n, 1, 3, size, size)} for n in (1, 2)]


def unet(path):
    """U-Net: four levels, transposed convolutions up, skips concatenated."""
    b = Builder(3)

    def double(x, given, made):
        for channels in (given, made):
            x = b.op("Relu", b.batch_norm(b.conv(x, channels, made), made))
        return x

    x = b.input("image", "f32", [1, 1, "height", "width"])
    skips, channels = [], 1
    for made in (16, 32, 64):
        x = double(x, channels, made)
        skips.append((x, made))
        x = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        channels = made
    x = double(x, 64, 128)
    channels = 128
    for skip, made in reversed(skips):
        x = b.op("ConvTranspose", x, b.weight(channels, made, 2, 2, scale=0.1),
                 kernel_shape=[2, 2], strides=[2, 2])
        x = double(b.op("Concat", skip, x, axis=1), 2 * made, made)
        channels = made
    b.op("Sigmoid", b.conv(x, 16, 2, 1), out="mask")
    b.output("mask")
    return b.model(path), [{"image": floats(1, 1, 1, 64, 96)},
                           {"image": floats(2, 1, 1, 128, 128)}]


def bert(path, hidden=256, heads=4, blocks=4, batch="batch", length="length"):
    """BERT: open batch and length, masks, layer normalisation written out."""
    b = Builder(4)
    words, most = 1000, 512
    ids = b.input("input_ids", "i64", [batch, length])
    attention = b.input("attention_mask", "i64", [batch, length])
    kinds = b.input("token_type_ids", "i64", [batch, length])
    count = b.op("Slice", b.op("Shape", ids), b.ints(1), b.ints(2))
    places = b.op("Slice", b.constant(np.arange(most)[None], np.int64), b.ints(0), count,
                  b.ints(1))
    x = b.op("Add", b.op("Gather", b.weight(words, hidden, scale=1), ids),
             b.op("Gather", b.weight(2, hidden, scale=0.1), kinds))
    x = b.op("Add", x, b.op("Gather", b.weight(most, hidden, scale=0.1), places))
    x = b.layer_norm_expanded(x, hidden)
    mask = b.op("Cast", b.op("Unsqueeze", attention, b.ints(1, 2)), to=TensorProto.FLOAT)
    mask = b.op("Mul", b.op("Sub", b.floats(1.0), mask), b.floats(-10000.0))
    for _ in range(blocks):
        x = b.layer_norm_expanded(b.op("Add", x, b.attention(x, hidden, heads, mask)), hidden)
        up = b.gelu(b.dense(x, hidden, 4 * hidden))
        x = b.layer_norm_expanded(b.op("Add", x, b.dense(up, 4 * hidden, hidden)), hidden)
    b.op("Tanh", b.dense(b.op("Gather", x, b.constant(0, np.int64), axis=1), hidden, hidden),
         out="pooled")
    b.op("Identity", x, out="hidden")
    b.output("hidden")
    b.output("pooled")
    cases = []
    for rows, columns in BERT_SHAPES:
        random = np.random.default_rng(rows * 1000 + columns)
        valid = random.integers(1, columns + 1, (rows, 1))
        cases.append({"input_ids": random.integers(0, words, (rows, columns)),
                      "attention_mask": (np.arange(columns) < valid).astype(np.int64),
                      "token_type_ids": random.integers(0, 2, (rows, columns))})
    return b.model(path), cases


BERT_SHAPES = [(1, 16), (1, 128), (4, 64), (8, 128), (2, 512)]


def gpt2(path):
    """A decoding step of GPT-2: one token, caches that grow, a causal mask."""
    b = Builder(5)
    hidden, heads, blocks, words = 192, 4, 4, 500
    size = hidden // heads
    ids = b.input("input_ids", "i64", ["batch", "new"])
    pasts = [b.input(f"past_{i}", "f32", [2, "batch", heads, "past", size])
             for i in range(blocks)]
    old = b.op("Gather", b.op("Shape", pasts[0]), b.constant(3, np.int64))
    new = b.op("Gather", b.op("Shape", ids), b.constant(1, np.int64))
    whole = b.op("Add", old, new)
    one = b.constant(1, np.int64)
    places = b.op("Range", old, whole, one)
    x = b.op("Add", b.op("Gather", b.weight(words, hidden, scale=1), ids),
             b.op("Gather", b.weight(256, hidden, scale=0.1), places))
    keys = b.op("Range", b.constant(0, np.int64), whole, one)
    later = b.op("Greater", keys, b.op("Unsqueeze", places, b.ints(1)))
    mask = b.op("Where", later, b.floats(-1e9), b.floats(0.0))
    for i in range(blocks):
        given = b.layer_norm(x, hidden)
        q, k, v = b.op("Split", b.dense(given, hidden, 3 * hidden), outputs=3, axis=2)
        q, k, v = (b.heads(part, heads, size) for part in (q, k, v))
        k0, v0 = (b.op("Gather", pasts[i], b.constant(part, np.int64), axis=0) for part in (0, 1))
        k, v = b.op("Concat", k0, k, axis=2), b.op("Concat", v0, v, axis=2)
        b.op("Concat", b.op("Unsqueeze", k, b.ints(0)), b.op("Unsqueeze", v, b.ints(0)),
             axis=0, out=f"present_{i}")
        b.output(f"present_{i}")
        turned = b.op("Transpose", k, perm=[0, 1, 3, 2])
        x = b.op("Add", x, b.attend(q, turned, v, hidden, size, mask))
        up = b.dense(b.layer_norm(x, hidden), hidden, 4 * hidden)
        cube = b.op("Mul", b.op("Pow", up, b.floats(3.0)), b.floats(0.044715))
        inner = b.op("Mul", b.op("Add", up, cube), b.floats(np.sqrt(2 / np.pi)))
        up = b.op("Mul", b.op("Mul", up, b.floats(0.5)),
                  b.op("Add", b.op("Tanh", inner), b.floats(1.0)))
        x = b.op("Add", x, b.dense(up, 4 * hidden, hidden))
    b.op("MatMul", b.layer_norm(x, hidden), b.weight(hidden, words), out="logits")
    b.output("logits")
    cases = []
    for batch, fresh, past in ((1, 1, 0), (1, 1, 33), (2, 5, 7), (3, 1, 100)):
        random = np.random.default_rng(past)
        case = {"input_ids": random.integers(0, words, (batch, fresh))}
        for i in range(blocks):
            case[f"past_{i}"] = floats(i, 2, batch, heads, past, size)
        cases.append(case)
    return b.model(path), cases


def whisper_encoder(path):
    """Whisper-like: two convolutions along time, sinusoids, four blocks."""
    b = Builder(6)
    hidden, heads, blocks, frames = 192, 3, 4, 400
    x = b.input("mel", "f32", ["batch", 80, frames])
    x = b.gelu(b.conv(x, 80, hidden, 3, 1, rank=1))
    x = b.gelu(b.conv(x, hidden, hidden, 3, 2, rank=1))
    x = b.op("Transpose", x, perm=[0, 2, 1])
    angles = np.arange(frames // 2)[:, None] * np.exp(
        -np.log(10000) / (hidden // 2 - 1) * np.arange(hidden // 2))
    x = b.op("Add", x, b.floats(np.concatenate([np.sin(angles), np.cos(angles)], 1)))
    for _ in range(blocks):
        x = b.op("Add", x, b.attention(b.layer_norm(x, hidden), hidden, heads))
        up = b.gelu(b.dense(b.layer_norm(x, hidden), hidden, 4 * hidden))
        x = b.op("Add", x, b.dense(up, 4 * hidden, hidden))
    b.op("Identity", b.layer_norm(x, hidden), out="states")
    b.output("states")
    return b.model(path), [{"mel": floats(n, n, 80, frames)} for n in (1, 2)]


def einsums(path):
    """Einsum of every kind: products, batches, traces, outer, sums, permutations."""
    b = Builder(7)
    x = b.input("x", "f32", ["batch", 24, 32])
    y = b.input("y", "f32", ["batch", 24, 32])
    w = b.weight(4, 32, 8)
    q = b.op("Einsum", x, w, equation="bld,hdk->bhlk")
    k = b.op("Einsum", y, w, equation="bmd,hdk->bhmk")
    scores = b.op("Einsum", q, k, equation="bhlk,bhmk->bhlm")
    weights = b.op("Softmax", b.op("Div", scores, b.floats(3.0)), axis=-1)
    v = b.op("Einsum", y, b.weight(4, 32, 8), equation="bmd,hdk->bmhk")
    mixed = b.op("Einsum", weights, v, equation="bhlm,bmhk->blhk")
    b.op("Einsum", mixed, b.weight(4, 8, 32), equation="blhk,hkd->bld", out="attended")
    b.op("Einsum", x, y, equation="bld,bmd->bd", out="summed")
    b.op("Einsum", x, equation="bld->dbl", out="turned")
    b.op("Einsum", scores, equation="bhll->bh", out="trace")
    b.op("Einsum", scores, equation="bhll->bhl", out="diagonal")
    b.op("Einsum", x, y, equation="b...d,b...d->b...", out="dots")
    b.op("Einsum", b.op("Slice", x, b.ints(0), b.ints(4), b.ints(1)),
         b.weight(5, 6), equation="bld,ij->bldij", out="outer")
    b.op("Einsum", x, b.weight(32, 16), b.weight(16, 7), equation="bld,de,ef->blf", out="chain")
    for name in ("attended", "summed", "turned", "trace", "diagonal", "dots", "outer", "chain"):
        b.output(name)
    return b.model(path), [{"x": floats(n, n, 24, 32), "y": floats(9 + n, n, 24, 32)}
                           for n in (1, 3)]


def loops(path):
    """Loop with an early end and values that grow, around a Scan; If inside."""
    f32, i64, boolean = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
    info, node = helper.make_tensor_value_info, helper.make_node

    def constant(name, value):
        return numpy_helper.from_array(np.asarray(value), name)

    cell = helper.make_graph(
        [node("MatMul", ["state", "w"], ["turned"]),
         node("Add", ["turned", "entry"], ["sum"]),
         node("Tanh", ["sum"], ["next"]),
         node("ReduceMax", ["next"], ["most"], keepdims=0)],
        "cell", [info("state", f32, [4]), info("entry", f32, [4])],
        [info("next", f32, [4]), info("most", f32, [])])
    halve = helper.make_graph([node("Mul", ["out_state", "half"], ["halved"])], "halve", [],
                              [info("halved", f32, [4])])
    keep = helper.make_graph([node("Identity", ["out_state"], ["kept"])], "keep", [],
                             [info("kept", f32, [4])])
    body = helper.make_graph(
        [node("Scan", ["carried", "x"], ["out_state", "maxima"], body=cell, num_scan_inputs=1),
         node("ReduceSum", ["maxima"], ["total"], keepdims=0),
         node("Greater", ["total", "limit"], ["large"]),
         node("If", ["large"], ["chosen"], then_branch=halve, else_branch=keep),
         node("Concat", ["grown", "maxima"], ["grown_out"], axis=0),
         node("Shape", ["grown_out"], ["length"]),
         node("Gather", ["length", "zero"], ["size"]),
         node("Less", ["size", "most_size"], ["again"]),
         node("Slice", ["grown_out", "zero1", "index1"], ["head"]),
         node("Add", ["index", "one"], ["index_next"]),
         node("Unsqueeze", ["index_next", "zero1"], ["index1"]),
         node("ReduceMean", ["head"], ["mean"], keepdims=0)],
        "body",
        [info("index", i64, []), info("go", boolean, []), info("carried", f32, [4]),
         info("grown", f32, ["n"])],
        [info("again", boolean, []), info("chosen", f32, [4]), info("grown_out", f32, ["m"]),
         info("mean", f32, [])])
    body.node.sort(key=lambda n: [
        "Scan", "ReduceSum", "Greater", "If", "Concat", "Shape", "Gather", "Less", "Add",
        "Unsqueeze", "Slice", "ReduceMean"].index(n.op_type))
    graph = helper.make_graph(
        [node("Loop", ["trips", "", "start", "none"], ["last", "all", "means"], body=body)],
        "g", [info("x", f32, ["steps", 4]), info("trips", i64, [])],
        [info("last", f32, [4]), info("all", f32, ["m"]), info("means", f32, ["k"])],
        [constant("w", floats(1, 4, 4) * 0.5), constant("half", np.float32(0.5)),
         constant("limit", np.float32(2)), constant("zero", np.int64(0)),
         constant("zero1", np.array([0], np.int64)), constant("one", np.int64(1)),
         constant("most_size", np.int64(30)), constant("start", np.zeros(4, np.float32)),
         constant("none", np.zeros(0, np.float32))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return len(body.node) + 1, [
        {"x": floats(n, n, 4), "trips": np.array(t, np.int64)}
        for n, t in ((3, 2), (5, 100), (12, 1))]


def trees(path):
    """Gradient boosting, regressor and classifier, by scikit-learn and skl2onnx."""
    from skl2onnx import to_onnx
    from sklearn.ensemble import GradientBoostingClassifier
    random = np.random.default_rng(8)
    x = random.standard_normal((400, 10)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(np.int64) + (x[:, 3] > 1)
    made = GradientBoostingClassifier(n_estimators=40, max_depth=4).fit(x, y)
    model = to_onnx(made, x[:1], target_opset=17, options={"zipmap": False})
    onnx.save(model, path)
    return len(model.graph.node), [{model.graph.input[0].name: x[:n]} for n in (1, 50)]


FAMILIES = {
    "vision_transformer": vision_transformer, "detector": detector, "unet": unet, "bert": bert,
    "gpt2_step": gpt2, "whisper_encoder": whisper_encoder, "einsum": einsums,
    "loop_scan": loops, "gradient_boosting": trees,
}
