//===- FeedUpdates.h - fetches that feeds become -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoder is fed its cache of keys and values, and gives it back with a line that is new:
// a scatter whose operand is a feed, and whose result is a fetch. The scatter writes into the
// fetch then, where the feed's bytes are before: copied, unless the caller has put the fetch
// where the feed is. A step reads and writes the lines that change, and nothing else. Where sizes
// are open the feed may first be made longer, by zeros that are joined to it: that is done in the
// fetch, too, and is a copy, or nothing, where the run finds that it was long enough.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_FEEDUPDATES_H
#define WEIR_PASSES_PLAN_FEEDUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/plan/InPlace.h"

namespace weir::plan {

/// Of a weir_plan.copy: nothing is copied where both buffers are the same memory, or differ in
/// size.
constexpr char unlessSameAttribute[] = "weir_plan.unless_same";
/// Of a step, an array of numbers: of each fetch one more than the feed that it may lie over; 0:
/// none.
constexpr char overFeedAttribute[] = "weir_plan.over_feed";

/// Of a function of the host that is its entry's only one, before buffers are merged. Adds the
/// runs that write over an input, and which that is, to `inPlace`.
void updateFeeds(mlir::func::FuncOp function, mlir::SymbolTable &symbols, InPlaceRuns &inPlace);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_FEEDUPDATES_H
