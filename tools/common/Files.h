//===- Files.h - whole files ------------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_FILES_H
#define WEIR_TOOLS_COMMON_FILES_H

#include <string>
#include <string_view>
#include <vector>

namespace weir::tools {

/// Reads a file whole. False, with the system's reason in `error`.
bool readFile(const std::string &path, std::string &bytes, std::string &error);

/// Replaces a file by new contents at once: readers see the old or the new.
bool writeFile(const std::string &path, std::string_view bytes, std::string &error);

/// The file's lines without their ends; a last line needs none.
std::vector<std::string_view> splitLines(std::string_view text);

/// The fields between separators.
std::vector<std::string_view> splitFields(std::string_view line, char separator);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_FILES_H
