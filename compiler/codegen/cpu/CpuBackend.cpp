//===- CpuBackend.cpp - CPUs as a kind of device --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "compiler/codegen/host/StepRewriter.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

class CpuBackend : public DeviceBackend {
public:
  StringRef type() const override { return "CPU"; }
  bool isHost() const override { return true; }
  const KernelSchedules *schedules() const override { return &cpuSchedules(); }
  /// The host computes everything.
  std::string whyNot(Operation *) const override { return ""; }

  StringRef flag() const override { return "--cpu"; }
  StringRef flagValue() const override { return "native|NAME[,NAME]"; }
  StringRef flagHelp() const override { return "processors to make code for"; }
  /// LLVM knows the names of processors, and says so when a target is made.
  std::string possibleInsteadOf(StringRef) const override { return ""; }
  StringRef usualTargets() const override { return "native"; }
  /// A program always runs on its host.
  StringRef variable() const override { return ""; }
  Usual usual() const override { return {1e11, 2e10, 1e-6, 2e10, 1e-6}; }

  /// A head's rows lie on the stack. Keys are brought into panels first, which few queries, as
  /// a decoder's single one, do not pay for.
  AttentionLimits attentionLimits() const override {
    AttentionLimits limits;
    limits.form = AttentionForm::Plain;
    limits.fewestQueries = 32;
    limits.fewestSquareQueries = 8;
    return limits;
  }

  void registerDialects(DialectRegistry &registry) const override { registerCpuDialects(registry); }
  void declareFunctions(OpBuilder &, ModuleOp) const override {}

  SmallVector<StringRef> requiredFeatures(ModuleOp module) const override {
    return featuresOf(module);
  }

  /// The steps of accelerators are host code as well: there is nothing of the host's own to
  /// put beside them. generateCpu makes the code of all.
  FailureOr<StepRewriterFactory> generate(ModuleOp, const DeviceCodeOptions &,
                                          Program &) const override {
    return StepRewriterFactory();
  }
};

} // namespace

const DeviceBackend &weir::cpuBackend() {
  static const CpuBackend backend;
  return backend;
}
