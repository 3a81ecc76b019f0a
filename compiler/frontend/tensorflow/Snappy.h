//===- Snappy.h - decompression of Snappy blocks ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_SNAPPY_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_SNAPPY_H

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::tf {

/// Decompresses one Snappy block (no framing) into `out`. False where the block
/// is damaged or claims more than `limit` bytes. Format: google/snappy,
/// format_description.txt.
bool snappyDecompress(std::string_view block, size_t limit, std::string &out);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_SNAPPY_H
