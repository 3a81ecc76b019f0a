#!/usr/bin/env python3
# ===- single_operators.py - operators against who defines them --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs models of one operator with weir and with ONNX Runtime, or with ONNX's
reference implementation where that draws random numbers: operators of com.microsoft,
and those of ONNX's own that the conformance corpora have no cases of.

  single_operators.py [--weir-run=PATH] [OPERATOR...]

Needs onnx, onnxruntime and numpy. Floats may differ by 2e-4 of the largest
magnitude (f16: 4e-3), integers by one where both round a real, which ONNX Runtime
finds in tables or in another order of operations. Prints what differs, and ends
with the number of cases and of those that differ or fail.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from shared_caches import run_shared

RNG = np.random.default_rng(7)


def has_vnni():
    """Or is no x86."""
    try:
        with open("/proc/cpuinfo") as lines:
            text = lines.read()
    except OSError:
        return True
    return "avx2" not in text or "vnni" in text


HAS_VNNI = has_vnni()
MICROSOFT = "com.microsoft"


def reals(*shape, scale=1.0, dtype=np.float32):
    return (RNG.standard_normal(shape) * scale).astype(dtype)


def numbers(low, high, *shape, dtype=np.int32):
    return RNG.integers(low, high, shape).astype(dtype)


def u8(*shape):
    return numbers(0, 256, *shape, dtype=np.uint8)


def i8(*shape):
    return numbers(-128, 128, *shape, dtype=np.int8)


def weights(*shape):
    """Signed bytes that unsigned ones are multiplied by. ONNX Runtime adds two such products in 16 bits,
    which saturate, where the processor has no VNNI: of 7 bits they do not."""
    reach = 128 if HAS_VNNI else 64
    return numbers(-reach, reach, *shape, dtype=np.int8)


def f(value):
    return np.array(value, np.float32)


def z8(value):
    return np.array(value, np.uint8)


def rotation(length, half):
    angles = np.outer(np.arange(length), 1.0 / 10 ** np.arange(half))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class Constant:
    """An input whose value the model holds."""

    def __init__(self, value):
        self.value = value
        self.shape = value.shape


# domain, operator, inputs in order (None: left out), number of outputs, attributes
CASES = []


def case(op, inputs, outputs=1, **attributes):
    CASES.append((MICROSOFT, op, inputs, outputs, attributes))


def standard(op, inputs, outputs=1, **attributes):
    CASES.append(("", op, inputs, outputs, attributes))


def of_the_standard():
    rois = np.array([[0, 0, 0, 4, 4], [1, 1, 2, 6, 3], [0, 5, 5, 6, 6]], np.float32)
    standard("MaxRoiPool", [reals(2, 3, 7, 8), rois], pooled_shape=[2, 3])
    standard("MaxRoiPool", [reals(2, 3, 7, 8), rois], pooled_shape=[3, 1], spatial_scale=0.5)
    for size in (2, 5, 9):
        standard("Det", [reals(size, size)])
        standard("Det", [reals(2, 3, size, size)])
        case("Inverse", [reals(2, size, size)])
    f32, f64 = TensorProto.FLOAT, TensorProto.DOUBLE
    standard("RandomUniform", [], shape=[3, 700], seed=7.0, low=-1.0, high=3.0, dtype=f32)
    standard("RandomUniform", [], shape=[5], seed=0.0, low=0.0, high=1.0, dtype=f64)
    standard("RandomNormal", [], shape=[3, 5], seed=42.0, mean=1.0, scale=2.0, dtype=f32)
    x = reals(4, 5)
    standard("RandomUniformLike", [x], seed=3.0, low=0.0, high=1.0, dtype=f32)
    standard("RandomNormalLike", [x], seed=3.0, mean=0.0, scale=1.0, dtype=f64)
    standard("Bernoulli", [RNG.random((6, 50)).astype(np.float32)], seed=5.0, dtype=f32)
    on = np.array(True)
    standard("Dropout", [x, f(0.3), on], 2, seed=11)
    standard("Dropout", [x, f(0.0), on], 2, seed=11)


