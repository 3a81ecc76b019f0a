//===- ByteTable.cpp - functions of single bytes --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/ByteTable.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

static int64_t storedBytes(Value value) {
  Type stored = BufferAccess::storageType(getElementTypeOrSelf(value.getType()));
  return stored.isIntOrFloat() ? stored.getIntOrFloatBitWidth() / 8 : 0;
}

/// Whether a look-up takes less time than the kernel's operations, in whose place it comes. Of
/// bytes that become bytes vectors look up as many as they hold; other elements are looked up one
/// by one.
static bool isWorthTable(Block &body, Value operand, const VectorUnit &unit) {
  /// Operations on elements wider than bytes.
  constexpr int64_t fewOperations = 4;
  int64_t wide = 0;
  bool callsFunction = false;
  for (Operation &op : body.without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    callsFunction = callsFunction || op.hasTrait<weir::traits::CallsFunction>();
    bool isWide =
        storedBytes(op.getResult(0)) > 1 ||
        llvm::any_of(op.getOperands(), [](Value value) { return storedBytes(value) > 1; });
    wide += isWide ? 1 : 0;
  }
  bool isOfVectors = unit.hasByteProducts && storedBytes(body.getTerminator()->getOperand(0)) == 1;
  return callsFunction || (isOfVectors && wide >= fewOperations);
}

/// The kernel's one operand of more than an element, where it is of bytes, and each element of the
/// one result is computed of one of them, or nothing.
static Value lookedUp(Block &body) {
  Operation *end = body.getTerminator();
  if (end->getNumOperands() != 1 || storedBytes(end->getOperand(0)) == 0)
    return {};
  auto type = cast<RankedTensorType>(end->getOperand(0).getType());
  auto isOne = [](Type type) { return staticCount(type).value_or(0) == 1; };
  Value operand;
  for (BlockArgument argument : body.getArguments()) {
    if (isOne(argument.getType()))
      continue;
    if (operand || cast<RankedTensorType>(argument.getType()).getShape() != type.getShape())
      return {};
    operand = argument;
  }
  if (!operand || storedBytes(operand) != 1)
    return {};
  // Of bytes that the operand does not have nothing is to fail.
  bool isOfBytes = llvm::all_of(body.without_terminator(), [&](Operation &op) {
    return isa<ConstantOp>(op) || (isElementwiseOver(&op, type) && !canFail(&op));
  });
  return isOfBytes ? operand : Value();
}

Value weir::bytesOf(KernelOp kernel) { return lookedUp(kernel.getBody().front()); }

namespace {
class ByteTable final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::ByteTable; }
  StringRef summary() const override {
    return "a table of what is computed of each of 256 bytes, and look-ups";
  }

  bool matches(const KernelRequest &request) const override {
    Value operand = request.isHost ? lookedUp(request.body()) : Value();
    return operand && request.type.getRank() > 0 &&
           staticCount(request.type).value_or(fewestLookedUp) >= fewestLookedUp &&
           isWorthTable(request.body(), operand, request.unit);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &) const override {
    // A part makes a table of its own.
    constexpr int64_t lookedUpByPart = 1 << 15;
    s.set(schedule::grain, lookedUpByPart);
    return std::nullopt;
  }

  /// Others are as large as the one that is looked up.
  void requireSizes(KernelBuilder &, KernelOp, SizeEqualities &) const override {}

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    emitByteTable(r, kernel, begin, end);
    return success();
  }
};
} // namespace

namespace weir {
const KernelStrategy &byteTableStrategy() {
  static const ByteTable made;
  return made;
}
} // namespace weir
