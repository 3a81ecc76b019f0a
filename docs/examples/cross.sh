#!/bin/sh
#===- cross.sh - a program for another machine ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
#
# usage: cross.sh WEIR OUT
#
# Builds the runtime of the source tree WEIR for 64-bit Arm in OUT/runtime, compiles the digits
# network for it, links a program that needs no library of that machine, and runs it in an
# emulator. On Debian: apt install g++-aarch64-linux-gnu qemu-user cmake ninja-build.
#
set -e
weir=$1 out=$2 kind=aarch64-linux-gnu

# The runtime needs a compiler of C++ and nothing else.
cmake -S "$weir" -B "$out/runtime" -G Ninja -DWEIR_RUNTIME_ONLY=ON -DWEIR_CCACHE=OFF \
  -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_C_COMPILER=$kind-gcc -DCMAKE_CXX_COMPILER=$kind-g++ >"$out/configure.log"
cmake --build "$out/runtime" >"$out/build.log"

# --cpu=NAME takes a processor as LLVM calls it, cortex-a76, and its instructions.
weirc "$weir/test/digits/digits.onnx" --target=$kind -o "$out/digits.o"
$kind-g++ -std=c++17 -O1 -static -I"$out" "$weir/docs/examples/threads.cpp" "$out/digits.o" \
  "$out/runtime/lib/libweir_runtime.a" -pthread -o "$out/threads"
qemu-aarch64 "$out/threads" "$weir/test/digits/samples.f32" "$weir/test/digits/samples.u8"
