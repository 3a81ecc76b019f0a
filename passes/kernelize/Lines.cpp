//===- Lines.cpp - reductions along lines and what surrounds them ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/Lines.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "passes/kernelize/Clusters.h"
#include <queue>

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t shortestLine = 4, longestLine = 8192;
/// What is kept of a line lies on the stack, 32 KiB each at most.
constexpr unsigned mostOperations = 64, mostKept = 4;
constexpr unsigned mostOthers = 4;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool isLine(Value value, ArrayRef<int64_t> shape) {
  return typeOf(value).getShape() == shape;
}

/// One element for each line.
bool isOneALine(Value value, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = typeOf(value).getShape();
  return own.size() == shape.size() && own.back() == 1 && own.drop_back() == shape.drop_back();
}

bool isLineReduction(Operation *op, ArrayRef<int64_t> shape) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKeepDims() && reduce.getAxes().size() == 1 &&
         reduce.getAxes()[0] + 1 == (int64_t)shape.size() && isLine(reduce.getOperand(), shape) &&
         typeOf(reduce).getElementType().isF32() &&
         llvm::is_contained({"sum", "mean", "max", "min"}, reduce.getKind());
}

bool mayBelong(Operation *op, ArrayRef<int64_t> shape) {
  if (isLineReduction(op, shape))
    return true;
  return isVectorElementwise(op) &&
         (isLine(op->getResult(0), shape) || isOneALine(op->getResult(0), shape));
}

/// The shape of the lines that `root` could end: its own, or, where it has one element a
/// line, that of what is reduced first on the way to it.
ArrayRef<int64_t> shapeOfLines(Operation *root) {
  ArrayRef<int64_t> own = typeOf(root->getResult(0)).getShape();
  if (own.back() != 1)
    return own;
  llvm::SetVector<Operation *> seen;
  seen.insert(root);
  for (size_t i = 0; i < seen.size() && i < mostOperations; ++i) {
    if (auto reduce = dyn_cast<ReduceOp>(seen[i]))
      if (ArrayRef<int64_t> shape = typeOf(reduce.getOperand()).getShape();
          isLineReduction(reduce, shape) && isOneALine(root->getResult(0), shape))
        return shape;
    if (!isVectorElementwise(seen[i]))
      continue;
    for (Value operand : seen[i]->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == root->getBlock())
        seen.insert(def);
  }
  return own;
}

bool hasLineLength(ArrayRef<int64_t> shape) {
  return shape.back() >= shortestLine && shape.back() <= longestLine;
}

/// Whether all that reads `op`'s result and is not in `lines` comes behind their root.
bool isReadBehind(Operation *op, const Lines &lines) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (lines.operations.contains(user))
      return true;
    Operation *at = lines.root->getBlock()->findAncestorOpInBlock(*user);
    return at && lines.root->isBeforeInBlock(at);
  });
}

} // namespace

std::optional<Lines> weir::matchLines(Operation *root, function_ref<bool(Operation *)> isFree,
                                      llvm::DenseSet<Operation *> &visited) {
  auto type = root->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(root->getResult(0).getType())
                  : RankedTensorType();
  if (!type || type.getRank() == 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOfLines(root);
  if (!hasLineLength(shape) || !mayBelong(root, shape))
    return std::nullopt;
  // Where sizes are open, a line's values may turn out to be stretched: code for that
  // has one result.
  bool mayHaveOthers = !ShapedType::isDynamicShape(shape);
  Lines lines;
  lines.root = root;
  // From the root upwards, later operations first: when one is looked at, all that
  // could read it inside has been.
  auto later = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  std::priority_queue<Operation *, std::vector<Operation *>, decltype(later)> pending(later);
  unsigned reductions = 0;
  pending.push(root);
  llvm::DenseSet<Operation *> seen;
  seen.insert(root);
  while (!pending.empty() && lines.operations.size() < mostOperations) {
    Operation *op = pending.top();
    pending.pop();
    if (op != root && (!mayBelong(op, shape) || !isFree(op)))
      continue;
    bool isOther = op != root && !llvm::all_of(op->getUsers(), [&](Operation *user) {
      return lines.operations.contains(user);
    });
    if (isOther && (!mayHaveOthers || lines.others.size() == mostOthers ||
                    !isOneALine(op->getResult(0), shape) || !isReadBehind(op, lines)))
      continue;
    lines.operations.insert(op);
    if (isOther)
      lines.others.push_back(op->getResult(0));
    reductions += isa<ReduceOp>(op);
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && def->getBlock() == root->getBlock() && seen.insert(def).second)
        pending.push(def);
    }
  }
  // What one reduction leads to is a kernel that other operations may join.
  if (reductions > (type.getShape() == shape ? 0 : 1))
    return lines;
  // What ends inside of these has no more reductions.
  visited.insert(lines.operations.begin(), lines.operations.end());
  return std::nullopt;
}

