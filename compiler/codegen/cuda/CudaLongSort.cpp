//===- CudaLongSort.cpp - lines that no block holds ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The network of CudaSortItems.h over the GPU's memory. `run` sorts stretches of a line, as many
// items as a block has room for, and leaves all, or the first of each: where few of a line are
// wanted, the first of all stretches are a shorter line, which is sorted in turn. Otherwise
// merges follow: their steps between items that are far apart are `merge` and `merges` (of three
// halved distances at once, which reads and writes items a third as often), the rest is `run`'s
// again. The kernel itself reads values by index. The host counts launches, from sizes alone
// (weir_cuda_sort).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaSort.h"
#include "compiler/codegen/cuda/CudaSortItems.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/cuda.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t runElements = 4096, runLevels = 12, runThreads = 1024, otherThreads = 256;
static_assert(1 << runLevels == runElements);
/// Steps of `merges`.
constexpr int64_t manySteps = 3;

class LongSort : public SortItems {
public:
  LongSort(const CudaKernel &k, TopKOp op, ItemLayout layout, ValueRange parameters)
      : SortItems(k, op, layout) {
    for (Value parameter : parameters)
      given.push_back(
          parameter.getType().isInteger(64)
              ? arith::IndexCastOp::create(b, r.loc, b.getIndexType(), parameter).getResult()
              : parameter);
    const KernelBuilder::Buffer &first = k.first();
    lines = r.constant(1);
    for (int64_t i = 0; i < first.type.getRank(); ++i)
      if (i != axis) {
        outerSizes.push_back(first.dims[size_t(i)]);
        lines = r.mul(lines, outerSizes.back());
      }
  }

  /// Parameters: where items are and go, how many a line has and will have, how many are left of
  /// a stretch, weir_cuda_sort_mode.
  void emitRun() {
    k.shape.threads = runThreads;
    Value size = given[2], target = given[3], keep = given[4], mode = given[5];
    Value run = r.constant(runElements), one = r.constant(1),
          runs = r.divide(r.add(size, r.sub(run, one)), run), line = r.divide(r.blockId(), runs),
          own = r.remainder(r.blockId(), runs), begin = r.mul(own, run),
          count = r.minimum(run, r.sub(size, begin)), thread = r.threadId();
    Memory from = deviceMemory(given[0], r.mul(lines, size)),
           to = deviceMemory(given[1], r.mul(lines, target)), items = sharedMemory(runElements);
    SmallVector<Value> outer = r.delinearize(line, outerSizes);
    Value ofItems = r.equal(r.remainder(mode, r.constant(2)), one), finishes = r.less(one, mode);
    take(count, [&](Value i) {
      Value place = r.add(begin, i);
      storeItem(items, i,
                choose(
                    ofItems, [&] { return loadItem(from, r.add(r.mul(line, size), place)); },
                    [&] { return itemOf(elementAt(outer, place), place); }));
    });
    r.barrier();
    Type i32 = b.getI32Type();
    Value first = arith::SelectOp::create(b, r.loc, finishes, number(i32, runLevels - 1),
                                          number(i32, 0)),
          mirrors = with<arith::XOrIOp>(finishes, number(b.getI1Type(), 1));
    sort(items, {first, number(i32, runLevels), mirrors, r.constant(0), word(count), word(thread),
                 Value(), runElements / 2, runThreads});
    Value base = r.add(r.mul(line, target), r.mul(own, keep));
    take(r.minimum(count, keep),
         [&](Value i) { storeItem(to, r.add(base, i), loadItem(items, i)); });
  }

