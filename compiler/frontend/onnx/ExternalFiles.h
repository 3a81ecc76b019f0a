//===- ExternalFiles.h - tensors outside the model file ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_EXTERNALFILES_H
#define WEIR_COMPILER_FRONTEND_ONNX_EXTERNALFILES_H

#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/onnx/TensorReader.h"

#include <map>
#include <set>

namespace weir::onnx {

/// The files that a model's external tensors lie in, each mapped once. Owns the
/// mappings: views into them live as long as this object. Not thread-safe.
///
/// A model may come from anywhere, so a location only reaches files in the
/// model's own folder and below: absolute paths, ".." and symbolic links that
/// lead outside are refused.
class ExternalFiles {
public:
  /// `modelPath` is the model file; locations are relative to its folder.
  explicit ExternalFiles(std::string_view modelPath);

  struct Place {
    const MappedFile *file = nullptr;
    int64_t offset = 0; ///< bytes
    std::string_view bytes;
  };
  /// Finds the values of an external tensor, and compares their size with the
  /// tensor's shape.
  MaybeProblem find(const Tensor &tensor, Place &place);

  /// Adds the paths of all files that were read.
  void addPaths(std::set<std::string> &paths) const;

private:
  std::string folder;
  std::map<std::string, std::unique_ptr<MappedFile>, std::less<>> files;
};

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_EXTERNALFILES_H
