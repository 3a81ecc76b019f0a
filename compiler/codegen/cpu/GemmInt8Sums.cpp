//===- GemmInt8Sums.cpp - sums of products of bytes -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What blocks of rows add up, and panels as they want them: see GemmInt8.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/GemmInt8.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

std::pair<Value, Value> ByteEmitter::spread(Value fours, bool hasSign) {
  auto type =
      VectorType::get({2 * cast<VectorType>(fours.getType()).getDimSize(0)}, b.getI16Type());
  Value eight =
      arith::ConstantOp::create(b, r.loc, SplatElementsAttr::get(type, b.getI16IntegerAttr(8)));
  Value all = LLVM::BitcastOp::create(b, r.loc, type, fours);
  Value even = arith::ShLIOp::create(b, r.loc, all, eight);
  if (hasSign)
    return {arith::ShRSIOp::create(b, r.loc, even, eight),
            arith::ShRSIOp::create(b, r.loc, all, eight)};
  return {arith::ShRUIOp::create(b, r.loc, even, eight),
          arith::ShRUIOp::create(b, r.loc, all, eight)};
}

Value ByteEmitter::addHalves(Value sum, Value lefts, Value rights) {
  return arith::AddIOp::create(b, r.loc, sum, pairsOfHalves(b, r.loc, lefts, rights));
}

Value ByteEmitter::addPairs(Value sum, Value lefts, Value rights) {
  auto [even, odd] = spread(lefts, isSigned);
  auto [rightEven, rightOdd] = spread(rights, true);
  return addHalves(addHalves(sum, even, rightEven), odd, rightOdd);
}

Value ByteEmitter::addBounded(Value sum, Value lefts, Value rights) {
  return addHalves(sum, pairsOfBytes(b, r.loc, lefts, rights), splatHalves(1));
}

Value ByteEmitter::addProducts(Value sum, Value lefts, Value rights) {
  if (form == Form::Bounded)
    return addBounded(sum, lefts, rights);
  if (isPairs)
    return addPairs(sum, lefts, rights);
  return addQuads(b, r.loc, sum, lefts, rights);
}

void ByteEmitter::copyPanel(Value firstRow, Value column) {
  if (hasWholePanels())
    return copyColumns(firstRow, column, Value());
  // Of an open number of columns, too, only the last panel lacks some.
  emitEither(
      r, r.less(target.dims.back(), r.add(column, r.constant(width))),
      [&] { copyColumns(firstRow, column, r.sub(target.dims.back(), column)); },
      [&] { copyColumns(firstRow, column, Value()); });
}

void ByteEmitter::copyColumns(Value firstRow, Value column, Value limit) {
  auto type = VectorType::get({width}, b.getI8Type());
  Value mask, zero = arith::ConstantOp::create(b, r.loc, b.getZeroAttr(type));
  if (limit)
    mask = vector::CreateMaskOp::create(b, r.loc, VectorType::get({width}, b.getI1Type()), limit);
  emitStepLoop(r, r.constant(0), r.constant(depth), quad, [&](Value row) {
    SmallVector<Value> four;
    for (int64_t i = 0; i < quad; ++i) {
      Value at = r.add(r.add(firstRow, row), r.constant(i));
      Value where = byteAddress(weights.pointer, r.add(r.mul(at, target.dims.back()), column));
      four.push_back(mask ? Value(LLVM::MaskedLoadOp::create(b, r.loc, type, where, mask, zero,
                                                             b.getI32IntegerAttr(1), UnitAttr()))
                          : Value(LLVM::LoadOp::create(b, r.loc, type, where, /*alignment=*/1)));
    }
    LLVM::StoreOp::create(b, r.loc, interleavedFours(b, r.loc, four),
                          byteAddress(panelOnStack, r.mul(row, r.constant(width))),
                          /*alignment=*/64);
  });
}

void ByteEmitter::sumColumns() {
  int64_t vectors = width / lanes;
  Value offset = splat(static_cast<int32_t>(0x80808080));
  SmallVector<Value> inits(vectors, splat(0));
  SmallVector<Value> sums = emitReductionLoops(
      r, {r.constant(depth / quad)}, inits, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> next;
        Value from = r.add(panelBase, r.mul(at[0], r.constant(quad * width)));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(addProducts(carried[v], offset,
                                     loadWords(panels, r.add(from, r.constant(v * lanes * 4)))));
        return next;
      });
  for (int64_t v = 0; v < vectors; ++v) {
    Value negative = arith::SubIOp::create(b, r.loc, splat(0), sums[v]);
    LLVM::StoreOp::create(b, r.loc, negative, byteAddress(columnSums, r.constant(v * lanes * 4)));
  }
}

