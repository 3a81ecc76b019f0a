#!/usr/bin/env python3
# ===- chain.py - elementwise operations in a row ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""chain.py COUNT prints a function of COUNT operations, each of the one before."""
import sys

count = int(sys.argv[1])
print("func.func @f(%v0: tensor<8xf32>) -> tensor<8xf32> {")
for i in range(count):
    print(f'  %v{i + 1} = weir.tanh %v{i} : (tensor<8xf32>) -> tensor<8xf32> loc("n{i}")')
print(f"  return %v{count} : tensor<8xf32>\n}}")
