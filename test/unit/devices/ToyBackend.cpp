//===- ToyBackend.cpp - a kind of device for tests, to the compiler -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Toy.h"

#include "compiler/codegen/device/DeviceBackend.h"
#include "compiler/codegen/host/StepRewriter.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/DeviceTraits.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weir;

namespace {

/// Rows of the record by kernel's symbol.
using Negations = llvm::StringMap<int64_t>;

/// The host's step, whose end the driver is told, and which calls the library.
class ToyStepRewriter : public StepRewriter {
public:
  ToyStepRewriter(func::FuncOp function, StepTables &tables, Negations negations)
      : StepRewriter(function, tables), negations(std::move(negations)) {}

  const Negations negations;

protected:
  bool launchesByTable() const override { return false; }
  void addPatterns(RewritePatternSet &patterns) override;
  Value finish(Value code) override {
    return call("weir_toy_finish", b.getI32Type(), {context, code});
  }
};

/// A kernel that only negates is a call of the library.
struct NegatePattern : StepPattern<plan::RunOp, ToyStepRewriter> {
  using StepPattern::StepPattern;
  LogicalResult convert(plan::RunOp run) const override {
    auto found = step.negations.find(run.getKernel());
    if (found == step.negations.end())
      return failure();
    step.returnIfError(
        step.call("weir_toy_negate", step.b.getI32Type(),
                  {step.context, step.i64(found->second), step.unpack(run.getInputs()[0]).pointer,
                   step.unpack(run.getOutputs()[0]).pointer}));
    step.erase(run);
    return success();
  }
};

void ToyStepRewriter::addPatterns(RewritePatternSet &patterns) {
  patterns.add<NegatePattern>(*this);
}

/// The elements that a kernel negates, and nothing else; -1: it does not.
int64_t negatedElements(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto negation = dyn_cast<NegOp>(body.front());
  auto type = negation ? dyn_cast<RankedTensorType>(negation.getType()) : RankedTensorType();
  return body.getOperations().size() == 2 && type && type.hasStaticShape() &&
                 type.getElementType().isF32()
             ? type.getNumElements()
             : -1;
}

class ToyBackend : public DeviceBackend {
public:
  StringRef type() const override { return "TOY"; }
  std::string whyNot(Operation *op) const override {
    return isa<PowOp>(op) ? "is too hard for toys" : "";
  }
  StringRef flag() const override { return "--toy"; }
  StringRef flagValue() const override { return "wood|tin"; }
  StringRef flagHelp() const override { return "toys to make code for"; }
  std::string possibleInsteadOf(StringRef targets) const override {
    return targets == "wood" || targets == "tin" ? "" : "wood, tin";
  }
  StringRef usualTargets() const override { return "wood"; }
  StringRef variable() const override { return "WEIR_TOY"; }
  Usual usual() const override { return {1e12, 1e12, 1e-6, 1e10, 1e-6}; }
  ArrayRef<DevicePass> passes(PipelineSlot slot) const override {
    static constexpr DevicePass early[] = {{"sccp", "toys like constants"}};
    static constexpr DevicePass late[] = {{"weir-split-reductions", "as others do"},
                                          {"symbol-dce", "toys are tidy"}};
    return slot == PipelineSlot::AfterLayout ? ArrayRef(early) : ArrayRef(late);
  }
  void registerDialects(DialectRegistry &) const override {}
  void declareFunctions(OpBuilder &b, ModuleOp module) const override {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    declareFunction(b, module, "weir_toy_finish", b.getI32Type(), {pointer, b.getI32Type()});
    declareFunction(b, module, "weir_toy_negate", b.getI32Type(),
                    {pointer, b.getI64Type(), pointer, pointer});
  }

  FailureOr<StepRewriterFactory> generate(ModuleOp module, const DeviceCodeOptions &options,
                                          Program &program) const override {
    OpBuilder b(module.getContext());
    llvm::SmallSetVector<int64_t, 4> devices;
    for (auto step : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (!step->hasAttr("weir_plan.feeds") || kindAround(step) != this)
        continue;
      devices.insert(step->getAttrOfType<IntegerAttr>("weir.device_index").getInt());
      b.setInsertionPointAfter(step);
      auto copy = cast<func::FuncOp>(b.clone(*step));
      copy.setSymName((step.getSymName() + "__toy").str());
      copy->setAttr("weir_plan.accelerated", b.getUnitAttr());
    }
    Negations rows;
    std::vector<AcceleratorInfo::Record> negations;
    for (auto [number, kernel] : llvm::enumerate(module.getOps<plan::KernelOp>())) {
      int64_t elements = negatedElements(kernel);
      if (elements < 0)
        continue;
      rows[kernel.getSymName()] = int64_t(negations.size());
      negations.push_back({{number, uint64_t(elements)}, {kernel.getNodes().str()}});
    }
    for (int64_t device : devices) {
      AcceleratorInfo info;
      info.record.words = {sizeof(toy::Record) | uint64_t(toy::recordVersion) << 32};
      info.record.pointers = {negations};
      info.device = int(device);
      info.driver = "weir_toy_driver";
      info.image = "made of " + options.targets;
      program.accelerators.push_back(info);
    }
    return StepRewriterFactory(
        [this, rows](func::FuncOp step, StepTables &tables) -> std::unique_ptr<StepRewriter> {
          if (!step->hasAttr("weir_plan.accelerated") || kindAround(step) != this)
            return nullptr;
          return std::make_unique<ToyStepRewriter>(step, tables, rows);
        });
  }
};

} // namespace

const DeviceBackend &toy::backend() {
  static const ToyBackend made;
  return made;
}
