//===- Windows.h - sliding windows as TensorFlow says them ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_WINDOWS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_WINDOWS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// Layout, strides, dilations and padding of a convolution or pooling.
struct Windows {
  bool channelsLast = true;
  int64_t spatial = 2;
  IntVector strides, dilations; ///< one a spatial dimension
  enum { Valid, Same, Explicit } padding = Valid;
  IntVector explicitPads; ///< before, after in turn

  /// The tensor dimension of spatial dimension `i`.
  int64_t dim(int64_t i) const { return channelsLast ? 1 + i : 2 + i; }
  int64_t channelDim() const { return channelsLast ? spatial + 1 : 1; }
};

/// Reads the node's attributes (strides, dilations, padding, data_format);
/// reports what it cannot take.
std::optional<Windows> readWindows(NodeImport &n, int64_t spatial);

/// The same for attributes given elsewhere: those of the whole tensor's
/// dimensions, as `strides` is.
std::optional<IntVector> spatialOf(NodeImport &n, const Windows &windows, Ints whole,
                                   std::string_view what);

/// The size of a window along each spatial dimension.
struct WindowSizes {
  IntVector known;                   ///< kDynamic where only the run knows it
  llvm::SmallVector<Value> computed; ///< tensor<1xi64> there; null elsewhere

  WindowSizes() = default;
  WindowSizes(IntVector sizes) : known(std::move(sizes)), computed(known.size()) {}
  bool isOpen(int64_t i) const { return mlir::ShapedType::isDynamic(known[i]); }
};

/// How many elements of an input a window spans along spatial dimension `i`: tensor<1xi64>.
Value reachOf(NodeImport &n, const Windows &windows, const WindowSizes &window, int64_t i);

/// Padding before and after each spatial dimension in turn, for an input of
/// these sizes; nothing where it depends on a size that is not known.
std::optional<IntVector> padsFor(const Windows &windows, Ints sizes, Ints window);

/// Has the run refuse images of an open size that are smaller than the window by two steps and
/// more: TensorFlow computes a negative size then.
void requireRoom(NodeImport &n, Value x, const Windows &windows, const WindowSizes &window);

/// What padsFor cannot know, computed by the program: tensor<1xi64> for each
/// spatial dimension.
struct RunTimePads {
  llvm::SmallVector<Value> before, after;
};
/// Those of an input of `sizes` (tensor<1xi64> each).
RunTimePads runTimePads(NodeImport &n, const Windows &windows, llvm::ArrayRef<Value> sizes,
                        const WindowSizes &window);
/// `x` with a border of `fill`, and a tensor with that border cut off, which leaves
/// `sizes`.
Value padAtRunTime(NodeImport &n, Value x, const Windows &windows, const RunTimePads &pads,
                   Value fill);
Value cropAtRunTime(NodeImport &n, Value x, const Windows &windows, const RunTimePads &pads,
                    llvm::ArrayRef<Value> sizes);
/// Sizes of a tensor's spatial dimensions, tensor<1xi64> each.
llvm::SmallVector<Value> spatialSizesOf(NodeImport &n, const Windows &windows, Value x);
/// How many elements of an input of `sizes` lie in each window along spatial
/// dimension `i`: tensor<windows x i64>, `steps` (tensor<1xi64>) of them.
Value windowCounts(NodeImport &n, const Windows &windows, const RunTimePads &pads, int64_t i,
                   Value size, Value steps, int64_t window);

/// Spatial sizes of a tensor; dynamic ones as they are.
IntVector spatialSizes(const Windows &windows, mlir::RankedTensorType type);

/// A convolution of `x` with a filter in TensorFlow's order (S… I O); a border
/// that depends on sizes that are computed is made of zeros before it.
Value convolve(NodeImport &n, Value x, Value filter, Windows windows, int64_t groups,
               const WindowSizes &window);

/// A filter's spatial sizes; reports a filter of another rank.
std::optional<WindowSizes> filterWindow(NodeImport &n, Value filter, int64_t spatial);

/// A filter in the order that weir wants for the layout of the data.
Value orderFilter(NodeImport &n, Value filter, const Windows &windows);

/// Makes of a filter H W C M, one of M results for each of the images' `channels` (kDynamic where
/// their number is open), H W 1 C·M; gives the number of groups. Reports where neither has a known
/// number of channels.
std::optional<int64_t> filterPerChannel(NodeImport &n, int64_t channels, Value &filter);

/// A pooling's windows over an input.
struct PoolSpec {
  Windows windows;
  IntVector window, pads;
  /// Where the padding depends on sizes that are computed: `pads` are zero, and
  /// windows are those over an input with this border.
  std::optional<RunTimePads> border;
};

/// Reads the attributes (or, for the newer operations, operands) of a pooling
/// over `x`; reports what it cannot take.
std::optional<PoolSpec> readPool(NodeImport &n, Value x, int64_t spatial);
/// The pooling itself: maxima, or means.
Value pooling(NodeImport &n, Value x, const PoolSpec &spec, bool isMax);
/// Whether sizes or steps of a maximum's windows, operands from `first` on, are computed.
bool hasComputedWindows(NodeImport &n, size_t first);
/// The maxima of such windows over input 0.
mlir::LogicalResult maxPoolOfComputedWindows(NodeImport &n);
/// The input that the windows are over: `x`, or `x` with its border.
Value bordered(NodeImport &n, Value x, const PoolSpec &spec, Value fill);

/// A dilation's windows over images whose sizes may be open.
struct DilationSpec {
  Windows windows;
  WindowSizes window;
  /// Whether the window is written out: its sizes are known, and small.
  bool isUnrolled = false;
  RunTimePads border;
  llvm::SmallVector<Value> steps; ///< windows along each dimension, tensor<1xi64>
};

/// Reads the attributes strides, rates and padding of a dilation of `x` by `filter`; reports what
/// it cannot take.
std::optional<DilationSpec> readDilation(NodeImport &n, Value x, Value filter);
/// All of each window, for windows of any size: `padded` as [batch, rows, columns, window's rows,
/// window's columns, channels].
Value dilatedWindows(NodeImport &n, Value padded, const DilationSpec &spec);
/// Where the elements of the windows along dimension `i` lie in the padded image: [windows,
/// elements].
Value dilatedPlaces(NodeImport &n, const DilationSpec &spec, int64_t i);
/// The elements of `padded` that lie at row `h` and column `w` of each window.
Value dilatedPart(NodeImport &n, Value padded, const DilationSpec &spec, int64_t h, int64_t w);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_WINDOWS_H
