//===- ConstantHashes.h - hashes of a model's constants ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_CONSTANTHASHES_H
#define WEIR_COMPILER_FRONTEND_ONNX_CONSTANTHASHES_H

#include "llvm/ADT/DenseMap.h"
#include <string>
#include <string_view>
#include <vector>

namespace weir::onnx {

/// From this many bytes on a tensor stays in the file. Shapes, axes and scales,
/// which the importer and passes look into, are far below.
inline constexpr size_t blobBytes = 1024;

/// What tells constants apart that stay in the file: the hash of their bytes, as text. Reading all
/// of a large model for it takes most of its import, which several threads share.
class ConstantHashes {
public:
  /// Hashes each of `constants`, `jobs` at a time, the largest first. Their bytes stay where they
  /// are for as long as `of` is asked.
  void compute(std::vector<std::string_view> constants, unsigned jobs);

  /// The hash of a constant, 32 digits: what `compute` found of these very bytes, or else computed
  /// now.
  std::string of(std::string_view bytes) const;

private:
  llvm::DenseMap<std::pair<const char *, size_t>, std::string> known;
};

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_CONSTANTHASHES_H
