//===- Imported.h - what an edge of the graph stands for --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_IMPORTED_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_IMPORTED_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <memory>
#include <optional>

namespace weir::tf {

/// What all versions of a TensorArray or TensorList have in common. The element
/// shape is often unknown until the first write; whoever finds it out sets it
/// here, and loops that carry the array are then imported anew.
struct ArrayInfo {
  mlir::Type element;
  std::optional<llvm::SmallVector<int64_t>> shape; ///< may hold kDynamic
  mlir::Value length;  ///< tensor<i64>: elements at the beginning
  bool grows = false;  ///< writes may lie past the end
};

/// The value of an edge. An array is one tensor of all its elements, which
/// flows from write to write; TensorArray's handle has no value of its own, its
/// flow is the array.
struct Imported {
  enum class Kind : uint8_t {
    None,     ///< could not be imported (reported), or nothing
    Tensor,   ///< `value`
    Resource, ///< `value`: a variable
    Array,    ///< `value`, null while the element shape is unknown; `array`
    Handle,   ///< `array`
  };
  Kind kind = Kind::None;
  mlir::Value value;
  std::shared_ptr<ArrayInfo> array;
  /// Of a variable: the type of what it holds, and whether it is of version
  /// one, where an operation that takes a tensor reads the variable.
  mlir::RankedTensorType type;
  bool isRef = false;

  Imported() = default;
  Imported(mlir::Value tensor)
      : kind(tensor ? Kind::Tensor : Kind::None), value(tensor) {}
  static Imported makeArray(mlir::Value value, std::shared_ptr<ArrayInfo> info) {
    Imported result;
    result.kind = Kind::Array;
    result.value = value;
    result.array = std::move(info);
    return result;
  }
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_IMPORTED_H
