#!/usr/bin/env python3
#===- decoder.py - a small decoder with grouped queries ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""decoder.py OUT.onnx [small]: a step of two layers of 8 query heads over 2 of keys, behind 300 tokens, in bf16; or a
small one of one layer."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import gpu_models  # noqa: E402

sizes = dict(past=300, layers=2, width=256, heads=8, inner=512, vocabulary=512)
if sys.argv[2:] == ["small"]:
    sizes = dict(past=260, layers=1, width=64, heads=4, inner=128, vocabulary=64)
gpu_models.grouped_decoder("decoder", make=gpu_models.bf16, length=1, batch=1, groups=2, **sizes).write(sys.argv[1])
