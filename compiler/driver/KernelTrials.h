//===- KernelTrials.h - kernels alone, compiled and timed -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trial takes the operations of one kernel through the same passes and the same
// code generation as the whole program, links the kernel's object in memory, and
// times it in a child process, whose crash or hang loses the trial and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_KERNELTRIALS_H
#define WEIR_COMPILER_DRIVER_KERNELTRIALS_H

#include "compiler/driver/Target.h"
#include "compiler/driver/TuneSearch.h"
#include "passes/analysis/Clusters.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::driver {

class KernelTrials : public TuneTrials {
public:
  KernelTrials(const Options &options, const Target &target, VectorUnit unit);
  ~KernelTrials() override;

  /// Adds the kernels of the module whose tiles can be chosen, equal shapes once;
  /// `tasks` gets one for each. To be called before kernels are formed.
  void collect(mlir::ModuleOp module, std::vector<TuneTask> &tasks);
  const std::string &key(size_t task) const { return kernels[task].key; }

  std::vector<TileChoice> moves(size_t task, const TileChoice &from) override;
  TrialResult measure(size_t task, const TileChoice &from, const TileChoice &to) override;

private:
  struct Build;
  struct Kernel {
    std::string key;
    mlir::OwningOpRef<mlir::ModuleOp> module;             ///< a function of the kernel's operations
    std::map<std::string, std::unique_ptr<Build>> builds; ///< by choice
  };

  /// Null: no kernel comes of it whose tiles could be chosen.
  Build *build(Kernel &kernel, const TileChoice &choice);
  bool isRunnable(Build &build);
  TrialResult runBoth(Kernel &kernel, const TileChoice &from, const TileChoice &to);

  const Options &options;
  const Target &target;
  VectorUnit unit;
  std::vector<Kernel> kernels;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_KERNELTRIALS_H
