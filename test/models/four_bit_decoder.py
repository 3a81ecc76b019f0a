#!/usr/bin/env python3
# ===- four_bit_decoder.py - a decoder with weights of four bits -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A decoder with grouped queries, in the nodes of ONNX Runtime's model builder, and the same
numbers as a GGUF file.

usage: four_bit_decoder.py OUT.onnx [--gguf=OUT.gguf] [--capacity=N] [--open] [--small] [--level=0|4]

The sizes of Llama 3.2 1B (arXiv:2407.21783) but for a vocabulary of 32,000: 1.04 billion
weights, of which all but the embeddings' rows and the norms have four bits in blocks of 32
of one scale without a zero point, what GGUF calls Q4_0. Caches of keys and values have
`--capacity` entries and come out with the new one in its place. Random weights.
Needs numpy and onnx, and gguf for a GGUF file.
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
BLOCK = 32
LARGE = {"layers": 16, "width": 2048, "heads": 32, "groups": 8, "inner": 8192, "vocabulary": 32000}
SMALL = {"layers": 2, "width": 128, "heads": 4, "groups": 2, "inner": 256, "vocabulary": 320}
EPSILON, BASE = 1e-5, 500000.0


class FourBits:
    """A matrix [outputs, inputs] as numbers from 0 to 15, and a scale of each block."""

    def __init__(self, random, outputs, inputs, deviation):
        shape = (outputs, inputs // BLOCK, BLOCK)
        self.numbers = random.integers(0, 256, shape, np.uint8) >> 4
        # Numbers are uniform: their deviation from 8 is 4.6.
        self.scales = (random.uniform(0.8, 1.2, shape[:2]) * deviation / 4.6).astype(np.float16)

    def rows(self, order):
        """The same matrix with its rows in another order."""
        other = FourBits.__new__(FourBits)
        other.numbers, other.scales = self.numbers[order], self.scales[order]
        return other

    def floats(self):
        values = (self.numbers.astype(np.float32) - 8) * self.scales.astype(np.float32)[..., None]
        return values.reshape(len(values), -1)

    def packed(self):
        """Neighbours share a byte."""
        return self.numbers[..., 0::2] | self.numbers[..., 1::2] << 4

    def ggml(self):
        """Q4_0: a scale of two bytes, then 16 bytes whose low halves come first."""
        low, high = self.numbers[..., :BLOCK // 2], self.numbers[..., BLOCK // 2:]
        scales = self.scales[..., None].view(np.uint8)
        return np.concatenate([scales, low | high << 4], axis=-1).reshape(len(low), -1)


class Decoder:
    def __init__(self, sizes, seed=3):
        self.sizes = sizes
        random = np.random.default_rng(seed)
        width, inner = sizes["width"], sizes["inner"]
        head = width // sizes["heads"]
        kept = head * sizes["groups"]
        shapes = {"q": (width, width), "k": (kept, width), "v": (kept, width), "o": (width, width),
                  "gate": (inner, width), "up": (inner, width), "down": (width, inner)}
        self.layers = [
            {name: FourBits(random, *shape, shape[1] ** -0.5) for name, shape in shapes.items()} |
            {norm: random.uniform(0.5, 1.5, width).astype(np.float32) for norm in ("norm1", "norm2")}
            for _ in range(sizes["layers"])]
        self.norm = random.uniform(0.5, 1.5, width).astype(np.float32)
        self.words = FourBits(random, sizes["vocabulary"], width, 0.1)


def write_onnx(decoder, path, capacity, level, is_open):
    """`is_open`: batch, tokens and caches have the names of the builder's models for sizes."""
    sizes = decoder.sizes
    batch, length, past, whole = (("batch_size", "sequence_length", "past_sequence_length",
                                   "total_sequence_length") if is_open else (1, 1, capacity, capacity))
    width, heads, groups = sizes["width"], sizes["heads"], sizes["groups"]
    head = width // heads
    nodes, constants, inputs, outputs = [], [], [], []

    def constant(name, array):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(kind, name, operands, results=None, domain="", **attributes):
        results = results or [name]
        nodes.append(helper.make_node(kind, operands, results, name, domain=domain, **attributes))
        return results[0]

    def product(x, name, *parts):
        n = sum(len(part.numbers) for part in parts)
        k = parts[0].scales.shape[1] * BLOCK
        weight = constant(f"{name}.weight", np.concatenate([part.packed() for part in parts]))
        scales = constant(f"{name}.scales",
                          np.concatenate([part.scales for part in parts]).astype(np.float32))
        return node("MatMulNBits", name, [x, weight, scales], domain=MICROSOFT, K=k, N=n, bits=4,
                    block_size=BLOCK, accuracy_level=level)

    def port(list_, name, kind, shape):
        list_.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    ids = port(inputs, "input_ids", TensorProto.INT64, [batch, length])
    mask = port(inputs, "attention_mask", TensorProto.INT64, [batch, whole])
    ones = node("ReduceSum", "mask.sum", [mask, constant("axis", np.array([1], np.int64))], keepdims=0)
    last = node("Sub", "mask.last", [ones, constant("one", np.array([1], np.int64))])
    seen = node("Cast", "seqlens_k", [last], to=TensorProto.INT32)
    if is_open:
        shape = node("Shape", "mask.shape", [mask])
        total = node("Gather", "mask.size", [shape, constant("second", np.array(1, np.int64))], axis=0)
        total = node("Cast", "total", [total], to=TensorProto.INT32)
    else:
        total = constant("total", np.array(capacity, np.int32))
    angles = np.arange(capacity)[:, None] * BASE ** (-np.arange(0, head, 2) / head)
    cosines = constant("cos_cache", np.cos(angles).astype(np.float32))
    sines = constant("sin_cache", np.sin(angles).astype(np.float32))
    x = node("Gather", "tokens", [constant("embed", decoder.words.floats()), ids], axis=0)
    change = None
    for i, layer in enumerate(decoder.layers):
        block = f"layers.{i}"
        if change is None:
            y = node("SimplifiedLayerNormalization", f"{block}.norm1",
                     [x, constant(f"{block}.norm1.weight", layer["norm1"])], axis=-1, epsilon=EPSILON,
                     stash_type=1)
        else:
            y = node("SkipSimplifiedLayerNormalization", f"{block}.norm1",
                     [x, change, constant(f"{block}.norm1.weight", layer["norm1"])],
                     [f"{block}.norm1", "", "", f"{block}.sum1"], MICROSOFT, epsilon=EPSILON)
            x = f"{block}.sum1"
        packed = product(y, f"{block}.qkv", layer["q"], layer["k"], layer["v"])
        caches = [port(inputs, f"past_{kind}.{i}", TensorProto.FLOAT, [batch, groups, past, head])
                  for kind in ("key", "value")]
        for kind in ("key", "value"):
            port(outputs, f"present_{kind}.{i}", TensorProto.FLOAT, [batch, groups, whole, head])
        y = node("GroupQueryAttention", f"{block}.attention",
                 [packed, "", "", *caches, seen, total, cosines, sines],
                 [f"{block}.attention", f"present_key.{i}", f"present_value.{i}"], MICROSOFT,
                 num_heads=heads, kv_num_heads=groups, do_rotary=1, rotary_interleaved=0)
        change = product(y, f"{block}.o", layer["o"])
        y = node("SkipSimplifiedLayerNormalization", f"{block}.norm2",
                 [x, change, constant(f"{block}.norm2.weight", layer["norm2"])],
                 [f"{block}.norm2", "", "", f"{block}.sum2"], MICROSOFT, epsilon=EPSILON)
        x = f"{block}.sum2"
        gate = product(y, f"{block}.gate", layer["gate"])
        gate = node("Mul", f"{block}.silu", [gate, node("Sigmoid", f"{block}.sigmoid", [gate])])
        y = node("Mul", f"{block}.gated", [gate, product(y, f"{block}.up", layer["up"])])
        change = product(y, f"{block}.down", layer["down"])
    y = node("SkipSimplifiedLayerNormalization", "norm",
             [x, change, constant("norm.weight", decoder.norm)], domain=MICROSOFT, epsilon=EPSILON)
    product(y, "logits", decoder.words)
    outputs.insert(0, helper.make_tensor_value_info("logits", TensorProto.FLOAT,
                                                    [batch, length, sizes["vocabulary"]]))
    graph = helper.make_graph(nodes, "four_bit_decoder", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    onnx.save(model, path)


def write_gguf(decoder, path, capacity):
    import gguf

    sizes = decoder.sizes
    width, heads, groups = sizes["width"], sizes["heads"], sizes["groups"]
    head = width // heads
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(capacity)
    writer.add_embedding_length(width)
    writer.add_block_count(sizes["layers"])
    writer.add_feed_forward_length(sizes["inner"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(BASE)
    writer.add_vocab_size(sizes["vocabulary"])
    writer.add_tokenizer_model("no_vocab")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)

    def matrix(name, weight):
        writer.add_tensor(name, weight.ggml(), raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    def turned(weight, count):
        """Its rotations are of neighbours, ours of entries half a head apart."""
        order = np.arange(count * head).reshape(count, 2, head // 2).swapaxes(1, 2).reshape(-1)
        return weight.rows(order)

    matrix("token_embd.weight", decoder.words)
    matrix("output.weight", decoder.words)
    writer.add_tensor("output_norm.weight", decoder.norm)
    for i, layer in enumerate(decoder.layers):
        block = f"blk.{i}"
        writer.add_tensor(f"{block}.attn_norm.weight", layer["norm1"])
        writer.add_tensor(f"{block}.ffn_norm.weight", layer["norm2"])
        matrix(f"{block}.attn_q.weight", turned(layer["q"], heads))
        matrix(f"{block}.attn_k.weight", turned(layer["k"], groups))
        matrix(f"{block}.attn_v.weight", layer["v"])
        matrix(f"{block}.attn_output.weight", layer["o"])
        for name in ("gate", "up", "down"):
            matrix(f"{block}.ffn_{name}.weight", layer[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--gguf", help="the same decoder for llama.cpp")
    parser.add_argument("--capacity", type=int, default=256, help="entries of the caches")
    parser.add_argument("--open", action="store_true", help="sizes of batch, tokens and caches")
    parser.add_argument("--small", action="store_true", help="two layers of 128, for tests")
    parser.add_argument("--level", type=int, default=4, choices=(0, 4),
                        help="accuracy_level: 4 lets rows be rounded to bytes, as GGUF's engine does")
    options = parser.parse_args()
    decoder = Decoder(SMALL if options.small else LARGE)
    write_onnx(decoder, options.out, options.capacity, options.level, options.open)
    if options.gguf:
        write_gguf(decoder, options.gguf, options.capacity)


if __name__ == "__main__":
    main()
