//===- Arranged.h - constants in another order ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rearranging a constant at compile time costs an attribute, not a copy: an
// `#weir.arranged` says in which order the bytes of its source are read, and
// the object's writer reads them so. All functions here are pure and
// thread-safe; a null result means that the constant cannot be rearranged this
// way (its elements are not of whole bytes, or no strides describe the order).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_ARRANGED_H
#define WEIR_DIALECTS_WEIR_ARRANGED_H

#include "dialects/weir/Weir.h"
#include "llvm/Support/Error.h"

namespace weir {

/// `value` (a blob, a scaled one, dense elements or arranged) with its dimensions permuted.
mlir::TypedAttr transposedConstant(mlir::TypedAttr value, llvm::ArrayRef<int64_t> permutation);

/// `value` under another shape with the same number of elements.
mlir::TypedAttr reshapedConstant(mlir::TypedAttr value, mlir::RankedTensorType type);

/// [A…, N] in panels of `width` columns: [ceil(N / width), A…, width], zero
/// beyond column N. What `unpack_panels` undoes.
mlir::TypedAttr packedConstant(mlir::TypedAttr value, int64_t width);

/// `value`, of f32, rounded to bf16 or f16 (to nearest, ties to even): an arranged
/// constant of that type whose source stays f32.
mlir::TypedAttr narrowedConstant(mlir::TypedAttr value, bool isBrain = true);
/// The same if all elements stay what they are; null if not.
mlir::TypedAttr exactlyNarrowed(mlir::TypedAttr value, bool isBrain);

/// What narrowedConstant or widenedConstant was given, in the order that `value` has: in the
/// type of its source. Null for other constants.
mlir::TypedAttr inTypeOfSource(mlir::TypedAttr value);

/// `value`, of f16 or bf16, in f32: an arranged constant of f32 whose source stays narrow.
mlir::TypedAttr widenedConstant(mlir::TypedAttr value);
/// Whether `value` is what widenedConstant makes of bf16, however arranged since.
bool isWidenedBrain(mlir::TypedAttr value);

/// [A…, C, N] as [ceil(N / width), A…, C / rows, width, rows]: so many rows side by side
/// in panels of `width` columns, zero beyond column N, for instructions that add as many
/// products at once. C must be a multiple of `rows`.
mlir::TypedAttr interleavedConstant(mlir::TypedAttr value, int64_t rows, int64_t width);

/// Columns of a panel that matrix tiles read.
inline constexpr int64_t matrixPanel = 32;
/// Rows side by side: 32 bits of a column.
inline int64_t rowsOfWord(mlir::Type element) { return 32 / element.getIntOrFloatBitWidth(); }

/// On products and convolutions of bf16 that matrix tiles or vectors multiply, given by
/// weir-lower-precision, and of bytes, given by weir-quantized-gemms: their right
/// operand is a constant that interleavedConstant takes. Of sizes the depth and a filter's are
/// fixed, and the right operand of a product of bytes may be computed.
inline constexpr char tileUnitAttribute[] = "weir.matrix";
/// The attribute's value where register tiles of f32 sums add pairs of products of bf16.
inline constexpr char orderOfPairs[] = "pairs";
/// Whether that is how `op` is computed.
inline bool multipliesPairs(mlir::Operation *op) {
  auto unit = op->getAttrOfType<mlir::StringAttr>(tileUnitAttribute);
  return unit && unit.getValue() == orderOfPairs;
}

/// On both products of an attention, given by weir-lower-precision: register tiles that add pairs
/// of products of bf16 may compute them, of operands that are rounded. Their types say f32.
inline constexpr char mayRoundAttribute[] = "weir.may_round";

/// The attribute's value where products of bytes have constant weights of which pairs seldom add to
/// more than 128, or less than -128: see weir-quantized-gemms.
inline constexpr char boundedPairs[] = "bounded";
/// What times the largest byte is still a half of a word, of either sign.
inline constexpr int64_t mostOfPair = 128;
/// Whether a pair of weights adds to more.
inline bool exceedsHalf(int8_t first, int8_t second) {
  return std::abs(first + second) > mostOfPair;
}
/// Whether that holds of `op`.
inline bool hasBoundedPairs(mlir::Operation *op) {
  auto unit = op->getAttrOfType<mlir::StringAttr>(tileUnitAttribute);
  return unit && unit.getValue() == boundedPairs;
}

/// Where pairs of bytes are multiplied as halves of words, panels of constants or computed ones are
/// spread to these on the stack as long as they are no deeper.
inline constexpr int64_t deepestWide = 4608;
/// Likewise panels of boundedPairs, which take a third less: half a MiB of the stack, as packed
/// rows of other products do.
inline constexpr int64_t deepestBounded = 8192;

/// On casts to bytes that are to be stored as such: what reads them is in another
/// kernel, and the float behind the byte would take four times the memory.
inline constexpr char storedAttribute[] = "weir.stored";

/// Rows of a product that one step of matrix tiles adds, out of `run` that lie next to each other
/// in the left operand: all of the steps are alike. `most` are elements of a tile's row, of which
/// `word` lie side by side.
inline int64_t tileStep(int64_t run, int64_t most, int64_t word) {
  for (int64_t step = most; step > word; step -= word)
    if (run % step == 0)
      return step;
  return word;
}
inline int64_t quadStep(int64_t run) { return tileStep(run, 64, 4); } ///< of bytes
inline int64_t pairStep(int64_t run) { return tileStep(run, 32, 2); } ///< of bf16

/// What `value` is made of in the end: a blob, a scaled one, or dense elements.
mlir::TypedAttr rootOf(mlir::TypedAttr value);

/// The bytes of `value`'s source: a blob's from its mapped file, not scaled yet, dense ones as
/// they are held. An error where there are none.
llvm::Expected<llvm::ArrayRef<char>> sourceBytes(mlir::TypedAttr value);

/// The bytes of `value`, row-major, where they lie, or in `room` where they are made: for those who
/// look at them once. Not of a splat.
std::optional<llvm::ArrayRef<char>> materializedBytes(mlir::TypedAttr value,
                                                      llvm::SmallVectorImpl<char> &room);

/// The same elements in an attribute of their own.
mlir::DenseElementsAttr materializedConstant(mlir::TypedAttr value);

/// Hands the bytes of `value` in order to `sink`, at most a mebibyte at a time;
/// `source` are those of its source, scaled where it is (scaledBytes). Ends with the first error of
/// the sink.
llvm::Error arrangeBytes(ArrangedAttr value, llvm::ArrayRef<char> source,
                         llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> sink);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_ARRANGED_H