def elementwise():
    x = reals(2, 3, 8)
    case("Gelu", [x])
    case("BiasGelu", [x, reals(8)])
    case("FastGelu", [x])
    case("FastGelu", [x, reals(8)])
    case("QuickGelu", [x], alpha=1.5)
    case("ExpandDims", [x, Constant(np.array(1, np.int32))])
    half = reals(2, 5, 16, dtype=np.float16)
    case("FastGelu", [half, reals(16, dtype=np.float16)])
    case("Trilu", [reals(2, 5, 6), np.array(1, np.int64)], upper=0)
    case("Range", [f(1), f(7), f(1.5)])
    case("Range", [f(1), f(7)])
    case("GatherND", [reals(3, 4, 5), numbers(0, 3, 2, 2, dtype=np.int64)])
    case("Pad", [reals(2, 3), np.array([0, 1, 2, 0], np.int64), f(0.5)])
    case("CDist", [reals(5, 4), reals(3, 4)], metric="euclidean")
    case("CDist", [reals(5, 4), reals(3, 4)], metric="sqeuclidean")
    case("GridSample", [reals(1, 2, 5, 6), reals(1, 4, 4, 2, scale=0.5)])


def normalisations():
    x, skip = reals(2, 5, 16), reals(2, 5, 16)
    gamma, beta, bias = reals(16), reals(16), reals(16)
    case("SkipLayerNormalization", [x, skip, gamma, beta, bias], epsilon=1e-5)
    case("SkipLayerNormalization", [x, reals(1, 5, 16), gamma], epsilon=1e-5)
    case("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], epsilon=1e-5)
    case("EmbedLayerNormalization",
         [numbers(0, 20, 2, 6), numbers(0, 2, 2, 6), reals(20, 16), reals(8, 16),
          reals(2, 16), gamma, beta, numbers(0, 2, 2, 6)], 2, epsilon=1e-5)
    case("EmbedLayerNormalization",
         [numbers(0, 20, 2, 6), None, reals(20, 16), reals(8, 16), None, gamma, beta], 2)
    case("GatedRMSNorm", [x, gamma, skip])


def products():
    a, b = reals(2, 4, 6), reals(2, 6, 5)
    case("FusedMatMul", [a, b], alpha=0.5)
    case("FusedMatMul", [a, reals(2, 5, 6)], transB=1)
    case("FusedMatMul", [reals(2, 6, 4), b], transA=1)
    case("FusedMatMul", [reals(4, 2, 6), b], transBatchA=1)
    case("TransposeMatMul", [a, reals(2, 5, 6)], transB=1)
    for activation, extra in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}),
                              ("LeakyRelu", {"activation_alpha": 0.2})):
        case("FusedGemm", [reals(4, 6), reals(6, 5), reals(5)], activation=activation, **extra)
    x, w, z = reals(1, 4, 7, 7), reals(6, 4, 3, 3), reals(1, 6, 7, 7)
    case("FusedConv", [x, w, reals(6), z], activation="Relu", pads=[1, 1, 1, 1])
    case("FusedConv", [x, w], activation="Clip", activation_params=[-1.0, 2.0])
    case("FusedConv", [x, w, reals(6)], activation="LeakyRelu", activation_params=[0.2])
    case("NhwcMaxPool", [u8(1, 7, 7, 4)], kernel_shape=[2, 2], strides=[2, 2])


