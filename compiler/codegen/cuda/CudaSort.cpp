//===- CudaSort.cpp - lines in order ---------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block has a line of the axis, or several short ones, in shared memory: of
// each element a key, a number whose order is the elements', and its index. The
// network is K. E. Batcher's bitonic one (1968), in the form whose comparisons
// all put the lesser item first: a merge begins with pairs that mirror each
// other, and goes on with halved distances. So a line that is no power of two
// long can be taken for one that ends in items beyond all others. These never
// move, and need neither memory nor comparisons.
//
// No two items are equal, because indices differ, so any way to sort them is
// stable, and gives the host's results. Keys are made as
// runtime/kernels/ordering.cpp makes them: every NaN is the largest number, both
// zeros are equal. Values are read again by index, with all of their bits.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaSort.h"
#include "dialects/weir/Pch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weir;

namespace {

/// What a block may have of shared memory without being asked for more.
constexpr int64_t sharedBytes = 48 << 10;
constexpr int64_t mostThreads = 1024, fewThreads = 128;

/// Key and index as they lie in memory: one integer, or, of `keyBits` = 64, two.
struct ItemLayout {
  unsigned keyBits; ///< as many as the element has in memory
  bool isWide() const { return keyBits == 64; }
  /// Bits of the index, below the key.
  unsigned indexBits() const { return keyBits == 32 ? 32 : 16; }
  unsigned wordBits() const { return keyBits < 32 ? 32 : 64; }
  int64_t bytes() const { return wordBits() / 8 + (isWide() ? 4 : 0); }
  int64_t mostElements() const { return sharedBytes / bytes(); }
};

std::optional<ItemLayout> layoutOf(Type element) {
  bool isFloat = element.isF16() || element.isBF16() || element.isF32() || element.isF64();
  auto integer = dyn_cast<IntegerType>(element);
  if (!isFloat && !(integer && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth())))
    return std::nullopt;
  return ItemLayout{std::max(8u, element.getIntOrFloatBitWidth())};
}

class SortEmitter {
public:
  SortEmitter(const CudaKernel &k, TopKOp op)
      : k(k), r(k.reader), b(r.b), op(op), element(getElementTypeOrSelf(op.getOperand().getType())),
        layout(*layoutOf(element)), axis(int64_t(op.getAxis())) {
    r.loc = op.getLoc();
    size = cast<RankedTensorType>(op.getOperand().getType()).getDimSize(axis);
    keyType = b.getIntegerType(layout.keyBits);
    wordType = b.getIntegerType(layout.wordBits());
  }

  void emit() {
    placeLine();
    alongLine(size, [&](Value i) { storeItem(shared(i), key(bits(i)), word(i)); });
    r.barrier();
    sort();
    const KernelBuilder::Buffer values = r.bufferOf(op.getValues()),
                                indices = r.bufferOf(op.getIndices());
    alongLine(values.type.getDimSize(axis), [&](Value i) {
      Value index = fromWord(loadItem(shared(i)).second);
      r.store(r.element(op.getOperand(), elementAt(index)), values, elementAt(i));
      r.store(
          arith::IndexCastOp::create(b, r.loc, computeType(indices.type.getElementType()), index),
          indices, elementAt(i));
    });
  }

private:
  using Item = std::pair<Value, Value>; ///< key and index (i32); or all, and the index

  Value number(Type type, uint64_t value) {
    APInt bits(type.getIntOrFloatBitWidth(), value, /*isSigned=*/false, /*implicitTrunc=*/true);
    return arith::ConstantOp::create(b, r.loc, b.getIntegerAttr(type, bits));
  }
  Value word(Value index) { return arith::IndexCastOp::create(b, r.loc, b.getI32Type(), index); }
  Value fromWord(Value word) {
    return arith::IndexCastUIOp::create(b, r.loc, b.getIndexType(), word);
  }
  template <typename Op> Value with(Value a, Value c) { return Op::create(b, r.loc, a, c); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value c) {
    return arith::CmpIOp::create(b, r.loc, predicate, a, c);
  }
  Value widen(Type type, Value value) {
    return value.getType() == type ? value
                                   : arith::ExtUIOp::create(b, r.loc, type, value).getResult();
  }

