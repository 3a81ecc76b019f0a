//===- ReportPage.h - one page that shows a compilation ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_REPORTPAGE_H
#define WEIR_COMPILER_INSIGHT_REPORTPAGE_H

#include "compiler/driver/Options.h"
#include "compiler/emit/Report.h"
#include "compiler/frontend/Diagnostic.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace weir::insight {

/// What would help a program most, with the number that it is worth.
struct Advice {
  std::string gain, text;
  double weight = 0; ///< the larger, the earlier
};

/// The report of a compilation as JSON (docs/report.schema.json): what Report::json() has,
/// and every node of the model with its fate, how kernels are computed, where and by what rule
/// they end, their predicted times, with --profile measured ones, and advice. With `texts`,
/// which gets a kernel's IR and assembly by its name (of devices' functions, too), also each node's
/// history and what the machine code of kernels takes, read from the output that has been written.
/// None after a report.
std::optional<llvm::json::Value> fullReport(const driver::Options &options, const Report &report,
                                            DiagnosticSink &sink,
                                            llvm::json::Object *texts = nullptr);

/// What placement decided for a node, with what else was possible, and why.
llvm::json::Object placementOf(const PlacementInfo &placement, const PlacedNode &node);

/// Writes report.json, code.json (the kernels' IR and assembly) and index.html, one page that has
/// both and needs nothing beside it, into the folder of --report, whose other files have been
/// written. False after a report.
bool writeReportPage(const driver::Options &options, const Report &report, DiagnosticSink &sink);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_REPORTPAGE_H
