#!/usr/bin/env python3
# ===- classify.py - a model from Python --------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""usage: classify.py digits.onnx samples.npy"""

import sys

import numpy as np
import weir

model, samples = sys.argv[1:]
images = np.load(samples)

# Once, on a machine with weirc; the shared object goes where the program goes.
weir.compile(model, output="digits.so", cpu="x86-64-v3")

# There: no compiler, no framework.
classify = weir.load("digits.so")
print(classify.default.inputs, "->", classify.default.outputs)
scores = classify(images)
print("first digits:", scores[:10].argmax(axis=1).tolist())

# Several runs at once.
futures = [classify.run_async(batch) for batch in np.array_split(images, 4)]
assert sum(len(future.result()) for future in futures) == len(images)