SmallVector<Value> ByteEmitter::sizesOfLoops() {
  SmallVector<Value> sizes;
  for (const SumLoop &loop : loops)
    sizes.push_back(r.constant(loop.count));
  return sizes;
}

std::pair<Value, Value> ByteEmitter::placesOf(ValueRange at, Value base) {
  Value from = base, place = r.constant(0);
  for (auto [loop, i] : llvm::zip(loops, at)) {
    from = r.add(from, r.mul(i, loop.left));
    place = r.add(place, r.mul(i, r.constant(loop.rows)));
  }
  return {from, place};
}

void ByteEmitter::boundPanel(Value plain) {
  constexpr int64_t moved = 128; // of left operands with a sign
  int64_t vectors = vectorsOfPanel(), capacity = depth / quad;
  Value ones = splat(0x01010101), highest = splatHalves(mostOfPair),
        lowest = splatHalves(-mostOfPair);
  Value lowByte = splatHalves(0xff);
  SmallVector<Value> inits(vectors, r.constant(0));
  if (columnSums)
    inits.append(vectors, splat(0));
  SmallVector<Value> made =
      emitReductionLoops(r, sizesOfLoops(), inits, [&](ValueRange at, ValueRange carried) {
        auto [from, step] = placesOf(at, r.constant(0));
        Value place = r.mul(step, r.constant(width));
        SmallVector<Value> counts, sums;
        for (int64_t v = 0; v < vectors; ++v) {
          Value offset = r.constant(v * lanes * 4);
          Value four = loadWords(weights.pointer, r.add(r.add(plain, place), offset));
          auto bytes = VectorType::get({lanes * 4}, b.getI8Type());
          four = LLVM::BitcastOp::create(b, r.loc, bytes, four);
          Value pairs = pairsOfBytes(b, r.loc, ones, four);
          // What goes beyond is taken from the first byte of a pair, which has that sign, and keeps
          // it.
          Value within = arith::MinSIOp::create(
              b, r.loc, arith::MaxSIOp::create(b, r.loc, pairs, lowest), highest);
          Value beyond = arith::AndIOp::create(
              b, r.loc, arith::SubIOp::create(b, r.loc, pairs, within), lowByte);
          Value taken = LLVM::BitcastOp::create(b, r.loc, bytes, beyond);
          LLVM::StoreOp::create(b, r.loc, arith::SubIOp::create(b, r.loc, four, taken),
                                byteAddress(bounded, r.add(place, offset)), /*alignment=*/4);
          // Each is written behind the list, which is longer then or not.
          Value entry = r.add(r.constant(v * capacity), carried[v]);
          LLVM::StoreOp::create(b, r.loc, taken,
                                byteAddress(excess, r.mul(entry, r.constant(lanes * 4))),
                                /*alignment=*/4);
          storeNumber(from, excessAt, entry);
          counts.push_back(r.add(carried[v], isAny(beyond)));
          if (columnSums)
            sums.push_back(addHalves(carried[vectors + v], pairs, splatHalves(-moved)));
        }
        llvm::append_range(counts, sums);
        return counts;
      });
  for (int64_t v = 0; v < vectors; ++v)
    storeNumber(made[v], excessCounts, r.constant(v));
  for (auto [v, sum] : llvm::enumerate(ArrayRef(made).drop_front(vectors)))
    LLVM::StoreOp::create(b, r.loc, sum, byteAddress(columnSums, r.constant(v * lanes * 4)),
                          /*alignment=*/4);
}

void ByteEmitter::storeNumber(Value number, Value pointer, Value place) {
  LLVM::StoreOp::create(b, r.loc, arith::IndexCastOp::create(b, r.loc, b.getI64Type(), number),
                        byteAddress(pointer, r.mul(place, r.constant(8))), /*alignment=*/8);
}

Value ByteEmitter::loadNumber(Value pointer, Value place) {
  Value word = LLVM::LoadOp::create(b, r.loc, b.getI64Type(),
                                    byteAddress(pointer, r.mul(place, r.constant(8))),
                                    /*alignment=*/8);
  return arith::IndexCastOp::create(b, r.loc, b.getIndexType(), word);
}

Value ByteEmitter::isAny(Value halves) {
  Value zero = arith::ConstantOp::create(b, r.loc, b.getZeroAttr(halves.getType()));
  Value differs = arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::ne, halves, zero);
  Type mask = b.getIntegerType(2 * lanes);
  Value bits = LLVM::BitcastOp::create(b, r.loc, mask, differs);
  Value any = arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::ne, bits,
                                    arith::ConstantOp::create(b, r.loc, b.getIntegerAttr(mask, 0)));
  return arith::IndexCastUIOp::create(b, r.loc, b.getIndexType(), any);
}

