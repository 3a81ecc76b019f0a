//===- GemmAmxBf16.cpp - products of bf16 in tiles of AMX -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/GemmPanels.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
class GemmAmxBf16 final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::GemmAmxBf16; }
  StringRef summary() const override {
    return "a matrix product of bf16, in the processor's matrix tiles";
  }

  bool matches(const KernelRequest &request) const override { return isPanelGemm(request); }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    constexpr int64_t tileRows = 32, tileLanes = 16;
    readPlainPanels(s, request);
    return gemmPanelTiles(s, request.anchor, tileRows, tileLanes, /*hasTiles=*/true);
  }

  Operation *packOperands(KernelRequest &request) const override {
    packPanels(request.b, request.kernel, request.operands);
    return nullptr;
  }

  StringRef feature(KernelOp) const override { return "amx-bf16"; }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitGemmAmxBf16(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &gemmAmxBf16Strategy() {
  static const GemmAmxBf16 made;
  return made;
}
} // namespace weir
