//===- CudaScatter.cpp - writing where data says ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block has a tile of the result, and each element of that one thread, which
// alone reads and writes it. All blocks go along the indices, a chunk at a
// time: a thread looks at one update, and those that fall into the tile go into
// a list in shared memory, in their order (a warp's by a ballot, warps behind
// each other by the sums of their counts). Then each thread goes through the
// list and applies what is its own. So updates of an element follow each other
// as the operation says, sums of floats have one order, and nothing is atomic.
//
// There are two forms. Lines: updates are slices of many elements, and all
// threads take part in each, vectors of neighbours at a time. Elements: an
// update is one element, and is read by the thread that found it.
//
// Every index is read once for each tile, from the second-level cache for all
// but the first: of 4,096 lines that go into 30,000, tiles of 30 lines read 33
// MB of indices beside 180 of what is copied.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "compiler/codegen/kernel/ScatterParts.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t fewColumns = 32; ///< of a slice: fewer are updates of their own
constexpr int64_t wantedBlocks = 1024, mostLines = 64, mostElements = 16, openLines = 16,
                  openElements = 4;

/// The product of sizes that are known; negative: one is not.
int64_t knownProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product = product < 0 || ShapedType::isDynamic(size) ? -1 : product * size;
  return product;
}

class ScatterEmitter {
public:
  ScatterEmitter(const CudaKernel &k, Operation *op)
      : k(k), r(k.reader), b(r.b), op(op), nd(dyn_cast<ScatterNdOp>(op)), target(k.first()),
        element(target.type.getElementType()), operand(op->getOperand(0)),
        indices(op->getOperand(1)), updates(op->getOperand(2)) {
    r.loc = op->getLoc();
    reduction = nd ? nd.getReduction() : cast<ScatterElementsOp>(op).getReduction();
    depth =
        nd ? cast<RankedTensorType>(indices.getType()).getShape().back() : target.type.getRank();
  }

  void emit() {
    isInPlace = bool(k.kernel.getInPlaceAttr());
    sliceSize = knownProduct(target.type.getShape().drop_front(depth));
    if (nd && (sliceSize < 0 || sliceSize >= fewColumns))
      emitRowReduction();
    else
      emitElements();
  }

private:
  Value index(int64_t value) { return r.constant(value); }
  Value product(ValueRange sizes) {
    Value all = index(1);
    for (Value size : sizes)
      all = r.mul(all, size);
    return all;
  }
  Value word(Value of) { return arith::IndexCastOp::create(b, r.loc, b.getI32Type(), of); }
  Value fromWord(Value of) { return arith::IndexCastUIOp::create(b, r.loc, b.getIndexType(), of); }

