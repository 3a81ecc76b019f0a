//===- Pipeline.h - the stages of a compilation -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_PIPELINE_H
#define WEIR_COMPILER_DRIVER_PIPELINE_H

#include "compiler/codegen/device/DeviceBackend.h"
#include "compiler/driver/SideWork.h"
#include "compiler/driver/Work.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::driver {

class MemoryLimit;
class Tuning;

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

/// A stage of a compilation, with a member for each option of its own.
class Stage : public StageText {
public:
  explicit Stage(StageText text) : StageText(std::move(text)) {}
  virtual ~Stage() = default;

  /// Does its part of the work. False, with a diagnostic, where it failed.
  virtual bool run(Work &work) = 0;
};

/// Makes a module of the model's file.
struct ImportStage : Stage {
  using Stage::Stage;
  bool run(Work &work) override;
};

/// A stage that is its passes.
struct PassStage : Stage {
  using Stage::Stage;
  bool run(Work &work) override { return runPasses(work); }

  /// One of its passes with the stage's options; null: the pass has none, and its name
  /// makes it.
  virtual std::unique_ptr<mlir::Pass> make(llvm::StringRef) const { return nullptr; }

  /// Adds one of its passes to a pass manager. Failure, with the reason in `errors`, where no
  /// pass has its name.
  mlir::LogicalResult add(const PipelinePass &pass, mlir::PassManager &manager,
                          llvm::raw_ostream &errors) const;
  /// All passes but those that Options::passLimit leaves out.
  bool runPasses(Work &work);
};

struct SimplifyStage : PassStage {
  using PassStage::PassStage;
  bool run(Work &work) override;
};

struct LayoutStage : PassStage {
  using PassStage::PassStage;
  bool run(Work &work) override;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  std::vector<std::string> keepF32; ///< nodes that are not rounded
  bool roundsToBf16 =
      false; ///< products of f32; a fact of options and target together, run() sets it
};

struct PlaceStage : PassStage {
  using PassStage::PassStage;
  bool run(Work &work) override;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  std::string placer, receives; ///< empty: the usual
  bool isHard = false, describes = false;
};

struct KernelizeStage : PassStage {
  using PassStage::PassStage;
  bool run(Work &work) override;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  Tuning *tuning = nullptr;    ///< chooses tiles by measurements; null: nobody does
  unsigned mostInputs = 0;     ///< tensors that kernels may come to read by fusing; 0: any number
  bool joinsGradients = false; ///< see weir-kernelize
};

struct ScheduleStage : PassStage {
  using PassStage::PassStage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  std::string schedule; ///< empty: the usual
  int64_t limit = 0;    ///< bytes that a device may use; 0: any number
};

struct PlanMemoryStage : PassStage {
  using PassStage::PassStage;
  std::unique_ptr<mlir::Pass> make(llvm::StringRef pass) const override;

  bool guards = false; ///< buffers are watched in every run
};

/// Makes LLVM IR of the module for one processor.
struct CodegenStage : Stage {
  using Stage::Stage;
  /// Constants that the program has already stay where they are.
  bool run(Work &work) override;

  const MemoryLimit *limit = nullptr; ///< that the program must stay within; null: any memory
  std::string prefix;                 ///< what the processor's symbols begin with
  std::string previous; ///< by what the programs before it are known: all have one fingerprint
  SideWork *beside = nullptr; ///< begins where the program has all its constants; may be null
};

/// Makes the bytes of an object, or assembly, of the LLVM IR for all processors.
struct EmitStage : Stage {
  using Stage::Stage;
  /// Adds to each LLVM IR the descriptors that runtimes read; before run().
  bool describe(Work &work);
  bool run(Work &work) override;

  OutputForm form = OutputForm::Object;
  SideWork beside; ///< what can be done while code is generated, from any thread
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

  ImportStage import;
  SimplifyStage simplify;
  LayoutStage layout;
  PlaceStage place;
  PassStage partition;
  KernelizeStage kernelize;
  ScheduleStage schedule;
  PlanMemoryStage planMemory;
  CodegenStage codegen;
  EmitStage emit;

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
