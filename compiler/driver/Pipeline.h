//===- Pipeline.h - the stages of a compilation -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_PIPELINE_H
#define WEIR_COMPILER_DRIVER_PIPELINE_H

#include "compiler/codegen/device/DeviceBackend.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::driver {

struct Options;

/// A pass as mlir-opt names it, and why it stands where it does.
using PipelinePass = DevicePass;

/// A stage as the table of contents has it.
struct StageText {
  const char *name;
  const char *why;
  std::vector<PipelinePass> passes; ///< empty: the stage is not made of passes
  /// For messages of its passes that bring no number of their own.
  const char *defaultCode;
};

/// A stage of a compilation. One whose passes have options is a class of its own, with a
/// member for each.
class Stage : public StageText {
public:
  explicit Stage(StageText text) : StageText(std::move(text)) {}
  virtual ~Stage() = default;

  /// One of its passes with the stage's options; null: the pass has none, and its name
  /// makes it.
  virtual std::unique_ptr<mlir::Pass> make(llvm::StringRef) const { return nullptr; }

  /// What the driver does in front of the passes, false where it failed, and behind them.
  std::function<bool()> before;
  std::function<void()> after;
};

struct LayoutStage : Stage {
  using Stage::Stage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  bool roundsToBf16 = false;        ///< products of f32; a fact of options and target together
  std::vector<std::string> keepF32; ///< nodes that are not rounded
};

struct PlaceStage : Stage {
  using Stage::Stage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  std::string placer, receives; ///< empty: the usual
  bool isHard = false, describes = false;
};

struct KernelizeStage : Stage {
  using Stage::Stage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  unsigned mostInputs = 0; ///< tensors that kernels may come to read by fusing; 0: any number
};

struct ScheduleStage : Stage {
  using Stage::Stage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  std::string schedule; ///< empty: the usual
  int64_t limit = 0;    ///< bytes that a device may use; 0: any number
};

struct PlanMemoryStage : Stage {
  using Stage::Stage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  bool guards = false; ///< buffers are watched in every run
};

/// The stages of one compilation, with what the kinds of devices that are registered by then
/// put into the slots between their passes (PipelineSlot).
class Pipeline {
public:
  explicit Pipeline(const Options &options);
  Pipeline(const Pipeline &) = delete;
  Pipeline &operator=(const Pipeline &) = delete;

  /// In order.
  llvm::ArrayRef<Stage *> all() const { return order; }
  Stage &operator[](int index) const { return *order[index]; }

  Stage import, simplify;
  LayoutStage layout;
  PlaceStage place;
  Stage partition;
  KernelizeStage kernelize;
  ScheduleStage schedule;
  PlanMemoryStage planMemory;
  Stage codegen, emit;

private:
  std::vector<Stage *> order;
};

/// The stages of a compilation without options, for those who ask for names and reasons.
llvm::ArrayRef<Stage *> stages();
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