  /// A loop over [begin, end) by `step`.
  void forRange(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, r.loc, begin, end, index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void place(int64_t count, LaunchShape::Axis first, std::optional<LaunchShape::Axis> second) {
    threads = count;
    k.shape.threads = threads;
    k.shape.axes = {std::move(first)};
    if (second)
      k.shape.axes.push_back(std::move(*second));
    thread = r.threadId();
    block = r.delinearize(r.blockId(), r.axisBlocks(k.shape, target.dims));
    Type i32 = b.getI32Type();
    numbers = r.shared(i32, {threads});
    places = r.shared(i32, {threads});
    counts = r.shared(i32, {threads / warpThreads});
  }

  /// Goes along `count` updates. `find` gets the number of one, and returns
  /// where it goes within the tile and whether it does; `apply` gets those of
  /// the tile, in their order: the entry of the list, the update's number, and
  /// where it goes.
  void alongUpdates(Value count, function_ref<std::pair<Value, Value>(Value number)> find,
                    function_ref<void(Value entry, Value number, Value place)> apply) {
    forRange(index(0), count, threads, [&](Value first) {
      Value number = r.add(first, thread), exists = r.less(number, count);
      auto [place, inside] = find(r.minimum(number, r.sub(count, index(1))));
      Value total = list(r.logicalAnd(exists, inside), place);
      forRange(index(0), total, 1, [&](Value i) {
        Value inChunk = fromWord(memref::LoadOp::create(b, r.loc, numbers, ValueRange{i}));
        Value at = fromWord(memref::LoadOp::create(b, r.loc, places, ValueRange{i}));
        apply(i, r.add(first, inChunk), at);
      });
      r.barrier();
    });
  }

  /// Puts the threads whose update is `wanted` into the list, in their order.
  /// Returns how many there are.
  Value list(Value wanted, Value place) {
    Type i32 = b.getI32Type();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, r.loc, i32, value);
    };
    Value all =
        NVVM::VoteSyncOp::create(b, r.loc, i32, number(-1), wanted, NVVM::VoteSyncKind::ballot);
    Value lane = r.remainder(thread, index(warpThreads)),
          warp = r.divide(thread, index(warpThreads));
    Value below = arith::SubIOp::create(
        b, r.loc, arith::ShLIOp::create(b, r.loc, number(1), word(lane)), number(1));
    Value before = math::CtPopOp::create(b, r.loc, arith::AndIOp::create(b, r.loc, all, below));
    Value own = math::CtPopOp::create(b, r.loc, all);
    r.onlyIf(r.equal(lane, index(0)),
             [&] { memref::StoreOp::create(b, r.loc, own, counts, ValueRange{warp}); });
    r.barrier();
    Value total = number(0), slot = before;
    for (int64_t i = 0; i < threads / warpThreads; ++i) {
      Value count = memref::LoadOp::create(b, r.loc, counts, ValueRange{index(i)});
      Value ahead = arith::SelectOp::create(b, r.loc, r.less(index(i), warp), count, number(0));
      slot = arith::AddIOp::create(b, r.loc, slot, ahead);
      total = arith::AddIOp::create(b, r.loc, total, count);
    }
    r.onlyIf(wanted, [&] {
      Value at = fromWord(slot);
      memref::StoreOp::create(b, r.loc, word(thread), numbers, ValueRange{at});
      memref::StoreOp::create(b, r.loc, word(place), places, ValueRange{at});
      if (values)
        memref::StoreOp::create(b, r.loc, BufferAccess::toStorage(r, found(), element), values,
                                ValueRange{at});
    });
    r.barrier();
    return fromWord(total);
  }

  /// The line that a tuple of indices says, and whether there is one.
  std::pair<Value, Value> lineOf(ArrayRef<Value> tuple) {
    Value line = index(0), inside;
    for (int64_t i = 0; i < depth; ++i) {
      SmallVector<Value> at(tuple);
      at.push_back(index(i));
      Value one = scatterIndex(r, op, indices, at, target.dims[i], nd.getWrapNegative(),
                               nd.getDropOutOfBounds(), inside);
      line = r.add(r.mul(line, target.dims[i]), one);
    }
    if (!inside)
      inside = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
    return {line, inside};
  }
  SmallVector<Value> tupleSizes() {
    SmallVector<Value> sizes = r.dims(indices);
    sizes.pop_back();
    return sizes;
  }
  ArrayRef<Value> sliceSizes() { return ArrayRef(target.dims).drop_front(depth); }

  /// Brings the operand's elements into the tile by `copy`, where `wanted` (null: always), unless
  /// they are there: the plan has the result over the operand, or the caller a fetch over a feed.
  void copyOperand(Value wanted, function_ref<void()> copy) {
    if (isInPlace)
      return;
    if (isa<BlockArgument>(operand)) {
      auto address = [&](Value pointer) -> Value {
        return LLVM::PtrToIntOp::create(b, r.loc, b.getI64Type(), pointer);
      };
      Value isElsewhere =
          arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::ne,
                                address(r.bufferOf(operand).pointer), address(target.pointer));
      wanted = wanted ? r.logicalAnd(wanted, isElsewhere) : isElsewhere;
    }
    wanted ? r.onlyIf(wanted, copy) : copy();
  }

  /// Whether `place` lies in [first, first + size).
  Value isWithin(Value place, Value first, Value size) {
    return arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::ult, r.sub(place, first), size);
  }

  //===--------------------------------------------------------------------===//
  // Lines
  //===--------------------------------------------------------------------===//

  void emitRowReduction() {
    int64_t bytes = elementBytes(element), rank = target.type.getRank();
    bool isPlain = !isa<ComplexType>(element) && isLeafOrSplat(operand);
    lanes = isPlain && sliceSize > 0 ? std::clamp<int64_t>(16 / bytes, 1, 8) : 1;
    while (lanes > 1 && sliceSize % lanes)
      lanes /= 2;
    int64_t each =
        sliceSize < 0
            ? 256
            : std::clamp<int64_t>(llvm::alignTo(llvm::divideCeil(sliceSize, lanes), warpThreads),
                                  64, 256);
    int64_t lines = knownProduct(target.type.getShape().take_front(depth));
    int64_t across = sliceSize < 0 ? 1 : llvm::divideCeil(sliceSize, each * lanes);
    int64_t atOnce = lines < 0 ? openLines
                               : std::clamp<int64_t>(llvm::divideCeil(lines * across, wantedBlocks),
                                                     1, mostLines);
    place(each, {llvm::to_vector(llvm::seq<int64_t>(0, depth)), atOnce},
          LaunchShape::Axis{llvm::to_vector(llvm::seq<int64_t>(depth, rank)), each * lanes});
    Value width = product(sliceSizes());
    Value column = r.add(r.mul(block[1], index(each * lanes)), r.mul(thread, index(lanes)));
    Value hasColumn = r.less(column, width);
    Value safeColumn = r.minimum(column, r.sub(width, index(lanes)));
    for (int64_t i = 0; i < lanes; ++i)
      columns.push_back(r.delinearize(r.add(safeColumn, index(i)), sliceSizes()));
    Value first = r.mul(block[0], index(atOnce));
    Value end =
        r.minimum(r.add(first, index(atOnce)), product(ArrayRef(target.dims).take_front(depth)));
    auto linearOf = [&](Value line) { return r.add(r.mul(line, width), safeColumn); };
    copyOperand(hasColumn, [&] {
      forRange(first, end, 1, [&](Value line) {
        SmallVector<Value> at = r.delinearize(line, ArrayRef(target.dims).take_front(depth));
        copyNeighbours(at, linearOf(line));
      });
    });
    SmallVector<Value> tuples = tupleSizes();
    alongUpdates(
        product(tuples),
        [&](Value number) -> std::pair<Value, Value> {
          auto [line, inside] = lineOf(r.delinearize(number, tuples));
          return {r.sub(line, first),
                  r.logicalAnd(inside, isWithin(line, first, r.sub(end, first)))};
        },
        [&](Value, Value number, Value line) {
          r.onlyIf(hasColumn, [&] {
            update(r.delinearize(number, tuples), linearOf(number), linearOf(r.add(first, line)));
          });
        });
  }

  static bool isLeafOrSplat(Value tensor) {
    ElementsAttr constant = constantElements(tensor);
    return isa<BlockArgument>(tensor) || (constant && constant.isSplat());
  }

  SmallVector<Value> withColumn(ArrayRef<Value> before, int64_t lane) const {
    SmallVector<Value> at(before);
    llvm::append_range(at, columns[size_t(lane)]);
    return at;
  }

  /// The operand's neighbours at `line`, as they are.
  void copyNeighbours(ArrayRef<Value> line, Value linear) {
    if (lanes > 1 && isa<BlockArgument>(operand))
      r.readTogether(operand, linear, lanes);
    store(linear, withColumn(line, 0),
          [&](int64_t lane) { return r.element(operand, withColumn(line, lane)); });
  }

  /// Writes `valueOf` each neighbour from `linear` on.
  void store(Value linear, ValueRange at, function_ref<Value(int64_t)> valueOf) {
    if (lanes == 1)
      return r.store(valueOf(0), target, at);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      r.setLane(lane);
      r.store(valueOf(lane), target, at);
    }
    r.setLane(-1);
    r.writeTogether(linear);
  }

  /// Applies update `tuple`, whose neighbours lie from `from` on, to those from
  /// `to` on.
  void update(ArrayRef<Value> tuple, Value from, Value to) {
    SmallVector<Value> old;
    old.resize(size_t(lanes));
    if (lanes == 1) {
      if (reduction != "none")
        old[0] = BufferAccess::load(r, target.pointer, element, to);
      Value value = r.element(updates, withColumn(tuple, 0));
      BufferAccess::store(r, scatterCombined(r, op, reduction, element, old[0], value),
                          target.pointer, element, to);
      return;
    }
    auto type = cast<RankedTensorType>(updates.getType());
    for (Value leaf : k.leaves)
      if (leaf == updates)
        r.readTogether(leaf, from, lanes);
      else if (leaf != operand && leaf != indices)
        if (Value linear = neighboursIn(r, leaf, type, withColumn(tuple, 0)))
          r.readTogether(leaf, linear, lanes);
    if (reduction != "none")
      old = r.neighbours(target, to, lanes);
    store(to, {}, [&](int64_t lane) {
      Value value = r.element(updates, withColumn(tuple, lane));
      Value before = old[size_t(lane)];
      if (before)
        before = BufferAccess::fromStorage(r, before, element);
      return scatterCombined(r, op, reduction, element, before, value);
    });
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  void emitElements() {
    constexpr int64_t each = 256;
    int64_t rank = target.type.getRank(), known = knownProduct(target.type.getShape());
    int64_t atOnce = known < 0 ? openElements
                               : std::clamp<int64_t>(llvm::divideCeil(known, wantedBlocks * each),
                                                     1, mostElements);
    place(each, {llvm::to_vector(llvm::seq<int64_t>(0, rank)), each * atOnce}, std::nullopt);
    Value count = product(target.dims), tile = index(each * atOnce);
    Value first = r.mul(block[0], tile);
    copyOperand({}, [&] {
      for (int64_t i = 0; i < atOnce; ++i) {
        Value own = r.add(r.add(first, index(i * each)), thread);
        r.onlyIf(r.less(own, count), [&] {
          SmallVector<Value> at = r.delinearize(own, target.dims);
          r.store(r.element(operand, at), target, at);
        });
      }
    });
    // Complex numbers have no one value in memory: who applies them reads them.
    if (!isa<ComplexType>(element))
      values = r.shared(BufferAccess::storageType(element), {each});
    SmallVector<Value> sizes = nd ? tupleSizes() : r.dims(indices);
    if (nd)
      llvm::append_range(sizes, sliceSizes());
    alongUpdates(
        product(sizes),
        [&](Value number) -> std::pair<Value, Value> {
          SmallVector<Value> at = r.delinearize(number, sizes);
          found = [this, at] { return r.element(updates, at); };
          auto [place, inside] = elementOf(at);
          return {r.sub(place, first), r.logicalAnd(inside, isWithin(place, first, tile))};
        },
        [&](Value entry, Value number, Value place) {
          r.onlyIf(r.equal(r.remainder(place, index(each)), thread), [&] {
            Value to = r.add(first, place), old, value;
            if (reduction != "none")
              old = BufferAccess::load(r, target.pointer, element, to);
            if (values)
              value = BufferAccess::fromStorage(
                  r, memref::LoadOp::create(b, r.loc, values, ValueRange{entry}), element);
            else
              value = r.element(updates, r.delinearize(number, sizes));
            BufferAccess::store(r, scatterCombined(r, op, reduction, element, old, value),
                                target.pointer, element, to);
          });
        });
  }

  /// Where an update of one element goes, and whether it does.
  std::pair<Value, Value> elementOf(ArrayRef<Value> at) {
    Value inside;
    if (nd) {
      int64_t tuple = int64_t(at.size()) - (target.type.getRank() - depth);
      auto [line, exists] = lineOf(at.take_front(tuple));
      Value place = line;
      for (auto [size, i] : llvm::zip(sliceSizes(), at.drop_front(tuple)))
        place = r.add(r.mul(place, size), i);
      return {place, exists};
    }
    auto scatter = cast<ScatterElementsOp>(op);
    SmallVector<Value> where(at);
    int64_t axis = scatter.getAxis();
    where[axis] = scatterIndex(r, op, indices, at, target.dims[axis], scatter.getWrapNegative(),
                               false, inside);
    return {r.linearIndex(target, where), arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true))};
  }

  const CudaKernel &k;
  CudaReader &r;
  OpBuilder &b;
  Operation *op;
  ScatterNdOp nd; ///< null: a ScatterElementsOp
  const KernelBuilder::Buffer target;
  Type element;
  Value operand, indices, updates;
  StringRef reduction;
  int64_t depth = 0, sliceSize = 0, threads = 0, lanes = 1;
  bool isInPlace = false;
  Value thread;
  SmallVector<Value> block;                ///< the block's number along each axis
  SmallVector<SmallVector<Value>> columns; ///< of lines: indices of the thread's columns
  Value numbers, places, counts;           ///< the list, and how many each warp adds
  Value values;                            ///< of the list's updates; null: not kept
  std::function<Value()> found;            ///< reads the update that a thread has found
};

} // namespace

bool weir::emitScatter(const CudaKernel &k) {
  Operation *op = k.results().front().getDefiningOp();
  if (!isa<ScatterNdOp, ScatterElementsOp>(op))
    return false;
  ScatterEmitter(k, op).emit();
  return true;
}
