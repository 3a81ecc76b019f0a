//===- Zip.h - archives of named byte strings -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What numpy's .npz files are: ZIP archives of entries stored or deflated, read and
// written in memory by libzip.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_ZIP_H
#define WEIR_TOOLS_COMMON_ZIP_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tools {

/// Name and contents, in the archive's order.
using ZipEntries = std::vector<std::pair<std::string, std::string>>;

/// Reads all entries. False, with the reason in `error`: not an archive, a
/// method other than stored and deflate, a wrong checksum, sizes that lie.
bool readZip(std::string_view archive, ZipEntries &entries, std::string &error);

/// An archive of the entries, deflated where that makes them smaller, with a fixed date:
/// equal entries give equal bytes. Empty: there is no memory for it.
std::string writeZip(const ZipEntries &entries);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_ZIP_H