  /// Parameters: where items are, how many a line has, the first step's distance as a power of
  /// two, whether it mirrors. `steps` of them, each half as far.
  void emitMerge(int64_t steps) {
    k.shape.threads = otherThreads;
    Value size = given[1], one = r.constant(1), bit = given[2], mirrors = r.equal(given[3], one);
    Memory items = deviceMemory(given[0], r.mul(lines, size));
    auto shift = [&](Value value, Value by, bool left) -> Value {
      return left ? arith::ShLIOp::create(b, r.loc, value, by).getResult()
                  : arith::ShRUIOp::create(b, r.loc, value, by).getResult();
    };
    Value distance = shift(one, bit, true), twice = r.add(distance, distance),
          least = shift(distance, r.constant(steps - 1), false);
    // Groups of items that a thread has, in whole stretches of twice the distance.
    Value stretches = r.divide(r.add(size, r.sub(twice, one)), twice),
          groups = r.mul(stretches, least),
          blocks = r.divide(r.add(groups, r.constant(otherThreads - 1)), r.constant(otherThreads)),
          line = r.divide(r.blockId(), blocks),
          group = r.add(r.mul(r.remainder(r.blockId(), blocks), r.constant(otherThreads)),
                        r.threadId());
    r.onlyIf(r.less(group, groups), [&] {
      Value begin = r.add(r.mul(shift(group, r.sub(bit, r.constant(steps - 1)), false), twice),
                          with<arith::AndIOp>(group, r.sub(least, one)));
      SmallVector<Value> places, inside;
      SmallVector<Item> own;
      for (int64_t n = 0; n < 1 << steps; ++n) {
        Value place = begin;
        for (int64_t step = 0; step < steps; ++step)
          if (n >> step & 1) {
            Value far = r.add(place, shift(distance, r.constant(step), false));
            place =
                steps > 1
                    ? far
                    : arith::SelectOp::create(b, r.loc, mirrors,
                                              with<arith::XOrIOp>(place, r.sub(twice, one)), far);
          }
        places.push_back(r.add(r.mul(line, size), place));
        inside.push_back(r.less(place, size));
        own.push_back(loadInside(items, places.back(), inside.back()));
      }
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t n = 0; n < 1 << steps; ++n)
          if (!(n >> step & 1))
            order(own[size_t(n)], own[size_t(n | 1 << step)]);
      for (auto [place, isInside, item] : llvm::zip(places, inside, own)) {
        Value where = place;
        Item what = item;
        r.onlyIf(isInside, [&] { storeItem(items, where, what); });
      }
    });
  }

  /// Parameters: where items are, how many a line has.
  void emitTake() {
    k.shape.threads = otherThreads;
    const KernelBuilder::Buffer values = r.bufferOf(op.getValues());
    LaunchShape::Axis all;
    for (int64_t i = 0; i < values.type.getRank(); ++i)
      all.dims.push_back(i);
    Value count = shape::product(r, values.dims);
    all.divisor = otherThreads;
    k.shape.axes = {all};
    Memory items = deviceMemory(given[0], r.mul(lines, given[1]));
    Value own = r.add(r.mul(r.blockId(), r.constant(otherThreads)), r.threadId());
    // As the host's function says it. Where this does not hold there are no items.
    Value size = r.dim(op.getOperand(), unsigned(axis)), wanted = values.dims[size_t(axis)],
          areThere = r.less(wanted, r.add(size, r.constant(1)));
    r.require(op, areThere,
              "expected k from 0 to {0}, the size of dimension " + std::to_string(axis) +
                  ", got {1}",
              WEIR_INVALID_ARGUMENT, size, wanted);
    r.onlyIf(r.logicalAnd(areThere, r.less(own, count)), [&] {
      SmallVector<Value> at = r.delinearize(own, values.dims), outer(at);
      outer.erase(outer.begin() + axis);
      Value line = r.constant(0);
      for (auto [index, size] : llvm::zip(outer, outerSizes))
        line = r.add(r.mul(line, size), index);
      Value place = r.add(r.mul(line, given[1]), at[size_t(axis)]);
      storeResults(outer, fromWord(loadItem(items, place).second), at);
    });
  }

private:
  /// The block's threads take turns over [0, count).
  void take(Value count, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, r.loc, r.threadId(), count, r.constant(runThreads));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  Item loadInside(const Memory &memory, Value place, Value isInside) {
    return choose(isInside, [&] { return loadItem(memory, place); }, [&] { return noItem(); });
  }

  void order(Item &front, Item &back) {
    Value swaps = isBehind(front, back);
    auto choose = [&](Value a, Value c) -> Value {
      return arith::SelectOp::create(b, r.loc, swaps, a, c);
    };
    Item first = {choose(back.first, front.first), choose(back.second, front.second)};
    back = {choose(front.first, back.first), choose(front.second, back.second)};
    front = first;
  }

  SmallVector<Value> given, outerSizes;
  Value lines;
};

} // namespace

LaunchShape weir::emitLongSort(plan::KernelOp kernel, StringRef symbol, gpu::GPUModuleOp module,
                               SiteTable &sites) {
  TopKOp op = *kernel.getBody().front().getOps<TopKOp>().begin();
  ItemLayout layout = *itemLayout(getElementTypeOrSelf(op.getOperand().getType()));
  layout.isLong = true;
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext()),
       i64 = IntegerType::get(kernel.getContext(), 64);
  auto emit = [&](StringRef name, ArrayRef<Type> parameters,
                  function_ref<void(LongSort &)> emitBody) {
    auto body = [&](const CudaKernel &k, ValueRange given) {
      LongSort made(k, op, layout, given);
      emitBody(made);
    };
    KernelForm form;
    form.parameters = SmallVector<Type>(parameters);
    form.emit = body;
    return emitCudaKernel(kernel, name, module, sites, {}, &form);
  };
  LaunchShape shape = emit(symbol, {pointer, i64}, [](LongSort &form) { form.emitTake(); });
  LaunchSort sort;
  sort.run = (symbol + "_run").str();
  sort.merge = (symbol + "_merge").str();
  sort.merges = (symbol + "_merges").str();
  sort.threads = emit(sort.run, {pointer, pointer, i64, i64, i64, i64}, [](LongSort &form) {
                   form.emitRun();
                 }).threads;
  sort.mergeThreads =
      emit(sort.merge, {pointer, i64, i64, i64}, [](LongSort &form) { form.emitMerge(1); }).threads;
  emit(sort.merges, {pointer, i64, i64, i64}, [](LongSort &form) { form.emitMerge(manySteps); });
  sort.runElements = runElements;
  sort.itemBytes = layout.bytes();
  sort.axis = int64_t(op.getAxis());
  if (auto argument = dyn_cast<BlockArgument>(op.getOperand()))
    sort.operand = argument.getArgNumber();
  shape.sort = std::move(sort);
  return shape;
}
