#===- quantized.py - a convolution of bytes, as text for model.py ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Prints a quantised model with BATCH pictures: weights are 64 x 32 x 3 x 3 bytes.

usage: quantized.py BATCH
"""
import sys

weights = " ".join(str((7 * i) % 255 - 127) for i in range(64 * 32 * 9))
print("""ONNX: opset 13
ONNX: input x f32 %sx32x14x14
ONNX: init sx f32 scalar = 0.02
ONNX: init zx ui8 scalar = 128
ONNX: init w i8 64x32x3x3 = %s
ONNX: init sw f32 scalar = 0.01
ONNX: init zw i8 scalar = 0
ONNX: xq = QuantizeLinear(x, sx, zx)
ONNX: xd = DequantizeLinear(xq, sx, zx)
ONNX: wd = DequantizeLinear(w, sw, zw)
ONNX: conv: c = Conv(xd, wd) pads=[1,1,1,1]
ONNX: cq = QuantizeLinear(c, sx, zx)
ONNX: y = DequantizeLinear(cq, sx, zx)
ONNX: output y""" % (sys.argv[1], weights))