RankedTensorType weir::lineType(plan::KernelOp kernel) {
  auto reductions = kernel.getBody().front().getOps<ReduceOp>();
  return reductions.empty() ? RankedTensorType() : typeOf((*reductions.begin()).getOperand());
}

bool weir::hasLines(plan::KernelOp kernel) {
  RankedTensorType type = lineType(kernel);
  if (!type || type.getRank() == 0 || !hasLineLength(type.getShape()))
    return false;
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (ElementsAttr constant = op.getNumResults() ? constantElements(op.getResult(0)) : nullptr) {
      if (!constant.isSplat())
        return false; // vectors are read from buffers
    } else if (!mayBelong(&op, type.getShape())) {
      return false;
    }
  }
  return llvm::all_of(llvm::enumerate(body.getTerminator()->getOperands()), [&](auto result) {
    Operation *def = result.value().getDefiningOp();
    return def && !isa<ConstantOp>(def) &&
           (result.index() == 0 || isOneALine(result.value(), type.getShape()));
  });
}

namespace {

/// Follows what passes along a line compute.
class Passes {
public:
  explicit Passes(plan::KernelOp kernel) : shape(lineType(kernel).getShape()) {
    for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
      passes.push_back({reduce.getResult(), {}});
    Value result = kernel.getBody().front().getTerminator()->getOperand(0);
    if (isLine(result, shape))
      passes.push_back({result, {}});
  }

  SmallVector<LinePass> find() {
    for (size_t i = 0; i + 1 < passes.size(); ++i) {
      llvm::DenseSet<Value> made;
      collect(startOf(passes[i]), made);
      llvm::SetVector<Value> kept;
      for (const LinePass &later : ArrayRef(passes).drop_front(i + 1))
        meet(startOf(later), made, kept);
      for (Value value : kept.getArrayRef().take_front(mostKept - have.size())) {
        passes[i].kept.push_back(value);
        have.insert(value);
      }
    }
    return passes;
  }

private:
  static Value startOf(const LinePass &pass) {
    auto reduce = pass.end.getDefiningOp<ReduceOp>();
    return reduce ? reduce.getOperand() : pass.end;
  }

  bool isMade(Value value) const {
    Operation *def = value.getDefiningOp();
    return def && !isa<ReduceOp, ConstantOp>(def) && isLine(value, shape) && !have.count(value);
  }

  /// The line's values that are made on the way to `value`.
  void collect(Value value, llvm::DenseSet<Value> &made) {
    if (!isMade(value) || !made.insert(value).second)
      return;
    for (Value operand : value.getDefiningOp()->getOperands())
      collect(operand, made);
  }

  /// The first values on the way to `value` that are made before, where that costs more
  /// than to keep them.
  void meet(Value value, const llvm::DenseSet<Value> &made, llvm::SetVector<Value> &kept) {
    if (!isMade(value))
      return;
    if (made.count(value)) {
      if (typeOf(value).getElementType().isF32() && costOf(value) > costOfMemory)
        kept.insert(value);
      return;
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      meet(operand, made, kept);
  }

  /// In instructions a vector, roughly.
  unsigned costOf(Value value, unsigned depth = 0) {
    if (!isMade(value) || depth > costOfMemory)
      return isa<BlockArgument>(value) ? 1 : 0;
    Operation *op = value.getDefiningOp();
    unsigned cost = isa<AddOp, SubOp, MulOp, NegOp, AbsOp, MaximumOp, MinimumOp, CastOp>(op)
                        ? 1
                        : costOfMemory + 1;
    for (Value operand : op->getOperands())
      cost += costOf(operand, depth + 1);
    return cost;
  }
  static constexpr unsigned costOfMemory = 4;

  ArrayRef<int64_t> shape;
  SmallVector<LinePass> passes;
  llvm::DenseSet<Value> have; ///< kept by earlier passes
};

} // namespace

SmallVector<LinePass> weir::linePasses(plan::KernelOp kernel) { return Passes(kernel).find(); }

SmallVector<int64_t> weir::lineTiles(plan::KernelOp kernel, const VectorUnit &unit) {
  constexpr int64_t whole = int64_t(1) << 40;
  RankedTensorType type = lineType(kernel);
  int64_t lanes = std::min<int64_t>(unit.bytes / 4, llvm::bit_ceil((uint64_t)type.getShape().back()));
  OpBuilder b(kernel.getContext());
  kernel->setAttr("lanes", b.getI64IntegerAttr(lanes));
  SmallVector<int64_t> tiles(type.getRank(), 1);
  tiles.back() = whole;
  return tiles;
}
