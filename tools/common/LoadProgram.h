//===- LoadProgram.h - from a model or library to a program -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_LOADPROGRAM_H
#define WEIR_TOOLS_COMMON_LOADPROGRAM_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/Diagnostic.h"
#include "tools/common/LoadedModel.h"

#include <memory>
#include <string>

namespace weir {
struct Report;
} // namespace weir

namespace weir::tools {

/// Opens `options.input` (openProgram) when it is a shared library; compiles it in memory and
/// links the object otherwise; `report`, where not null, is then the compilation's. Null, with
/// errors in `sink`.
std::unique_ptr<LoadedModel> loadProgram(const driver::Options &options, DiagnosticSink &sink,
                                         Report *report = nullptr,
                                         JitListener listener = JitListener::None);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_LOADPROGRAM_H
