//===- PiecewiseRows.cpp - rows whose elements lie in several places -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PiecewiseRows.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/PickedLines.h"
#include "dialects/weir/Repeats.h"
#include "passes/analysis/ElementCopies.h"

using namespace mlir;
using namespace weir;

namespace {
/// Elements of a row from which on a loop over it becomes one of vectors.
constexpr int64_t longRow = 16;

/// Bytes of a row from which on a call that copies it is worth it.
constexpr int64_t worthACall = 256;

/// Whether `tensor` is made of lines of a buffer that may be worth such a call.
bool isPickedLines(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType();
  Operation *def = tensor.getDefiningOp();
  return picksLines(def) && isa<BlockArgument>(def->getOperand(0)) && element.isIntOrFloat() &&
         element.getIntOrFloatBitWidth() >= 8 &&
         (ShapedType::isDynamic(type.getShape().back()) ||
          type.getShape().back() * (element.getIntOrFloatBitWidth() / 8) >= worthACall);
}
} // namespace

bool weir::isPiecewise(Value tensor) {
  if (auto pad = tensor.getDefiningOp<PadOp>())
    return pad.getMode() == PadMode::Constant && constantIntegers(pad.getPads());
  if (auto resize = tensor.getDefiningOp<ResizeOp>())
    return repeatsOf(resize).has_value();
  if (isPickedLines(tensor))
    return true;
  return static_cast<bool>(tensor.getDefiningOp<ConcatOp>());
}

void weir::emitPiecewiseRow(KernelBuilder &r, Value tensor, const SmallVector<Value> &outer,
                            const RowTarget &target) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t last = type.getRank() - 1;
  auto indicesOf = [](const SmallVector<Value> &outer, Value last) {
    SmallVector<Value> all(outer);
    all.push_back(last);
    return all;
  };
  if (isa<BlockArgument>(tensor)) {
    copyRow(r, r.bufferOf(tensor), indicesOf(outer, r.constant(0)), target.buffer,
            indicesOf(target.outer, target.before));
    return;
  }
  auto emitAll = [&](function_ref<Value(Value)> value) {
    OpBuilder::InsertionGuard guard(r.b);
    auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), r.dim(tensor, last), r.constant(1));
    r.b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    r.store(value(i), target.buffer, indicesOf(target.outer, r.add(target.before, i)));
  };
  if (isPickedLines(tensor)) {
    Value operand = tensor.getDefiningOp()->getOperand(0);
    PickedPlace picked = pickedPlace(r, tensor.getDefiningOp(), indicesOf(outer, r.constant(0)));
    auto copy = [&] {
      Value count = r.dim(operand, picked.at.size() - 1);
      int64_t bytes = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
      emitEither(
          r, r.less(r.constant((worthACall - 1) / bytes), count),
          [&] {
            copyRow(r, r.bufferOf(operand), picked.at, target.buffer,
                    indicesOf(target.outer, target.before));
          },
          [&] {
            emitAll([&](Value i) {
              SmallVector<Value> at(picked.at);
              at.back() = i;
              return r.element(operand, at);
            });
          });
    };
    if (!picked.isThere)
      return copy();
    // Of nothing there is nothing to copy; the run has ended by then.
    return emitEither(r, picked.isThere, copy, [] {});
  }
  if (auto concat = tensor.getDefiningOp<ConcatOp>()) {
    int64_t axis = concat.getAxis();
    if (axis == last) {
      Value before = target.before;
      for (Value input : concat.getInputs()) {
        emitPiecewiseRow(r, input, outer, {target.buffer, target.outer, before});
        before = r.add(before, r.dim(input, axis));
      }
      return;
    }
    // The last operand is what no other is.
    std::function<void(size_t, Value)> choose = [&](size_t number, Value before) {
      Value input = concat.getInputs()[number];
      auto emitOwn = [&] {
        SmallVector<Value> inside(outer);
        inside[axis] = r.sub(outer[axis], before);
        emitPiecewiseRow(r, input, inside, target);
      };
      if (number + 1 == concat.getInputs().size())
        return emitOwn();
      Value end = r.add(before, r.dim(input, axis));
      emitEither(r, r.less(outer[axis], end), emitOwn, [&] { choose(number + 1, end); });
    };
    return choose(0, r.constant(0));
  }
  if (auto pad = tensor.getDefiningOp<PadOp>(); pad && isPiecewise(tensor)) {
    SmallVector<int64_t> pads = *constantIntegers(pad.getPads());
    if (pads[last] == 0 && pads[2 * last + 1] == 0) {
      SmallVector<Value> inside;
      Value isInside = insidePadding(r, outer, pad, inside);
      if (!isInside)
        return emitPiecewiseRow(r, pad.getOperand(), outer, target);
      return emitEither(
          r, isInside, [&] { emitPiecewiseRow(r, pad.getOperand(), inside, target); },
          [&] { emitAll([&](Value) { return r.element(pad.getValue(), {}); }); });
    }
  }
  if (auto resize = tensor.getDefiningOp<ResizeOp>(); resize && isPiecewise(tensor)) {
    SmallVector<int64_t> repeats = *repeatsOf(resize);
    SmallVector<Value> inside;
    for (auto [index, factor] : llvm::zip(outer, repeats))
      inside.push_back(r.divide(index, r.constant(factor)));
    if (repeats[last] == 1)
      return emitPiecewiseRow(r, resize.getOperand(), inside, target);
    OpBuilder::InsertionGuard guard(r.b);
    Value count = r.dim(resize.getOperand(), last);
    auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), count, r.constant(1));
    r.b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar(), value = r.element(resize.getOperand(), indicesOf(inside, i));
    Value first = r.add(target.before, r.mul(i, r.constant(repeats[last])));
    for (int64_t k = 0; k < repeats[last]; ++k)
      r.store(value, target.buffer, indicesOf(target.outer, r.add(first, r.constant(k))));
    return;
  }
  emitAll([&](Value i) { return r.element(tensor, indicesOf(outer, i)); });
}

