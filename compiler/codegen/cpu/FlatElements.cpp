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
// Rows of a few elements are gathered first: as many as fit, of which an operand has all, or one
// again and again, or an element each, lie side by side on the stack, and are one loop.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

/// Operands beyond these are not asked one by one whether they stay.
constexpr size_t operandsWithForms = 3;
/// Nor is that asked where a loop has more operations: each form has them all.
constexpr size_t operationsWithForms = 24;

/// Elements of each operand that are gathered at once.
constexpr int64_t gatheredElements = 256;
/// Of fewer that rows have together, gathering takes longer than what it spares.
constexpr int64_t fewestGathered = 4 * shortRow;
/// Nor are operands gathered beyond these.
constexpr size_t gatheredOperands = 4;

struct Operand {
  Value tensor;
  KernelBuilder::Buffer buffer;
  Value moves; ///< i1: along a row it moves with the result
  Value turns; ///< i1: along rows that are gathered it does
  Value first; ///< the element at the start of the current row, or of rows that are gathered
};

/// Some of the result's dimensions, each but for those before and behind them.
struct Level {
  Value length;             ///< of their elements
  SmallVector<Value> outer; ///< sizes of the dimensions before, 1 for the others
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
        operands.push_back({argument, buffer, {}, {}, {}});
    }
  }

  void emit(Value begin, Value end) {
    r.askSizes(body);
    SmallVector<Value> inside(dims.size());
    row = collapse(inside, &Operand::moves);
    if (!gathers())
      return emitUngathered(begin, end);
    rows = collapse(inside, &Operand::turns);
    Value isShort = r.logicalAnd(r.less(row.length, r.constant(shortRow)),
                                 r.less(r.constant(fewestGathered - 1), rows.length));
    emitEither(
        r, isShort, [&] { emitGathered(begin, end); },
        [&] {
          r.askSizes(body);
          emitUngathered(begin, end);
        });
  }

