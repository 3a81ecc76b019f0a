#!/usr/bin/env python3
#===- wide_bytes.py - convolutions of bytes, as models of ours --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""wide_bytes.py OUT.mlir: convolutions of bytes with channels last, whose filter is fed, or a
constant of random bytes; with a scale for each channel behind one of them."""
import random
import sys

CASES = {
    # name: images, filter, result, strides, pads, dilations
    "fed": ("3x13x12x80", "3x3x80x384", "3x13x12x384", "1, 1", "1, 1, 1, 1", "1, 1"),
    # Two slices of channels; rows and columns differ in all.
    "strided": ("2x29x33x144", "3x2x144x144", "2x13x17x144", "2, 2", "1, 0, 0, 1", "2, 1"),
    "kept": ("3x13x12x80", "3x3x80x264", "3x13x12x264", "1, 1", "1, 1, 1, 1", "1, 1"),
}


def function(name, images, window, result, strides, pads, dilations):
    kept = name == "kept"
    given = f'%a: tensor<{images}xui8> {{weir.name = "a"}}'
    given += ', %s: tensor<264xf32> {weir.name = "s"}' if kept else f', %b: tensor<{window}xi8> {{weir.name = "b"}}'
    type_of_result = f"tensor<{result}x{'f32' if kept else 'i32'}>"
    yield (f'  func.func @{name}({given}) -> ({type_of_result} {{weir.name = "out"}}) '
           f'attributes {{weir.entry = "{name}"}} {{')
    if kept:
        count = 1
        for size in window.split("x"):
            count *= int(size)
        yield f'    %b = weir.constant dense<"0x{random.Random(7).randbytes(count).hex().upper()}"> : tensor<{window}xi8>'
    yield (f"    %0 = weir.conv %a, %b {{accumulator = i32, channels_last = true, dilations = array<i64: {dilations}>, "
           f"groups = 1 : i64, pads = array<i64: {pads}>, strides = array<i64: {strides}>}} : "
           f'(tensor<{images}xui8>, tensor<{window}xi8>) -> tensor<{result}xi32> loc("{name}.conv")')
    last = "%0"
    if kept:
        yield f'    %1 = weir.cast %0 {{saturate = true}} : (tensor<{result}xi32>) -> tensor<{result}xf32> loc("{name}.number")'
        yield f'    %2 = weir.mul %1, %s : (tensor<{result}xf32>, tensor<264xf32>) -> tensor<{result}xf32> loc("{name}.scaled")'
        last = "%2"
    yield f"    return {last} : {type_of_result}"
    yield "  }"


# A product of unlike bytes, which a later version of PTX has than one of equal ones.
PRODUCT = """  func.func @product(%a: tensor<300x272xui8> {weir.name = "a"}, %b: tensor<384x272xi8> {weir.name = "b"}) -> (tensor<300x384xi32> {weir.name = "out"}) attributes {weir.entry = "product"} {
    %0 = weir.dot_general %a, %b {accumulator = i32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<300x272xui8>, tensor<384x272xi8>) -> tensor<300x384xi32> loc("product")
    return %0 : tensor<300x384xi32>
  }"""

with open(sys.argv[1], "w") as file:
    print("module {", file=file)
    for case in CASES.items():
        print(*function(case[0], *case[1]), sep="\n", file=file)
    print(PRODUCT, "}", sep="\n", file=file)