bool weir::isOfBlocks(KernelBuilder &r, Value tensor) {
  auto concat = tensor.getDefiningOp<ConcatOp>();
  if (!concat)
    return false;
  auto type = cast<RankedTensorType>(tensor.getType());
  return int64_t(concat.getAxis()) + 1 < type.getRank() &&
         llvm::all_of(concat.getInputs(), [&](Value input) { return isWholeBuffer(r, input); });
}

void weir::emitBlocks(KernelBuilder &r, ConcatOp concat, const KernelBuilder::Buffer &target,
                      Value begin, Value end) {
  Value zero = r.constant(0), one = r.constant(1);
  auto linesOf = [&](ArrayRef<Value> dims) {
    Value lines = one;
    for (Value dim : dims.drop_front(concat.getAxis()).drop_back())
      lines = r.mul(lines, dim);
    return lines;
  };
  // None is copied of what has no lines, whose range is empty.
  Value all = arith::MaxSIOp::create(r.b, r.loc, linesOf(target.dims), one);
  Value line = target.dims.back();
  scf::ForOp block = createBlockLoop(r, begin, end, all);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(block.getBody());
  Value number = block.getInductionVar(), first = r.mul(number, all);
  for (Value input : concat.getInputs()) {
    const KernelBuilder::Buffer &source = r.bufferOf(input);
    Value own = linesOf(source.dims);
    Value from = arith::MaxSIOp::create(r.b, r.loc, r.sub(begin, first), zero);
    Value to = arith::MinSIOp::create(r.b, r.loc, r.sub(end, first), own);
    auto copy = [&] {
      Value lies = r.mul(r.add(r.mul(number, own), from), line);
      Value comes = r.mul(r.add(first, from), line);
      copyElements(r, source, lies, target, comes, r.mul(r.sub(to, from), line));
    };
    emitEither(r, r.less(from, to), copy, [] {});
    // Behind it comes the next one.
    first = r.add(first, own);
  }
}

ConcatOp weir::concatenationOfRows(ValueRange values, Operation *end) {
  ConcatOp found;
  for (auto concat : end->getBlock()->getOps<ConcatOp>()) {
    if (found)
      return {};
    found = concat;
  }
  if (!found || found.getInputs().size() > mostJoinedInRow)
    return {};
  auto type = cast<RankedTensorType>(found.getResult().getType());
  auto hasOpenRows = [](Value value) {
    return ShapedType::isDynamic(cast<RankedTensorType>(value.getType()).getShape().back());
  };
  if (int64_t(found.getAxis()) + 1 != type.getRank() ||
      llvm::any_of(found.getInputs(), hasOpenRows))
    return {};
  // Where it might be stretched it is read at other indices.
  auto mayStretch = [&](Operation *user) {
    return !type.hasStaticShape() && !keepsOpenSizes(user);
  };
  SmallVector<Value> reads{found.getResult()};
  SmallPtrSet<Operation *, 8> seen{found};
  while (!reads.empty())
    for (Operation *user : reads.pop_back_val().getUsers()) {
      if (user == end || !seen.insert(user).second)
        continue;
      if (!isa<ElementwiseOpInterface>(user) || user->getNumResults() != 1 || mayStretch(user) ||
          cast<RankedTensorType>(user->getResult(0).getType()).getShape() != type.getShape())
        return {};
      reads.push_back(user->getResult(0));
    }
  return llvm::all_of(values, [&](Value value) { return seen.contains(value.getDefiningOp()); })
             ? found
             : ConcatOp();
}

void weir::emitRowByOperands(KernelBuilder &r, ConcatOp concat, ValueRange outer,
                             function_ref<void(ArrayRef<Value>)> body) {
  int64_t before = 0;
  for (Value input : concat.getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getShape().back();
    OpBuilder::InsertionGuard guard(r.b);
    auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), r.constant(size), r.constant(1));
    // Written out, a row would leave LLVM the loop around it alone, whose elements lie apart.
    if (size >= longRow)
      forbidUnrolling(loop);
    r.b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> own(outer), place(outer);
    own.push_back(loop.getInductionVar());
    place.push_back(r.add(loop.getInductionVar(), r.constant(before)));
    r.setAnchor(concat.getResult(), r.element(input, own));
    body(place);
    r.setAnchor({}, {});
    before += size;
  }
}