Value ByteEmitter::leftFour(Value at) {
  Value four = LLVM::LoadOp::create(b, r.loc, b.getI32Type(), byteAddress(left.pointer, at),
                                    /*alignment=*/1);
  Value all = vector::BroadcastOp::create(b, r.loc, words(), four);
  if (columnSums)
    all = arith::XOrIOp::create(b, r.loc, all, splat(static_cast<int32_t>(0x80808080)));
  return all;
}

void ByteEmitter::addExcess(const RowPanel &rowPanel, Value base, int64_t vector,
                            MutableArrayRef<Value> sums) {
  Value entries = r.constant(vector * (depth / quad));
  Value count = loadNumber(excessCounts, r.constant(vector));
  SmallVector<Value> added =
      emitReductionLoops(r, {count}, sums, [&](ValueRange at, ValueRange carried) {
        Value entry = r.add(entries, at[0]);
        Value from = r.add(base, loadNumber(excessAt, entry));
        Value right = loadWords(excess, r.mul(entry, r.constant(lanes * 4)));
        return addToRows(rowPanel, from, right, carried);
      });
  llvm::copy(added, sums.begin());
}

SmallVector<Value> ByteEmitter::addToRows(const RowPanel &rowPanel, Value from, Value right,
                                          ValueRange sums) {
  SmallVector<Value> added;
  for (auto [row, sum] : llvm::enumerate(sums))
    added.push_back(
        addBounded(sum, leftFour(r.add(from, r.constant(offsetOf(rowPanel, row)))), right));
  return added;
}

void ByteEmitter::widenPanel(Value pointer, Value plain) {
  int64_t vectors = vectorsOfPanel();
  emitStepLoop(r, r.constant(0), r.constant(depth / quad), 1, [&](Value step) {
    Value from = r.add(plain, r.mul(step, r.constant(quad * width)));
    Value to = r.mul(step, r.constant(2 * quad * width));
    for (int64_t v = 0; v < vectors; ++v) {
      Value offset = r.constant(v * lanes * 4);
      auto [even, odd] = spread(loadWords(pointer, r.add(from, offset)), true);
      LLVM::StoreOp::create(b, r.loc, even, byteAddress(widePanel, r.add(to, offset)),
                            /*alignment=*/4);
      LLVM::StoreOp::create(
          b, r.loc, odd, byteAddress(widePanel, r.add(r.add(to, r.constant(quad * width)), offset)),
          /*alignment=*/4);
    }
  });
}

void ByteEmitter::widenRows(const RowPanel &rowPanel, Value base, int64_t rows) {
  int64_t run = loops.back().count;
  emitStepLoop(r, r.constant(0), r.constant(rows), 1, [&](Value row) {
    Value first = r.add(base, offsetOf(rowPanel, row)), target = r.mul(row, r.constant(2 * depth));
    auto copy = [&](Value from, Value to, int64_t words) {
      Value fours = LLVM::LoadOp::create(b, r.loc, VectorType::get({words}, b.getI32Type()),
                                         byteAddress(left.pointer, from), /*alignment=*/1);
      auto [even, odd] = spread(fours, isSigned);
      LLVM::StoreOp::create(b, r.loc, even, byteAddress(wideRows, to), /*alignment=*/4);
      LLVM::StoreOp::create(b, r.loc, odd, byteAddress(wideRows, r.add(to, r.constant(depth))),
                            /*alignment=*/4);
    };
    eachStep(ArrayRef(loops).drop_back(), first, target, [&](Value from, Value to) {
      int64_t whole = run / lanes * lanes;
      emitStepLoop(r, r.constant(0), r.constant(whole * quad), lanes * quad,
                   [&](Value i) { copy(r.add(from, i), r.add(to, i), lanes); });
      int64_t done = whole;
      for (int64_t words = lanes / 2; words > 0; words /= 2) {
        if (run - done < words)
          continue;
        Value at = r.constant(done * quad);
        copy(r.add(from, at), r.add(to, at), words);
        done += words;
      }
    });
  });
}

void ByteEmitter::sumByVectors(const RowPanel &rowPanel, Value base, int64_t rows) {
  int64_t vectors = vectorsOfPanel(), each = std::min(atOnce, vectors);
  if (form == Form::Wide)
    widenRows(rowPanel, base, rows);
  for (int64_t first = 0; first < vectors; first += each)
    sumOfVectors(rowPanel, base, rows, first, std::min(each, vectors - first));
}

