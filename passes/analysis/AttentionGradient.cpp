//===- AttentionGradient.cpp - attention's gradient as one kernel ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AttentionGradient.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/KernelForms.h"

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Turned weir::turned(Value value, ArrayRef<int64_t> order) {
  Turned found{value, SmallVector<int64_t>(order)};
  while (auto transpose = found.base.getDefiningOp<TransposeOp>()) {
    for (int64_t &dim : found.order)
      dim = transpose.getPermutation()[dim];
    found.base = transpose.getOperand();
  }
  return found;
}

DotGeneralOp weir::scoresBehind(Value value) {
  for (int steps = 0; value && steps < 32; ++steps) {
    Operation *op = value.getDefiningOp();
    if (auto dot = dyn_cast_or_null<DotGeneralOp>(op))
      return dot;
    if (!isa_and_nonnull<ElementwiseOpInterface>(op))
      return {};
    Value next;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && typeOf(operand).getShape() == typeOf(value).getShape() &&
          typeOf(operand).getElementType().isF32() && !isa<ConstantOp>(def))
        next = operand;
    value = next;
  }
  return {};
}

bool weir::leadsAlongLines(Value value, Value source, bool isLast,
                           llvm::SetVector<Operation *> &operations,
                           SmallVectorImpl<Operation *> &conditions) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || (!isLast && !llvm::all_equal(value.getUsers())) ||
      typeOf(value).getShape() != typeOf(source).getShape() ||
      !typeOf(value).getElementType().isF32())
    return false;
  bool selects = isa<SelectOp>(op);
  if (!selects && (!isF32EpilogueElementwise(op) || isa<CastOp>(op)))
    return false;
  for (OpOperand &path : op->getOpOperands()) {
    if ((selects && path.getOperandNumber() == 0) ||
        typeOf(path.get()).getShape() != typeOf(source).getShape() ||
        !leadsAlongLines(path.get(), source, /*isLast=*/false, operations, conditions))
      continue;
    for (OpOperand &other : op->getOpOperands())
      if (&other != &path && !readsAlongKeys(other.get(), operations, conditions))
        return false;
    operations.insert(op);
    return true;
  }
  return false;
}

namespace {

class Matcher {
public:
  std::optional<AttentionGradient> match(MulOp product) {
    found.softmaxGradient = product;
    last = typeOf(product.getResult()).getRank() - 1;
    if (last < 1 || !matchWeights() || !matchProducts() || !isWhole())
      return std::nullopt;
    return std::move(found);
  }

private:
  bool isOneALine(Value value) const {
    auto type = typeOf(value), line = typeOf(MulOp(found.softmaxGradient).getResult());
    return type.getRank() == last + 1 && type.getDimSize(last) == 1 &&
           type.getShape().drop_back() == line.getShape().drop_back() &&
           type.getElementType().isF32();
  }
  bool isPlain(DotGeneralOp dot) const {
    return dot && isPlainForm(dot) && typeOf(dot).getRank() == last + 1 &&
           (int64_t)dot.getLhsBatch().size() == last - 1;
  }
  void note(Operation *op) { found.operations.insert(op); }

  SmallVector<int64_t> plain() const { return llvm::to_vector(llvm::seq<int64_t>(0, last + 1)); }
  SmallVector<int64_t> swapped() const {
    SmallVector<int64_t> order = plain();
    std::swap(order[last - 1], order[last]);
    return order;
  }
  /// Whether the last two dimensions of another are exchanged.
  bool isSwap(TransposeOp transpose) const {
    return ArrayRef<int64_t>(swapped()) == transpose.getPermutation();
  }

  /// dS = P (dP - mean), P = exp(logits - maximum) inverse.
  bool matchWeights() {
    MulOp product = found.softmaxGradient;
    auto weights = product.getLhs().getDefiningOp<MulOp>();
    auto less = product.getRhs().getDefiningOp<SubOp>();
    auto exp = weights ? weights.getLhs().getDefiningOp<ExpOp>() : ExpOp();
    auto shifted = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    found.weightGradient = less ? less.getLhs().getDefiningOp<DotGeneralOp>() : DotGeneralOp();
    if (!shifted || !isPlain(found.weightGradient) || !less->hasOneUse() ||
        !found.weightGradient->hasOneUse() || !exp->hasOneUse() || !shifted->hasOneUse())
      return false;
    found.weights = weights;
    found.inverse = weights.getRhs();
    found.maximum = shifted.getRhs();
    found.mean = less.getRhs();
    found.logits = shifted.getLhs();
    if (!isOneALine(found.inverse) || !isOneALine(found.maximum) || !isOneALine(found.mean))
      return false;
    for (Operation *op :
         {product.getOperation(), weights.getOperation(), less.getOperation(), exp.getOperation(),
          shifted.getOperation(), found.weightGradient.getOperation()})
      note(op);
    return true;
  }

  /// Where the path of elementwise operations behind dS ends: in products.
  Value endOfPath() {
    Value at = found.softmaxGradient;
    for (int steps = 0; steps < 16; ++steps) {
      Operation *next = at.hasOneUse() ? *at.user_begin() : nullptr;
      if (!next || !isa<ElementwiseOpInterface>(next) || next->getNumResults() != 1 ||
          typeOf(next->getResult(0)).getShape() != typeOf(at).getShape())
        break;
      at = next->getResult(0);
    }
    return at;
  }

