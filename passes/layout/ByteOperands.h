//===- ByteOperands.h - operands of products of bytes ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What weir-quantized-gemms asks of a product or convolution: which bytes are behind
// its operands, how they will lie, and constant weights as signed bytes; and the parts of
// its rewriting that are no product's. A null or empty result says that the operand is none
// of the kind.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_LAYOUT_BYTEOPERANDS_H
#define WEIR_PASSES_LAYOUT_BYTEOPERANDS_H

#include "dialects/weir/Quantized.h"

namespace weir {

/// An operand of a product: (byte - zero) * scale; `scale` is null where the sum is
/// one of words.
struct ByteOperand : CentredByte {
  mlir::Value scale;
};

/// Where a product's or convolution's sizes are, and how its bytes will lie.
struct ByteShape {
  llvm::SmallVector<int64_t> weightsOrder; ///< to [window…, depth, columns]
  int64_t columnDim = 0;                   ///< of the weights as they are
  int64_t depth = 0;                       ///< of the sum for an element of the window; of a group
  int64_t columns = 0;                     ///< may be ShapedType::kDynamic, of computed weights
  int64_t window = 1;                      ///< elements of a convolution's window
  int64_t across = 1;                      ///< of them next to each other in memory
  /// Elements of zeros behind each `across` of the window: where channels are no fours, lines of
  /// the window are filled up to fours so that channels need not be.
  int64_t filling = 0;
  int64_t groups = 1; ///< as the model has them
  /// Groups that are computed as one, whose weights are zero outside of their own: so
  /// many that their columns fill panels.
  int64_t joined = 1;
  /// A group for each channel, and each column: such windows are added side by side.
  bool isDepthwise = false;
  /// Elements of the window with those of zeros.
  int64_t filledWindow() const { return window / across * (across + filling); }
  int64_t padded = 0; ///< the depth of joined groups, filled up to fours, and further for few steps
};

/// The bytes behind the left operand of `op`: its zero point is one number, or, of a
/// product, one a row.
ByteOperand leftByteOperand(mlir::Operation *op);
/// The bytes behind the right operand of `op`: its zero point is one number, or one a column.
/// A constant of words counts as bytes, too.
ByteOperand rightByteOperand(mlir::Operation *op);

/// Bytes of type `element` whose border stands for zeros: the zero point `zero`, a word of one
/// element, or null for none.
mlir::Value byteBorder(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value zero,
                       mlir::Type element);
/// Where `conv` reads a border of zeros around what bytes stand for, whatever its size, the border
/// is laid around the bytes: those are then its operand.
void moveBorderToBytes(ConvOp conv);

/// Lets products of dequantized 8-bit floats (E4M3FN, E5M2) multiply these, where scales are one
/// or one a row or column, and multiplies the sums by the scales.
void rewriteNarrowFloatGemms(mlir::ModuleOp module);

/// Lets values that are quantised to signed bytes be bytes without a sign, 128 more, where one of
/// them is the left operand of one of `products`. But for those of products by a computed matrix,
/// whose columns would have to be summed, and of windows of one channel, whose border of zeros
/// would cost more.
void makeBytesUnsigned(mlir::ModuleOp module, llvm::ArrayRef<mlir::Operation *> products);

/// Sizes of a dot_general or conv; `inBlocks`: for instructions that multiply blocks. The depth
/// must be known, and so must all sizes of a convolution's filter.
std::optional<ByteShape> byteShapeOf(mlir::Operation *op, bool inBlocks);

/// Makes the maxima of reals that bytes stand for, where these have one scale, the maxima of those
/// bytes; the byte that is read then, or null.
mlir::Value movePoolToBytes(PoolOp pool);

/// What `quantize` rounds to a byte: a division by the scale becomes part of what a sum is
/// multiplied with, and what was a byte of the same scale and zero point is that byte. The cast of
/// a byte that is stored clamps by itself; where the float goes on, the limits tell that it fits
/// a byte.
void simplifyRounding(CastOp quantize, bool isStored);

/// Erases what made `values`, and what that was made of, as far as nothing uses it. A value may
/// be there twice, or be what another one was made of.
void eraseDead(mlir::ValueRange values);

/// Whether `value` runs along dimension `dim` of `type` at most.
bool runsAlong(mlir::Value value, mlir::RankedTensorType type, int64_t dim);

/// Zero points, one for all columns or one each, behind casts and reshapes; nothing where they
/// are computed. No zero point is zero.
std::optional<llvm::SmallVector<int64_t>> knownZeros(mlir::Value zero);

/// Constant weights as signed bytes, [window…, depth, columns], and what is to be made up for. The
/// window is filled up.
struct ByteWeights {
  mlir::TypedAttr value;
  /// Of each column: the sum of the weights less their zero point.
  llvm::SmallVector<int32_t> sums;
  /// Of each column: what bytes are less than those weights; empty: nothing.
  llvm::SmallVector<int32_t> offsets;
};
/// `wantsSums`: whether the sums will be read. Nothing where the zero point is no constant.
std::optional<ByteWeights> byteWeightsOf(const ByteOperand &right, const ByteShape &shape,
                                         bool wantsSums);

/// Whether few pairs of weights that follow each other in a column add to more than what times
/// 255 is a half of a word: out of `share` vectors of columns, by four rows, one has such pairs at
/// most.
bool seldomSaturates(const ByteWeights &weights, const ByteShape &shape, int64_t share);

/// Whether `op` as floats is a convolution with windows of 3x3 in Winograd's form, as
/// schedule/Winograd.cpp has it, but for large filters and small images.
bool takesWinogradForm(mlir::Operation *op);

/// Whether the images that the convolution `op` makes are known to have fewer lines or columns.
bool isSmallImage(mlir::Operation *op, int64_t lines);

/// Signed bytes [window…, depth, columns], of which the first `columns` columns of `shape` have
/// ones for the elements that are theirs; `window` is without those that fill it up.
mlir::TypedAttr byteOnes(mlir::MLIRContext *context, const ByteShape &shape,
                         llvm::ArrayRef<int64_t> window, int64_t columns);

/// The product of both scales, one or one for each column; empty where it is neither.
llvm::SmallVector<float> byteScales(const ByteOperand &left, const ByteOperand &right,
                                    const ByteShape &shape);

} // namespace weir

#endif // WEIR_PASSES_LAYOUT_BYTEOPERANDS_H
