//===- ElementCopies.cpp - how often a kernel computes an element ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/ElementCopies.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace weir;

void ElementCopies::add(Operation *op) {
  // Nothing fits any more: what more there is need not be counted.
  if (sum > mostOfKernel)
    return;
  Places own = placesOf(op);
  sum += own.size();
  places[op] = std::move(own);
}

ElementCopies::Places ElementCopies::placesOf(Operation *op) {
  Places all;
  if (places.empty()) {
    all.insert(1);
    return all;
  }
  for (OpOperand &use : op->getUses())
    if (auto user = places.find(use.getOwner()); user != places.end())
      for (Place at : user->second) {
        all.insert(read(use, at));
        if (all.size() > mostOfKernel)
          return all;
      }
  return all;
}

/// Where `use`'s owner reads the value for its own element at `at`.
ElementCopies::Place ElementCopies::read(OpOperand &use, Place at) {
  Operation *user = use.getOwner();
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  // The last bit is for stretching. Two of the numbers of DenseMap and DenseSet are keys of their
  // own.
  auto made = [&](auto... parts) -> Place {
    return size_t(llvm::hash_combine(at, parts...)) >> 2 << 1;
  };
  if (isa<ElementwiseOpInterface>(user)) {
    ArrayRef<int64_t> own = shapeOf(use.get());
    Place next = own == shapeOf(user->getResult(0))
                     ? at
                     : made(llvm::hash_combine_range(own.begin(), own.end()));
    // An open size may turn out to be 1, which stretches: the index is chosen by that, once for
    // elementwise operations in a row.
    return next | (ShapedType::isDynamicShape(own) ? 1 : 0);
  }
  if (auto transpose = dyn_cast<TransposeOp>(user)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    if (auto before = permuted.find(at); before != permuted.end()) {
      auto isBack = [&](auto entry) {
        return before->second.permutation[entry.value()] == int64_t(entry.index());
      };
      if (before->second.permutation.size() == permutation.size() &&
          llvm::all_of(llvm::enumerate(permutation), isBack))
        return before->second.from;
    }
    Place next = made(llvm::hash_combine_range(permutation.begin(), permutation.end()));
    permuted[next] = {at, permutation};
    return next;
  }
  // Slices of several tensors by the same steps are at the same place in each.
  if (isa<SliceOp>(user)) {
    llvm::hash_code steps = llvm::hash_combine(user->getAttrDictionary(), use.getOperandNumber());
    for (Value operand : user->getOperands())
      if (operand != use.get())
        steps = llvm::hash_combine(steps, operand.getAsOpaquePointer());
    return made(steps);
  }
  // The others may read in branches or loops.
  return made((const void *)user, use.getOperandNumber());
}

bool weir::isOneOfMany(SliceOp slice) {
  constexpr int64_t many = 32;
  auto isAlike = [&](Operation *user) {
    auto other = dyn_cast<SliceOp>(user);
    return other && other.getOperand() == slice.getOperand() &&
           other.getType() == slice.getType() && other.getSteps() == slice.getSteps() &&
           other.getAxes() == slice.getAxes();
  };
  int64_t found = 0, seen = 0;
  for (Operation *user : slice.getOperand().getUsers())
    if ((isAlike(user) && ++found == many) || ++seen == 4 * many)
      break;
  return found == many && !isOffloaded(slice);
}

bool weir::joinsMany(Operation *op) {
  constexpr size_t most = 4;
  auto concat = dyn_cast<ConcatOp>(op);
  auto type = concat ? dyn_cast<RankedTensorType>(concat.getType()) : RankedTensorType();
  return type && concat.getInputs().size() >
                     (int64_t(concat.getAxis()) + 1 == type.getRank() ? mostJoinedInRow : most);
}
