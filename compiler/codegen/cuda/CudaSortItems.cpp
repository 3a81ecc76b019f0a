//===- CudaSortItems.cpp - what sorts compare -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaSortItems.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

std::optional<ItemLayout> weir::itemLayout(Type element) {
  bool isFloat = element.isF16() || element.isBF16() || element.isF32() || element.isF64();
  auto integer = dyn_cast<IntegerType>(element);
  if (!isFloat && !(integer && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth())))
    return std::nullopt;
  return ItemLayout{std::max(8u, element.getIntOrFloatBitWidth())};
}

SortItems::SortItems(const CudaKernel &k, TopKOp op, ItemLayout layout)
    : k(k), r(k.reader), b(r.b), op(op), layout(layout), axis(int64_t(op.getAxis())),
      element(getElementTypeOrSelf(op.getOperand().getType())),
      keyType(b.getIntegerType(layout.keyBits)), wordType(b.getIntegerType(layout.wordBits())) {
  r.loc = op.getLoc();
}

Value SortItems::number(Type type, uint64_t value) {
  APInt bits(type.getIntOrFloatBitWidth(), value, /*isSigned=*/false, /*implicitTrunc=*/true);
  return arith::ConstantOp::create(b, r.loc, b.getIntegerAttr(type, bits));
}
Value SortItems::word(Value index) {
  return arith::IndexCastOp::create(b, r.loc, b.getI32Type(), index);
}
Value SortItems::fromWord(Value word) {
  return arith::IndexCastUIOp::create(b, r.loc, b.getIndexType(), word);
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

SortItems::Memory SortItems::sharedMemory(int64_t items) {
  Memory memory{true, r.shared(wordType, {items}), {}};
  if (layout.isWide())
    memory.numbers = r.shared(b.getI32Type(), {items});
  return memory;
}

SortItems::Memory SortItems::deviceMemory(Value pointer, Value items) {
  Memory memory{false, pointer, {}};
  if (layout.isWide())
    memory.numbers = BufferAccess::address(r, pointer, wordType, items);
  return memory;
}

Value SortItems::key(Value bits) {
  uint64_t middle = uint64_t(1) << (layout.keyBits - 1);
  Value all = number(keyType, ~uint64_t(0)), made = bits;
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && integer.getWidth() > 1 && !integer.isUnsigned()) {
    made = with<arith::XOrIOp>(bits, number(keyType, middle));
  } else if (auto real = dyn_cast<FloatType>(element)) {
    APInt largest = APFloat::getInf(real.getFloatSemantics()).bitcastToAPInt();
    Value magnitude = with<arith::AndIOp>(bits, number(keyType, middle - 1)),
          zero = number(keyType, middle);
    Value isNegative = compare(arith::CmpIPredicate::slt, bits, number(keyType, 0));
    made = arith::SelectOp::create(b, r.loc, isNegative, with<arith::SubIOp>(zero, magnitude),
                                   with<arith::AddIOp>(zero, magnitude));
    Value isNan =
        compare(arith::CmpIPredicate::ugt, magnitude, number(keyType, largest.getZExtValue()));
    made = arith::SelectOp::create(b, r.loc, isNan, all, made);
  }
  return op.getLargest() ? with<arith::XOrIOp>(made, all) : made;
}

SortItems::Item SortItems::itemOf(ValueRange at, Value index) {
  Value bits = BufferAccess::toStorage(r, r.element(op.getOperand(), at), element);
  if (bits.getType() != keyType)
    bits = arith::BitcastOp::create(b, r.loc, keyType, bits);
  Value made = key(bits), place = word(index);
  if (layout.isWide())
    return {made, place};
  auto widen = [&](Value value) {
    return value.getType() == wordType
               ? value
               : arith::ExtUIOp::create(b, r.loc, wordType, value).getResult();
  };
  Value above = with<arith::ShLIOp>(widen(made), number(wordType, layout.indexBits()));
  return {with<arith::OrIOp>(above, widen(place)), place};
}

SortItems::Item SortItems::noItem() {
  return {number(wordType, ~uint64_t(0)), number(b.getI32Type(), ~uint64_t(0))};
}

static Value loadNumber(CudaReader &r, bool isShared, Value memory, Type type, Value place) {
  if (isShared)
    return memref::LoadOp::create(r.b, r.loc, memory, ValueRange{place});
  return LLVM::LoadOp::create(r.b, r.loc, type, BufferAccess::address(r, memory, type, place));
}

static void storeNumber(CudaReader &r, bool isShared, Value memory, Value number, Value place) {
  if (isShared)
    memref::StoreOp::create(r.b, r.loc, number, memory, ValueRange{place});
  else
    LLVM::StoreOp::create(r.b, r.loc, number,
                          BufferAccess::address(r, memory, number.getType(), place));
}

