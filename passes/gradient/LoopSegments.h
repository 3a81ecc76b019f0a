//===- LoopSegments.h - loops that keep less for their gradient -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a loop of T trips needs what each trip began with. As a loop over √T segments
// of √T trips each, it keeps what each segment began with; when it comes back to a segment it
// runs it again, and keeps what its trips begin with until it has gone back through them: 2 √T
// states for T, for one more forward pass (Chen et al., "Training deep nets with sublinear memory
// cost", 2016).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_GRADIENT_LOOPSEGMENTS_H
#define WEIR_PASSES_GRADIENT_LOOPSEGMENTS_H

#include "passes/gradient/GradientRules.h"

#include <optional>

namespace weir::gradient {

/// A loop over segments of `loop`, which makes at most `trips` trips, in its place; null where
/// that is none to divide: of few trips, with checks, of types that change, a segment or a loop
/// over segments itself, or in a module that does not ask for it (checkpointLoopsAttr). `loop`
/// stays, unused.
WhileOp inSegments(WhileOp loop, std::optional<int64_t> trips, Adjoint &a);

/// The trips that a segment, or a loop over segments, makes at most; none: `loop` is neither.
std::optional<int64_t> tripsOfSegments(WhileOp loop);

/// Whether `loop` goes over segments.
bool goesOverSegments(WhileOp loop);

/// `sum` + `gradient`, where a loop that has only added to zeros begins with the sum instead.
Value accumulateThroughLoops(Value sum, Value gradient, Adjoint &a);

} // namespace weir::gradient

#endif // WEIR_PASSES_GRADIENT_LOOPSEGMENTS_H
