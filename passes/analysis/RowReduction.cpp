//===- RowReduction.cpp - reductions along lines and what surrounds them ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/RowReduction.h"
#include "dialects/weir/HalfWidener.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Quantized.h"
#include "dialects/weir/RecursiveReader.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ElementCopies.h"
#include <queue>

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t shortestLine = 4, longestLine = longestKeptLine;
/// Lines across are written out, element by element.
constexpr int64_t shortestAcross = 2, longestAcross = 32;
/// What is kept of a line lies on the stack, 32 KiB each at most.
constexpr unsigned mostKept = 4;
/// As kernels grow elsewhere; on offload devices what fuses is not stored and read again.
constexpr unsigned mostOfHost = 64, mostOffloaded = 128;
constexpr unsigned mostOthers = 4;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The shape of all lines, and the dimension along which they lie.
struct LineShape {
  ArrayRef<int64_t> sizes;
  int64_t axis;
  bool hasProducts = false; ///< reductions may be products: on the host

  explicit LineShape(ArrayRef<int64_t> sizes) : LineShape(sizes, int64_t(sizes.size()) - 1) {}
  LineShape(ArrayRef<int64_t> sizes, int64_t axis) : sizes(sizes), axis(axis) {}

  bool liesAcross() const { return axis + 1 < int64_t(sizes.size()); }
  bool isOpen() const { return ShapedType::isDynamic(sizes[axis]); }
  /// On the host lines may be of any length that shows when the program runs.
  bool hasLength(bool isOnHost) const {
    if (isOpen())
      return isOnHost && !liesAcross();
    return liesAcross() ? sizes[axis] >= shortestAcross && sizes[axis] <= longestAcross
                        : sizes[axis] >= shortestLine && sizes[axis] <= longestLine;
  }
  bool isLine(Value value) const { return typeOf(value).getShape() == sizes; }
  /// One element for each line.
  bool isOneALine(Value value) const {
    ArrayRef<int64_t> own = typeOf(value).getShape();
    return own.size() == sizes.size() && own[axis] == 1 &&
           own.take_front(axis) == sizes.take_front(axis) &&
           own.drop_front(axis + 1) == sizes.drop_front(axis + 1);
  }
};

/// `withHalves`: sums of halves are in f32 and rounded once, as code of f32 between casts has it.
bool isLineReduction(Operation *op, const LineShape &shape, bool withHalves = false) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKeepDims() && reduce.getAxes().size() == 1 &&
         reduce.getAxes()[0] == shape.axis && shape.isLine(reduce.getOperand()) &&
         (typeOf(reduce).getElementType().isF32() || (withHalves && isHalfArithmetic(op))) &&
         (llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min},
                             reduce.getKind()) ||
          (shape.hasProducts && reduce.getKind() == ReduceKind::Prod));
}

/// An elementwise operation on halves that code of f32 between casts can stand for.
bool isWidenable(Operation *op) {
  if (!isa<ElementwiseOpInterface>(op) || !isHalfArithmetic(op))
    return false;
  auto isNumber = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && (tensor.getElementType().isF32() || tensor.getElementType().isF16() ||
                      tensor.getElementType().isBF16());
  };
  if (!isNumber(op->getResult(0).getType()) || !llvm::all_of(op->getOperandTypes(), isNumber))
    return false;
  auto pow = dyn_cast<PowOp>(op);
  std::optional<double> exponent = pow ? numberOf(pow.getRhs()) : std::nullopt;
  return !pow || exponent == 2 || exponent == 3;
}

bool mayBelong(Operation *op, const LineShape &shape, bool withHalves = false) {
  if (isLineReduction(op, shape, withHalves))
    return true;
  return (isF32EpilogueElementwise(op) || (withHalves && isWidenable(op))) &&
         (shape.isLine(op->getResult(0)) || shape.isOneALine(op->getResult(0)));
}

