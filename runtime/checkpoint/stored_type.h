//===- stored_type.h - element types of checkpoints -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checkpoints have TensorFlow's numbers of types (types.proto).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_STORED_TYPE_H
#define WEIR_RUNTIME_CHECKPOINT_STORED_TYPE_H

#include <stdint.h>

namespace weir::rt {

inline constexpr int32_t storedString = 7;

struct StoredType {
  const char *name; ///< as TensorFlow has it
  int8_t bytes;     ///< of an element; 0: a string, or nothing that is stored
  int8_t swapped;   ///< bytes of what is turned around on big-endian machines
  int8_t dtype;     ///< weir_dtype, 0: none
  /// Whether TensorFlow puts tensors of the type together from slices, or takes them apart.
  bool isSliced;
  /// The field of TensorProto that has values of the type; 0: the old format has none.
  int8_t field;
};

/// Never null; a type that nobody knows has no bytes.
const StoredType &storedType(int32_t number);
/// The number of a weir_dtype; 0: TensorFlow has none for it.
int32_t storedTypeOf(int32_t dtype);

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_STORED_TYPE_H
