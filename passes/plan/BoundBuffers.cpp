//===- BoundBuffers.cpp - dynamic buffers whose sizes are bounded ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "passes/plan/Passes.h"
#include "passes/plan/SizeBounds.h"
#include "passes/plan/StepTimes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRBOUNDBUFFERSPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Larger ones are left to the allocator, in bytes.
constexpr int64_t largestPlanned = int64_t(1) << 40;

struct BoundBuffersPass : weir::impl::WeirBoundBuffersPassBase<BoundBuffersPass> {
  void runOnOperation() override {
    int64_t planned = 0, dynamic = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      SizeBounds bounds(function);
      SizeRange range(function);
      SmallVector<AllocOp> allocs;
      function.walk([&](AllocOp op) { allocs.push_back(op); });
      SmallVector<std::pair<BufferOp, ViewOp>> made;
      for (AllocOp op : allocs)
        if (range.empty() || !staysInBlock(op) || !bound(op, bounds, made))
          ++dynamic;
      planned += made.size();
      if (!made.empty() && failed(checkRange(function, range, made)))
        return signalPassFailure();
    }
    OpBuilder b(&getContext());
    getOperation()->setAttr(
        "weir_plan.bounded",
        b.getDictionaryAttr({b.getNamedAttr("dynamic", b.getI64IntegerAttr(dynamic)),
                             b.getNamedAttr("planned", b.getI64IntegerAttr(planned))}));
  }

  /// What a region hands on belongs to whoever receives it, and is freed there.
  static bool staysInBlock(AllocOp op) {
    SmallVector<Value> aliases{op.getResult()};
    while (!aliases.empty())
      for (Operation *user : aliases.pop_back_val().getUsers()) {
        if (isa<FreeOp, scf::WhileOp>(user) || user->hasTrait<OpTrait::IsTerminator>())
          return false;
        if (isa<ViewOp>(user))
          aliases.push_back(user->getResult(0));
      }
    return true;
  }

  /// Takes a buffer of the largest size in the place of `op`, seen in the size of
  /// the moment. False where the sizes have no bounds.
  static bool bound(AllocOp op, SizeBounds &bounds,
                    SmallVectorImpl<std::pair<BufferOp, ViewOp>> &made) {
    auto type = cast<MemRefType>(op.getType());
    if (isa<LLVM::LLVMPointerType>(type.getElementType()))
      return false;
    SmallVector<int64_t> shape;
    int64_t bytes = elementSize(type.getElementType());
    unsigned next = 0;
    for (int64_t size : type.getShape()) {
      if (ShapedType::isDynamic(size)) {
        std::optional<int64_t> most = bounds.upper(op.getSizes()[next++]);
        if (!most)
          return false;
        size = *most;
      }
      shape.push_back(size);
      if (size && bytes > largestPlanned / size)
        return false;
      bytes *= size;
    }
    OpBuilder b(op);
    auto buffer = BufferOp::create(b, op.getLoc(), MemRefType::get(shape, type.getElementType()),
                                   IntegerAttr());
    auto view = ViewOp::create(b, op.getLoc(), type, buffer, op.getSizes());
    op.replaceAllUsesWith(view.getResult());
    op.erase();
    made.push_back({buffer, view});
    return true;
  }

  /// Computes the sizes for dimensions over their whole range, with code that
  /// shares nothing with the bounds: none may need more than was planned.
  static LogicalResult checkRange(func::FuncOp function, const SizeRange &range,
                                  ArrayRef<std::pair<BufferOp, ViewOp>> made) {
    for (auto &sizes : range.assignments()) {
      SizeValues values(function, sizes);
      for (auto [buffer, view] : made) {
        auto type = cast<MemRefType>(view.getResult().getType());
        int64_t count = 1;
        bool known = true;
        unsigned next = 0;
        for (int64_t size : type.getShape()) {
          if (ShapedType::isDynamic(size)) {
            std::optional<int64_t> value = values.of(view.getSizes()[next++]);
            known &= value.has_value();
            size = value.value_or(0);
          }
          count *= std::max<int64_t>(size, 0);
        }
        if (known && count > cast<MemRefType>(buffer.getType()).getNumElements())
          return buffer.emitError("memory plan: ")
                 << count << " elements are needed where the bounds say "
                 << cast<MemRefType>(buffer.getType()).getNumElements();
      }
    }
    return success();
  }
};

} // namespace
