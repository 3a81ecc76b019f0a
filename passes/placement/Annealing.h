//===- Annealing.h - local search over groups, clusters and orders -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLACEMENT_ANNEALING_H
#define WEIR_PASSES_PLACEMENT_ANNEALING_H

#include "passes/placement/Neighbourhood.h"

namespace weir::placement {

/// Simulated annealing (Kirkpatrick et al. 1983) from `plan` on, over about
/// `steps` simulated nodes, from `hot` to `cold` (fractions of the makespan).
/// Returns the best plan met; never worse than `plan`.
Plan anneal(Neighbourhood &state, const Plan &plan, Random &random, int64_t steps, double hot,
            double cold);

} // namespace weir::placement

#endif // WEIR_PASSES_PLACEMENT_ANNEALING_H