SmallVector<Value> ByteEmitter::sumsOfWords(ArrayRef<Value> inits, int64_t rows, int64_t first,
                                            int64_t count) {
  return emitReductionLoops(
      r, {r.constant(depth / quad)}, inits, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value step = r.mul(at[0], r.constant(2 * quad * width));
        for (int64_t half = 0; half < 2; ++half) {
          SmallVector<Value> loaded;
          Value right = r.add(step, r.constant(half * quad * width));
          for (int64_t v = first; v < first + count; ++v)
            loaded.push_back(loadWords(widePanel, r.add(right, r.constant(v * lanes * 4))));
          for (int64_t row = 0; row < rows; ++row) {
            Value place =
                r.add(r.mul(at[0], r.constant(quad)), r.constant((2 * row + half) * depth));
            Value pair = LLVM::LoadOp::create(b, r.loc, b.getI32Type(),
                                              byteAddress(wideRows, place), /*alignment=*/4);
            Value all =
                LLVM::BitcastOp::create(b, r.loc, VectorType::get({lanes * 2}, b.getI16Type()),
                                        vector::BroadcastOp::create(b, r.loc, words(), pair));
            for (auto [v, columns] : llvm::enumerate(loaded))
              next[v * rows + row] =
                  addHalves(next[v * rows + row], all,
                            LLVM::BitcastOp::create(b, r.loc, all.getType(), columns));
          }
        }
        return next;
      });
}

SmallVector<Value> ByteEmitter::sumsOfBytes(const RowPanel &rowPanel, Value base,
                                            ArrayRef<Value> inits, int64_t rows, int64_t first,
                                            int64_t count) {
  return emitReductionLoops(r, sizesOfLoops(), inits, [&](ValueRange at, ValueRange carried) {
    auto [from, place] = placesOf(at, base);
    Value right = r.add(panelBase, r.mul(place, r.constant(width)));
    SmallVector<Value> loaded, next(carried);
    for (int64_t v = first; v < first + count; ++v)
      loaded.push_back(loadWords(panels, r.add(right, r.constant(v * lanes * 4))));
    fetchAhead(place, /*steps=*/1);
    for (int64_t row = 0; row < rows; ++row) {
      Value all = leftFour(r.add(from, r.constant(offsetOf(rowPanel, row))));
      for (auto [v, columns] : llvm::enumerate(loaded))
        next[v * rows + row] = addProducts(carried[v * rows + row], all, columns);
    }
    return next;
  });
}

void ByteEmitter::sumOfVectors(const RowPanel &rowPanel, Value base, int64_t rows, int64_t first,
                               int64_t count) {
  // Vector by vector.
  SmallVector<Value> inits;
  for (int64_t v = first; v < first + count; ++v)
    inits.append(rows, columnSums ? loadWords(columnSums, r.constant(v * lanes * 4)) : splat(0));
  SmallVector<Value> sums = form == Form::Wide ? sumsOfWords(inits, rows, first, count)
                            : form == Form::Paired
                                ? sumsOfPaired(rowPanel, base, inits, rows, first, count)
                                : sumsOfBytes(rowPanel, base, inits, rows, first, count);
  for (int64_t v = 0; v < count; ++v) {
    auto own = MutableArrayRef(sums).slice(v * rows, rows);
    if (form == Form::Bounded)
      addExcess(rowPanel, base, first + v, own);
    else if (form == Form::Paired)
      addListed(rowPanel, base, first + v, own);
    for (auto [row, sum] : llvm::enumerate(own)) {
      int64_t at = row * width + (first + v) * lanes;
      LLVM::StoreOp::create(b, r.loc, sum, byteAddress(scratch, r.constant(at * 4)),
                            /*alignment=*/4);
    }
  }
}

void ByteEmitter::fetchAhead(Value place, int64_t steps) {
  constexpr int64_t fewBytes = 1 << 16, lineBytes = 64;
  bool isInPlace = form == Form::Plain || form == Form::Paired;
  if (sharers < 2 || copies || !isInPlace || weights.type.getNumElements() < fewBytes)
    return;
  // A step reads two lines. Two sharers fetch one each at every step; more go on half as fast, and
  // so on, and then one of two steps is enough.
  int64_t shift = llvm::Log2_64(sharers / 2);
  for (int64_t i = 0; i < steps; i += shift ? 2 : 1) {
    Value step = r.add(r.mul(sharer, r.constant(depth)), r.add(place, r.constant(i * quad)));
    Value ahead = arith::ShRUIOp::create(b, r.loc, r.mul(step, r.constant(lineBytes / quad)),
                                         r.constant(shift));
    ahead = r.add(r.add(panelBase, r.constant(depth * width)), ahead);
    LLVM::Prefetch::create(b, r.loc, byteAddress(weights.pointer, ahead), /*rw=*/0, /*hint=*/2,
                           /*cache=*/1);
  }
}
