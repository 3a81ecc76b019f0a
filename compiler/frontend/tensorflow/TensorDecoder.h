//===- TensorDecoder.h - the values of a TensorProto ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's rules (core/framework/tensor.cc): tensor_content wins; else the
// typed field, whose last value is repeated where there are too few, zeros
// where there are none, and whose surplus is ignored.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORDECODER_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORDECODER_H

#include "compiler/frontend/tensorflow/GraphDef.h"

#include <string>
#include <string_view>
#include <vector>

namespace weir::tf {

/// The values of a tensor, little-endian and row by row.
struct TensorValues {
  enum class Kind : uint8_t {
    View,   ///< `view`, which lies in the file
    Owned,  ///< `storage`
    Splat,  ///< `storage` is one element that all elements equal
    Strings ///< `strings`, one an element; a single one stands for all
  };
  Kind kind = Kind::Owned;
  std::string_view view;
  std::string storage;
  std::vector<std::string_view> strings;
  int64_t count = 0; ///< elements

  /// The bytes of all elements; of one for a splat.
  std::string_view bytes() const { return kind == Kind::View ? view : std::string_view(storage); }
  /// Integer or boolean element `i`, whatever its width.
  int64_t integer(DataType type, int64_t i) const;
  /// Floating-point element `i` of type float or double.
  double number(DataType type, int64_t i) const;
};

/// The product of `dims`, which must all be known; -1 where it does not fit in
/// 62 bits.
int64_t elementCount(const std::vector<int64_t> &dims);

/// Decodes. False, with one line in `error` (found…; possible…), where the
/// message contradicts itself or claims more than `kMaxExpandedBytes` for
/// values that the file does not hold. Memory: at most that, plus nothing for
/// tensor_content, which stays in the file.
bool decodeTensor(const Tensor &tensor, TensorValues &values, std::string &error);

/// Limit for values that a file claims by repetition with differing elements.
inline constexpr int64_t kMaxExpandedBytes = int64_t(1) << 28;
/// Limit for a tensor that is one repeated value, which costs nothing here.
inline constexpr int64_t kMaxSplatBytes = int64_t(1) << 40;

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORDECODER_H
