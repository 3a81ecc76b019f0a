//===- ReshapedElementwise.cpp - elementwise operations in other shapes --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/ReshapedElementwise.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
}

std::optional<SmallVector<int64_t>> weir::commonShape(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  // Dimensions end where one of either does.
  SmallVector<int64_t> ends, sizes;
  for (ArrayRef<int64_t> shape : {a, b})
    for (int64_t end = 1; int64_t size : shape)
      ends.push_back(end *= size);
  llvm::sort(ends);
  ends.erase(llvm::unique(ends), ends.end());
  for (int64_t before = 1; int64_t end : ends) {
    if (end % before)
      return std::nullopt;
    if (end != before)
      sizes.push_back(end / before);
    before = end;
  }
  return sizes;
}

/// How a tensor of `own` is seen that is read beside one of `from`, where that is seen
/// as one of `to`, some of whose dimensions are several of `from`, or the other way
/// round. Nothing: it is stretched along a part of what becomes one dimension.
static std::optional<SmallVector<int64_t>> seenBeside(ArrayRef<int64_t> own, ArrayRef<int64_t> from,
                                                      ArrayRef<int64_t> to) {
  if (product(own) == 1)
    return SmallVector<int64_t>();
  SmallVector<int64_t> whole(from.size() - own.size(), 1), seen;
  llvm::append_range(whole, own);
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    // The next dimensions of both that have as many elements.
    int64_t count = 1, others = 1, there = 1;
    size_t first = j;
    auto take = [&] {
      there *= whole[i];
      count *= from[i++];
    };
    if (i < from.size())
      take();
    while (count != others || (i == from.size() && j < to.size())) {
      if (count < others)
        take();
      else
        others *= to[j++];
    }
    if (there != 1 && there != count)
      return std::nullopt;
    for (; first < j; ++first)
      seen.push_back(there == 1 ? 1 : to[first]);
  }
  return seen;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Whether a value lies in memory whoever reads it.
static bool isStored(Value value) {
  Operation *def = value.getDefiningOp();
  return !isa_and_nonnull<ElementalOpInterface>(def) || !def->hasOneUse();
}

/// Whether `op` carries on from `operations`, element by element of `count`.
static bool follows(Operation *op, const llvm::SetVector<Operation *> &operations, Value source,
                    int64_t count) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!type || !type.hasStaticShape() || type.getNumElements() != count ||
      !isa<ElementwiseOpInterface, ReshapeOp>(op))
    return false;
  bool carriesOn = false;
  for (Value operand : op->getOperands()) {
    if (operations.contains(operand.getDefiningOp())) {
      carriesOn = true;
      continue;
    }
    auto own = dyn_cast<RankedTensorType>(operand.getType());
    if (!own || !own.hasStaticShape() ||
        (own.getNumElements() == count && operand != source && !isStored(operand)))
      return false;
  }
  return carriesOn;
}

ElementRegion weir::regionBehind(Operation *first, Value source, Operation *other) {
  constexpr size_t most = 32;
  int64_t count = typeOf(first->getResult(0)).getNumElements();
  ElementRegion region, best;
  region.shape = SmallVector<int64_t>(typeOf(first->getResult(0)).getShape());
  for (Operation *op = first; op && region.operations.size() < most; op = op->getNextNode()) {
    if (op == other || (op != first && !follows(op, region.operations, source, count)))
      continue;
    region.operations.insert(op);
    region.shape = commonShape(*region.shape, typeOf(op->getResult(0)).getShape());
    if (!region.shape)
      break;
    if (isa<ReshapeOp>(op)) {
      region.hasReshapes = true;
      continue;
    }
    bool isOnlyResult = llvm::all_of(region.operations, [&](Operation *member) {
      return member == op || llvm::all_of(member->getUsers(), [&](Operation *user) {
               return user == other || region.operations.contains(user);
             });
    });
    if (!isOnlyResult)
      continue;
    region.result = op->getResult(0);
    best = region;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Reshaper::make(Value value, const ElementRegion &region) {
  SmallVector<int64_t> from(typeOf(value).getShape());
  return make(value, from, region, 0);
}

/// Whether an operation is computed where its result is read: nothing else reads that,
/// or it is made from one value of its size, with less than a load takes.
static bool isMadeAgain(Operation *op) {
  if (!isa<ElementwiseOpInterface>(op) || op->getNumResults() != 1)
    return false;
  int64_t count = typeOf(op->getResult(0)).getNumElements();
  SmallPtrSet<Value, 4> large;
  for (Value operand : op->getOperands())
    if (typeOf(operand).getNumElements() == count)
      large.insert(operand);
  return llvm::all_equal(op->getUsers()) || (isa<CastOp, SubOp, MulOp>(op) && large.size() <= 1);
}

Value Reshaper::make(Value value, ArrayRef<int64_t> from, const ElementRegion &region, int depth) {
  constexpr int deepest = 32;
  if (Value made = known.lookup(value))
    return made;
  RankedTensorType type = typeOf(value);
  std::optional<SmallVector<int64_t>> seen = seenBeside(type.getShape(), from, shape);
  Operation *def = value.getDefiningOp();
  bool isMember = def && region.operations.contains(def);
  auto reshape = dyn_cast_or_null<ReshapeOp>(def);
  if (seen && reshape && typeOf(reshape.getOperand()).getShape() == ArrayRef(*seen))
    return reshape.getOperand();
  if (reshape && isMember) {
    SmallVector<int64_t> before(typeOf(reshape.getOperand()).getShape());
    return make(reshape.getOperand(), before, region, depth + 1);
  }
  if (!seen || !def || depth == deepest || !(isMember || isMadeAgain(def)))
    return seen ? reshaped(b, value.getLoc(), value, *seen) : Value();
  SmallVector<Value> operands;
  // Beside what has one element for several, as beside the whole.
  for (Value operand : def->getOperands()) {
    Value made = make(operand, from, region, depth + 1);
    if (!made && isMember)
      return {};
    if (!made)
      return known[value] = reshaped(b, value.getLoc(), value, *seen);
    operands.push_back(made);
  }
  Operation *made = b.clone(*def);
  made->setOperands(operands);
  made->getResult(0).setType(type.clone(*seen));
  return known[value] = made->getResult(0);
}
