//===- ShapeSupport.h - what shape inference is written in ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the dialect: short ways to say shapes, at compile time (sizes that may
// be open) and as code (values of type index).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_SHAPESUPPORT_H
#define WEIR_DIALECTS_WEIR_SHAPESUPPORT_H

#include "dialects/weir/Weir.h"
#include "mlir/IR/Diagnostics.h"

namespace weir::shape {

using OptionalLocation = std::optional<mlir::Location>;
using Types = llvm::SmallVectorImpl<mlir::Type>;
using Sizes = llvm::SmallVector<int64_t>;

constexpr int64_t unknown = mlir::ShapedType::kDynamic;
inline bool isKnown(int64_t size) { return size != unknown; }

inline mlir::RankedTensorType ranked(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::TensorType>(value.getType()).getElementType();
}
inline llvm::LogicalResult inferred(Types &types, llvm::ArrayRef<int64_t> shape,
                                    mlir::Type element) {
  types.push_back(mlir::RankedTensorType::get(shape, element));
  return llvm::success();
}
inline llvm::LogicalResult inferredUnranked(Types &types, mlir::Type element) {
  types.push_back(mlir::UnrankedTensorType::get(element));
  return llvm::success();
}
/// A shape as diagnostics print it: [2, ?, 5].
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// One size out of two that must be equal; nothing when they differ.
std::optional<int64_t> mergeSizes(int64_t a, int64_t b);
/// The product of sizes; unknown when one is (and none is 0).
int64_t sizeProduct(llvm::ArrayRef<int64_t> sizes);
/// Number of entries of a one-dimensional integer operand (a scalar counts as
/// one), unknown when open.
int64_t entryCount(mlir::Value operand);
/// The entries of a parameter operand: as many as are there, each with its
/// value or unknown. Nothing when not even their number is known.
std::optional<Sizes> entries(mlir::Value operand);

//===----------------------------------------------------------------------===//
// As code
//===----------------------------------------------------------------------===//

/// Entry `i` of a one-dimensional integer operand (or the scalar itself), a
/// constant where it is known at compile time.
mlir::Value entry(ElementReader &reader, mlir::Value operand, int64_t i);
/// The dimensions of `op`'s result as far as its type has them; null for
/// others.
llvm::SmallVector<mlir::Value> staticDims(ElementReader &reader, mlir::Value result);
/// Appends the dimensions of `tensor`.
llvm::LogicalResult dimsOf(ElementReader &reader, mlir::Value tensor,
                           llvm::SmallVectorImpl<mlir::Value> &dims);
/// Signed quotient rounded up, for any numerator; `divisor` is positive.
mlir::Value ceilDivide(ElementReader &reader, mlir::Value numerator, mlir::Value divisor);
/// Signed remainder in [0, divisor), for any numerator; `divisor` is positive.
mlir::Value positiveRemainder(ElementReader &reader, mlir::Value numerator, mlir::Value divisor);
/// Where a border of `mode`, which is not constant, takes the element at `index` from, which counts
/// from the operand's begin and may be outside of its `size`.
mlir::Value mirroredIndex(ElementReader &reader, PadMode mode, mlir::Value index, mlir::Value size);
mlir::Value product(ElementReader &reader, mlir::ValueRange sizes);
/// The same for sizes that a caller says, none negative: 2^62 where it would be
/// more.
mlir::Value boundedProduct(ElementReader &reader, mlir::ValueRange sizes);
/// A value of type index as the compute form of an integer or float type.
mlir::Value indexTo(ElementReader &reader, mlir::Operation *op, mlir::Value index,
                    mlir::Type element);
/// Records an error of `op` unless two sizes are equal; nothing is emitted
/// where they are known to be.
void requireEqual(ElementReader &reader, mlir::Operation *op, mlir::Value a, mlir::Value b,
                  llvm::StringRef message);

/// Records an error of `op` unless a one-dimensional operand has `count` entries.
void requireEntries(ElementReader &reader, mlir::Operation *op, mlir::Value operand, int64_t count);

/// The sum, product, maximum or minimum that reductions start from: the neutral
/// element, in compute form.
mlir::Value reductionStart(ElementReader &reader, mlir::Type type, ReduceKind kind);
/// The next carried value. A floating-point sum may be reassociated where
/// `reassociate`: it lets LLVM keep partial sums in vector lanes.
mlir::Value reductionStep(ElementReader &reader, ScalarBuilder &s, ReduceKind kind,
                          mlir::Value carried, mlir::Value next, bool reassociate = true);
/// carried + x * y, contracted and reassociated for floats.
mlir::Value multiplyAdd(ElementReader &reader, ScalarBuilder &s, mlir::Value carried, mlir::Value x,
                        mlir::Value y);

} // namespace weir::shape

#endif // WEIR_DIALECTS_WEIR_SHAPESUPPORT_H
