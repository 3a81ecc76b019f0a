#!/usr/bin/env python3
#===- gpu_models.py - Networks in f16 and bf16 for benchmarks on GPUs --------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""gpu_models.py OUT_DIR [--small] [NAME...]

Writes the ONNX models that `tools/gpu-check` benchmarks. `--small` shrinks them for
tests: the same operators, few elements.

Weights are slices of one pseudo-random sequence, scaled by powers of two: element
(i, j) is number i + j of it. Whatever a compiler transposes, joins or folds, a line of
a matrix is then a stretch of the line before it, which `gpu-check --pack` writes in a
few bytes: 2 GiB of constants travel as one MiB, and are made again where they are used. As matrices they are far
from singular, and a GPU's multipliers see as many distinct values as with any others.
"""
import argparse
import os
import zlib

import numpy as np

from make_models import Graph, bert_base, layer_norm, resnet50
from sequence_models import gelu_tanh, gpt2, grouped_decoder
from wire import data, integer, packed, varint

F16, BF16 = 10, 16
LARGEST = {F16: 65504.0, BF16: 3.3895314e38}
PERIOD = 65521


def sequence(count):
    """SplitMix64 of 0, 1, …, as multiples of 1/128 in (-2, 2): 8 bits, exact in either type."""
    with np.errstate(over="ignore"):
        z = (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z % np.uint64(511)).astype(np.float32) - 255) / 128


SEQUENCE = sequence(PERIOD)


def power_of_two(value):
    return 2.0 ** round(float(np.log2(value)))


def lines_of(sequence, begin, shape):
    """A matrix whose element (i, j) is number begin + i + j of a sequence with that period."""
    rows, columns = (1, 1, *shape)[-2:]
    windows = np.lib.stride_tricks.sliding_window_view(np.resize(sequence, len(sequence) + columns), columns)
    return windows[(begin + np.arange(rows)) % len(sequence)].reshape(shape)


def normal(name, shape, deviation):
    """The weights called `name`, in f32."""
    begin = zlib.crc32(name.encode()) % PERIOD
    if len(shape) <= 2:
        return lines_of(SEQUENCE * np.float32(power_of_two(deviation / 1.15)), begin, shape)
    place = np.full(shape, begin, np.int64)
    for axis, size in enumerate(shape):
        # The first two are matrices' (and channels); windows are further apart.
        step = 1 if axis < 2 else 977 * 13 ** (axis - 2)
        place += (step * np.arange(size)).reshape([-1] + [1] * (len(shape) - 1 - axis))
    return SEQUENCE[place % PERIOD] * np.float32(power_of_two(deviation / 1.15))


def uniform(shape, low, high):
    """A scale, one for all: what it is folded into stays a stretch of the sequence."""
    return np.full(shape, power_of_two((low + high) / 2), np.float32)


class HalfGraph(Graph):
    opset, ir_version = 22, 10  # the first with convolutions of bf16

    def __init__(self, name, kind):
        super().__init__(name)
        self.kind = kind

    def initializer(self, name, array):
        array = np.asarray(array)
        if array.dtype == np.int64:
            return super().initializer(name, array)
        # NumPy 1 makes doubles of scalars.
        array = np.clip(array, -LARGEST[self.kind], LARGEST[self.kind]).astype("<f4")
        if self.kind == BF16:
            bits = array.view("<u4") if array.shape else np.frombuffer(array.tobytes(), "<u4")
            raw = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()
        else:
            raw = array.astype("<f2").tobytes()
        head = (packed(1, array.shape) if array.shape else b"") + integer(2, self.kind) + data(8, name)
        head += varint(9 << 3 | 2) + varint(len(raw))
        self.fields.append(varint(5 << 3 | 2) + varint(len(head) + len(raw)) + head)
        self.fields.append(raw)
        return name

    def normal(self, name, shape, deviation):
        return self.initializer(name, normal(name, shape, deviation))

    def uniform(self, name, shape, low, high):
        return self.initializer(name, uniform(shape, low, high))


def bf16(name):
    return HalfGraph(name, BF16)


def f16(name):
    return HalfGraph(name, F16)


def bert_sizes(batch, small):
    if small:
        return {"batch": min(batch, 2), "layers": 1, "width": 64, "heads": 2, "length": 16, "vocabulary": 97}
    return {"batch": batch, "layers": 12, "width": 768, "heads": 12, "length": 128, "vocabulary": 30522}


def resnet_sizes(batch, small):
    return {"batch": min(batch, 2), "size": 32, "base": 8} if small else {"batch": batch, "size": 224, "base": 64}


def gpt2_sizes(length, past, small):
    if small:
        return {"length": min(length, 16), "past": min(past, 16), "layers": 1, "width": 64, "heads": 2,
                "vocabulary": 97}
    return {"length": length, "past": past, "layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}


def decoder_sizes(length, past, batch, small):
    """1.04 billion parameters, the sizes of a layer of Llama 3.2 1B (arXiv:2407.21783)."""
    if small:
        return {"length": min(length, 16), "past": min(past, 16), "batch": min(batch, 2), "layers": 1,
                "width": 64, "heads": 4, "groups": 2, "inner": 96, "vocabulary": 97}
    return {"length": length, "past": past, "batch": batch, "layers": 16, "width": 2048, "heads": 32,
            "groups": 8, "inner": 8192, "vocabulary": 32000}


def decoder(name, length, past, batch):
    return lambda small: grouped_decoder(name, make=bf16, **decoder_sizes(length, past, batch, small))


def elementwise_shape(small):
    return [2, 8, 64] if small else [32, 1024, 1024]


def tiny_sizes(small):
    return {"side": 16, "steps": 10} if small else {"side": 64, "steps": 100}


def elementwise(small):
    """Blocks of elementwise operations, softmaxes and normalisations, without a product."""
    g, shape = bf16("elementwise"), elementwise_shape(small)
    x = g.input("x", shape)
    for i in range(8):
        name = f"block.{i}"
        scale = g.normal(f"{name}.scale", shape[-1:], 1.0)
        y = g.node("Mul", f"{name}.scaled", [x, scale])
        y = g.node("Softmax", f"{name}.softmax", [y], axis=-1)
        y = g.node("Mul", f"{name}.gate", [y, gelu_tanh(g, x, f"{name}.gelu")])
        y = g.node("Add", f"{name}.residual", [x, y])
        x = layer_norm(g, y, f"{name}.norm", shape[-1], "y" if i == 7 else None)
    g.output("y", shape)
    return g


def tiny(small):
    """300 operations on 64 × 64 elements, each of which needs the one before."""
    g, (side, steps) = bf16("tiny"), tiny_sizes(small).values()
    x = g.input("x", [side, side])
    for i in range(steps):
        x = g.node("MatMul", f"{i}.product", [x, g.normal(f"{i}.weight", (side, side), side**-0.5)])
        x = g.node("Tanh", f"{i}.tanh", [x])
        x = layer_norm(g, x, f"{i}.norm", side, "y" if i == steps - 1 else None)
    g.output("y", [side, side])
    return g


def copy_in(small):
    """A feed of 64 MiB."""
    g, count = Graph("copy_in"), 1 << (15 if small else 24)
    x = g.input("x", [count >> 10, 1 << 10])
    g.node("ReduceMax", "largest", [x], "y", keepdims=0)
    g.output("y", [])
    return g


def copy_out(small):
    """A fetch of 64 MiB."""
    g, side = Graph("copy_out"), 160 if small else 4096
    g.node("Add", "sums", [g.input("a", [side, 1]), g.input("b", [1, side])], "y")
    g.output("y", [side, side])
    return g


def product(small):
    """One large product."""
    g, side = bf16("product"), 64 if small else 8192
    g.node("MatMul", "product", [g.input("a", [side, side]), g.input("b", [side, side])], "y")
    g.output("y", [side, side])
    return g


def memory(small):
    """Products of an open number of lines, all of which live until they are added up."""
    g, count = Graph("memory"), 24 if small else 120
    x, kept = g.input("x", ["lines", 64]), []
    for i in range(count):
        x = g.node("MatMul", f"product.{i}", [x, g.normal(f"weight.{i}", (64, 64), 0.125)])
        kept.append(x)
    x = kept.pop()
    for i, y in enumerate(reversed(kept)):
        # A product again: sums alone would be one kernel.
        x = g.node("MatMul", f"mixed.{i}", [x, f"weight.{i}"])
        x = g.node("Add", f"sum.{i}", [x, y], "y" if i == count - 2 else None)
    g.output("y", ["lines", 64])
    return g


MODELS = {
    "bert_base_1": lambda small: bert_base(make=bf16, **bert_sizes(1, small)),
    "bert_base_32": lambda small: bert_base(make=bf16, **bert_sizes(32, small)),
    "resnet50_1_bf16": lambda small: resnet50(make=bf16, **resnet_sizes(1, small)),
    "resnet50_64_bf16": lambda small: resnet50(make=bf16, **resnet_sizes(64, small)),
    "resnet50_1_f16": lambda small: resnet50(make=f16, **resnet_sizes(1, small)),
    "resnet50_64_f16": lambda small: resnet50(make=f16, **resnet_sizes(64, small)),
    "gpt2_prefill_512": lambda small: gpt2("gpt2_prefill", make=bf16, **gpt2_sizes(512, 0, small)),
    "gpt2_decode": lambda small: gpt2("gpt2_decode", make=bf16, **gpt2_sizes(1, 512, small)),
    "decoder_1b_prefill_2048": decoder("decoder_1b_prefill", 2048, 0, 1),
    "decoder_1b_decode": decoder("decoder_1b_decode", 1, 2048, 1),
    "decoder_1b_decode_16": decoder("decoder_1b_decode", 1, 2048, 16),
    "elementwise": elementwise,
    "tiny_300": tiny,
    "product_8192": product,
    "copy_in": copy_in,
    "copy_out": copy_out,
    "memory": memory,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("out_dir", metavar="OUT_DIR", nargs="?")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--small", action="store_true", help="few elements, for tests")
    parser.add_argument("--list", action="store_true", help="names, a line each")
    options = parser.parse_args()
    if options.list:
        return print(*MODELS, sep="\n")
    if not options.out_dir:
        parser.error("OUT_DIR says where models go")
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(MODELS)}")
    os.makedirs(options.out_dir, exist_ok=True)
    for name in options.names or MODELS:
        MODELS[name](options.small).write(os.path.join(options.out_dir, name + ".onnx"))


if __name__ == "__main__":
    main()
