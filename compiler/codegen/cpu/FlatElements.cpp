//===- FlatElements.cpp - elementwise kernels over open sizes -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collapsing of dimensions of an elementwise kernel when it runs: the last dimensions, as many
// as every operand either has whole or is stretched along, are one loop. Its length is all
// elements where no operand is stretched, whatever the sizes of single dimensions are; those
// before are counted in rows of that length.
//
// Along a row an operand moves with the result or stays where it is. The loop is written
// for operands that all move, again for each that stays alone, and for those that stay by their
// types, so that it vectorises.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// Operands beyond these are not asked one by one whether they stay.
constexpr size_t operandsWithForms = 3;
/// Nor is that asked where a loop has more operations: each form has them all.
constexpr size_t operationsWithForms = 24;

struct Operand {
  Value tensor;
  const KernelBuilder::Buffer *buffer;
  Value moves; ///< i1: along a row it moves with the result
  Value first; ///< the element at the start of the current row
};

class FlatElements {
public:
  FlatElements(KernelBuilder &r, plan::KernelOp kernel)
      : r(r), body(kernel.getBody().front()),
        dims(r.bufferOf(body.getTerminator()->getOperand(0)).dims) {
    for (BlockArgument argument : body.getArguments()) {
      const KernelBuilder::Buffer &buffer = r.bufferOf(argument);
      bool isOne = buffer.type.hasStaticShape() && buffer.type.getNumElements() == 1;
      if (!isOne && !isOnlyShape(argument))
        operands.push_back({argument, &buffer, {}, {}});
    }
  }

  void emit(Value begin, Value end) {
    askSizes();
    collapse();
    Value one = r.constant(1);
    Value rows = r.divide(r.add(end, r.sub(length, one)), length);
    OpBuilder::InsertionGuard guard(r.b);
    Value start = r.divide(begin, length);
    auto row = scf::ForOp::create(r.b, r.loc, start, rows, one, r.blockIndices(start, outer));
    r.b.setInsertionPointToStart(row.getBody());
    Value number = row.getInductionVar();
    SmallVector<Value> indices(row.getRegionIterArgs());
    scf::YieldOp::create(r.b, r.loc, next(indices));
    r.b.setInsertionPointToStart(row.getBody());
    Value before = r.mul(number, length);
    // What is written over has the result's shape; LLVM is to see the same address.
    Value written = r.bufferOf(body.getTerminator()->getOperand(0)).pointer;
    for (Operand &operand : operands)
      operand.first =
          operand.buffer->pointer == written ? before : firstOf(*operand.buffer, indices);
    Value from = arith::MaxSIOp::create(r.b, r.loc, r.sub(begin, before), r.constant(0));
    Value to = arith::MinSIOp::create(r.b, r.loc, r.sub(end, before), length);
    emitForms(before, from, to);
  }

private:
  /// The step has checked sizes: elements ask for those that are known by then.
  void askSizes() {
    r.quiet = true;
    for (Operation &op : body.without_terminator())
      for (Value operand : op.getOperands()) {
        auto type = cast<RankedTensorType>(operand.getType());
        for (int64_t i = 0; i < type.getRank(); ++i)
          if (type.isDynamicDim(i))
            r.dim(operand, i);
      }
    r.quiet = false;
  }

  Value both(Value a, Value b) { return a ? r.logicalAnd(a, b) : b; }

  /// Whether the result may have sizes that no operand has: of a constant within the kernel, or of
  /// a shape.
  bool isStretchedBeyond() const {
    return llvm::any_of(body.without_terminator(), [](Operation &op) {
      ElementsAttr constant = op.getNumResults() == 1 ? constantElements(op.getResult(0)) : nullptr;
      return isa<BroadcastToOp>(op) || (constant && constant.getNumElements() != 1);
    });
  }

  /// The size of dimension `i` of the result in `buffer`; null: it has no such dimension.
  Value sizeIn(const KernelBuilder::Buffer &buffer, size_t i) const {
    size_t missing = dims.size() - buffer.dims.size();
    return i < missing ? Value() : buffer.dims[i - missing];
  }

  /// Finds the last dimensions that are one loop: its `length`, the sizes of those before
  /// (`outer`, 1 for what the loop goes over), and which operands move.
  void collapse() {
    Value one = r.constant(1), isInside;
    length = one;
    outer.assign(dims.begin(), dims.end());
    SmallVector<Value> whole(operands.size()), stays(operands.size());
    for (size_t i = dims.size(); i-- > 0;) {
      for (auto [at, operand] : llvm::enumerate(operands)) {
        Value size = sizeIn(*operand.buffer, i);
        Value has = r.equal(size ? size : one, dims[i]);
        whole[at] = both(whole[at], has);
        if (size)
          stays[at] = both(stays[at], r.equal(size, one));
        Value fits = whole[at];
        if (stays[at])
          fits = arith::OrIOp::create(r.b, r.loc, fits, stays[at]);
        isInside = both(isInside, fits);
      }
      for (auto [at, operand] : llvm::enumerate(operands))
        operand.moves = operand.moves ? r.select(isInside, whole[at], operand.moves) : whole[at];
      length = r.select(isInside, r.mul(length, dims[i]), length);
      outer[i] = r.select(isInside, one, dims[i]);
    }
    // The last dimension alone is a row in any case: an operand has it whole, or once.
    length = arith::MaxSIOp::create(r.b, r.loc, length, one);
  }

