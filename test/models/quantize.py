#===- quantize.py - models of bytes, by ONNX Runtime's quantizer ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: quantize.py MODEL.onnx OUT.onnx [--unsigned] [--qlinear]"""
import argparse
import os
import tempfile

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Images(CalibrationDataReader):
    def __init__(self, path, count=4):
        feed = onnx.load(path, load_external_data=False).graph.input[0]
        shape = [d.dim_value for d in feed.type.tensor_type.shape.dim]
        numbers = np.random.default_rng(5)
        self.images = iter([{feed.name: numbers.standard_normal(shape).astype(np.float32)}
                            for _ in range(count)])

    def get_next(self):
        return next(self.images, None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--unsigned", action="store_true",
                        help="activations of u8, and weights with a scale a channel")
    parser.add_argument("--qlinear", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folded = os.path.join(folder, "folded.onnx")
        quant_pre_process(options.model, folded, skip_symbolic_shape=True)
        quantize_static(folded, options.out, Images(folded),
                        quant_format=QuantFormat.QOperator if options.qlinear else QuantFormat.QDQ,
                        activation_type=QuantType.QUInt8 if options.unsigned else QuantType.QInt8,
                        weight_type=QuantType.QInt8, per_channel=options.unsigned)


if __name__ == "__main__":
    main()