SortItems::Item SortItems::loadItem(const Memory &memory, Value place) {
  Type i32 = b.getI32Type();
  Value item = loadNumber(r, memory.isShared, memory.items, wordType, place);
  if (layout.isWide())
    return {item, loadNumber(r, memory.isShared, memory.numbers, i32, place)};
  if (layout.indexBits() == 32)
    return {item, arith::TruncIOp::create(b, r.loc, i32, item)};
  return {item, with<arith::AndIOp>(item, number(i32, 0xffff))};
}

void SortItems::storeItem(const Memory &memory, Value place, const Item &item) {
  storeNumber(r, memory.isShared, memory.items, item.first, place);
  if (layout.isWide())
    storeNumber(r, memory.isShared, memory.numbers, item.second, place);
}

Value SortItems::isBehind(const Item &a, const Item &c) {
  Value behind = compare(arith::CmpIPredicate::ugt, a.first, c.first);
  if (!layout.isWide())
    return behind;
  Value tie = compare(arith::CmpIPredicate::eq, a.first, c.first),
        later = compare(arith::CmpIPredicate::ugt, a.second, c.second);
  return with<arith::OrIOp>(behind, with<arith::AndIOp>(tie, later));
}

SortItems::Item SortItems::choose(Value condition, function_ref<Item()> onTrue,
                                  function_ref<Item()> onFalse) {
  auto branch = scf::IfOp::create(b, r.loc, {wordType, b.getI32Type()}, condition, true);
  auto fill = [&](Block *block, function_ref<Item()> make) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    Item item = make();
    scf::YieldOp::create(b, r.loc, ValueRange{item.first, item.second});
  };
  fill(branch.thenBlock(), onTrue);
  fill(branch.elseBlock(), onFalse);
  return {branch.getResult(0), branch.getResult(1)};
}

SmallVector<Value> SortItems::elementAt(ArrayRef<Value> outer, Value i) {
  SmallVector<Value> at(outer);
  at.insert(at.begin() + axis, i);
  return at;
}

void SortItems::storeResults(ArrayRef<Value> outer, Value index, ValueRange at) {
  const KernelBuilder::Buffer values = r.bufferOf(op.getValues()),
                              indices = r.bufferOf(op.getIndices());
  r.store(r.element(op.getOperand(), elementAt(outer, index)), values, at);
  r.store(arith::IndexCastOp::create(b, r.loc, computeType(indices.type.getElementType()), index),
          indices, at);
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

/// A loop of i32 over [begin, end) by `step`.
void SortItems::forWords(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, r.loc, begin, end, number(b.getI32Type(), uint64_t(step)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void SortItems::sort(const Memory &memory, const Network &n) {
  Type i32 = b.getI32Type();
  Value zero = number(i32, 0), one = number(i32, 1);
  forWords(n.first, n.end, 1, [&](Value level) {
    Value half = with<arith::ShLIOp>(one, level);
    forWords(zero, with<arith::AddIOp>(level, one), 1, [&](Value step) {
      Value distance = with<arith::ShRUIOp>(half, step);
      Value mirror = with<arith::SubIOp>(with<arith::AddIOp>(half, half), one);
      Value isFirst = compare(arith::CmpIPredicate::eq, step, zero);
      if (n.mirrors)
        isFirst = with<arith::AndIOp>(isFirst, n.mirrors);
      Value across = arith::SelectOp::create(b, r.loc, isFirst, mirror, distance);
      forWords(n.lane, number(i32, uint64_t(n.pairs)), n.each,
               [&](Value pair) { orderPair(memory, n, pair, distance, across); });
      r.barrier();
    });
  });
}

/// Brings the `pair`-th two items into order: the first has no bit of `distance`,
/// and the second one's number differs in the bits of `across`.
void SortItems::orderPair(const Memory &memory, const Network &n, Value pair, Value distance,
                          Value across) {
  Value below = with<arith::AndIOp>(pair, with<arith::SubIOp>(distance, number(b.getI32Type(), 1)));
  Value low = with<arith::SubIOp>(with<arith::AddIOp>(pair, pair), below);
  Value high = with<arith::XOrIOp>(low, across);
  Value inside = compare(arith::CmpIPredicate::ult, high, n.count);
  r.onlyIf(n.exists ? r.logicalAnd(n.exists, inside) : inside, [&] {
    Value front = r.add(n.begin, fromWord(low)), back = r.add(n.begin, fromWord(high));
    Item a = loadItem(memory, front), c = loadItem(memory, back);
    r.onlyIf(isBehind(a, c), [&] {
      storeItem(memory, front, c);
      storeItem(memory, back, a);
    });
  });
}
