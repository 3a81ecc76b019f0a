//===- PaddedRows.h - rows of elements of several sizes ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What arrays (Arrays.h) keep their elements in: a tensor of rows, each padded to the
// largest.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_PADDEDROWS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_PADDEDROWS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// `values` with room for rows as large as those of `other`.
inline Value fit(NodeImport &n, Value values, Value other) {
  if (!values || !other || n.rank(values) != n.rank(other))
    return values;
  llvm::SmallVector<Value> pads = {n.ints(IntVector(n.rank(values), 0)), n.ints({0})};
  bool fits = true;
  for (int64_t i = 1; i < n.rank(values); ++i) {
    int64_t have = n.dim(values, i), want = n.dim(other, i);
    if (have == want && !mlir::ShapedType::isDynamic(have)) {
      pads.push_back(n.ints({0}));
      continue;
    }
    fits = false;
    pads.push_back(n.maximum(n.sub(n.sizeOf(other, i), n.sizeOf(values, i)), n.ints({0})));
  }
  if (fits)
    return values;
  return n.op<PadOp>(values, n.concat(pads, 0), n.like(values, 0), n.text("constant"));
}

/// Rows of `fill` appended until `size` (tensor<1xi64>) are there.
inline Value grow(NodeImport &n, Value values, Value size, Value fill) {
  if (!values)
    return {};
  int64_t rank = n.rank(values);
  Value missing = n.maximum(n.sub(size, n.sizeOf(values, 0)), n.ints({0}));
  Value pads = n.concat({n.ints(IntVector(rank, 0)), missing}, 0);
  if (rank > 1)
    pads = n.concat({pads, n.ints(IntVector(rank - 1, 0))}, 0);
  return n.op<PadOp>(values, pads, fill, n.text("constant"));
}

inline Value put(NodeImport &n, Value values, Value indices, Value updates, bool adds) {
  return n.op<ScatterNdOp>(values, n.unsqueeze(indices, {1}), updates,
                           n.text(adds ? "add" : "none"), n.flag(false), n.flag(false));
}

inline Value rowsAt(NodeImport &n, Value values, Value indices) {
  return n.op<GatherOp>(values, indices, n.number(0), n.number(0), n.flag(false));
}

/// The sizes of `x` in `axes`, tensor<kxi64>.
inline Value sizesIn(NodeImport &n, Value x, const IntVector &axes) {
  llvm::SmallVector<Value> sizes;
  for (int64_t axis : axes)
    sizes.push_back(n.sizeOf(x, axis));
  return n.concat(sizes, 0);
}

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_PADDEDROWS_H
