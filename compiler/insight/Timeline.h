//===- Timeline.h - what ran when in a measured step ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_TIMELINE_H
#define WEIR_COMPILER_INSIGHT_TIMELINE_H

#include "compiler/emit/Report.h"
#include "compiler/insight/NodeTrace.h"

#include "llvm/Support/JSON.h"

namespace weir::insight {

/// The last run of a profile (`timeline` of weir-run --profile-out), as docs/report.schema.json
/// has it: what each thread did, where threads were idle and why, which events make the critical
/// path, and when each launch of the plan began, by which lifetimes of buffers get times. Null
/// where the profile has none.
llvm::json::Value timelineOf(const llvm::json::Object &profile, const NodeTrace &trace,
                             const Report &report);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_TIMELINE_H
