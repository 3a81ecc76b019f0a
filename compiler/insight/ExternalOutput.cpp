//===- ExternalOutput.cpp - values beside a model -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/ExternalOutput.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace weir::insight;

/// Engines map the file; values begin where vectors are aligned.
static constexpr uint64_t alignment = 64;

llvm::Expected<int64_t> ExternalOutput::add(std::string_view bytes) {
  if (!file) {
    llvm::Expected<OutputFile> made = OutputFile::create(path);
    if (!made)
      return made.takeError();
    file.emplace(std::move(*made));
  }
  int64_t offset = static_cast<int64_t>(llvm::alignTo(end, alignment));
  if (llvm::Error error = file->write(std::string(offset - end, '\0')))
    return std::move(error);
  if (llvm::Error error = file->write({bytes.data(), bytes.size()}))
    return std::move(error);
  end = offset + static_cast<int64_t>(bytes.size());
  return offset;
}

std::string ExternalOutput::location() const { return llvm::sys::path::filename(path).str(); }

llvm::Error ExternalOutput::commit() { return file ? file->commit() : llvm::Error::success(); }
