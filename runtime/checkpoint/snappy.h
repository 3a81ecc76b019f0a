//===- snappy.h - decompression of Snappy blocks ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_SNAPPY_H
#define WEIR_RUNTIME_CHECKPOINT_SNAPPY_H

#include "support/list.h"

namespace weir::rt {

/// Decompresses one Snappy block (no framing) into `out`. False where the block
/// is damaged, claims more than `limit` bytes, or there is no memory (then `out`
/// has failed). Format: google/snappy, format_description.txt.
bool snappyDecompress(const char *block, int64_t bytes, int64_t limit, HeapList<char> &out);

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_SNAPPY_H
