//===- ExternalOutput.h - values beside a model -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_EXTERNALOUTPUT_H
#define WEIR_COMPILER_INSIGHT_EXTERNALOUTPUT_H

#include "compiler/emit/OutputFile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::insight {

/// The file that holds the external tensors of a model that is written. It is made when
/// the first are added, and takes its name with commit().
class ExternalOutput {
public:
  /// `model` is the path of the model file.
  explicit ExternalOutput(const std::string &model) : path(model + ".data") {}

  /// Appends values, and says where they lie.
  llvm::Expected<int64_t> add(std::string_view bytes);
  /// What the model calls the file: it lies beside it.
  std::string location() const;
  llvm::Error commit();

private:
  std::string path;
  std::optional<OutputFile> file;
  int64_t end = 0;
};

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_EXTERNALOUTPUT_H
