//===- WinogradFilter.h - constant filters in Winograd's form ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A filter is transformed when the object is written, a panel at a time: until then it is a
// `#weir.winograd` over the filter where the model has it, in whatever order.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_WINOGRADFILTER_H
#define WEIR_DIALECTS_WEIR_WINOGRADFILTER_H

#include "dialects/weir/Weir.h"
#include "dialects/weir/WinogradForm.h"
#include "llvm/Support/Error.h"

namespace weir {

/// The taps of a constant filter [3, 3, C, K] of f32, where its bytes lie and in whatever order.
/// Pure, and from any thread.
class FilterTaps {
public:
  /// `filter`: a blob, scaled or not, dense elements, or an arranged constant without panels.
  /// `source`: the bytes of what it is made of, not scaled yet; those of a splat are its one
  /// number.
  FilterTaps(mlir::TypedAttr filter, llvm::ArrayRef<char> source);
  /// The same with the bytes of its own source; an error where there are none.
  static llvm::Expected<FilterTaps> of(mlir::TypedAttr filter);

  int64_t channels() const { return shape[2]; }
  int64_t columns() const { return shape[3]; }
  /// A WinogradForm::TapReader.
  void operator()(int64_t c, int64_t first, WinogradForm::Taps &taps) const;

private:
  /// Multiplies taps by their factors: `count` of them, from that element of the source on.
  void scale(int64_t element, int64_t count, double *taps) const;

  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t, 4> strides; ///< in elements
  mlir::Type element;                    ///< of the source: f32, f16 or bf16
  llvm::ArrayRef<char> source;
  llvm::ArrayRef<float> factors; ///< of a scaled source
  int64_t perFactor = 1;         ///< elements of the source
};

/// Whether a convolution has Winograd's form: one group, a window of 3x3 that moves by one, and
/// channels, of the image and of the result, that fill vectors of `lanes` f32 and are enough to
/// pay. `window`, `channels` and `columns` are the filter's, whichever order it has them in; sizes
/// that are not known do not fit.
bool hasWinogradForm(ConvOp conv, llvm::ArrayRef<int64_t> window, int64_t channels, int64_t columns,
                     int64_t lanes);

/// Hands the bytes of `filter`, transformed for tiles of `results` times `results` results, in
/// order to `sink`, a panel of `width` columns at a time: [ceil(K / width), M, C, width] of f32, of
/// M matrices, zero beyond K. With `isPairs`, of an even C, rounded to bf16, once, two channels
/// side by side: [ceil(K / width), M, C / 2, width, 2]. Ends with the first error of the sink.
llvm::Error transformFilter(const FilterTaps &filter, int64_t results, int64_t width, bool isPairs,
                            llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> sink);

/// What transformFilter makes of `filter`, made when the object is written. `filter`, of f32, has
/// no panels.
mlir::TypedAttr winogradConstant(mlir::TypedAttr filter, int64_t results, int64_t width,
                                 bool isPairs);

/// Hands the bytes of `value` in order to `sink`, a panel at a time; `source` are those of what it
/// is made of (sourceBytes), its one number of a splat. Ends with the first error of the sink.
llvm::Error transformBytes(WinogradAttr value, llvm::ArrayRef<char> source,
                           llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> sink);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_WINOGRADFILTER_H