  /// The product whose left operand is `value`, or `value` with its last dimensions exchanged.
  DotGeneralOp productOf(Value value, bool isSwapped) {
    for (Operation *user : value.getUsers()) {
      auto transpose = dyn_cast<TransposeOp>(user);
      if (isSwapped && (!transpose || !transpose->hasOneUse() || !isSwap(transpose)))
        continue;
      auto dot = dyn_cast<DotGeneralOp>(isSwapped ? *transpose->user_begin() : user);
      if (!isPlain(dot) || dot.getLhs() != (isSwapped ? transpose.getResult() : value))
        continue;
      if (isSwapped)
        note(transpose);
      note(dot);
      return dot;
    }
    return {};
  }

  bool matchProducts() {
    found.scoreGradient = endOfPath();
    if (!leadsAlongLines(found.scoreGradient, found.softmaxGradient, /*isLast=*/true,
                         found.operations, found.conditions))
      return false;
    found.queryGradient = productOf(found.scoreGradient, false);
    found.keyGradient = productOf(found.scoreGradient, true);
    found.valueGradient = productOf(found.weights, true);
    if (!found.queryGradient || !found.keyGradient || !found.valueGradient ||
        !found.scoreGradient.hasNUses(2) || !found.weights.hasNUses(2))
      return false;
    found.query = found.keyGradient.getRhs();
    found.key = found.queryGradient.getRhs();
    found.gradient = found.valueGradient.getRhs();
    if (found.weightGradient.getLhs() != found.gradient)
      return false;
    found.turnedValue = found.weightGradient.getRhs();
    found.scores = scoresBehind(found.logits);
    if (!isPlain(found.scores) || found.scores.getLhs() != found.query ||
        turned(found.scores.getRhs(), swapped()) != turned(found.key, plain()) ||
        turned(found.turnedValue, swapped()).order.back() != last ||
        !leadsAlongLines(found.logits, found.scores, /*isLast=*/false, found.operations,
                         found.conditions))
      return false;
    note(found.scores);
    for (Value operand : {Value(found.scores.getRhs()), found.turnedValue}) {
      if (!operand.getDefiningOp<TransposeOp>() || !operand.hasOneUse())
        return false;
      note(operand.getDefiningOp());
    }
    found.roots = {rootOf(found.queryGradient), rootOf(found.keyGradient),
                   rootOf(found.valueGradient)};
    for (Value operand :
         {found.query, found.key, found.gradient, found.turnedValue.getDefiningOp()->getOperand(0)})
      absorb(operand);
    return true;
  }

  /// The transposition behind a result that keeps lines, where it is all that reads that.
  Operation *rootOf(DotGeneralOp dot) {
    auto order = dot->hasOneUse() ? dyn_cast<TransposeOp>(*dot->user_begin()) : TransposeOp();
    if (!order || order->getBlock() != dot->getBlock() || order.getPermutation().back() != last)
      return dot;
    note(order);
    return order;
  }

  /// Takes in transpositions that keep lines, and numbers that all is multiplied by, where
  /// nothing else reads what they make.
  void absorb(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      auto transpose = dyn_cast<TransposeOp>(op);
      bool scales = isa<MulOp, DivOp>(op) && isF32EpilogueElementwise(op) &&
                    constantElements(op->getOperand(1)) &&
                    constantElements(op->getOperand(1)).isSplat() &&
                    op->getOperand(0).getType() == value.getType();
      if ((!scales && (!transpose || transpose.getPermutation().back() != last)) ||
          op->hasAttr(storedAttribute) || !llvm::all_of(value.getUsers(), [&](Operation *user) {
            return found.operations.contains(user);
          }))
        return;
      note(op);
      value = op->getOperand(0);
    }
  }

  /// Whether all of it is of one block, and results are read behind the last root.
  bool isWhole() const {
    Block *block = found.softmaxGradient->getBlock();
    if (llvm::any_of(found.operations, [&](Operation *op) { return op->getBlock() != block; }))
      return false;
    Operation *end = found.lastRoot();
    return llvm::all_of(found.roots, [&](Operation *root) {
      return llvm::all_of(root->getUsers(), [&](Operation *user) {
        Operation *at = block->findAncestorOpInBlock(*user);
        return at && end->isBeforeInBlock(at);
      });
    });
  }

  AttentionGradient found;
  int64_t last = 0;
};

} // namespace

Operation *AttentionGradient::lastRoot() const {
  Operation *end = roots[0];
  for (Operation *root : roots)
    if (end->isBeforeInBlock(root))
      end = root;
  return end;
}

SmallVector<Value> AttentionGradient::otherResults() const {
  SmallVector<Value> others;
  for (Operation *root : roots)
    if (root != lastRoot())
      others.push_back(root->getResult(0));
  return others;
}

std::optional<AttentionGradient> weir::matchAttentionGradient(MulOp softmaxGradient) {
  if (!softmaxGradient->hasAttr(attentionGradientAttr))
    return std::nullopt;
  return Matcher().match(softmaxGradient);
}

std::optional<AttentionGradient> weir::attentionGradientOf(plan::KernelOp kernel) {
  for (auto product : kernel.getBody().front().getOps<MulOp>())
    if (auto gradient = matchAttentionGradient(product))
      return gradient;
  return std::nullopt;
}
