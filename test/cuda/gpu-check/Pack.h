//===- Pack.h - weights in a few bytes ---------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_PACK_H
#define WEIR_TEST_CUDA_GPU_CHECK_PACK_H

#include <string>

namespace weir::gpucheck {

/// Writes `from` to `to` as copies of stretches before, of any distance, and what
/// lies between them. Made for the weights of test/models/gpu_models.py; any file
/// comes back the same. Returns "" or what is wrong, which names the file.
std::string pack(const std::string &from, const std::string &to);

/// The way back. A file that is damaged is an error, and leaves no result.
std::string unpack(const std::string &from, const std::string &to);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_PACK_H
