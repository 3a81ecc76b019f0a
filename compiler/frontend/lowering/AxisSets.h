//===- AxisSets.h - axes that the program computes --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weir's axes are attributes; formats let a model compute them. Ranks are known all the
// same, so that there are only a few sets of axes that a branch each can be built for: a
// set is a number, the sum of its axes' powers of two.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_LOWERING_AXISSETS_H
#define WEIR_COMPILER_FRONTEND_LOWERING_AXISSETS_H

#include "compiler/frontend/TensorBuilder.h"

namespace weir::frontend {

/// More branches are not built.
constexpr size_t mostAxisSets = 32;

/// The axes of a set, ascending.
llvm::SmallVector<int64_t> axesOfSet(int64_t set);

/// The sets of `count` (kDynamic: any number) out of `rank` axes for which `isPossible`
/// says yes (null: all). Empty where there are none, or more than mostAxisSets.
llvm::SmallVector<int64_t> axisSets(int64_t rank, int64_t count,
                                    llvm::function_ref<bool(Ints axes)> isPossible = nullptr);

/// Ends the run with `message` unless all elements of `holds` (tensor of i1) are true.
using Require = llvm::function_ref<void(Value holds, llvm::StringRef message)>;

/// `axes`, integers of any shape that may count from the end, as i64 in [0, rank); others
/// end the run.
Value axesFromStart(TensorBuilder &t, Value axes, int64_t rank, Require require);

/// The set of a vector of axes that axesFromStart gave, tensor<i64>; an axis that is there
/// twice counts once.
Value axisSetOf(TensorBuilder &t, Value axes, int64_t rank);

/// Whether each of `size` dimensions is among `axes`, as axesFromStart gave them:
/// tensor<size x i1>.
Value isAmongAxes(TensorBuilder &t, Value axes, int64_t size);

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_LOWERING_AXISSETS_H