/// The shape of the lines that `root` could end: its own, or, where it has one element a
/// line, that of what is reduced first on the way to it.
LineShape shapeOfLines(Operation *root) {
  ArrayRef<int64_t> own = typeOf(root->getResult(0)).getShape();
  bool isOnHost = !isOffloaded(root);
  auto shapeOf = [&](ArrayRef<int64_t> sizes) {
    LineShape shape(sizes);
    shape.hasProducts = isOnHost;
    return shape;
  };
  if (auto reduce = dyn_cast<ReduceOp>(root); reduce && isOffloaded(root))
    if (reduce.getAxes().size() == 1)
      if (LineShape shape(typeOf(reduce.getOperand()).getShape(), reduce.getAxes()[0]);
          shape.liesAcross() && isLineReduction(reduce, shape))
        return shape;
  if (own.back() != 1)
    return shapeOf(own);
  llvm::SetVector<Operation *> seen;
  seen.insert(root);
  for (size_t i = 0; i < seen.size() && i < mostOfHost; ++i) {
    if (auto reduce = dyn_cast<ReduceOp>(seen[i]); reduce && typeOf(reduce.getOperand()).getRank())
      if (LineShape shape = shapeOf(typeOf(reduce.getOperand()).getShape());
          isLineReduction(reduce, shape) && shape.isOneALine(root->getResult(0)))
        return shape;
    if (!isF32EpilogueElementwise(seen[i]))
      continue;
    for (Value operand : seen[i]->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == root->getBlock())
        seen.insert(def);
  }
  return shapeOf(own);
}

/// How many of the operations, the last ones of the block first, are a kernel
/// that reads fewest bytes of whole lines from others: where more do not fit, the cut is
/// best where little crosses it. As many as possible, but a fourth at least.
size_t cheapestCut(const llvm::SetVector<Operation *> &operations, const LineShape &shape) {
  llvm::SmallDenseSet<Value> read;
  size_t best = operations.size();
  int64_t bytes = 0, least = -1;
  for (auto [i, op] : llvm::enumerate(operations)) {
    auto width = [&](Value value) -> int64_t {
      return shape.isLine(value) && !value.getDefiningOp<ConstantOp>()
                 ? typeOf(value).getElementTypeBitWidth() / 8
                 : 0;
    };
    if (read.erase(op->getResult(0)))
      bytes -= width(op->getResult(0));
    for (Value operand : op->getOperands())
      if (read.insert(operand).second)
        bytes += width(operand);
    if (i + 1 < operations.size() / 4 || (least >= 0 && bytes > least))
      continue;
    least = bytes;
    best = i + 1;
  }
  return best;
}

/// Whether all that reads `op`'s result and is not in `lines` comes behind their root.
bool isReadBehind(Operation *op, const RowReductionForm &lines) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (lines.operations.contains(user))
      return true;
    Operation *at = lines.root->getBlock()->findAncestorOpInBlock(*user);
    return at && lines.root->isBeforeInBlock(at);
  });
}

} // namespace

std::optional<RowReductionForm> weir::matchRowReduction(Operation *root,
                                                        function_ref<bool(Operation *)> isFree,
                                                        llvm::DenseSet<Operation *> &visited,
                                                        bool withHalves) {
  auto type = root->getNumResults() == 1 ? dyn_cast<RankedTensorType>(root->getResult(0).getType())
                                         : RankedTensorType();
  if (!type || type.getRank() == 0)
    return std::nullopt;
  LineShape shape = shapeOfLines(root);
  if (!shape.hasLength(!isOffloaded(root)) || !mayBelong(root, shape, withHalves))
    return std::nullopt;
  // Where sizes are open, a line's values may turn out to be stretched: code for that
  // has one result.
  bool mayHaveOthers = !ShapedType::isDynamicShape(shape.sizes);
  RowReductionForm lines;
  lines.root = root;
  // From the root upwards, later operations first: when one is looked at, all that
  // could read it inside has been.
  auto later = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  std::priority_queue<Operation *, std::vector<Operation *>, decltype(later)> pending(later);
  unsigned reductions = 0, mostOperations = isOffloaded(root) ? mostOffloaded : mostOfHost;
  pending.push(root);
  llvm::DenseSet<Operation *> seen;
  seen.insert(root);
  // That code goes element by element, and each reduction is a loop around what it reads.
  ElementCopies copies;
  bool isFull = false;
  while (!pending.empty() && lines.operations.size() < mostOperations && !isFull) {
    Operation *op = pending.top();
    isFull = !mayHaveOthers && !copies.fits(op);
    if (isFull)
      continue;
    pending.pop();
    if (op != root && (!mayBelong(op, shape, withHalves) || !isFree(op)))
      continue;
    bool isOther = op != root && !llvm::all_of(op->getUsers(), [&](Operation *user) {
                     return lines.operations.contains(user);
                   });
    if (isOther && (!mayHaveOthers || lines.others.size() == mostOthers ||
                    !shape.isOneALine(op->getResult(0)) || !isReadBehind(op, lines)))
      continue;
    lines.operations.insert(op);
    if (!mayHaveOthers)
      copies.add(op);
    if (isOther)
      lines.others.push_back(op->getResult(0));
    reductions += isa<ReduceOp>(op);
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && def->getBlock() == root->getBlock() && seen.insert(def).second)
        pending.push(def);
    }
  }
  if (!pending.empty() && (isFull || lines.operations.size() == mostOperations)) {
    size_t kept = cheapestCut(lines.operations, shape);
    while (lines.operations.size() > kept) {
      Operation *op = lines.operations.pop_back_val();
      reductions -= isa<ReduceOp>(op);
      llvm::erase(lines.others, op->getResult(0));
    }
  }
  // What one reduction leads to is a kernel that other operations may join.
  if (reductions > (type.getShape() == shape.sizes ? 0 : 1))
    return lines;
  if (shape.liesAcross())
    return std::nullopt;
  // What ends inside of these has no more reductions.
  visited.insert(lines.operations.begin(), lines.operations.end());
  return std::nullopt;
}