def attentions():
    batch, length, heads, size = 2, 5, 4, 8
    hidden = heads * size
    x, w, b = reals(batch, length, hidden), reals(hidden, 3 * hidden, scale=0.2), reals(3 * hidden)
    case("Attention", [x, w, b], num_heads=heads)
    case("Attention", [x, w, b, np.array([5, 3], np.int32)], num_heads=heads)
    case("Attention", [x, w, b, np.array([5, 4, 0, 2], np.int32)], num_heads=heads)
    case("Attention", [x, w, b, numbers(0, 2, batch, length)], num_heads=heads,
         mask_filter_value=-500.0)
    case("Attention", [x, w, b, numbers(0, 2, batch, length, length)], num_heads=heads)
    case("Attention", [x, w, b], num_heads=heads, unidirectional=1, scale=0.2)
    past = reals(2, batch, heads, 3, size)
    case("Attention", [x, w, b, None, past], 2, num_heads=heads, unidirectional=1)
    case("Attention", [x, w, b, None, None, reals(1, heads, length, length)], num_heads=heads)
    wide = reals(hidden, 2 * hidden + 16, scale=0.2)
    case("Attention", [x, wide, reals(2 * hidden + 16)], num_heads=heads,
         qkv_hidden_sizes=[hidden, hidden, 16])
    key, value = reals(batch, 7, hidden), reals(batch, 7, hidden)
    case("MultiHeadAttention", [x, key, value], num_heads=heads)
    case("MultiHeadAttention", [x, key, value, b], num_heads=heads)
    case("MultiHeadAttention", [x, key, value, b, numbers(0, 2, batch, 7)], num_heads=heads)
    case("MultiHeadAttention", [x, key, value, None, np.array([7, 2], np.int32)], num_heads=heads)
    case("MultiHeadAttention", [x, key, value, None, None, reals(1, heads, length, 7)],
         num_heads=heads, scale=0.3)
    case("MultiHeadAttention", [x, x, x, b, None, None, reals(batch, heads, 3, size),
                                reals(batch, heads, 3, size)], 3, num_heads=heads,
         unidirectional=1)
    case("MultiHeadAttention", [x, reals(batch, heads, 7, size), reals(batch, heads, 7, size)],
         num_heads=heads)


def rotaries():
    cosines, sines = rotation(16, 4)
    for interleaved in (0, 1):
        case("RotaryEmbedding", [reals(2, 5, 32), numbers(0, 16, 2, 5, dtype=np.int64),
                                 cosines, sines], interleaved=interleaved)
        case("RotaryEmbedding", [reals(2, 4, 5, 8), np.array([3], np.int64), cosines, sines],
             interleaved=interleaved)
    case("RotaryEmbedding", [reals(1, 5, 4 * 16), np.array([0], np.int64), cosines, sines],
         num_heads=4, rotary_embedding_dim=8)


def groups():
    size, heads, key_heads = 16, 4, 2
    cosines, sines = rotation(16, 8)

    def one(length, past, ends, total, cache=None, extra=(), packed=False, **attributes):
        batch = len(ends)
        if packed:
            data = [reals(batch, length, (heads + 2 * key_heads) * size), None, None]
        else:
            data = [reals(batch, length, heads * size), reals(batch, length, key_heads * size),
                    reals(batch, length, key_heads * size)]
        kept = [None, None]
        if past is not None:
            kept = [reals(batch, key_heads, past, size) for _ in range(2)]
        inputs = data + kept + [np.array(ends, np.int32), np.array(total, np.int32)]
        case("GroupQueryAttention", inputs + list(extra), 3, num_heads=heads,
             kv_num_heads=key_heads, **attributes)

    one(5, 0, [4, 4], 5)
    one(5, 0, [4, 4], 5, packed=True)
    one(1, 6, [6, 6], 7)
    one(1, 6, [6, 3], 7)
    one(1, 10, [6, 4], 7)
    one(3, 4, [6], 7)
    one(5, 0, [4, 4], 5, extra=[cosines, sines], do_rotary=1)
    one(1, 6, [6, 3], 7, extra=[cosines, sines], do_rotary=1, rotary_interleaved=1)
    one(6, 0, [5], 6, local_window_size=2)
    one(1, 6, [6], 7, local_window_size=3)
    one(6, 0, [5], 6, softcap=2.0)
    one(6, 0, [5], 6, smooth_softmax=1)
    one(6, 0, [5], 6, scale=0.25)
    one(6, 0, [5], 6, extra=[None, None, None, reals(1, heads, 6, 6)])
    one(6, 0, [5], 6, extra=[None, None, None, None, reals(heads)])


