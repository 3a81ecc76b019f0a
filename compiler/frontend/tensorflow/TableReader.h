//===- TableReader.h - sorted string tables ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table format of variable bundles: LevelDB's, with blocks that may be
// Snappy-compressed. Layout, from the end: a 48-byte footer with two handles
// (offset, size) and a magic number; the index block, whose values are handles
// of data blocks; blocks, each followed by a type byte and a masked CRC-32C.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_TABLEREADER_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_TABLEREADER_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tf {

using TableEntries = std::vector<std::pair<std::string, std::string>>;

/// Reads all entries of a table, in the order they lie in. False, with one
/// line in `error`, where it is damaged. Tables here are the indices of
/// bundles: kilobytes to a few megabytes; more than 1 GiB is refused.
bool readTable(std::string_view file, TableEntries &entries, std::string &error);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_TABLEREADER_H
