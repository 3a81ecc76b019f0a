//===- Loops.cpp - element by element -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/PadBlocks.h"
#include "compiler/codegen/cpu/RepeatedBlocks.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

SmallVector<ResultGroup> weir::resultGroups(Block &body) {
  Operation *end = body.getTerminator();
  if (end->getNumOperands() == 1)
    return {{end->getOperands(), {}, false}};
  auto isOne = [](Value value) { return staticCount(value.getType()).value_or(0) == 1; };
  llvm::EquivalenceClasses<void *> together;
  for (Operation &op : body.without_terminator()) {
    if (isa<ConstantOp>(op) || op.getNumResults() == 0)
      continue;
    void *own = op.getResult(0).getAsOpaquePointer();
    together.insert(own);
    for (Value other : op.getResults().drop_front())
      together.unionSets(own, other.getAsOpaquePointer());
    for (Value operand : op.getOperands())
      if ((!isOne(operand) || isOne(op.getResult(0))) &&
          !isa_and_nonnull<ConstantOp>(operand.getDefiningOp()))
        together.unionSets(own, operand.getAsOpaquePointer());
  }
  llvm::MapVector<void *, ResultGroup> groups;
  for (Value result : end->getOperands())
    groups[together.getOrInsertLeaderValue(result.getAsOpaquePointer())].results.push_back(result);
  for (BlockArgument argument : body.getArguments())
    if (auto at = groups.find(together.getOrInsertLeaderValue(argument.getAsOpaquePointer()));
        at != groups.end())
      at->second.operands.insert(argument);
  for (auto &[leader, group] : groups) {
    auto type = cast<RankedTensorType>(group.results.front().getType());
    group.isFlat = type.hasStaticShape();
    auto isMember = [&](Operation *op) {
      return op && !isa<ConstantOp>(op) && op->getNumResults() &&
             together.getLeaderValue(op->getResult(0).getAsOpaquePointer()) == leader;
    };
    // What is computed of one element for all others has no such number.
    auto isStored = [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || isa<ConstantOp>(def) || isMember(def);
    };
    for (Operation &op : body.without_terminator())
      if (isMember(&op))
        group.isFlat = group.isFlat && isElementwiseOver(&op, type) &&
                       llvm::all_of(op.getOperands(), isStored);
  }
  return llvm::map_to_vector(groups, [](auto &entry) { return std::move(entry.second); });
}

/// An open dimension is expected to have some elements.
static constexpr int64_t manyParts = 16, fewParts = 4;

static int64_t partsAlong(RankedTensorType type, int64_t dimension) {
  return type.isDynamicDim(dimension) ? fewParts : std::max<int64_t>(type.getDimSize(dimension), 1);
}

/// How many of the `outer` dimensions count parts: of an image of open size a position's channels
/// are no part, as the divisions that find it cost more than copying it, but a line is.
static int64_t withoutShortBlocks(RankedTensorType type, int64_t outer) {
  constexpr int64_t shortBlock = 1024;
  ArrayRef<int64_t> behind = type.getShape().drop_front(outer);
  if (outer < 2 || !type.isDynamicDim(outer - 1) || ShapedType::isDynamicShape(behind) ||
      ShapedType::getNumElements(behind) >= shortBlock)
    return outer;
  int64_t parts = 1;
  for (int64_t i = 0; i + 1 < outer; ++i)
    parts *= partsAlong(type, i);
  return parts < fewParts ? outer : outer - 1;
}

namespace {
class Loops final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Loops; }
  StringRef summary() const override { return "loops over the result, several elements at once"; }

  bool matches(const KernelRequest &) const override { return true; }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &,
                                               const KernelRequest &request) const override {
    // Small results that have nothing to do with each other, one group behind the other.
    if (resultGroups(request.body()).size() > 1)
      return SmallVector<int64_t>();
    Value result = request.body().getTerminator()->getOperand(0);
    if (request.isFlat && !(request.isHost && isStretchedByBlocks(result)))
      return std::nullopt;
    int64_t rank = request.type.getRank();
    // Whole blocks for each part, as long as these are enough for threads.
    if (request.isHost && isPadBlocks(result.getDefiningOp())) {
      int64_t parts = 1, outer = 0;
      for (; outer < rank - 1 && parts < manyParts; ++outer)
        parts *= partsAlong(request.type, outer);
      outer = std::max<int64_t>(outer, std::min<int64_t>(rank, 1));
      return SmallVector<int64_t>(withoutShortBlocks(request.type, outer), 1);
    }
    int64_t outer = std::max<int64_t>(rank - 1, std::min<int64_t>(rank, 1));
    bool isCheap = llvm::all_of(request.body().without_terminator(),
                                llvm::IsaPred<ConstantOp, ElementwiseOpInterface>);
    if (request.isHost && isCheap)
      outer = withoutShortBlocks(request.type, outer);
    return SmallVector<int64_t>(outer, 1);
  }

  bool storesLast() const override { return true; }

  bool takesPart(KernelOp kernel, unsigned, ArrayRef<int64_t>) const override {
    Value result = kernel.getBody().front().getTerminator()->getOperand(0);
    return hasOneResult(kernel) && (kernel.getSchedule().has(schedule::parts) ||
                                    (cast<RankedTensorType>(result.getType()).hasStaticShape() &&
                                     !isStretchedElementwise(kernel.getBody().front())));
  }

  bool readsInPlace(KernelOp kernel, unsigned argument, unsigned result) const override {
    if (!KernelStrategy::readsInPlace(kernel, argument, result))
      return false;
    Block &body = kernel.getBody().front();
    SmallVector<ResultGroup> groups = resultGroups(body);
    // Another group may come first, and write over what its own still reads.
    Value written = body.getTerminator()->getOperand(result), over = body.getArgument(argument);
    return groups.size() == 1 || llvm::any_of(groups, [&](const ResultGroup &group) {
             return llvm::is_contained(group.results, written) && group.operands.contains(over);
           });
  }

  /// Has a form for sizes that differ.
  void requireSizes(KernelBuilder &, KernelOp, SizeEqualities &) const override {}

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    emitLoops(r, kernel, begin, end);
    return success();
  }
};
} // namespace

namespace weir {
const KernelStrategy &loopsStrategy() {
  static const Loops made;
  return made;
}
} // namespace weir