  //===--------------------------------------------------------------------===//
  // Lines
  //===--------------------------------------------------------------------===//

  /// Shapes the launch: `each` threads a line, of which a block has `lines`.
  void placeLine() {
    pairs = int64_t(llvm::PowerOf2Ceil(uint64_t(size))) / 2;
    each = std::clamp<int64_t>(pairs, 1, mostThreads);
    int64_t lines = std::max<int64_t>(1, fewThreads / each);
    k.shape.threads = lines * each;
    LaunchShape::Axis all;
    SmallVector<Value> dims;
    for (int64_t i = 0; i < k.first().type.getRank(); ++i)
      if (i != axis) {
        all.dims.push_back(i);
        dims.push_back(k.first().dims[size_t(i)]);
      }
    all.divisor = lines;
    k.shape.axes = {all};

    Value thread = r.threadId(), own = r.divide(thread, r.constant(each)),
          line = r.add(r.mul(r.blockId(), r.constant(lines)), own), count = r.constant(1);
    lane = r.remainder(thread, r.constant(each));
    first = r.mul(own, r.constant(size));
    for (Value dim : dims)
      count = r.mul(count, dim);
    exists = r.less(line, count);
    outer = r.delinearize(line, dims);
    items = r.shared(wordType, {lines * size});
    if (layout.isWide())
      numbers = r.shared(b.getI32Type(), {lines * size});
  }

  /// The threads of a line that exists take turns over [0, count).
  void alongLine(int64_t count, function_ref<void(Value)> body) {
    r.onlyIf(exists, [&] {
      auto loop = scf::ForOp::create(b, r.loc, lane, r.constant(count), r.constant(each));
      b.setInsertionPointToStart(loop.getBody());
      body(loop.getInductionVar());
    });
  }

  SmallVector<Value> elementAt(Value i) {
    SmallVector<Value> at(outer);
    at.insert(at.begin() + axis, i);
    return at;
  }
  /// The place of item `i` of the line.
  Value shared(Value i) { return r.add(first, i); }

  //===--------------------------------------------------------------------===//
  // Items
  //===--------------------------------------------------------------------===//

  Value bits(Value i) {
    Value value = BufferAccess::toStorage(r, r.element(op.getOperand(), elementAt(i)), element);
    return value.getType() == keyType
               ? value
               : arith::BitcastOp::create(b, r.loc, keyType, value).getResult();
  }

