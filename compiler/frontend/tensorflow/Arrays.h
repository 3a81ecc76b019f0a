//===- Arrays.h - arrays and lists of tensors, as tensors -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorArrays, TensorLists and stacks hold elements that may differ in their
// sizes, and lists may hold lists. All become tensors: elements along the first
// dimension, padded to the largest, beside their sizes (ArrayPart). An element
// that is a list is the tensors of that list.
//
// Functions build at the node's place. They return null, false or failure where
// something does not fit, mostly with a report.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_ARRAYS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_ARRAYS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// A tensor that is part of one element.
struct ArrayComponent {
  Type element;
  IntVector shape; ///< kDynamic where elements may differ
  /// The dimensions that `ArrayPart::sizes` has a column for.
  IntVector openAxes() const;
};

/// What an element consists of; nothing while it is not known.
llvm::SmallVector<ArrayComponent> componentsOf(const ArrayInfo &info);

/// The integers of an element shape; nothing where the rank is open.
std::optional<IntVector> elementShape(std::optional<IntVector> dims);

/// `length` elements that were not written; no parts where the shape of
/// elements is not known, or its type has no zero.
Imported makeUnwritten(std::shared_ptr<ArrayInfo> info, mlir::OpBuilder &b, mlir::Location loc);

/// Makes `info` fit elements like those of `other`. False, without a report,
/// where no array holds both.
bool widen(ArrayInfo &info, const ArrayInfo &other);

/// Gives sizes columns for dimensions that were of one size when they were made, and are open now.
/// False, without a report, of lists in a list, whose sizes are elements.
bool fitSizes(Imported &array, mlir::OpBuilder &b, mlir::Location loc);

/// Gives parts whose elements are open in size their sizes, where all are
/// alike, so that arrays with and without can meet; others as fitSizes does.
bool addSizes(Imported &array, mlir::OpBuilder &b, mlir::Location loc);

/// `x`, whose dimensions from `first` on the node says to be `shape` (negative: of any size;
/// the run refuses others). Null, with a report, where they cannot be.
Value narrowed(NodeImport &n, Value x, int64_t first, const IntVector &shape);
/// The same for a shape attribute, from its dimension `skipped` on; none: `x` itself.
Value narrowedTo(NodeImport &n, Value x, int64_t first, std::string_view attr, size_t skipped = 0);

/// The operations on one array, at a node.
class ArrayEditor {
public:
  ArrayEditor(NodeImport &n, Imported array) : n(n), array(std::move(array)) {}

  NodeImport &n;
  Imported array;
  ArrayInfo &info() { return *array.array; }

  /// Whether there are parts, made if that is possible; reports.
  bool exists();
  /// The same before elements are read. Where nothing that comes before has written any,
  /// nor said their shape, the run ends here, with what `why` says.
  bool isReadable(llvm::StringRef why, int64_t rank = 0);
  /// Sets how many elements may be pushed: `most` is negative for any number.
  bool limit(Value most);
  /// Makes room for elements like `item`; reports what cannot be.
  bool accept(const Imported &item);
  /// The element at `index` (one integer).
  Imported read(Value index);
  /// Replaces the element at `index`, or adds to it; grows if the array does.
  bool write(Value index, const Imported &item);
  /// Replaces elements at `indices` (one dimension) by the rows of `items`.
  bool scatter(Value indices, Value items);
  bool push(const Imported &item);
  /// The last element, which is taken away.
  Imported pop();
  /// Elements at `indices`, or all: one tensor, elements must be alike.
  Value gather(Value indices);
  Value stack();
  /// All elements joined along their first dimension, and their lengths.
  std::pair<Value, Value> concat();
  /// Replaces all by parts of `value`, `lengths` long.
  bool split(Value value, Value lengths);
  /// Replaces all by the rows of `items`.
  bool unstack(Value items);
  bool resize(Value size);
  bool append(Imported other);
  /// The number of elements, tensor<i64>.
  Value length();
  /// Pads two stacks of rows to the larger of both.
  static void pad(NodeImport &n, Value &x, Value &y);

private:
  bool elementTensors(const Imported &item, llvm::SmallVector<Value> &tensors);
  bool requireAlike(ArrayPart &part, const ArrayComponent &component);
  /// Of an array whose elements are alike: that `sizes`, of the open dimensions, are those
  /// of the elements that `part` holds, if it holds any that are not empty.
  void requireSizes(const ArrayPart &part, Value sizes);
  bool growTo(Value size);

  Value one(Value index) { return n.reshape(n.toI64(index), {1}); }
};

/// AddN of arrays, the node's inputs: their elements one by one, as gradients of lists add up.
/// An array that nothing was written to is zero. Reports where elements differ.
mlir::LogicalResult addArrays(NodeImport &n);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_ARRAYS_H
