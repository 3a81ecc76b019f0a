#===- sequence_models.py - Networks that read step by step ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""GPT-2, a decoder with grouped queries and a recurrent acoustic model, for make_models.py."""
import numpy as np

from make_models import INT64, Graph, layer_norm, linear


def gelu_tanh(g, x, name):
    """The approximation of GELU by tanh, in the nodes that PyTorch writes for it."""
    y = g.node("Pow", f"{name}.cube", [x, g.constant(3.0)])
    y = g.node("Mul", f"{name}.scaled", [y, g.constant(0.044715)])
    y = g.node("Add", f"{name}.inner", [x, y])
    y = g.node("Mul", f"{name}.factor", [y, g.constant((2 / np.pi) ** 0.5)])
    y = g.node("Tanh", f"{name}.tanh", [y])
    y = g.node("Add", f"{name}.shifted", [y, g.constant(1.0)])
    return g.node("Mul", name, [g.node("Mul", f"{name}.half", [x, g.constant(0.5)]), y])


def gpt2(name, length, past, layers=12, width=768, heads=12, vocabulary=50257, make=Graph):
    """Radford et al. 2019, GPT-2 small: `length` new tokens behind `past` ones, whose
    keys and values are fed; those of all come out. Logits of every new token."""
    g = make(name)
    size, total = width // heads, past + length
    ids = g.input("input_ids", [1, length], INT64)
    words = g.normal("wte", (vocabulary, width), 0.1)
    positions = g.normal("wpe", (1024, width), 0.05)
    x = g.node("Gather", "tokens", [words, ids], axis=0)
    index = g.constant(np.arange(past, total)[None], np.int64)
    y = g.node("Gather", "places", [positions, index], axis=0)
    x = g.node("Add", "embeddings", [x, y])
    if length > 1:
        # A token sees itself and what is before it.
        causal = np.triu(np.full((length, total), np.finfo(np.float32).min, np.float32), past + 1)
        mask = g.constant(causal[None, None])
    split = g.constant([1, length, heads, size], np.int64)
    for i in range(layers):
        block = f"h.{i}"
        y = layer_norm(g, x, f"{block}.ln_1", width)
        y = linear(g, y, f"{block}.attn.c_attn", width, 3 * width)
        parts = []
        for part, start in (("query", 0), ("key", width), ("value", 2 * width)):
            z = g.node("Slice", f"{block}.{part}", [y] + [
                g.constant([bound], np.int64) for bound in (start, start + width, 2)])
            z = g.node("Reshape", f"{block}.{part}.split", [z, split])
            parts.append(g.node("Transpose", f"{block}.{part}.heads", [z], perm=[0, 2, 1, 3]))
        query, key, value = parts
        if past:
            shape = [1, heads, past, size]
            key = g.node("Concat", f"{block}.keys",
                         [g.input(f"past_key.{i}", shape), key], axis=2)
            value = g.node("Concat", f"{block}.values",
                           [g.input(f"past_value.{i}", shape), value], axis=2)
        g.node("Identity", f"{block}.keys.out", [key], f"present_key.{i}")
        g.node("Identity", f"{block}.values.out", [value], f"present_value.{i}")
        g.output(f"present_key.{i}", [1, heads, total, size])
        g.output(f"present_value.{i}", [1, heads, total, size])
        turned = g.node("Transpose", f"{block}.keys.turned", [key], perm=[0, 1, 3, 2])
        scores = g.node("MatMul", f"{block}.scores", [query, turned])
        scores = g.node("Div", f"{block}.scaled", [scores, g.constant(size**0.5)])
        if length > 1:
            scores = g.node("Add", f"{block}.masked", [scores, mask])
        weights = g.node("Softmax", f"{block}.softmax", [scores], axis=-1)
        y = g.node("MatMul", f"{block}.context", [weights, value])
        y = g.node("Transpose", f"{block}.context.rows", [y], perm=[0, 2, 1, 3])
        y = g.node("Reshape", f"{block}.context.join",
                   [y, g.constant([1, length, width], np.int64)])
        y = linear(g, y, f"{block}.attn.c_proj", width, width)
        x = g.node("Add", f"{block}.residual1", [x, y])
        y = layer_norm(g, x, f"{block}.ln_2", width)
        y = linear(g, y, f"{block}.mlp.c_fc", width, 4 * width)
        y = gelu_tanh(g, y, f"{block}.mlp.act")
        y = linear(g, y, f"{block}.mlp.c_proj", 4 * width, width)
        x = g.node("Add", f"{block}.residual2", [x, y])
    x = layer_norm(g, x, "ln_f", width)
    turned = g.node("Transpose", "lm_head.weight", [words], perm=[1, 0])
    g.node("MatMul", "lm_head", [x, turned], "logits")
    g.output("logits", [1, length, vocabulary])
    return g


