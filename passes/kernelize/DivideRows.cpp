//===- DivideRows.cpp - large values part by part -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies around a large value is computed for some of its rows, and then for the others, so
// that never more than a part of it is there: of a language model's logits, say, from the product
// that makes them to the gradients that are made of them (micro-batches of a part of the step).
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/DivideRows.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/IRMapping.h"
#include "passes/kernelize/Passes.h"
#include "passes/kernelize/RowRegion.h"

namespace weir {
#define GEN_PASS_DEF_WEIRDIVIDEROWSPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// Values around which a function is tried to be divided, the largest first.
static constexpr size_t mostSeeds = 16;

namespace {

/// Writes a region part by part.
class PartWriter {
public:
  PartWriter(const RowRegion &region, int64_t parts) : region(region), parts(parts) {}

  /// False: what reads its results cannot stand behind it; nothing is changed then.
  bool write();

private:
  bool moveReaders();
  Operation *copy(Operation *op, int64_t part);
  Value partOf(Value value, int64_t dim, int64_t part);
  Value integers(ArrayRef<int64_t> values, Type element, Location loc);
  Value shifted(Value value, int64_t by);
  int64_t countedRows(Operation *op, int64_t dim) const;
  void finish(Operation *op);

  const RowRegion &region;
  int64_t parts;
  SmallVector<Operation *> operations;
  std::optional<OpBuilder> builder;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> pieces; ///< by value and part
  llvm::DenseMap<Operation *, Value> sums;                 ///< of the parts so far
};

} // namespace

/// Brings all that reads the region's results behind its last operation, in order; what has
/// effects keeps its order, too. False where the region reads what would have to move.
bool PartWriter::moveReaders() {
  Operation *last = operations.back();
  llvm::DenseSet<Operation *> moved;
  SmallVector<Operation *> order;
  bool isEffectMoved = false;
  for (Operation *op = operations.front(); op != last; op = op->getNextNode()) {
    bool readsMoved = false, isOwn = region.contains(op);
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          readsMoved |= moved.contains(def) || (!isOwn && region.contains(def));
    });
    bool hasEffects = !isMemoryEffectFree(op);
    if (isOwn && readsMoved)
      return false;
    if (isOwn || (!readsMoved && !(hasEffects && isEffectMoved)))
      continue;
    moved.insert(op);
    order.push_back(op);
    isEffectMoved |= hasEffects;
  }
  if (llvm::any_of(last->getOperands(),
                   [&](Value v) { return v.getDefiningOp() && moved.contains(v.getDefiningOp()); }))
    return false;
  for (Operation *op : llvm::reverse(order))
    op->moveAfter(last);
  return true;
}

Value PartWriter::integers(ArrayRef<int64_t> values, Type element, Location loc) {
  auto type = RankedTensorType::get({int64_t(values.size())}, element);
  SmallVector<Attribute> attributes;
  for (int64_t value : values)
    attributes.push_back(IntegerAttr::get(element, value));
  return ConstantOp::create(*builder, loc, DenseElementsAttr::get(type, attributes));
}

Value PartWriter::partOf(Value value, int64_t dim, int64_t part) {
  Value &piece = pieces[{value, part}];
  if (piece)
    return piece;
  Location loc = value.getLoc();
  int64_t rows = cast<RankedTensorType>(value.getType()).getDimSize(dim) / parts;
  Type index = builder->getI64Type();
  // A part of a constant is one.
  piece = builder->createOrFold<SliceOp>(loc, value, integers({part * rows}, index, loc),
                                         integers({(part + 1) * rows}, index, loc),
                                         integers({1}, index, loc), ArrayRef<int64_t>{dim}, false);
  return piece;
}

/// By how much what an operation counts along rows goes on from one part to the next.
int64_t PartWriter::countedRows(Operation *op, int64_t dim) const {
  if (auto iota = dyn_cast<IotaOp>(op))
    return int64_t(iota.getAxis()) == dim
               ? cast<RankedTensorType>(iota.getType()).getDimSize(dim) / parts
               : 0;
  auto index = dyn_cast<MaxPoolIndexOp>(op);
  if (!index || index.getWithinImage())
    return 0;
  return cast<RankedTensorType>(index.getOperand().getType()).getNumElements() / parts;
}

/// `value` + `by`, for positions that count from the whole's beginning.
Value PartWriter::shifted(Value value, int64_t by) {
  if (by == 0)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  Attribute number = isa<FloatType>(element) ? Attribute(FloatAttr::get(element, double(by)))
                                             : Attribute(IntegerAttr::get(element, by));
  Value offset = ConstantOp::create(
      *builder, value.getLoc(),
      DenseElementsAttr::get(RankedTensorType::get({}, element), ArrayRef<Attribute>(number)));
  return AddOp::create(*builder, value.getLoc(), value, offset);
}

