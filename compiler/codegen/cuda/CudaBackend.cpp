//===- CudaBackend.cpp - NVIDIA GPUs as a kind of device ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaBackend.h"
#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/codegen/cuda/CudaFlags.h"
#include "compiler/codegen/cuda/CudaSort.h"
#include "compiler/codegen/cuda/CudaStep.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "weir/cuda.h"
#include "llvm/Support/JSON.h"

#include <cstdlib>

using namespace mlir;
using namespace weir;

namespace {

class CudaBackend : public DeviceBackend {
public:
  StringRef type() const override { return cudaFlags().type; }

  std::string whyNot(Operation *op) const override {
    if (auto sort = dyn_cast<TopKOp>(op))
      return whyNotSort(sort);
    auto scatter = dyn_cast<ScatterNdOp>(op);
    auto indices =
        scatter ? dyn_cast<RankedTensorType>(scatter.getIndices().getType()) : RankedTensorType();
    if (scatter && (!indices || indices.isDynamicDim(indices.getRank() - 1)))
      return "has index tuples of a length that the model leaves open";
    return "";
  }

  StringRef flag() const override { return cudaFlags().flag; }
  StringRef flagValue() const override { return cudaFlags().value; }
  StringRef flagHelp() const override { return cudaFlags().help; }
  std::string possibleInsteadOf(StringRef targets) const override {
    return parseArchitectures(targets) ? "" : "one or more of " + knownArchitectures();
  }
  StringRef usualTargets() const override { return cudaFlags().usualTargets; }
  StringRef variable() const override { return cudaFlags().variable; }

  Profiles profiles() const override {
    return {cudaFlags().profileFlag, cudaFlags().profileHelp, cudaFlags().profileOutHelp,
            "a GPU's properties as cuDNN writes them, a JSON object"};
  }
  std::string whyNotProfile(StringRef text) const override {
    auto parsed = llvm::json::parse(text);
    if (!parsed)
      return llvm::toString(parsed.takeError());
    const llvm::json::Object *object = parsed->getAsObject();
    return object && object->getInteger("deviceVer") ? "" : "no number \"deviceVer\"";
  }
  std::optional<std::string> profileHere(std::string &why) const override {
    const char *missing = nullptr;
    char *text = weir_cuda_profile(&missing);
    if (!text) {
      why = missing;
      return std::nullopt;
    }
    std::string profile = text;
    std::free(text);
    return profile;
  }

  bool canSwap() const override { return true; }
  bool takesAttention() const override { return true; }
  bool takesSorts() const override { return true; }
  bool keepsVariables() const override { return true; }
  bool decidesControl() const override { return true; }

  /// What NCCL reduces.
  bool reducesTogether(Type element) const override {
    if (element.isF16() || element.isBF16() || element.isF32() || element.isF64())
      return true;
    auto integer = dyn_cast<IntegerType>(element);
    return integer && llvm::is_contained({8u, 32u, 64u}, integer.getWidth());
  }

  /// Of a size that a data centre has.
  Usual usual() const override { return {2e13, 1.5e12, 3e-6, 2e10, 1e-5}; }

  ArrayRef<DevicePass> passes(PipelineSlot slot) const override {
    static constexpr DevicePass own[] = {
        {"weir-horizontal-gemm-fusion", "what is multiplied with one operand, at once: kernels "
                                        "read the parts"},
        {"weir-gemm-operand-layout", "joined or not, what few rows multiply lies as their kernel "
                                     "reads it"},
        {"weir-split-reductions", "what few threads would reduce, by many"},
        {"weir-widen-row-reductions", "halves along rows, which kernels of f32 take in"}};
    return slot == PipelineSlot::BeforeKernelize ? ArrayRef<DevicePass>(own)
                                                 : ArrayRef<DevicePass>();
  }

  void registerDialects(DialectRegistry &registry) const override {
    registerCudaDialects(registry);
  }

  void declareFunctions(OpBuilder &b, ModuleOp module) const override {
    declareCudaFunctions(b, module);
  }

  FailureOr<StepRewriterFactory> generate(ModuleOp module, const DeviceCodeOptions &options,
                                          Program &program) const override {
    CudaOptions cuda;
    cuda.prefix = options.prefix;
    cuda.architectures = *parseArchitectures(options.targets);
    cuda.optLevel = options.optLevel;
    cuda.tf32 = options.precision == "tf32";
    cuda.profiles = options.profiles;
    cuda.log = options.log;
    cuda.forecast = options.forecast;
    cuda.code = options.code;
    return generateCuda(module, *this, cuda, program);
  }
};

} // namespace

const DeviceBackend &weir::cudaBackend() {
  static const CudaBackend backend;
  return backend;
}
