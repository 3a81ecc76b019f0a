//===- IrDump.h - the IR after each pass that changed it --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_IRDUMP_H
#define WEIR_COMPILER_DRIVER_IRDUMP_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::driver {

/// Text of a module that loads again: with locations, nothing left out.
std::string printModule(mlir::ModuleOp module);

/// Follows a compilation: how long every pass took, how many operations there
/// were before and after, and, with a folder, the module's text after each pass
/// that changed it (NNN-STAGE-PASS.mlir, numbered by passes run) with an index.
class PipelineLog {
public:
  struct Row {
    std::string stage, pass, file; ///< file: "" where nothing was written
    double milliseconds = 0;
    int64_t before = 0, after = 0; ///< operations
    bool changed = false;
  };

  /// `folder` empty: no files; `filter`: only passes whose names hold it.
  PipelineLog(std::string folder, std::string filter)
      : folder(std::move(folder)), filter(std::move(filter)) {}

  /// Ends the stage before.
  void setStage(std::string name);
  /// From now on each stage's end is told on stderr, with its time.
  void tell() { telling = true; }
  /// To be added to every pass manager. Does not outlive this object.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();
  /// Work that is no pass: call before and after.
  void begin(mlir::ModuleOp module);
  void end(llvm::StringRef what, mlir::ModuleOp module);
  /// The same for what ends in LLVM IR; null: nothing to write.
  void end(llvm::StringRef what, const llvm::Module *module);
  /// The same for other text; `suffix` is its file's.
  void end(llvm::StringRef what, llvm::StringRef suffix, llvm::StringRef text);

  /// Writes DIR/index.txt. An error, too, when any file could not be written.
  llvm::Error finish();
  /// The table for --time-passes, slowest first.
  std::string times() const;
  const std::vector<Row> &rows() const { return table; }

private:
  friend class LogInstrumentation;
  void record(llvm::StringRef what, int64_t after, bool changed,
              llvm::function_ref<std::string()> text, llvm::StringRef suffix);

  std::string folder, filter, stage, failure;
  std::vector<Row> table;
  std::chrono::steady_clock::time_point started, stageStarted;
  bool telling = false;
  int64_t operationsBefore = 0;
  std::optional<mlir::OperationFingerPrint> fingerprint;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_IRDUMP_H
