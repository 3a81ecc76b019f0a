//===- KernelListing.h - code of GPU kernels, to be read ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes apart, by function, what tools of the CUDA toolkit say of an image: forms of text that
// NVIDIA describes in "CUDA Binary Utilities" (cuobjdump, nvdisasm) and in "NVIDIA CUDA Compiler
// Driver" (ptxas -v).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_KERNELLISTING_H
#define WEIR_COMPILER_CODEGEN_CUDA_KERNELLISTING_H

#include "compiler/emit/DeviceKernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace weir {

/// Entry functions by name.
using DeviceKernels = std::map<std::string, DeviceKernel>;

/// The functions of PTX that LLVM wrote for `architecture`, with their text.
DeviceKernels readPtx(llvm::StringRef ptx, llvm::StringRef architecture);
/// Adds what `ptxas -v` said of the functions for their architecture; what else it said is left.
void addAssemblerFigures(llvm::StringRef log, DeviceKernels &functions);
/// Adds the instructions of `cuobjdump -sass` or `nvdisasm -c`, of one architecture: a line an
/// instruction, which begins with its offset, without its encoding.
void addMachineCode(llvm::StringRef text, DeviceKernels &functions);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_KERNELLISTING_H