  Value key(Value bits) {
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

  void storeItem(Value place, Value key, Value index) {
    if (layout.isWide()) {
      memref::StoreOp::create(b, r.loc, key, items, ValueRange{place});
      memref::StoreOp::create(b, r.loc, index, numbers, ValueRange{place});
      return;
    }
    Value above = with<arith::ShLIOp>(widen(wordType, key), number(wordType, layout.indexBits()));
    Value item = with<arith::OrIOp>(above, widen(wordType, index));
    memref::StoreOp::create(b, r.loc, item, items, ValueRange{place});
  }

  /// What orders an item, and its index.
  Item loadItem(Value place) {
    Value item = memref::LoadOp::create(b, r.loc, items, ValueRange{place});
    if (layout.isWide())
      return {item, memref::LoadOp::create(b, r.loc, numbers, ValueRange{place})};
    Type i32 = b.getI32Type();
    if (layout.indexBits() == 32)
      return {item, arith::TruncIOp::create(b, r.loc, i32, item)};
    return {item, with<arith::AndIOp>(item, number(i32, 0xffff))};
  }

  Value isBehind(const Item &a, const Item &c) {
    Value behind = compare(arith::CmpIPredicate::ugt, a.first, c.first);
    if (!layout.isWide())
      return behind;
    Value tie = compare(arith::CmpIPredicate::eq, a.first, c.first),
          later = compare(arith::CmpIPredicate::ugt, a.second, c.second);
    return with<arith::OrIOp>(behind, with<arith::AndIOp>(tie, later));
  }

  //===--------------------------------------------------------------------===//
  // The network
  //===--------------------------------------------------------------------===//

  /// A loop of i32 over [begin, end) by `step`.
  void forWords(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, r.loc, begin, end, number(b.getI32Type(), uint64_t(step)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void sort() {
    if (size == 1)
      return;
    Type i32 = b.getI32Type();
    Value zero = number(i32, 0), one = number(i32, 1), lane32 = word(lane);
    forWords(zero, number(i32, llvm::Log2_64_Ceil(uint64_t(size))), 1, [&](Value level) {
      Value half = with<arith::ShLIOp>(one, level);
      forWords(zero, with<arith::AddIOp>(level, one), 1, [&](Value step) {
        Value distance = with<arith::ShRUIOp>(half, step);
        Value mirror = with<arith::SubIOp>(with<arith::AddIOp>(half, half), one);
        Value isFirst = compare(arith::CmpIPredicate::eq, step, zero);
        Value across = arith::SelectOp::create(b, r.loc, isFirst, mirror, distance);
        forWords(lane32, number(i32, uint64_t(pairs)), each,
                 [&](Value pair) { orderPair(pair, distance, across); });
        r.barrier();
      });
    });
  }

  /// Brings the `pair`-th two items into order: the first has no bit of `distance`,
  /// and the second one's number differs in the bits of `across`.
  void orderPair(Value pair, Value distance, Value across) {
    Value below =
        with<arith::AndIOp>(pair, with<arith::SubIOp>(distance, number(b.getI32Type(), 1)));
    Value low = with<arith::SubIOp>(with<arith::AddIOp>(pair, pair), below);
    Value high = with<arith::XOrIOp>(low, across);
    Value inside = compare(arith::CmpIPredicate::ult, high, number(b.getI32Type(), uint64_t(size)));
    r.onlyIf(r.logicalAnd(exists, inside), [&] {
      Value front = shared(fromWord(low)), back = shared(fromWord(high));
      Item a = loadItem(front), c = loadItem(back);
      r.onlyIf(isBehind(a, c), [&] {
        exchange(front, c);
        exchange(back, a);
      });
    });
  }

  void exchange(Value place, const Item &item) {
    memref::StoreOp::create(b, r.loc, item.first, items, ValueRange{place});
    if (layout.isWide())
      memref::StoreOp::create(b, r.loc, item.second, numbers, ValueRange{place});
  }

  const CudaKernel &k;
  CudaReader &r;
  OpBuilder &b;
  TopKOp op;
  Type element, keyType, wordType;
  ItemLayout layout;
  int64_t axis, size, pairs = 0, each = 0;
  Value lane, first, exists; ///< of the thread in its line; see placeLine
  SmallVector<Value> outer;  ///< the line's indices, without the axis
  Value items, numbers;
};

} // namespace

std::string weir::whyNotSort(TopKOp sort) {
  auto operand = cast<RankedTensorType>(sort.getOperand().getType()),
       result = cast<RankedTensorType>(sort.getValues().getType());
  int64_t axis = int64_t(sort.getAxis()), size = operand.getDimSize(axis),
          count = result.getDimSize(axis);
  std::optional<ItemLayout> layout = layoutOf(operand.getElementType());
  if (!layout)
    return "sorts elements of a type that has no GPU kernel";
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(count))
    return "sorts lines, or takes a part of them, whose length the model leaves open";
  if (size == 0)
    return "sorts lines without elements";
  if (size > layout->mostElements())
    return "sorts lines of " + std::to_string(size) + " elements, and a block holds " +
           std::to_string(layout->mostElements());
  // The host's order is that of a heap.
  if (!sort.getSorted() && count > 1 && count < size)
    return "takes the first of each line in no order";
  return "";
}

bool weir::emitSort(const CudaKernel &k) {
  auto sorts = k.body().getOps<TopKOp>();
  if (sorts.empty())
    return false;
  SortEmitter(k, *sorts.begin()).emit();
  return true;
}