  /// The indices of the next row: counting costs less than dividing.
  SmallVector<Value> next(ArrayRef<Value> indices) {
    SmallVector<Value> after(indices.size());
    Value zero = r.constant(0), carry = r.constant(1);
    for (size_t i = indices.size(); i-- > 0;) {
      Value more = r.add(indices[i], carry);
      Value isOver = r.equal(more, outer[i]);
      after[i] = r.select(isOver, zero, more);
      carry = r.select(isOver, r.constant(1), zero);
    }
    return after;
  }

  Value firstOf(const KernelBuilder::Buffer &buffer, ArrayRef<Value> indices) {
    SmallVector<Value> own;
    for (size_t i = dims.size() - buffer.dims.size(); i < dims.size(); ++i) {
      Value isStretched = r.equal(sizeIn(buffer, i), r.constant(1));
      own.push_back(r.select(isStretched, r.constant(0), indices[i]));
    }
    return r.linearIndex(buffer, own);
  }

  /// Elements [from, to) of a row that starts at `before`; `indexOf` says where an operand is
  /// read for element `i` of it.
  void emitLoop(Value before, Value from, Value to,
                function_ref<Value(const Operand &, Value)> indexOf) {
    OpBuilder::InsertionGuard guard(r.b);
    auto loop = scf::ForOp::create(r.b, r.loc, from, to, r.constant(1));
    r.b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    KernelBuilder::Places places;
    for (const Operand &operand : operands)
      places[operand.tensor] = indexOf(operand, i);
    r.setFlatIndex(r.add(before, i), std::move(places));
    emitElements(r, body, {}, SmallVector<Value>(dims.size(), r.constant(0)));
    r.setFlatIndex({});
  }

  void emitForms(Value before, Value from, Value to) {
    auto emitStaying = [&](const Operand *staying) {
      emitLoop(before, from, to, [&](const Operand &operand, Value i) {
        return &operand == staying ? operand.first : r.add(operand.first, i);
      });
    };
    Value allMove;
    for (const Operand &operand : operands)
      allMove = both(allMove, operand.moves);
    bool hasForms =
        operands.size() <= operandsWithForms && body.getOperations().size() <= operationsWithForms;
    std::function<void(size_t)> emitRest = [&](size_t at) {
      if (!hasForms || at == operands.size())
        return emitAsTyped(before, from, to, hasForms);
      Value othersMove; // null: there are no others
      for (const Operand &operand : operands)
        if (&operand != &operands[at])
          othersMove = both(othersMove, operand.moves);
      // Of two operands one moves where the result does, whose sizes are theirs.
      if (operands.size() == 2 && at == 1 && !isStretchedBeyond())
        return emitStaying(&operands[at]);
      if (!othersMove)
        return emitStaying(&operands[at]);
      emitEither(r, othersMove, [&] { emitStaying(&operands[at]); }, [&] { emitRest(at + 1); });
    };
    if (operands.size() == 1 && !isStretchedBeyond())
      return emitStaying(nullptr);
    emitEither(r, allMove, [&] { emitStaying(nullptr); }, [&] { emitRest(0); });
  }

  /// Operands whose last dimension is known to be one element stay, all others move; what is not so
  /// is asked element by element. `hasForms`: there are loops for one operand that stays.
  void emitAsTyped(Value before, Value from, Value to, bool hasForms) {
    auto emitAsked = [&] {
      emitLoop(before, from, to, [&](const Operand &operand, Value i) {
        return r.add(operand.first, r.select(operand.moves, i, r.constant(0)));
      });
    };
    auto stays = [](const Operand &operand) {
      return operand.buffer->type.getRank() == 0 || operand.buffer->type.getShape().back() == 1;
    };
    auto count = llvm::count_if(operands, stays);
    if (count <= (hasForms ? 1 : 0) || body.getOperations().size() > operationsWithForms)
      return emitAsked();
    Value isAsTyped, yes = arith::ConstantIntOp::create(r.b, r.loc, 1, 1);
    for (const Operand &operand : operands) {
      Value staying = arith::XOrIOp::create(r.b, r.loc, operand.moves, yes);
      isAsTyped = both(isAsTyped, stays(operand) ? staying : operand.moves);
    }
    emitEither(
        r, isAsTyped,
        [&] {
          emitLoop(before, from, to, [&](const Operand &operand, Value i) {
            return stays(operand) ? operand.first : r.add(operand.first, i);
          });
        },
        emitAsked);
  }

  KernelBuilder &r;
  Block &body;
  SmallVector<Value> dims, outer; ///< of the result
  Value length;                   ///< of a row
  SmallVector<Operand> operands;
};

} // namespace

void weir::emitFlatElements(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  FlatElements(r, kernel).emit(begin, end);
}
