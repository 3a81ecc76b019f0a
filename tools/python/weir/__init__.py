# ===- __init__.py - compiled models as callables ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Ahead-of-time compiled machine-learning graphs.

    import weir
    classify = weir.compile("resnet50.onnx")     # or a SavedModel's folder, or an onnx model
    scores = classify(image)                     # NumPy, or anything with __dlpack__

A model becomes a shared object, which `weir.load` opens again without a compiler.
"""

from ._abi import Code, Error
from ._compile import compile
from ._program import Entry, Program, Tensor, load

__version__ = "0.1.0"
__all__ = ["Code", "Entry", "Error", "Program", "Tensor", "compile", "load"]
