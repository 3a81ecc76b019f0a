//===- FoldConstants.cpp - what large constants lead to ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations are gone through twice: from constants on, for what can be told before a run,
// and back from their readers, for which of it is worth a constant. What is in between is
// evaluated in groups that share operations, in parallel.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ConstantArray.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/Threading.h"
#include "passes/simplify/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDCONSTANTSPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Results are held in memory until they are written.
constexpr int64_t mostBytes = int64_t{1} << 30;
/// Products and elements: what takes a second or so.
constexpr int64_t mostSteps = int64_t{1} << 30;
/// So many elements may be made of fewer.
constexpr int64_t fewElements = 4096;

/// What is known of a value that constants lead to.
struct Known {
  int64_t largest = 0;     ///< elements of the largest constant behind it
  bool isComputed = false; ///< of other bytes than one constant has
};

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Elements that a constant stores: one where all are equal.
int64_t storedElements(ConstantOp constant) {
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  return dense && dense.isSplat() ? 1 : elementsOf(constant.getResult());
}

/// What costs a run time even where all that is known is moved: no order of one constant's bytes is
/// the result, so that weir-fold-weights leaves it.
bool makesBytes(Operation *op) { return !isMovementOfArrays(op) || isa<ConcatOp>(op); }

/// A cast to more bits: weights stay as narrow as they are stored.
bool widens(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && getElementTypeOrSelf(cast.getType()).getIntOrFloatBitWidth() >
                     getElementTypeOrSelf(cast.getOperand().getType()).getIntOrFloatBitWidth();
}

/// Bytes may be multiplied as such, by products that look for what widens them.
bool widensBytes(Operation *op) {
  return widens(op) &&
         getElementTypeOrSelf(op->getOperand(0).getType()).getIntOrFloatBitWidth() <= 8;
}

/// Operations of one evaluation, in their order, and those among them that become constants.
struct Group {
  SmallVector<Operation *> operations, folded;
  SmallVector<DenseElementsAttr> values; ///< of `folded`; null where only a run can tell
};

struct FoldConstantsPass : weir::impl::WeirFoldConstantsPassBase<FoldConstantsPass> {
  void runOnOperation() override {
    known.clear();
    SmallVector<Operation *> order;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto constant = dyn_cast<ConstantOp>(op)) {
        if (isa<RankedTensorType>(constant.getType()))
          known[constant] = {storedElements(constant), false};
      } else if (std::optional<Known> found = knownOf(op)) {
        known[op->getResult(0)] = *found;
        order.push_back(op);
      }
    });
    std::vector<Group> groups = groupsOf(order, chosen(order));
    ArrayPool pool;
    parallelForEach(&getContext(), groups, [&](Group &group) { evaluate(group, pool); });
    for (Group &group : groups)
      for (auto [op, value] : llvm::zip_equal(group.folded, group.values))
        if (value) {
          OpBuilder b(op);
          op->getResult(0).replaceAllUsesWith(
              ConstantOp::create(b, op->getLoc(), value).getResult());
        }
    for (Operation *op : llvm::reverse(order))
      if (isOpTriviallyDead(op))
        op->erase();
  }

private:
  /// Nothing: a run has to compute it.
  std::optional<Known> knownOf(Operation *op) const {
    if (!isEvaluatedOnArrays(op) || widensBytes(op))
      return std::nullopt;
    Known result{0, makesBytes(op)};
    for (Value operand : dataOperands(op)) {
      auto found = known.find(operand);
      if (found == known.end())
        return std::nullopt;
      int64_t own = found->second.largest;
      result.largest = isa<ConcatOp>(op) ? result.largest + own : std::max(result.largest, own);
      result.isComputed |= found->second.isComputed;
    }
    return result;
  }

  /// The operations that become constants: those that something reads that does not.
  DenseSet<Operation *> chosen(ArrayRef<Operation *> order) const {
    DenseSet<Operation *> folded, absorbed;
    int64_t bytes = 0;
    for (Operation *op : llvm::reverse(order)) {
      bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return !folded.contains(user) && !absorbed.contains(user);
      });
      if (!isRead) {
        absorbed.insert(op);
        continue;
      }
      Known own = known.lookup(op->getResult(0));
      int64_t count = elementsOf(op->getResult(0));
      int64_t size =
          count * ((getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth() + 7) / 8);
      if (!makesBytes(op) || widens(op) || !own.isComputed ||
          count > std::max(own.largest, fewElements) || bytes + size > mostBytes)
        continue;
      bytes += size;
      folded.insert(op);
    }
    return folded;
  }

  /// What leads to the folded operations; those that share some are one group.
  std::vector<Group> groupsOf(ArrayRef<Operation *> order,
                              const DenseSet<Operation *> &folded) const {
    DenseSet<Operation *> needed;
    llvm::EquivalenceClasses<Operation *> together;
    int64_t steps = 0;
    for (Operation *op : llvm::reverse(order)) {
      if (!folded.contains(op) && !needed.contains(op))
        continue;
      needed.insert(op);
      together.insert(op);
      for (Value operand : dataOperands(op))
        if (Operation *from = operand.getDefiningOp(); from && !isa<ConstantOp>(from)) {
          needed.insert(from);
          together.unionSets(op, from);
        }
    }
    std::vector<Group> groups;
    DenseMap<Operation *, size_t> place;
    for (Operation *op : order) {
      if (!needed.contains(op))
        continue;
      auto [found, isNew] = place.try_emplace(together.getLeaderValue(op), groups.size());
      if (isNew)
        groups.emplace_back();
      Group &group = groups[found->second];
      group.operations.push_back(op);
      if (folded.contains(op))
        group.folded.push_back(op);
    }
    // In order, as far as the time allows.
    llvm::erase_if(groups, [&](const Group &group) {
      int64_t own = 0;
      for (Operation *op : group.operations)
        own += stepsOnArrays(op);
      if (steps + own > mostSteps)
        return true;
      steps += own;
      return false;
    });
    return groups;
  }

  /// Values are freed behind their last reader.
  static void evaluate(Group &group, ArrayPool &pool) {
    DenseMap<Value, int64_t> readers;
    for (Operation *op : group.operations)
      for (Value operand : dataOperands(op))
        ++readers[operand];
    DenseMap<Value, ConstantArray> arrays;
    for (Operation *op : group.operations) {
      SmallVector<Value> data = dataOperands(op);
      bool isKnown = llvm::all_of(data, [&](Value operand) {
        if (arrays.contains(operand))
          return true;
        auto constant = operand.getDefiningOp<ConstantOp>();
        auto read = constant ? ConstantArray::read(constant.getValue(), pool) : std::nullopt;
        if (read)
          arrays.try_emplace(operand, std::move(*read));
        return read.has_value();
      });
      SmallVector<const ConstantArray *> operands;
      if (isKnown)
        for (Value operand : data)
          operands.push_back(&arrays.find(operand)->second);
      auto result = isKnown ? evaluateArrays(op, operands) : std::nullopt;
      size_t next = group.values.size();
      if (next < group.folded.size() && group.folded[next] == op)
        group.values.push_back(result ? result->attribute() : DenseElementsAttr());
      for (Value operand : data)
        if (--readers[operand] == 0)
          arrays.erase(operand);
      if (result && readers.lookup(op->getResult(0)))
        arrays.try_emplace(op->getResult(0), std::move(*result));
    }
  }

  DenseMap<Value, Known> known;
};

} // namespace
