//===- tensor_proto.h - serialized tensors ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's TensorProto, in the wire format of protocol buffers:
//   1: dtype, 2: TensorShapeProto, 4: tensor_content (row-major, little-endian), or
//   one of the typed lists: 5: float, 6: double, 7: int (also narrow ones),
//   8: string, 9: scomplex, 10: int64, 11: bool, 12: dcomplex, 13: half,
//   16: uint32, 17: uint64, of which the last value stands for those that miss
//   Strings in tensor_content: the length of each as a varint, then all their bytes
//   TensorShapeProto 2: Dim…, 3: unknown_rank; Dim 1: size
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_TENSOR_PROTO_H
#define WEIR_RUNTIME_INPUT_TENSOR_PROTO_H

#include "kernels/string_support.h"
#include "support/wire_format.h"

namespace weir::rt {

/// A message, before its elements are read.
struct TensorMessage {
  enum class Problem : uint8_t {
    None,
    Broken,  ///< no message
    Invalid, ///< its shape or its contents cannot be
    Rank,    ///< more than WEIR_MAX_RANK dimensions
  };

  /// Reads dtype and shape.
  Problem open(const weir_string &bytes);
  /// Writes `count()` elements of `element` (weir_dtype), strings as they lie in
  /// the message. False: there are other contents.
  bool read(weir_dtype element, void *to) const;

  int64_t count() const;

  uint32_t type = 0; ///< TensorFlow's number
  int32_t rank = 0;
  int64_t dims[WEIR_MAX_RANK] = {};

private:
  weir_string message = {}, content = {};
  bool hasContent = false;
};

/// Where a message has its strings.
enum class Strings : uint8_t { Listed, InContent };

/// Appends a tensor of TensorFlow's type number `type`. False: no memory.
bool writeTensor(weir_context *ctx, Growing &out, int64_t type, const weir_tensor &tensor,
                 Strings strings = Strings::Listed);

/// weir's type of TensorFlow's type number `type`; WEIR_INVALID: it has none.
weir_dtype elementOfTensorType(int64_t type);

/// "float", "int32", …
const char *tensorTypeName(int64_t type);

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_TENSOR_PROTO_H
