//===- HostTensor.h - a tensor that the tools own ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tools read from files, feed to a program, fetch from it and compare.
// Element types are weir_dtype numbers; elements lie as weir/weir.h says (row
// by row, little-endian, types narrower than a byte one a byte).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_HOSTTENSOR_H
#define WEIR_TOOLS_COMMON_HOSTTENSOR_H

#include "weir/weir.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tools {

struct HostTensor {
  int32_t dtype = WEIR_INVALID;
  std::vector<int64_t> dims;
  /// Elements of all types but strings and sequences.
  std::string bytes;
  /// Elements of a string tensor.
  std::vector<std::string> strings;
  /// Elements of a sequence (WEIR_TENSOR).
  std::vector<HostTensor> elements;

  int64_t count() const;
  /// "f32 2x3", "i64 scalar".
  std::string typeName() const;

  bool operator==(const HostTensor &) const = default;
};

/// Bytes of one element, 0 for strings and unknown types.
int64_t elementSize(int32_t dtype);

/// "f32", "i64", "string" …, as weirc's --feed writes them; "?" for no type.
std::string_view dtypeName(int32_t dtype);

/// The type of a name: weirc's (`f32`, `ui8`, `u8`), numpy's and TensorFlow's
/// (`float32`, `half`, `qint8`, which is an i8 here). WEIR_INVALID: none.
int32_t dtypeOfName(std::string_view name);

bool isFloat(int32_t dtype);
bool isComplex(int32_t dtype);

/// "2x3", or "scalar".
std::string shapeName(const std::vector<int64_t> &dims);

/// Product of `dims`; -1 for a negative size or 2^62 elements and more.
int64_t productOf(const std::vector<int64_t> &dims);

/// Element `i` of a real type as a double; integers beyond 2^53 round.
double elementAsDouble(const HostTensor &tensor, int64_t i);

/// Element `i` of an integer or bool type; u64 values wrap.
int64_t elementAsInteger(const HostTensor &tensor, int64_t i);

/// Stores `value`, rounded to the type (nearest even for floats, truncated for
/// integers, != 0 for bool), as element `i` of a real type.
void setElement(HostTensor &tensor, int64_t i, double value);

/// Reads one element from text as CSV files hold them: decimal, `nan`, `inf`,
/// `True`, for complex types `(1+2j)`; integers at their full width. False: no
/// such number.
bool setElementFromText(HostTensor &tensor, int64_t i, std::string_view text);

/// A tensor of zeros (empty strings).
HostTensor makeTensor(int32_t dtype, std::vector<int64_t> dims);

/// Reproducible values for measuring and trying out: floats uniform in [0, 1),
/// bools from a coin, integers in [0, 1], strings and sequences empty. The same on every
/// host.
HostTensor randomTensor(int32_t dtype, std::vector<int64_t> dims, uint64_t seed);

/// What views of tensors of strings and of sequences point at.
struct ViewStorage {
  std::vector<weir_string> strings;
  std::vector<weir_tensor> tensors;
  std::vector<weir_tensor_ref> elements;
  std::vector<ViewStorage> nested;
};

/// Describes a tensor to the runtime. Both must outlive the view.
weir_tensor viewOf(HostTensor &tensor, ViewStorage &storage);

/// Copies what the runtime described.
HostTensor copyOf(const weir_tensor &view);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_HOSTTENSOR_H
