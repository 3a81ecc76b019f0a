//===- PackedBytes.h - four vectors of words as one of bytes -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end of products whose results are quantized: AVX-512's packs of two vectors
// saturate on their way, so that nothing is clamped, and four vectors take four
// instructions where one at a time takes four each. And the instructions that multiply
// bytes, as products of several kinds use them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_PACKEDBYTES_H
#define WEIR_COMPILER_CODEGEN_CPU_PACKEDBYTES_H

#include "compiler/codegen/cpu/VectorReader.h"

namespace weir {

/// Elements of four vectors in turn: the first of each, the second of each, ….
mlir::Value interleavedFours(mlir::OpBuilder &b, mlir::Location loc,
                             llvm::ArrayRef<mlir::Value> four);

/// `sum`, 8 or 16 words, and in each of them four products of bytes: of `lefts`, which have no
/// sign, by `rights`. Either is a vector of words or of bytes.
mlir::Value addQuads(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sum, mlir::Value lefts,
                     mlir::Value rights);

/// Halves of 8 or 16 words, each the sum of two products of neighbouring bytes: of `lefts`, which
/// have no sign, by `rights` (VPMADDUBSW). What a half does not hold becomes its extreme. Either is
/// a vector of words or of bytes.
mlir::Value pairsOfBytes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lefts,
                         mlir::Value rights);

/// Words, each the sum of two products of neighbouring halves (VPMADDWD).
mlir::Value pairsOfHalves(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lefts,
                          mlir::Value rights);

/// A vector of 4, 8 or 16 f32 as words, rounded to the nearest, ties to even. What a word does not
/// hold becomes one that is far beyond a byte on the same side, unless there is none such
/// (`isInWords`); NaN is below every number.
mlir::Value nearestWords(mlir::OpBuilder &b, mlir::Location loc, mlir::Value real, bool isInWords);

/// Four vectors of 4, 8 or 16 words as one of their bytes, four of which are a lane of the result:
/// `zero` (a byte of either sign) is added before all are saturated.
mlir::Value packedBytes(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<mlir::Value> words,
                        int64_t zero, bool isUnsigned);

/// `rows` rows of 32 bytes each, two or one, vectors of 8 words: `words` are four vectors, as many
/// of each row, to which `zero` (a byte of either sign) is added before all are saturated.
llvm::SmallVector<mlir::Value> packedRows(mlir::OpBuilder &b, mlir::Location loc,
                                          llvm::ArrayRef<mlir::Value> words, int64_t rows,
                                          int64_t zero, bool isUnsigned);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_PACKEDBYTES_H
