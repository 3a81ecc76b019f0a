//===- ImportTarget.h - what fuzzers of importers share ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_IMPORTTARGET_H
#define WEIR_TEST_FUZZ_IMPORTTARGET_H

#include "compiler/frontend/Frontend.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::fuzz {

/// A file in a folder of this process's own, which is there until the process
/// ends. `name` is its last part.
std::string scratchFile(std::string_view name);
/// Replaces a file's contents. A failure ends the process.
void writeScratch(const std::string &path, std::string_view bytes);

/// Writes the bytes to a file whose name ends in `suffix` and imports it. What
/// is refused must come with numbered errors, none of them an internal one, and
/// what is not must verify; else the process aborts.
void importBytes(const Frontend &frontend, std::string_view suffix, const uint8_t *data,
                 size_t size);

/// Aborts unless every error of a refusal has a number that tells the user
/// something.
void checkRefusal(const DiagnosticSink &sink);

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_IMPORTTARGET_H