def quantised():
    def binary(op, a, b, zero):
        case(op, [a, f(0.05), zero, b, f(0.03), zero, f(0.1), zero])

    for op in ("QLinearAdd", "QLinearMul"):
        binary(op, u8(2, 3, 8), u8(8), z8(120))
        binary(op, i8(2, 3, 8), i8(2, 1, 8), np.array(-3, np.int8))
    case("QLinearLeakyRelu", [u8(3, 8), f(0.05), z8(120), f(0.06), z8(110)], alpha=0.1)
    case("QLinearSigmoid", [u8(3, 8), f(0.05), z8(120), f(1 / 256), z8(0)])
    case("QLinearSoftmax", [u8(3, 8), f(0.05), z8(120), f(1 / 256), z8(0)], opset=13, axis=-1)
    case("QLinearSoftmax", [u8(2, 3, 4), f(0.05), z8(120), f(1 / 256), z8(0)], opset=12, axis=1)
    x = u8(1, 4, 6, 6)
    case("QLinearAveragePool", [x, f(0.05), z8(120), f(0.04), z8(100)], kernel_shape=[2, 2],
         strides=[2, 2])
    case("QLinearAveragePool", [u8(1, 6, 6, 4), f(0.05), z8(120), f(0.04), z8(100)],
         kernel_shape=[3, 3], pads=[1, 1, 1, 1], channels_last=1)
    case("QLinearGlobalAveragePool", [x, f(0.05), z8(120), f(0.04), z8(100)])
    case("QLinearGlobalAveragePool", [x, f(0.05), z8(120), f(0.04), z8(100)], channels_last=1)
    case("QLinearConcat", [f(0.05), z8(100), u8(2, 3), f(0.04), z8(120), u8(2, 5), f(0.06), z8(90)],
         axis=1)
    case("QLinearWhere", [numbers(0, 2, 2, 8).astype(bool), u8(2, 8), f(0.05), z8(100), u8(2, 8),
                          f(0.04), z8(110), f(0.06), z8(120)])
    case("QLinearConv", [x, f(0.05), z8(120), u8(5, 4, 3, 3), f(0.02), z8(128), f(0.2), z8(100),
                         numbers(-500, 500, 5)])
    case("QLinearConv", [u8(1, 6, 6, 4), f(0.05), z8(120), weights(5, 4, 3, 3), reals(5, scale=0.01) ** 2
                         + f(0.01), np.zeros(5, np.int8), f(0.2), z8(100)], channels_last=1)
    case("QuantizeLinear", [reals(3, 8), f(0.05), z8(120)])
    case("DequantizeLinear", [u8(3, 8), f(0.05), z8(120)])
    case("DequantizeLinear", [u8(3, 8), np.abs(reals(3)), u8(3)], axis=0)
    a, b = u8(4, 6), u8(6, 5)
    case("QGemm", [a, f(0.05), z8(120), b, f(0.02), z8(128), numbers(-500, 500, 5), f(0.2), z8(100)])
    case("QGemm", [a, f(0.05), z8(120), weights(5, 6), np.abs(reals(5)), np.zeros(5, np.int8),
                   numbers(-500, 500, 5)], transB=1, alpha=2.0)
    case("MatMulIntegerToFloat", [a, b, f(0.05), f(0.02), z8(120), z8(128), reals(5)])
    case("MatMulIntegerToFloat", [a, weights(6, 5), f(0.05), np.abs(reals(5)), z8(120)])
    case("DynamicQuantizeMatMul", [reals(4, 6), b, f(0.02), z8(128), reals(5)])
    case("DynamicQuantizeMatMul", [reals(4, 6), weights(6, 5), np.abs(reals(5))])
    case("MatMulInteger16", [numbers(-300, 300, 4, 6, dtype=np.int16),
                             numbers(-300, 300, 6, 5, dtype=np.int16)])
    hidden, heads = 32, 4
    data = [u8(2, 5, hidden), u8(hidden, 3 * hidden), reals(3 * hidden), f(0.02), f(0.01)]
    case("QAttention", data + [None, z8(128), z8(120)], num_heads=heads)
    case("QAttention", data + [np.array([5, 3], np.int32), z8(128), z8(120)], num_heads=heads)
    case("QAttention", data + [None, z8(128), z8(120), reals(2, 2, heads, 3, 8)], 2,
         num_heads=heads, unidirectional=1)