def gpt2_prefill():
    return gpt2("gpt2_prefill", 128, 0)


def gpt2_decode():
    return gpt2("gpt2_decode", 1, 128)


def rms_norm(g, x, name, width):
    """Zhang and Sennrich 2019, in the nodes that PyTorch writes for it."""
    y = g.node("Mul", f"{name}.square", [x, x])
    # Axes are an operand from version 18 on.
    axes = {"axes": [-1]} if g.opset < 18 else {}
    given = [] if axes else [g.constant([-1], np.int64)]
    y = g.node("ReduceMean", f"{name}.mean", [y] + given, keepdims=1, **axes)
    y = g.node("Add", f"{name}.shifted", [y, g.constant(1e-6)])
    y = g.node("Div", f"{name}.normal", [x, g.node("Sqrt", f"{name}.root", [y])])
    return g.node("Mul", name, [g.uniform(f"{name}.weight", (width,), 0.5, 1.5), y])


def rotated(g, x, name, size, angles):
    """Positions as rotations of pairs, half a head apart (Su et al. 2021, arXiv:2104.09864)."""
    bound = lambda at: g.constant([at], np.int64)
    low = g.node("Slice", f"{name}.low", [x, bound(0), bound(size // 2), bound(3)])
    high = g.node("Slice", f"{name}.high", [x, bound(size // 2), bound(size), bound(3)])
    turned = g.node("Concat", f"{name}.turned",
                    [g.node("Neg", f"{name}.negative", [high]), low], axis=3)
    cosine = g.node("Mul", f"{name}.cosine", [x, g.constant(np.cos(angles).astype(np.float32))])
    sine = g.node("Mul", f"{name}.sine", [turned, g.constant(np.sin(angles).astype(np.float32))])
    return g.node("Add", name, [cosine, sine])


def grouped_decoder(name, length, past, layers, width, heads, groups, inner, vocabulary, batch=1,
                    make=Graph):
    """A decoder with grouped queries: `length` new tokens behind `past` ones, whose keys and
    values are fed, if there are some; those of all come out, and logits of the last token.
    PyTorch's nodes: keys and values are expanded over the groups, queries and keys both
    scaled."""
    g = make(name)
    size, total = width // heads, past + length
    ids = g.input("input_ids", [batch, length], INT64)
    words = g.normal("embed", (vocabulary, width), 0.1)
    x = g.node("Gather", "tokens", [words, ids], axis=0)
    angles = np.arange(past, total)[:, None] * 1e6 ** (-np.arange(0, size, 2) / size)
    angles = np.concatenate([angles, angles], axis=1)[None, None]
    scale = g.constant(size**-0.25)
    if length > 1:
        # A token sees itself and what is before it.
        causal = np.triu(np.full((length, total), np.finfo(np.float32).min, np.float32), past + 1)
        mask = g.constant(causal[None, None])
    for i in range(layers):
        block = f"layers.{i}"
        y = rms_norm(g, x, f"{block}.norm1", width)
        parts = []
        for part, count in (("q", heads), ("k", groups), ("v", groups)):
            z = linear(g, y, f"{block}.{part}_proj", width, count * size)
            z = g.node("Reshape", f"{block}.{part}.split",
                       [z, g.constant([batch, length, count, size], np.int64)])
            z = g.node("Transpose", f"{block}.{part}.heads", [z], perm=[0, 2, 1, 3])
            parts.append(z if part == "v" else rotated(g, z, f"{block}.{part}", size, angles))
        kept = []
        for part, value in (("key", parts[1]), ("value", parts[2])):
            z = value
            if past:
                z = g.node("Concat", f"{block}.{part}s",
                           [g.input(f"past_{part}.{i}", [batch, groups, past, size]), z], axis=2)
            g.node("Identity", f"{block}.{part}s.out", [z], f"present_{part}.{i}")
            g.output(f"present_{part}.{i}", [batch, groups, total, size])
            z = g.node("Unsqueeze", f"{block}.{part}s.split", [z, g.constant([2], np.int64)])
            z = g.node("Expand", f"{block}.{part}s.wide",
                       [z, g.constant([batch, groups, heads // groups, total, size], np.int64)])
            kept.append(g.node("Reshape", f"{block}.{part}s.all",
                               [z, g.constant([batch, heads, total, size], np.int64)]))
        turned = g.node("Transpose", f"{block}.keys.turned", [kept[0]], perm=[0, 1, 3, 2])
        scores = g.node("MatMul", f"{block}.scores",
                        [g.node("Mul", f"{block}.q.scaled", [parts[0], scale]),
                         g.node("Mul", f"{block}.k.scaled", [turned, scale])])
        if length > 1:
            scores = g.node("Add", f"{block}.masked", [scores, mask])
        weights = g.node("Softmax", f"{block}.softmax", [scores], axis=-1)
        y = g.node("MatMul", f"{block}.context", [weights, kept[1]])
        y = g.node("Transpose", f"{block}.context.rows", [y], perm=[0, 2, 1, 3])
        y = g.node("Reshape", f"{block}.context.join",
                   [y, g.constant([batch, length, width], np.int64)])
        x = g.node("Add", f"{block}.residual1",
                   [x, linear(g, y, f"{block}.o_proj", width, width)])
        y = rms_norm(g, x, f"{block}.norm2", width)
        gate = linear(g, y, f"{block}.gate_proj", width, inner)
        gate = g.node("Mul", f"{block}.silu", [gate, g.node("Sigmoid", f"{block}.gate", [gate])])
        y = g.node("Mul", f"{block}.gated", [gate, linear(g, y, f"{block}.up_proj", width, inner)])
        x = g.node("Add", f"{block}.residual2",
                   [x, linear(g, y, f"{block}.down_proj", inner, width)])
    if length > 1:
        x = g.node("Slice", "last", [x] + [g.constant([bound], np.int64)
                                           for bound in (length - 1, length, 1)])
    x = rms_norm(g, x, "norm", width)
    turned = g.node("Transpose", "lm_head.weight", [words], perm=[1, 0])
    g.node("MatMul", "lm_head", [x, turned], "logits")
    g.output("logits", [batch, 1, vocabulary])
    return g


def grouped_decode():
    """A step with the sizes of a layer of Qwen2.5-0.5B (arXiv:2412.15115)."""
    return grouped_decoder("grouped_decode", 1, 1024, layers=6, width=896, heads=14, groups=2,
                           inner=4864, vocabulary=32000)


def lstm_acoustic(frames=200, inputs=123, width=250, layers=5, classes=62):
    """Graves et al. 2013, arXiv:1303.5778, CTC-5l-250h: five bidirectional layers over
    40 filter banks and their energy with first and second differences."""
    g = Graph("lstm_acoustic")
    x, channels = g.input("features", [frames, 1, inputs]), inputs
    for i in range(layers):
        name = f"lstm.{i}"
        operands = [
            x,
            g.normal(f"{name}.weight_ih", (2, 4 * width, channels), channels**-0.5),
            g.normal(f"{name}.weight_hh", (2, 4 * width, width), width**-0.5),
            g.normal(f"{name}.bias", (2, 8 * width), 0.1),
        ]
        # [frames, directions, batch, width]
        y = g.node("LSTM", name, operands, direction="bidirectional", hidden_size=width)
        y = g.node("Transpose", f"{name}.rows", [y], perm=[0, 2, 1, 3])
        channels = 2 * width
        x = g.node("Reshape", f"{name}.join", [y, g.constant([frames, 1, channels], np.int64)])
    x = linear(g, x, "classes", channels, classes)
    g.node("LogSoftmax", "log_softmax", [x], "log_probabilities", axis=-1)
    g.output("log_probabilities", [frames, 1, classes])
    return g


MODELS = {
    "gpt2_prefill": gpt2_prefill, "gpt2_decode": gpt2_decode,
    "grouped_decode": grouped_decode, "lstm_acoustic": lstm_acoustic,
}
