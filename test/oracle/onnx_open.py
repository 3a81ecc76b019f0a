#===- onnx_open.py - Operands of which ONNX leaves results open ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Nodes that are not drawn: ONNX does not say what they give, or ONNX Runtime computes them too
coarsely to be asked (docs/oracle.md lists them)."""
import ml_dtypes
import numpy as np

import onnx_searches
import onnx_trees
import values
from cases import Reject

POOLS = ("AveragePool", "MaxPool", "MaxpoolWithMask", "LpPool", "NhwcMaxPool", "QLinearAveragePool")


def beyond(name, image, attributes):
    """Whether a pool's window, with its dilations, is larger than the padded image; where counts are
    rounded up, by a step at least."""
    kernel = attributes.get("kernel_shape") or []
    is_last = name == "NhwcMaxPool" or attributes.get("channels_last")
    sizes = image.shape[1:-1] if is_last else image.shape[2:]
    rates = attributes.get("dilations") or [1] * len(kernel)
    pads = attributes.get("pads") or [0] * 2 * len(kernel)
    steps = attributes.get("strides") or [1] * len(kernel)
    slack = [step - 1 if attributes.get("ceil_mode") else 0 for step in steps]
    return attributes.get("auto_pad") in (None, b"NOTSET", b"VALID") and any(
        (k - 1) * r + 1 > size + before + after + more for k, r, size, before, after, more in
        zip(kernel, rates, sizes, pads, pads[len(kernel):], slack))


def is_nearly_even(value, epsilon):
    """Whether the mean of a plane of N C S... is many times its deviation."""
    planes = value.reshape(*value.shape[:2], -1).astype(np.float64)
    with np.errstate(all="ignore"):
        spread = np.sqrt(np.var(planes, axis=-1) + (epsilon or 1e-5))
        return planes.size > 0 and bool(np.any(np.abs(np.mean(planes, axis=-1)) > 100 * spread))


def forgets(value, attributes):
    """Whether squares are small beside those that ONNX Runtime's running sum along channels has
    had before: it subtracts what leaves the window."""
    if value.ndim < 2 or not value.size:
        return False
    size = attributes["size"]
    given = {"alpha": 1e-4, "bias": 1.0}
    given.update({k: v for k, v in attributes.items() if v is not None})
    squares = np.moveaxis(value.astype(np.float64) ** 2, 1, 0)
    before, channels = (size - 1) // 2, len(squares)
    for c in range(channels):
        window = np.sum(squares[max(c - before, 0):c + size - before], axis=0)
        had = np.max(squares[:c + size - before], axis=0)
        scale = given["alpha"] / size
        if np.any(abs(scale) * had > 8 * np.abs(given["bias"] + scale * window)):
            return True
    return False


def is_open_layout(operands):
    """Whether ONNX Runtime's SparseAttention is wrong of such sequences, or blocks: of lengths that are
    not alike, or of blocks that are named twice."""
    starts, columns, total, ends = operands[5:9]
    if total.size != 1 or np.any(ends != total.reshape(-1)[0]):
        return True
    if starts.ndim != 2 or columns.ndim != 2:
        return False
    return any(np.any(np.diff(row[begin:end]) <= 0) for row, bounds in zip(columns, starts)
               for begin, end in zip(bounds, bounds[1:]) if 0 <= begin < end)


def leaves_range(value):
    """Whether products of some factors overflow, or are 0, and others bring them back, or make them NaN."""
    if not values.is_float(value.dtype):
        return False
    with np.errstate(all="ignore"):
        powers = np.log2(np.abs(value.astype(np.float64)))
    info = ml_dtypes.finfo(value.dtype)
    grows, shrinks = np.sum(powers[powers > 0]), np.sum(powers[powers < 0])
    return bool(grows >= info.maxexp - 1 and shrinks < 0 or shrinks <= info.minexp + 1 and grows > 0)


def underflows(value):
    """Whether exponentials of halves beside the largest are 0, of which a logarithm is taken."""
    if not values.is_float(value.dtype) or value.itemsize > 2 or not value.size:
        return False
    wide = value.astype(np.float64)
    return bool(np.ptp(wide) > -np.log(float(ml_dtypes.finfo(value.dtype).smallest_normal)))


def reject_operands(name, inputs, attributes):
    """Rejects operands of which ONNX leaves the results open."""
    value = inputs[0]
    if name in ("ReduceL2", "ReduceSumSquare") and value.dtype.kind in "iu" and \
            np.sum(value.astype(np.float64) ** 2) > np.iinfo(value.dtype).max:
        raise Reject("squares that overflow")
    if name in ("ReduceProd", "CumProd") and leaves_range(value):
        raise Reject("factors whose order says whether a product overflows")
    if name == "LogSoftmax" and underflows(value):
        raise Reject("halves, whose softmax the reference evaluator rounds to 0 before its logarithm")
    if name == "Normalizer" and value.dtype.kind == "i" and \
            np.max(np.abs(value.astype(np.float64)), initial=0) ** 2 > np.iinfo(value.dtype).max:
        raise Reject("squares that ONNX Runtime computes in integers, which overflow")
    if name in POOLS and beyond(name, value, attributes):
        raise Reject("a window larger than the image, whose size C's division makes 1")
    if name in ("GreedySearch", "Sampling") and inputs[0].size != 1 and \
            attributes.get("vocab_size") not in (None, onnx_searches.scores_of(attributes["decoder"])):
        raise Reject("rows of scores that ONNX Runtime takes for as long as vocab_size")
    if name == "SparseAttention" and is_open_layout(inputs):
        raise Reject("sequences of several lengths, or blocks that are there twice")
    if name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool") and value.ndim < 3:
        raise Reject("images without a dimension to pool over, which ONNX Runtime refuses as weir does")
    if name == "Pad" and len(inputs) == 2 and attributes.get("mode") in (b"edge", b"reflect") and \
            inputs[1].shape == (2 * value.ndim,):
        cut = np.minimum(inputs[1].reshape(2, -1), 0).sum(0) + value.shape
        if np.any((cut <= 0) & (inputs[1].reshape(2, -1).max(0) <= 0)):
            raise Reject("no border of a dimension without elements, which ONNX Runtime refuses")
    if name == "MelWeightMatrix" and any(np.any(v.astype(np.float64) < 0) for v in inputs[2:]):
        raise Reject("negative frequencies, whose places the reference evaluator counts from the end")
    if name.startswith("TreeEnsemble") and onnx_trees.lacks_only_for_runtime(value, attributes):
        raise Reject("features that ONNX Runtime asks for, and no branch")
    if name == "RoiAlign" and inputs[1].size and 0 in value.shape[2:]:
        raise Reject("regions of images without pixels, for which ONNX Runtime reads others' memory")
    if name == "Resize" and attributes.get("coordinate_transformation_mode") == b"align_corners" and \
            len(inputs) > 2 and inputs[2] is not None and inputs[2].size:
        axes = attributes.get("axes") or range(value.ndim)
        with np.errstate(all="ignore"):
            if any(value.shape[a] * s % 1 for a, s in zip(axes, inputs[2].ravel().astype(float))):
                raise Reject("corners of a size that is no integer, which ONNX Runtime cuts first")


def reject_open(schema, drawn):
    """Rejects what ONNX leaves open, or ONNX Runtime computes too coarsely to be asked."""
    value, name = drawn.inputs[0], schema.name
    is_integer = value is not None and value.dtype.kind in "iu"
    reject_operands(name, drawn.inputs, drawn.attributes)
    if (name == "ReduceMean" or name.endswith("Loss")) and not value.size:
        raise Reject("the mean of nothing, which ONNX leaves open")
    if name in ("ReduceMean", "ReduceL1") and is_integer and \
            np.sum(np.abs(value.astype(np.float64))) >= 1 << 53:
        raise Reject("a sum of doubles, whose last bits hang on its order")
    if name == "InstanceNormalization" and is_nearly_even(value, drawn.attributes.get("epsilon")):
        raise Reject("planes that hardly vary, which ONNX Runtime scales before it subtracts means")
    if name == "LRN" and forgets(value, drawn.attributes):
        raise Reject("squares that ONNX Runtime's running sum forgets beside larger ones")
    if name == "STFT" and not any(v is not None for v in drawn.inputs[2:]):
        raise Reject("neither a window nor a frame_length, one of which ONNX asks for")
    if name in ("RNN", "GRU", "LSTM", "DynamicQuantizeLSTM") and not value.shape[-1]:
        raise Reject("steps without features, whose gates ONNX Runtime leaves as memory was")
    if name == "DFT" and drawn.attributes.get("onesided") and not drawn.attributes.get("inverse") \
            and value.ndim and value.shape[-1] == 2:
        raise Reject("a onesided transform of complex numbers, which the reference evaluator cuts")
    if name == "RoiAlign" and drawn.attributes.get("mode") == b"max" and not values.is_finite(value):
        raise Reject("NaN or infinity where an order decides, the largest of samples")
    if name == "DeformConv" and not values.is_finite(drawn.inputs[2]):
        raise Reject("taps at infinite places, of which ONNX Runtime's weights are no numbers")
    if name == "Tanh" and value.dtype == np.float32 and np.any((np.abs(value) < 1e-36) & (value != 0)):
        raise Reject("numbers at the smallest, of which ONNX Runtime's Tanh has half of the digits")
    if name == "CenterCropPad" and value.dtype == object:
        raise Reject("zeros that are strings")
    if name == "PRelu" and len(drawn.inputs) > 1 and not values.is_finite(drawn.inputs[1]):
        raise Reject("an infinite slope, which both oracles multiply with 0")
    if name in ("LayerNormalization", "GroupNormalization") and value.dtype == np.float64 and \
            (name[0] == "G" or np.max(np.abs(value), initial=0) > 1e15):
        raise Reject("doubles whose statistics are f32")
    if name == "Clip" and drawn.schema.since == 11 and value.dtype == np.float16 and \
            np.isinf(value).any():
        raise Reject("infinite halves, which ONNX Runtime cuts as floats")
    if name == "Pow" and is_integer and not np.all(value) and \
            np.any(drawn.inputs[1].astype(np.float64) < 0):
        raise Reject("integer zero to a negative power, which ONNX leaves open")
    if name == "NonZero" and not value.ndim:
        raise Reject("a scalar, whose result ONNX Runtime gives a row")
    if name == "AffineGrid" and drawn.attributes.get("align_corners") and \
            1 in list(drawn.inputs[1][2:]):
        raise Reject("corners of a side of one")
    if name == "Shrink" and value.dtype == np.float64:
        raise Reject("doubles that are computed in f32")
    if name == "Shrink" and is_integer and value.dtype.itemsize == 8 and \
            np.max(np.abs(value.astype(np.float64)), initial=0) > 1 << 61:
        raise Reject("floats beyond an integer's range")
    if name == "Sigmoid" and value.dtype == np.float64 and value.size and np.max(value) < -1 and \
            np.min(value) < -4:
        raise Reject("doubles of a logistic function whose absolute error alone ONNX Runtime bounds")
    if name == "QuickGelu" and value.size and \
            np.min((drawn.attributes.get("alpha") or 1.702) * value.astype(np.float64)) < -4:
        raise Reject("a logistic function whose absolute error alone ONNX Runtime bounds")
    if name == "Gelu" and value.dtype == np.float32 and value.size and np.max(value) < -3:
        raise Reject("1 + erf is an epsilon of 1 here, which ONNX Runtime rounds to a digit")
    if name == "Gelu" and value.dtype.name == "bfloat16" and np.any(value.astype(np.float64) < -2):
        raise Reject("bfloat16 whose 1 + erf the reference evaluator rounds to 0")
    if name == "DequantizeLinear" and value.dtype.name == "float4_e2m1fn" and \
            len(drawn.inputs) > 2 and drawn.inputs[2] is not None and np.any(drawn.inputs[2]):
        raise Reject("a zero point of floats of four bits, which the reference evaluator leaves out")
