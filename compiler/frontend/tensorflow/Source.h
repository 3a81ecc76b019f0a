//===- Source.h - the bytes a graph was read from ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A binary file is mapped and read where it lies. A text file is parsed by
// protobuf and turned into the binary form, so that everything after sees one
// form; only values of a mapped binary file can become blobs.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_SOURCE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_SOURCE_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/MappedFile.h"

#include <memory>
#include <string>
#include <string_view>

namespace weir::tf {

/// Which message a text file holds.
enum class TextMessage { GraphDef, SavedModel };

/// A file and its binary form. Views into bytes() live as long as it does.
/// Immutable after opening.
class Source {
public:
  /// Opens `path`. Null after a diagnostic (W0201: cannot be read, W0203: text
  /// that does not parse).
  static std::unique_ptr<Source> open(const std::string &path, TextMessage message,
                                      DiagnosticSink &sink);

  const std::string &path() const { return file->path(); }
  std::string_view bytes() const { return isText ? std::string_view(converted) : file->bytes(); }
  /// Where a view lies in the mapped file; -1 if it does not.
  int64_t fileOffset(std::string_view view) const;

private:
  std::unique_ptr<MappedFile> file;
  std::string converted;
  bool isText = false;
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_SOURCE_H
