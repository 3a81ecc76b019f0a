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

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::tf {

/// What all versions of a TensorArray, TensorList or stack have in common. The
/// element shape is often unknown until the first write; whoever finds it out
/// sets it here, and loops that carry the array are then imported anew.
struct ArrayInfo {
  mlir::Type element; ///< null where elements are lists themselves
  /// Of one element; kDynamic where elements may differ.
  std::optional<llvm::SmallVector<int64_t>> shape;
  std::shared_ptr<ArrayInfo> inner; ///< what elements that are lists are
  mlir::Value length;               ///< tensor<i32 or i64>: elements at the beginning
  int64_t most = -1;                ///< how many elements may be pushed; -1: any number
  mlir::Value openMost;             ///< i64: the same where only the run knows
  bool grows = false;               ///< writes may lie past the end
  bool isNested = false;            ///< elements are lists
  bool isAny = false;               ///< an optional that is none: of any type
  bool isDeclared = false;          ///< the graph says the shape: others are errors
  bool isAlike = false;             ///< all elements are as the first one written

  // Of objects behind a handle only.
  const void *home = nullptr; ///< the region that made it (RegionState)
  bool accumulates = false;   ///< writing adds: an array of gradients
  bool readsOnce = false;     ///< reading gives an element up
  enum class Use : uint8_t { None, Written, Cleared };
  std::map<int64_t, Use> uses; ///< by index, where that is known
  /// Of a stack: what lies on it, as long as only its own region has changed it; and
  /// whether that alone says it, since no array holds elements of several ranks.
  std::vector<mlir::Value> pushed;
  bool isFollowed = false, isApart = false;
  std::shared_ptr<ArrayInfo> base; ///< of an array of gradients: its array
  std::map<std::string, std::shared_ptr<ArrayInfo>> gradients; ///< by source
};

/// One tensor for each part of an element. `values` holds the elements along
/// its first dimension; where they differ in size, each fills the beginning of
/// its row, and `sizes` (i64) has its sizes in the dimensions that are open; -1
/// where nothing was written. Without `sizes`, all are alike.
struct ArrayPart {
  mlir::Value values, sizes;
  llvm::SmallVector<int64_t, 2> axes; ///< of an element: those that `sizes` has columns for
};

/// The value of an edge. A list is a value that flows from write to write. A
/// handle names an object that changes; what it holds is in the RegionState.
struct Imported {
  enum class Kind : uint8_t {
    None,     ///< could not be imported (reported), or nothing
    Tensor,   ///< `value`
    Resource, ///< `value`: a variable
    Array,    ///< `parts`, none while the element shape is unknown; `array`
    Handle,   ///< `array`
    Group,    ///< `group`: several tensors in one variant
  };
  Kind kind = Kind::None;
  mlir::Value value;
  std::shared_ptr<ArrayInfo> array;
  llvm::SmallVector<ArrayPart, 1> parts;
  /// Of a variable: the type of what it holds, and whether it is of version
  /// one, where an operation that takes a tensor reads the variable.
  mlir::RankedTensorType type;
  bool isRef = false;
  std::shared_ptr<const std::vector<mlir::Value>> group;
  std::string variable; ///< the name, where `type` is not known yet
  /// One of these variables, which `value` (a number) says.
  std::shared_ptr<std::vector<Imported>> choices;

  Imported() = default;
  Imported(mlir::Value tensor) : kind(tensor ? Kind::Tensor : Kind::None), value(tensor) {}
  static Imported makeArray(std::shared_ptr<ArrayInfo> info,
                            llvm::SmallVector<ArrayPart, 1> parts = {}) {
    Imported result;
    result.kind = Kind::Array;
    result.array = std::move(info);
    result.parts = std::move(parts);
    return result;
  }
  static Imported makeGroup(std::vector<mlir::Value> parts) {
    Imported result;
    result.kind = Kind::Group;
    result.group = std::make_shared<const std::vector<mlir::Value>>(std::move(parts));
    return result;
  }
  /// A tensor whose rank only the run knows: its elements, and `value`, its shape.
  static Imported makeOpenRank(mlir::Value elements, mlir::Value shape) {
    Imported result = makeGroup({elements});
    result.value = shape;
    return result;
  }
  bool isOpenRank() const { return kind == Kind::Group && value; }
  /// Whether none of `values` is missing.
  static bool allGiven(const std::vector<Imported> &values) {
    for (const Imported &value : values)
      if (value.kind == Kind::None)
        return false;
    return true;
  }
  /// Whether it is made of tensors, so that loops and branches can hand it on.
  bool isCarried() const {
    return (kind == Kind::Tensor && value) || (kind == Kind::Array && !parts.empty());
  }
  /// Its tensors, in an order that is always the same.
  llvm::SmallVector<mlir::Value *> tensors() {
    llvm::SmallVector<mlir::Value *> all;
    if (kind == Kind::Tensor)
      all.push_back(&value);
    if (kind == Kind::Array)
      for (ArrayPart &part : parts) {
        all.push_back(&part.values);
        if (part.sizes)
          all.push_back(&part.sizes);
      }
    return all;
  }
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_IMPORTED_H