/// Null: nothing is reduced.
static ReduceOp firstReduction(plan::KernelOp kernel) {
  auto reductions = kernel.getBody().front().getOps<ReduceOp>();
  return reductions.empty() ? ReduceOp() : *reductions.begin();
}

RankedTensorType weir::lineType(plan::KernelOp kernel) {
  ReduceOp reduce = firstReduction(kernel);
  return reduce ? typeOf(reduce.getOperand()) : RankedTensorType();
}

int64_t weir::lineAxis(plan::KernelOp kernel) { return firstReduction(kernel).getAxes().front(); }

bool weir::liesAcross(plan::KernelOp kernel) {
  return lineAxis(kernel) + 1 < lineType(kernel).getRank();
}

bool weir::hasRowReduction(plan::KernelOp kernel, bool isOnHost) {
  RankedTensorType type = lineType(kernel);
  if (!type || type.getRank() == 0 || firstReduction(kernel).getAxes().size() != 1)
    return false;
  LineShape shape(type.getShape(), lineAxis(kernel));
  shape.hasProducts = isOnHost;
  Block &body = kernel.getBody().front();
  // One reduction across is any kernel's.
  auto reductions = body.getOps<ReduceOp>();
  if (!shape.hasLength(isOnHost) ||
      (shape.liesAcross() && ++reductions.begin() == reductions.end()))
    return false;
  for (Operation &op : body.without_terminator()) {
    if (ElementsAttr constant = op.getNumResults() ? constantElements(op.getResult(0)) : nullptr) {
      if (!constant.isSplat())
        return false; // tables are read from buffers
    } else if (!mayBelong(&op, shape)) {
      return false;
    }
  }
  return llvm::all_of(llvm::enumerate(body.getTerminator()->getOperands()), [&](auto result) {
    Operation *def = result.value().getDefiningOp();
    return def && !isa<ConstantOp>(def) &&
           ((result.index() == 0 && !shape.liesAcross()) || shape.isOneALine(result.value()));
  });
}

namespace {

/// Follows what passes along a line compute.
class Passes {
public:
  explicit Passes(plan::KernelOp kernel) : shape(lineType(kernel).getShape(), lineAxis(kernel)) {
    for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
      passes.push_back({reduce.getResult(), {}});
    Value result = kernel.getBody().front().getTerminator()->getOperand(0);
    if (shape.isLine(result))
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
    return def && !isa<ReduceOp, ConstantOp>(def) && shape.isLine(value) && !have.count(value);
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

  /// In instructions, roughly.
  unsigned costOf(Value value, unsigned depth = 0) {
    if (!isMade(value) || depth > costOfMemory)
      return isa<BlockArgument>(value) ? 1 : 0;
    Operation *op = value.getDefiningOp();
    unsigned cost = op->hasTrait<traits::OneInstruction>() ? 1 : costOfMemory + 1;
    for (Value operand : op->getOperands())
      cost += costOf(operand, depth + 1);
    return cost;
  }
  static constexpr unsigned costOfMemory = 4;

  LineShape shape;
  SmallVector<LinePass> passes;
  llvm::DenseSet<Value> have; ///< kept by earlier passes
};

} // namespace

SmallVector<LinePass> weir::linePasses(plan::KernelOp kernel) { return Passes(kernel).find(); }

bool weir::widensForRowReductions(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && isOffloaded(op) &&
         getElementTypeOrSelf(cast.getOperand().getType()).getIntOrFloatBitWidth() == 16 &&
         getElementTypeOrSelf(cast.getType()).isF32();
}