Operation *PartWriter::copy(Operation *op, int64_t part) {
  const RowForm &form = region.formOf(op);
  auto whole = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(whole.getShape());
  if (form.result >= 0)
    shape[form.result] /= parts;
  SmallVector<Value> operands;
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), form.operands))
    operands.push_back(dim < 0 ? operand : partOf(operand, dim, part));
  // Operands that spell out the result's shape.
  if (isa<ReshapeOp, BroadcastToOp, IotaOp>(op)) {
    Value &last = operands.back();
    last = integers(shape, getElementTypeOrSelf(last.getType()), op->getLoc());
  }
  Operation *own = builder->clone(*op);
  own->setOperands(operands);
  own->getResult(0).setType(whole.clone(shape));
  return own;
}

/// Puts the parts of a result together where anything outside reads it.
void PartWriter::finish(Operation *op) {
  Value result = op->getResult(0);
  auto isOutside = [&](Operation *user) { return !region.contains(user); };
  if (llvm::none_of(result.getUsers(), isOutside))
    return;
  Value whole = sums.lookup(op);
  if (!whole) {
    SmallVector<Value> all;
    // Stored, each lies where it does in the whole.
    for (int64_t part = 0; part < parts; ++part) {
      all.push_back(pieces.lookup({result, part}));
      all.back().getDefiningOp()->setAttr(storedAttribute, builder->getUnitAttr());
    }
    whole = ConcatOp::create(*builder, op->getLoc(), ValueRange(all), region.formOf(op).result);
  }
  result.replaceUsesWithIf(whole, [&](OpOperand &use) { return isOutside(use.getOwner()); });
}

bool PartWriter::write() {
  operations = region.operations();
  if (!moveReaders())
    return false;
  builder.emplace(operations.back());
  for (int64_t part = 0; part < parts; ++part)
    for (Operation *op : operations) {
      const RowForm &form = region.formOf(op);
      Value own = copy(op, part)->getResult(0);
      if (form.result == sumOverRows) {
        Value &sum = sums[op];
        sum = sum ? AddOp::create(*builder, op->getLoc(), sum, own).getResult() : own;
        // Each sum is there before the next part: one kernel of all would keep every part's.
        sum.getDefiningOp()->setAttr(storedAttribute, builder->getUnitAttr());
        continue;
      }
      pieces[{op->getResult(0), part}] = shifted(own, part * countedRows(op, form.result));
    }
  for (Operation *op : operations)
    finish(op);
  for (Operation *op : llvm::reverse(operations))
    op->erase();
  return true;
}

namespace {

struct DivideRowsPass : weir::impl::WeirDivideRowsPassBase<DivideRowsPass> {
  void runOnOperation() override {
    int64_t count = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto parts = function->getAttrOfType<IntegerAttr>(rowPartsAttr)) {
        auto large = function->getAttrOfType<IntegerAttr>(largeRowsAttr);
        count += divide(function.front(), parts.getInt(), large ? large.getInt() : 1);
        function->removeAttr(rowPartsAttr);
        function->removeAttr(largeRowsAttr);
      }
    if (count)
      getOperation()->setAttr(dividedAttr, Builder(&getContext()).getI64IntegerAttr(count));
  }

  /// How many operations are there once a part now.
  static int64_t divide(Block &block, int64_t parts, int64_t large) {
    SmallVector<Operation *> seeds;
    for (Operation &op : block)
      if (op.getNumResults() == 1 && bytesOf(op.getResult(0)) >= large)
        seeds.push_back(&op);
    llvm::sort(seeds, [](Operation *x, Operation *y) {
      int64_t first = bytesOf(x->getResult(0)), second = bytesOf(y->getResult(0));
      return first != second ? first > second : x->isBeforeInBlock(y);
    });
    int64_t count = 0;
    for (size_t tried = 0; tried < mostSeeds && !seeds.empty(); ++tried) {
      Value seed = seeds.front()->getResult(0);
      seeds.erase(seeds.begin());
      int64_t rank = cast<RankedTensorType>(seed.getType()).getRank();
      for (int64_t dim = 0; dim < rank; ++dim) {
        RowRegion region(block, parts, large);
        if (!region.grow(seed, dim))
          continue;
        llvm::DenseSet<Operation *> divided;
        for (Operation *op : region.operations())
          divided.insert(op);
        if (!PartWriter(region, parts).write())
          continue;
        llvm::erase_if(seeds, [&](Operation *op) { return divided.contains(op); });
        count += int64_t(divided.size());
        break;
      }
    }
    return count;
  }
};

} // namespace
