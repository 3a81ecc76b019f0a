//===- VectorReader.h - elementwise operations on vectors --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows a anchor (a product, a convolution, a window) in its kernel is
// computed on the vectors that the anchor leaves in registers: consecutive
// elements along the last dimension.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_VECTORREADER_H
#define WEIR_COMPILER_CODEGEN_CPU_VECTORREADER_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

/// On a saturating cast of rounded reals to bytes: words hold them all.
inline constexpr char inWordsAttribute[] = "weir.in_words";

/// What a saturating cast of reals to bytes stores: `real` rounded to the nearest, ties to even,
/// and `zero` added.
struct RoundedByte {
  mlir::Value real;
  int64_t zero = 0; ///< one that a byte of either sign holds
  bool isUnsigned = false;
  bool isInWords = false; ///< a word holds `real`, rounded
};
/// None: `tensor` is no such byte.
std::optional<RoundedByte> roundedByteOf(mlir::Value tensor);

/// A real that was a byte on its way: `real` rounded to the nearest, ties to even, not below
/// `lowest` nor above `highest`, and `shift` added, all whole numbers.
struct RoundedReal {
  mlir::Value real;
  int64_t lowest = 0, highest = 0, shift = 0;
};
/// None: `tensor` is no such real.
std::optional<RoundedReal> roundedRealOf(mlir::Value tensor);

class VectorReader : public RecursiveReader {
public:
  VectorReader(KernelBuilder &scalars, int64_t lanes)
      : RecursiveReader(scalars.b, scalars.loc), scalars(scalars), lanes(lanes) {}

  /// Elements are those whose last index runs from `first` on; only the first
  /// `valid` exist where `mask` (a vector of i1) is given.
  void setLanes(mlir::Value first, mlir::Value mask) {
    firstLane = first;
    laneMask = mask;
    forgetElements();
  }
  /// What has one element for all lanes is computed once, by scalars: where nothing that is read
  /// is known to vectors alone.
  void shareSingles() { sharesSingles = true; }
  /// What follows are reals of sums of words: none is NaN, and products may be added to
  /// without being rounded before, as processors that multiply bytes can.
  void followWords() { isOfWords = true; }
  void setAnchor(mlir::Value tensor, mlir::Value vector) {
    anchor = tensor;
    anchorVector = vector;
    forgetElements();
  }

  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value dim(mlir::Value tensor, unsigned i) override { return scalars.dim(tensor, i); }
  void require(mlir::Operation *op, mlir::Value ok, llvm::StringRef message, int code,
               mlir::Value a, mlir::Value b) override {
    scalars.require(op, ok, message, code, a, b);
  }

  /// A vector of consecutive elements at `linear`, masked where lanes are.
  mlir::Value load(mlir::Value pointer, mlir::Type element, mlir::Value linear);
  void store(mlir::Value vector, mlir::Value pointer, mlir::Type element, mlir::Value linear);
  /// The same for a whole vector at a multiple of its size, past the caches: what is
  /// read by other threads needs a fence behind it.
  void stream(mlir::Value vector, mlir::Value pointer, mlir::Type element, mlir::Value linear);
  mlir::Value broadcast(mlir::Value scalar);

protected:
  bool isLeaf(mlir::Value tensor) override { return llvm::isa<mlir::BlockArgument>(tensor); }
  mlir::Value leafElement(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value leafDim(mlir::Value tensor, unsigned i) override { return scalars.dim(tensor, i); }
  mlir::Value constantElement(mlir::Value tensor, mlir::ElementsAttr,
                              mlir::ValueRange indices) override;

  /// A vector of elements of a buffer, in compute form.
  mlir::Value loadElements(mlir::Value pointer, mlir::Type element, mlir::Value linear);

private:
  /// Elements of a gather of lines along the lanes; null: `tensor` is none.
  mlir::Value pickedElements(mlir::Value tensor, mlir::ValueRange indices);
  /// The lanes' indices as numbers of type `element`.
  mlir::Value positions(mlir::Type element);
  /// `value` not below `lowest`, which NaN becomes, nor above `highest`.
  mlir::Value bounded(mlir::Value value, double lowest, double highest);
  /// Words nearest to what fits them.
  mlir::Value nearest(mlir::Value value);
  mlir::Value roundedReal(const RoundedReal &rounded, mlir::ValueRange indices);
  /// Of what is not rounded yet: `rounded`.
  mlir::Value byteOf(mlir::Value value, bool isUnsigned,
                     std::optional<RoundedByte> rounded = std::nullopt);

  KernelBuilder &scalars;
  int64_t lanes;
  bool sharesSingles = false, isOfWords = false;
  mlir::Value firstLane, laneMask, anchor, anchorVector;
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_VECTORREADER_H
