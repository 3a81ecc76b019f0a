//===- ReportCode.h - code of kernels in a report ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_REPORTCODE_H
#define WEIR_COMPILER_INSIGHT_REPORTCODE_H

#include "compiler/emit/Report.h"
#include "compiler/frontend/Diagnostic.h"
#include "compiler/insight/NodeTrace.h"

#include "llvm/Support/JSON.h"

#include <string>

namespace weir::insight {

/// Adds to the kernels of the report `root` what they take of the machine, as read from the file
/// `output` (nothing where it is none), and of devices; and fills `texts`: by the kernel's name its
/// IR, its assembly, and the code of each device's function. False after a report.
bool addMachineCode(const std::string &output, const Report &report, const NodeTrace &trace,
                    llvm::json::Object &root, llvm::json::Object &texts, DiagnosticSink &sink);

/// Texts as the page holds them: each by itself, so that one is unpacked when it is asked for.
std::string packedCode(const llvm::json::Object &texts);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_REPORTCODE_H