private:
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

  /// Finds the last dimensions, before those that are `inside` (null: none is), that every operand
  /// has whole or is stretched along, and which operands have them. Adds them to `inside`.
  Level collapse(MutableArrayRef<Value> inside, Value Operand::*moves) {
    Value one = r.constant(1), yes = arith::ConstantIntOp::create(r.b, r.loc, 1, 1),
          fitsSoFar = yes;
    // The last dimension alone is a row in any case: an operand has it whole, or once.
    Level level = {one, SmallVector<Value>(dims)};
    SmallVector<Value> whole(operands.size(), yes), stays(operands.size(), yes);
    for (size_t i = dims.size(); i-- > 0;) {
      Value fits = fitsSoFar;
      for (auto [at, operand] : llvm::enumerate(operands)) {
        Value size = sizeIn(operand.buffer, i);
        Value has = r.equal(size ? size : one, dims[i]);
        Value isOne = size ? r.equal(size, one) : yes;
        if (inside[i]) {
          has = r.select(inside[i], yes, has);
          isOne = r.select(inside[i], yes, isOne);
        }
        whole[at] = r.logicalAnd(whole[at], has);
        stays[at] = r.logicalAnd(stays[at], isOne);
        fits = r.logicalAnd(fits, arith::OrIOp::create(r.b, r.loc, whole[at], stays[at]));
      }
      fitsSoFar = fits;
      for (auto [at, operand] : llvm::enumerate(operands))
        operand.*moves = operand.*moves ? r.select(fits, whole[at], operand.*moves) : whole[at];
      level.length = r.select(fits, r.mul(level.length, dims[i]), level.length);
      level.outer[i] = r.select(fits, one, dims[i]);
      inside[i] = fits;
    }
    level.length = arith::MaxSIOp::create(r.b, r.loc, level.length, one);
    return level;
  }

  /// Calls `emit` for each row of the level: where it begins, and which of its elements are in
  /// [begin, end). Operands know their first elements.
  void emitRows(const Level &level, Value begin, Value end,
                function_ref<void(Value, Value, Value)> emit) {
    Value one = r.constant(1), length = level.length;
    Value count = r.divide(r.add(end, r.sub(length, one)), length);
    OpBuilder::InsertionGuard guard(r.b);
    Value start = r.divide(begin, length);
    auto loop =
        scf::ForOp::create(r.b, r.loc, start, count, one, r.blockIndices(start, level.outer));
    r.b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    SmallVector<Value> indices(loop.getRegionIterArgs());
    scf::YieldOp::create(r.b, r.loc, next(level, indices));
    r.b.setInsertionPointToStart(loop.getBody());
    Value before = r.mul(number, length);
    // What is written over has the result's shape; LLVM is to see the same address.
    Value written = r.bufferOf(body.getTerminator()->getOperand(0)).pointer;
    for (Operand &operand : operands)
      operand.first = operand.buffer.pointer == written ? before : firstOf(operand.buffer, indices);
    Value from = arith::MaxSIOp::create(r.b, r.loc, r.sub(begin, before), r.constant(0));
    Value to = arith::MinSIOp::create(r.b, r.loc, r.sub(end, before), length);
    emit(before, from, to);
  }

  /// The indices of the next row: counting costs less than dividing.
  SmallVector<Value> next(const Level &level, ArrayRef<Value> indices) {
    SmallVector<Value> after(indices.size());
    Value zero = r.constant(0), carry = r.constant(1);
    for (size_t i = indices.size(); i-- > 0;) {
      Value more = r.add(indices[i], carry);
      Value isOver = r.equal(more, level.outer[i]);
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
      return operand.buffer.type.getRank() == 0 || operand.buffer.type.getShape().back() == 1;
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

  /// Whether rows may be short, and operands are such that elements can be gathered.
  bool gathers() {
    return hasOpenOperand(body) && operands.size() > 1 && operands.size() <= gatheredOperands &&
           body.getOperations().size() <= operationsWithForms && !isStretchedBeyond() &&
           llvm::all_of(operands,
                        [&](const Operand &operand) { return isWholeBuffer(r, operand.tensor); });
  }

  void emitUngathered(Value begin, Value end) {
    emitRows(row, begin, end,
             [&](Value before, Value from, Value to) { emitForms(before, from, to); });
  }

  /// Rows by blocks, of whole ones, whose operands are gathered.
  void emitGathered(Value begin, Value end) {
    OpBuilder::InsertionGuard guard(r.b);
    for (Operand &operand : operands) {
      KernelBuilder::Buffer gathered = operand.buffer;
      OpBuilder::InsertionGuard inner(r.b);
      r.b.setInsertionPointToStart(r.context.getParentBlock());
      // A row is a store of a vector, which the next ones overwrite from its end on.
      gathered.pointer =
          stackElements(r, operand.buffer.type.getElementType(), gatheredElements + shortRow);
      r.bind(operand.tensor, gathered);
    }
    r.askSizes(body);
    emitRows(rows, begin, end, [&](Value before, Value from, Value to) {
      Value one = r.constant(1), zero = r.constant(0);
      Value block = r.mul(r.divide(r.constant(gatheredElements), row.length), row.length);
      auto loop = scf::ForOp::create(r.b, r.loc, r.divide(from, block),
                                     r.divide(r.add(to, r.sub(block, one)), block), one);
      r.b.setInsertionPointToStart(loop.getBody());
      Value number = loop.getInductionVar(), start = r.mul(number, block);
      Value count = arith::MinSIOp::create(r.b, r.loc, r.sub(to, start), block);
      // What is before may be another thread's, and written by then.
      Value skipped = arith::MaxSIOp::create(r.b, r.loc, r.sub(from, start), zero);
      // No block has more elements than the first, whose rows others may use again.
      Value isFirst = r.equal(number, loop.getLowerBound());
      for (const Operand &operand : operands) {
        auto copy = [&] {
          copyElements(r, operand.buffer, r.add(operand.first, r.add(start, skipped)),
                       r.bufferOf(operand.tensor), skipped, r.sub(count, skipped));
        };
        auto gatherRows = [&] {
          Value changes = arith::OrIOp::create(r.b, r.loc, operand.turns, isFirst);
          Value rowsBefore = r.select(operand.turns, r.divide(start, row.length), zero);
          gather(operand, r.add(operand.first, rowsBefore), r.select(changes, count, zero));
        };
        emitEither(r, r.logicalAnd(operand.turns, operand.moves), copy, gatherRows);
      }
      emitLoop(r.add(before, start), skipped, count, [](const Operand &, Value i) { return i; });
    });
    for (const Operand &operand : operands)
      r.bind(operand.tensor, operand.buffer);
  }

  /// Gathers `count` elements of rows: the one row that begins at the operand's element `first`,
  /// or one element for each row, from there on, or for all of them.
  void gather(const Operand &operand, Value first, Value count) {
    Type element = operand.buffer.type.getElementType();
    Type stored = BufferAccess::storageType(element);
    auto vector = VectorType::get({shortRow}, stored);
    Value zero = r.constant(0), one = r.constant(1);
    const KernelBuilder::Buffer target = r.bufferOf(operand.tensor);
    int64_t alignment = elementBytes(element);
    // A part of the range may end within a row.
    Value rowCount = r.divide(r.add(count, r.sub(row.length, one)), row.length);
    auto eachRow = [&](function_ref<Value(Value)> rowOf) {
      OpBuilder::InsertionGuard guard(r.b);
      auto loop = scf::ForOp::create(r.b, r.loc, zero, rowCount, one);
      forbidUnrolling(loop);
      r.b.setInsertionPointToStart(loop.getBody());
      Value place = BufferAccess::address(r, target.pointer, element,
                                          r.mul(loop.getInductionVar(), row.length));
      LLVM::StoreOp::create(r.b, r.loc, rowOf(loop.getInductionVar()), place, alignment);
    };
    auto elementAt = [&](Value at) -> Value {
      return LLVM::LoadOp::create(r.b, r.loc, stored,
                                  BufferAccess::address(r, operand.buffer.pointer, element, at));
    };
    emitEither(
        r, operand.moves,
        [&] {
          // Behind the row there may be no memory to read a vector from.
          copyElements(r, operand.buffer, first, target, zero, r.minimum(count, row.length));
          Value whole = LLVM::LoadOp::create(r.b, r.loc, vector, target.pointer, alignment);
          eachRow([&](Value) { return whole; });
        },
        [&] {
          eachRow([&](Value number) -> Value {
            Value at = r.add(first, r.select(operand.turns, number, zero));
            return vector::BroadcastOp::create(r.b, r.loc, vector, elementAt(at));
          });
        });
  }

  KernelBuilder &r;
  Block &body;
  SmallVector<Value> dims; ///< of the result
  Level row, rows;
  SmallVector<Operand> operands;
};

} // namespace

void weir::emitFlatElements(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  FlatElements(r, kernel).emit(begin, end);
}
