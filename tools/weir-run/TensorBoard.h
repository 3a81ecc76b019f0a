//===- TensorBoard.h - a run as TensorBoard shows it ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_TENSORBOARD_H
#define WEIR_TOOLS_WEIRRUN_TENSORBOARD_H

#include "compiler/driver/Driver.h"
#include "tools/common/Session.h"
#include "tools/weir-run/Trace.h"

namespace weir::tools {

/// Writes an event file into `folder`: the model's graph as a GraphDef without weights; a
/// RunMetadata of the last run, in which a kernel's time is that of its first node, and nodes have
/// the bytes of their buffers; and as scalars the bytes alive at each moment of the plan, by
/// device, with the allocator's peak. False after a report.
bool writeTensorBoard(const std::string &folder, const driver::Options &options,
                      const Report &report, const TraceRecorder &recorder, const Session &session,
                      DiagnosticSink &sink);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_TENSORBOARD_H