def few_bits():
    rows, columns, block = 12, 64, 32
    blocks = columns // block
    for bits in (4, 8):
        b = u8(rows, blocks, block * bits // 8)
        scales = np.abs(reals(rows * blocks))
        case("MatMulNBits", [reals(3, columns), b, scales], K=columns, N=rows, bits=bits,
             block_size=block)
        packed = (blocks * bits + 7) // 8
        case("MatMulNBits", [reals(2, 3, columns), b, scales, u8(rows * packed)], K=columns,
             N=rows, bits=bits, block_size=block)
    b = u8(rows, 3, 16)
    case("MatMulNBits", [reals(3, 80), b, np.abs(reals(rows * 3)), None, None, reals(rows)], K=80,
         N=rows, bits=4, block_size=32)
    for kind in (0, 1):
        case("MatMulBnb4", [reals(3, columns), u8(rows * columns // 2),
                            np.abs(reals(rows * columns // block))], K=columns, N=rows,
             block_size=block, quant_type=kind)
    case("GatherBlockQuantized", [u8(10, 16), numbers(0, 10, 2, 3, dtype=np.int64),
                                  np.abs(reals(10, 2)), u8(10, 1)], bits=4, block_size=16)


def write(path, domain, op, inputs, outputs, attributes):
    names, infos, constants = [], [], []
    for i, value in enumerate(inputs):
        if value is None:
            names.append("")
            continue
        names.append("x%d" % i)
        if isinstance(value, Constant):
            constants.append(numpy_helper.from_array(value.value, names[-1]))
            continue
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        infos.append(helper.make_tensor_value_info(names[-1], kind, value.shape))
    results = ["y%d" % i for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=r) for r in results],
                              initializer=constants)
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    with open(path, "wb") as out:
        out.write(model.SerializeToString())


def wrong(got, want, op):
    """What differs, or nothing."""
    want = np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return "found %s %s, expected %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    if want.size == 0:
        return None
    if want.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # infinities
            apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
        apart = np.max(np.where(got == want, 0, apart))
        share = apart / max(np.max(np.abs(want), where=np.isfinite(want), initial=0), 1e-6)
        bound = 4e-3 if want.dtype == np.float16 else 2e-4
        return None if share <= bound else "differs by %.2e of the largest" % share
    apart = np.max(np.abs(got.astype(np.int64) - want.astype(np.int64)))
    rounds = op.startswith("Q") and want.dtype.itemsize == 1
    return None if apart <= rounds else "differs by %d" % apart


def arrays():
    boxes = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [-0.2, 0.3, 1.2, 0.5], [0.8, 0.9, 0.2, 0.1]],
                     np.float32)
    images, which = reals(2, 3, 7, 9), np.array([0, 1, 1, 0], np.int32)
    for mode in ("bilinear", "nearest"):
        for size in ([4, 5], [1, 6], [3, 1]):
            case("CropAndResize", [images, boxes, which, np.array(size, np.int32)], mode=mode,
                 extrapolation_value=2.5)
    case("UnfoldTensor", [reals(2, 9, 3)], dim=1, size=4, step=2)
    for dtype in (np.int32, np.int64, np.uint32, np.float32, np.float64):
        case("MurmurHash3", [numbers(-9, 99, 2, 5).astype(dtype)], seed=7, positive=1)
    case("MurmurHash3", [numbers(-9, 99, 6)], positive=0)
    for size in (1, 2, 3, 9):
        case("NGramRepeatBlock", [numbers(0, 4, 3, 8, dtype=np.int64), reals(3, 6)], ngram_size=size)
    case("SwiGLU", [reals(3, 8), reals(3, 8)])
    case("SwiGLU", [reals(3, 8, scale=4)], limit=2.0, activation_alpha=1.7, activation_beta=1.0)
    case("ScaledSiLU", [reals(3, 8)], alpha=1.5)
    table = [u8(n, 8) for n in (20, 12, 3)]
    case("QEmbedLayerNormalization",
         [numbers(0, 20, 2, 5), numbers(0, 3, 2, 5), *table, u8(8), u8(8), None,
          *[Constant(f(s)) for s in (0.1, 0.02, 0.03, 0.01, 0.05)],
          *[Constant(z8(z)) for z in (128, 120, 110, 90, 100)]], 2)
    for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        for width in (1, 16):
            scale = [np.full((count,) + ((width,) if width > 1 else ()), s, np.float32)
                     for s in (0.01, 0.02)]
            zero = [np.full(v.shape, z, np.uint8) for v, z in zip(scale, (120, 130))]
            case("DynamicQuantizeLSTM",
                 [reals(5, 3, 6), Constant(u8(count, 6, 16)), Constant(u8(count, 4, 16)),
                  reals(count, 32), None, None, None, reals(count, 12),
                  Constant(scale[0]), Constant(zero[0]), Constant(scale[1]), Constant(zero[1])],
                 3, hidden_size=4, direction=direction)


def caches():
    rows, heads, size, most, past = 4, 2, 4, 6, 3
    hidden, seen = heads * size, 4
    q, k, v, b = reals(rows, 1, hidden), reals(rows, 1, hidden), reals(rows, 1, hidden), reals(3 * hidden)
    held = [reals(rows, heads, most, size) for _ in range(2)]
    count, beams = np.array([past], np.int32), np.array([2], np.int32)
    whose, mask = numbers(0, 2, 2, 2, most), np.array([[1, 0, 1, 1]] * rows, np.int32)
    every, some = reals(rows, heads, 1, seen), reals(1, 1, 1, seen)
    for masked in (None, mask):
        for bias in (None, every, some):
            case("DecoderMaskedMultiHeadAttention", [q, k, v, masked, bias, *held, count, None, None, b],
                 3, num_heads=heads, past_present_share_buffer=1)
            case("DecoderMaskedMultiHeadAttention", [q, k, v, masked, bias, *held, count, beams, whose],
                 3, num_heads=heads, past_present_share_buffer=1, scale=0.3)
    case("DecoderMaskedMultiHeadAttention", [q, k, v, None, None, *held, np.array([0], np.int32)], 3,
         num_heads=heads, past_present_share_buffer=1)
    far = [reals(rows, heads, 5, size) for _ in range(2)]
    case("DecoderMaskedMultiHeadAttention", [q, *far, numbers(0, 2, rows, 5)], num_heads=heads)
    case("DecoderMaskedMultiHeadAttention", [q, *far] + 7 * [None] + [b], num_heads=heads)

    for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        for layer in (0, 5):
            for ends in (0, 1):
                batch, width, hidden, depth, steps = 2, 3, 4, 6, 5
                lengths = np.array([4, 2], np.int32) if ends else None
                far = np.array([3, 5], np.int32) if ends else np.array([5, 5], np.int32)
                case("AttnLSTM",
                     [reals(4, batch, width), reals(count, 4 * hidden, width + (layer or depth)),
                      reals(count, 4 * hidden, hidden), reals(count, 8 * hidden), lengths, None, None,
                      None, reals(count, hidden, 7), reals(count, depth, 7), reals(count, 7),
                      reals(batch, steps, depth), far,
                      reals(count, hidden + depth, layer) if layer else None],
                     3, hidden_size=hidden, direction=direction)

    # Two layouts of blocks of 16; the second sees its own block and the first.
    cosines, sines = rotation(64, 8)
    starts = np.array([[0, 1, 3, 5, 8], [0, 1, 3, 5, 7]], np.int32)
    blocks = np.array([[0, 0, 1, 1, 2, 1, 2, 3], [0, 0, 1, 0, 2, 0, 3, -1]], np.int32)

    def sparse(length, total, ends, packed=False, **attributes):
        batch, heads, key_heads, size = len(ends), 4, 2, 16
        parts = [reals(batch, length, count * size) for count in (heads, key_heads, key_heads)]
        inputs = [np.concatenate(parts, 2), None, None] if packed else parts
        inputs += [reals(batch, key_heads, 64, size) for _ in range(2)]
        inputs += [starts, blocks, np.array([total], np.int32), np.array(ends, np.int32)]
        if attributes.get("do_rotary"):
            inputs += [cosines, sines]
        case("SparseAttention", inputs, 3, num_heads=heads, kv_num_heads=key_heads,
             sparse_block_size=16, **attributes)

    sparse(40, 40, [40, 40])
    sparse(40, 40, [40], packed=True, do_rotary=1)
    sparse(1, 41, [41, 41])
    sparse(1, 50, [50, 50], packed=True, do_rotary=1, rotary_interleaved=1, scale=0.2)


def tokens():
    words = numbers(0, 9, 2, 7, dtype=np.int64)
    factors, sizes = np.array([3, 5, -7], np.int64), np.array([11, 13, 17, 19], np.int64)
    hashing = dict(max_ngram_size=3, n_head_per_ngram=2, pad_id=2)
    before, offsets = numbers(0, 9, 2, 2, dtype=np.int64), np.array([0, 11, 24, 41], np.int64)
    end, segments = np.array(4, np.int64), np.array([[0, 0, 1, 1, 1, 2, 2]] * 2, np.int32)
    for past in (None, before):
        for ends in (None, end):
            for parts in (None, segments):
                for resets in (0, 1):
                    case("NGramHashMapping", [words, factors, sizes, past, offsets, ends, parts], 2,
                         reset_on_eos=resets, **hashing)
    case("NGramHashMapping", [v.astype(np.int32) for v in (words, factors * 10**9, sizes)], **hashing)

    for taps, dilation in ((4, 1), (3, 2), (1, 1)):
        lengths = np.array([0, 3, 4, 9], np.int32)
        for extra in (dict(), dict(activation="silu")):
            case("VarlenCausalConvWithState",  # a sequence without tokens
                 [reals(9, 6), reals(6, 1, taps), np.array([0, 3, 3, 9], np.int32), None,
                  reals(3, 6, (taps - 1) * dilation)], 2, dilation=dilation, **extra)
            case("VarlenCausalConvWithState",
                 [reals(9, 6), reals(6, 1, taps), lengths, reals(6) if extra else None,
                  reals(3, 6, (taps - 1) * dilation)], 2, dilation=dilation, **extra)
    case("VarlenCausalConvWithState",
         [reals(9, 6), reals(6, 1, 3), lengths, None, reals(3, 6, 2), np.array([2, 5, 0], np.int32)],
         3, state_update_capacity=3)

    # Bytes of blocks, whose scales are small halves.
    for kind, numbers_of, width, scales in ((2, 32, 18, [0]), (6, 32, 22, [0]), (8, 32, 34, [0]),
                                            (13, 256, 176, [0, 2]), (14, 256, 210, [208])):
        table = u8(5, 512 // numbers_of, width)
        for at in scales:
            table[:, :, at + 1] = 44
        for dtype in (TensorProto.FLOAT, TensorProto.FLOAT16):
            case("GatherPacked", [table.reshape(5, -1), np.array([[4, 0], [-1, 5]], np.int64)], K=512,
                 packed_type=kind, output_dtype=dtype)
    for kind, dtype in ((0, np.float32), (1, np.float16)):
        table = reals(5, 8).astype(dtype).view(np.uint8)
        case("GatherPacked", [table, numbers(0, 5, 3)], K=8, packed_type=kind,
             output_dtype=TensorProto.FLOAT)

    case("MaxpoolWithMask", [reals(2, 3, 9), numbers(0, 2, 1, 1, 9)], kernel_shape=[3])
    case("MaxpoolWithMask", [reals(2, 3, 9), numbers(0, 2, 1, 1, 9)], kernel_shape=[4], strides=[2],
         pads=[1, 2])
    case("MaxpoolWithMask", [reals(2, 3, 7, 8), numbers(0, 4, 1, 1, 7, 8)], kernel_shape=[3, 2],
         strides=[2, 1], pads=[1, 0, 1, 1])
    case("MaxpoolWithMask", [reals(1, 2, 4, 5, 6), numbers(0, 4, 1, 1, 4, 5, 6)],
         kernel_shape=[2, 3, 2], strides=[1, 2, 3])


def oracle(path, op):
    """What computes the model's results from feeds."""
    if op.startswith("Random") or op in ("Bernoulli", "Dropout"):
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(path)
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Several threads quantise the states of some rows of a batch each.
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def entries(cache, ends):
    """A cache up to each sequence's last entry: what lies behind is the feed's where the cache is
    updated in place, and not defined where it is not."""
    there = np.arange(cache.shape[2])[None, :] <= ends[:, None]
    return np.where(there[:, None, :, None], cache, np.zeros((), cache.dtype))


def check(tool, folder, domain, op, inputs, outputs, attributes):
    path = os.path.join(folder, "m.onnx")
    write(path, domain, op, inputs, outputs, attributes)
    feeds = {"x%d" % i: v for i, v in enumerate(inputs) if isinstance(v, np.ndarray)}
    try:
        wanted = run_shared(oracle(path, op), feeds) if op == "SparseAttention" else \
            oracle(path, op).run(None, feeds)
    except Exception as error:  # an oracle that cannot say
        refusal = str(error).splitlines()[0][:160]
        # Releases of ONNX Runtime differ in which operators they have kernels for.
        return ("lacking: " if "NOT_IMPLEMENTED" in refusal else "the oracle refuses: ") + refusal, True
    np.savez(os.path.join(folder, "in.npz"), **feeds)
    done = subprocess.run([tool, path, "--input=" + os.path.join(folder, "in.npz"),
                           "--output=" + os.path.join(folder, "out.npz")],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or "ended with %d" % done.returncode, False
    with np.load(os.path.join(folder, "out.npz")) as results:
        for i, want in enumerate(wanted):
            got = results["y%d" % i]
            if op == "GroupQueryAttention" and i:
                got, want = (entries(cache, inputs[5]) for cache in (got, want))
            found = wrong(got, want, op)
            if found:
                return "output %d %s" % (i, found), False
    return None, True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir-run", default="weir-run")
    parser.add_argument("operators", nargs="*")
    given = parser.parse_args()
    for make in (of_the_standard, elementwise, normalisations, products, attentions, rotaries,
                 groups, quantised, few_bits, arrays, caches, tokens):
        make()
    ran = bad = unanswered = lacking = 0
    with tempfile.TemporaryDirectory() as folder:
        for domain, op, inputs, outputs, attributes in CASES:
            if given.operators and op not in given.operators:
                continue
            ran += 1
            text, good = check(given.weir_run, folder, domain, op, inputs, outputs, attributes)
            bad += not good
            isLacking = bool(text) and good and text.startswith("lacking: ")
            lacking += isLacking
            unanswered += bool(text) and good and not isLacking
            if text:
                shapes = ["-" if v is None else "x".join(map(str, v.shape)) for v in inputs]
                print(op, " ".join(shapes), attributes, ":", text, flush=True)
    print("%d cases ran, %d of them differ or fail, %d without an answer of the oracle, of %d it has "
          "no kernel" % (ran - lacking, bad, unanswered, lacking))
    sys.exit(1 if bad or ran == lacking else 0)


main()
