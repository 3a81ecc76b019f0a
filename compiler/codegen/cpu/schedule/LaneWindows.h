//===- LaneWindows.h - kernels whose vectors hold results --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Depthwise convolutions and pools with channels last, and reductions that keep the
// last dimension: every lane of a vector is a result of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_LANEWINDOWS_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_LANEWINDOWS_H

#include "compiler/codegen/cpu/schedule/RegisterTiles.h"

#include <numeric>

namespace weir {

/// Reductions of more elements than these read memory in its order.
inline constexpr int64_t streamedElements = 1 << 18;
/// A part has so many of an open number of columns.
inline constexpr int64_t openColumns = 512;

/// Of a convolution in groups: the channels that one has, in and out.
struct Group {
  int64_t inputs = 1, outputs = 1;
  /// Lanes of a vector of results that ends where a group does.
  int64_t lanes(int64_t ofUnit) const { return std::lcm(ofUnit, outputs); }
  /// Channels of the input that such a vector takes.
  int64_t span(int64_t ofUnit) const { return lanes(ofUnit) / outputs * inputs; }
};
Group groupOf(ConvOp conv);

/// Lanes of a vector of what `anchor` computes with: f64, integers that are reduced, or f32, which
/// sums of bytes are, too.
int64_t lanesFor(mlir::Operation *anchor, const VectorUnit &unit);

/// Whether `reduction` is of integers of the kernel's operand that fill vectors as they lie.
bool isOfIntegers(mlir::Operation *reduction, const VectorUnit &unit);

/// Whether `anchor` (a convolution in groups narrower than a vector, a pool, a reduction) is
/// computed so.
bool isLanes(mlir::Operation *anchor, const VectorUnit &unit);
/// Whether that is a maximum of bytes, which nothing follows in vectors.
bool isBytePool(mlir::Operation *anchor);

/// Depthwise convolutions of bytes whose windows are added four lines at a time, each lane of a
/// vector a channel (emitByteWindows).
struct QuadWindows {
  int64_t quads = 0;     ///< of lines that a window has, the last filled up
  int64_t bytes = 0;     ///< channels that are computed together: 64, 32 or 16
  int64_t positions = 0; ///< results of a line that are computed together
  int64_t stretch = 0;   ///< results of a line that are a part

  /// Channels of one of the four vectors.
  int64_t lanes() const { return bytes / 4; }
};
/// None: `anchor` is no such convolution, or other processors' vectors serve it.
std::optional<QuadWindows> quadWindowsOf(mlir::Operation *anchor, const VectorUnit &unit);

/// Windows along one dimension.
struct WindowLine {
  int64_t window = 0, stride = 0, dilation = 0; ///< elements of a window, and their steps
  int64_t before = 0, after = 0;                ///< what the input is padded with
  int64_t input = 0, output = 0;                ///< sizes, may be ShapedType::kDynamic

  bool isKnown() const {
    return !mlir::ShapedType::isDynamic(input) && !mlir::ShapedType::isDynamic(output);
  }

  /// Where element `k` of the window at `position` lies; outside of the input it is padding.
  int64_t place(int64_t position, int64_t k) const {
    return position * stride - before + k * dilation;
  }
  bool isInside(int64_t position, int64_t k) const {
    return place(position, k) >= 0 && place(position, k) < input;
  }
  /// Whether `positions` windows from `first` on exist and have all elements inside.
  bool isWhole(int64_t first, int64_t positions) const;

  /// Which blocks of `positions` need code of their own at the line's ends.
  struct Ends {
    bool first = false, last = false;
    bool areAll = false; ///< every other block is whole
  };
  Ends endsFor(int64_t positions) const;
};

/// Of a convolution's or pool's spatial dimensions, channels last.
llvm::SmallVector<WindowLine> windowLinesOf(mlir::Operation *anchor);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_LANEWINDOWS_H
