//===- GemmInt8Paired.cpp - sums of bytes, two steps at a time ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// VPMADDUBSW twice, a sum of halves of words, and one VPMADDWD for both: three
// multiplications for 64 products in place of four. See PairedSteps.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/GemmInt8.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

Value ByteEmitter::loadWord(Value pointer, Value byte) {
  Value word = LLVM::LoadOp::create(b, r.loc, b.getI32Type(), byteAddress(pointer, byte),
                                    /*alignment=*/4);
  return arith::IndexCastUIOp::create(b, r.loc, b.getIndexType(), word);
}

Value ByteEmitter::placeOfStep(Value number) {
  return leftAt ? loadNumber(leftAt, number) : r.mul(number, r.constant(quad));
}

void ByteEmitter::notePlaces() {
  if (!leftAt)
    return;
  eachStep(loops, r.constant(0), r.constant(0), [&](Value from, Value row) {
    storeNumber(from, leftAt, r.divide(row, r.constant(quad)));
  });
}

SmallVector<Value> ByteEmitter::sumsOfPaired(const RowPanel &rowPanel, Value base,
                                             ArrayRef<Value> inits, int64_t rows, int64_t first,
                                             int64_t count) {
  const int64_t steps = depth / quad, stepBytes = quad * width;
  // Sums of so many vectors leave no registers for columns: instructions read them, each for
  // itself. What is not volatile LLVM would load once, and keep sums on the stack.
  const bool readsAtUse = atOnce == vectorsOfPairedSteps;
  auto columns = [&](Value place, int64_t v) {
    return loadWords(panels, r.add(place, r.constant((first + v) * lanes * 4)), readsAtUse);
  };
  struct Step {
    Value from;  ///< in the left operand
    Value place; ///< of its columns in the panel
    SmallVector<Value, 4> loaded;
  };
  auto stepAt = [&](Value number, Value place) {
    Value word =
        loadWord(beside, r.add(r.constant(besidePanels().order()), r.mul(number, r.constant(4))));
    Step step{r.add(base, placeOfStep(word)), place, {}};
    for (int64_t v = 0; v < count && !readsAtUse; ++v)
      step.loaded.push_back(columns(place, v));
    return step;
  };
  auto columnsOf = [&](const Step &step, int64_t v) {
    return readsAtUse ? columns(step.place, v) : step.loaded[v];
  };
  SmallVector<Value> sums =
      emitReductionLoops(r, {r.constant(steps / 2)}, inits, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value number = r.mul(at[0], r.constant(2));
        Value place = r.add(panelBase, r.mul(at[0], r.constant(2 * stepBytes)));
        Step one = stepAt(number, place);
        Step two = stepAt(r.add(number, r.constant(1)), r.add(place, r.constant(stepBytes)));
        fetchAhead(r.mul(number, r.constant(quad)), /*steps=*/2);
        for (int64_t row = 0; row < rows; ++row) {
          Value offset = r.constant(offsetOf(rowPanel, row));
          Value left = leftFour(r.add(one.from, offset)), other = leftFour(r.add(two.from, offset));
          for (int64_t v = 0; v < count; ++v) {
            Value pairs =
                arith::AddIOp::create(b, r.loc, pairsOfBytes(b, r.loc, left, columnsOf(one, v)),
                                      pairsOfBytes(b, r.loc, other, columnsOf(two, v)));
            next[v * rows + row] = addHalves(next[v * rows + row], pairs, splatHalves(1));
          }
        }
        return next;
      });
  if (steps % 2) {
    Value number = r.constant(steps - 1);
    Step last = stepAt(number, r.add(panelBase, r.mul(number, r.constant(stepBytes))));
    for (int64_t row = 0; row < rows; ++row) {
      Value left = leftFour(r.add(last.from, r.constant(offsetOf(rowPanel, row))));
      for (int64_t v = 0; v < count; ++v)
        sums[v * rows + row] = addBounded(sums[v * rows + row], left, columnsOf(last, v));
    }
  }
  return sums;
}

void ByteEmitter::addListed(const RowPanel &rowPanel, Value base, int64_t vector,
                            MutableArrayRef<Value> sums) {
  const PairedStepsLayout layout = besidePanels();
  auto all = cast<RankedTensorType>(kernel.getBody().getArguments().back().getType());
  const int64_t room = layout.roomOf(all.getNumElements());
  Value start = loadWord(beside, r.constant(layout.list(vector)));
  Value count = loadWord(beside, r.constant(layout.list(vector) + 4));
  SmallVector<Value> added =
      emitReductionLoops(r, {count}, sums, [&](ValueRange at, ValueRange carried) {
        Value entry = r.add(start, at[0]);
        Value number =
            loadWord(besides, r.add(r.constant(layout.places()), r.mul(entry, r.constant(4))));
        Value from = r.add(base, placeOfStep(number));
        Value right = loadWords(besides, r.add(r.constant(layout.weights(room)),
                                               r.mul(entry, r.constant(lanes * quad))));
        return addToRows(rowPanel, from, right, carried);
      });
  llvm::copy(added, sums.begin());
}
