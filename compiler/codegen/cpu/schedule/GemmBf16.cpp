//===- GemmBf16.cpp - products of bf16 on vectors -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions that weir-lower-precision has marked for vectors: the register
// tiles of f32, whose steps add two products of bf16 to each sum (VDPBF16PS, AVX-512 BF16).
// A word holds two elements of a row of the left operand, as it lies, and two rows of a
// column of the packed right one.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
class GemmBf16 final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::GemmBf16; }
  StringRef summary() const override {
    return "a matrix product of bf16, in tiles of f32 that stay in registers";
  }

  bool matches(const KernelRequest &request) const override {
    Operation *anchor = request.anchor;
    return anchor && multipliesPairs(anchor) && request.isHost &&
           isa<BlockArgument>(anchor->getOperand(0)) && request.constantOf(anchor->getOperand(1)) &&
           isVectorEpilogue(request.kernel, anchor);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    VectorUnit unit = unitFor(request.unit, request.anchor);
    if (auto conv = dyn_cast<ConvOp>(request.anchor))
      return convolutionTiles(s, request.kernel, conv, unit, {});
    return gemmTiles(s, request.kernel, cast<DotGeneralOp>(request.anchor), unit,
                     /*isConstant=*/true, {});
  }

  Operation *packOperands(KernelRequest &request) const override {
    packPairs(request.b, request.kernel, request.operands);
    return nullptr;
  }

  /// Rows of the left operand must be whole words apart.
  bool takesPart(KernelOp kernel, unsigned index, ArrayRef<int64_t> extents) const override {
    Block &body = kernel.getBody().front();
    if (index < body.getNumArguments() && extents.back() % 2 &&
        llvm::any_of(body.getArgument(index).getUsers(), multipliesPairs))
      return false;
    bool seesLines = !body.getOps<ConvOp>().empty() && !kernel.getSchedule()[schedule::pointwise];
    return takesPartOfTiles(kernel, index, extents, seesLines);
  }

  StageForm stageForm(KernelOp kernel) const override {
    return kernel.getSchedule()[schedule::pointwise] ? StageForm::Position : StageForm::None;
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return kernel.getBody().front().getOps<ConvOp>().empty()
               ? emitGemm(r, kernel, begin, end)
               : emitConvolution(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &gemmBf16Strategy() {
  static const GemmBf16 made;
  return made;
}
} // namespace weir
