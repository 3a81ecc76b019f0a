//===- StaticSlice.h - slices whose bounds are known ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_STATICSLICE_H
#define WEIR_PASSES_ANALYSIS_STATICSLICE_H

#include "dialects/weir/Weir.h"

#include <optional>

namespace weir {

/// [begin, end) of dimension `axis`, as the operation says it.
struct StaticSlice {
  int64_t axis, begin, end;
};

/// What a slice takes, where it is cut along one dimension, in steps of 1, by constants.
std::optional<StaticSlice> staticSlice(SliceOp op);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_STATICSLICE_H
