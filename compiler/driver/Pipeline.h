//===- Pipeline.h - the stages of a compilation -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_PIPELINE_H
#define WEIR_COMPILER_DRIVER_PIPELINE_H

#include "compiler/codegen/device/DeviceBackend.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace weir::driver {

/// A pass as mlir-opt names it, and why it stands where it does.
using PipelinePass = DevicePass;

struct Stage {
  const char *name;
  const char *why;
  std::vector<PipelinePass> passes; ///< empty: the stage is not made of passes
  /// For messages of its passes that bring no number of their own.
  const char *defaultCode;
};

struct Options;
/// The pass with its options for a compilation, as in a textual pipeline:
/// "weir-place{placer=greedy receives=early}".
std::string textOf(const PipelinePass &pass, const Options &options);

/// All stages, in order, with what the kinds of devices that are registered by then put into
/// the slots between their passes (PipelineSlot).
llvm::ArrayRef<Stage> stages();
/// Position of the stage of that name, -1: none.
int stageIndex(llvm::StringRef name);

// The stages that are not made of passes.
inline constexpr const char *importStage = "import";
inline constexpr const char *codegenStage = "codegen";
inline constexpr const char *emitStage = "emit";

/// The attribute of a module that names the last stage it went through; a dump
/// is taken up behind it.
inline constexpr const char *stageAttribute = "weir.stage";

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_PIPELINE_H
