//===- CudaSplitLines.cpp - few long lines, in parts ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block for each line leaves most of a GPU idle where lines are few and long, and whether they
// are a run may be the first to know. So such kernels have two more: one that combines each part
// of each line by itself, and one that joins what the parts have come to, always in the parts'
// order; of a scan it goes along the parts once more, each behind what those before it have
// (reduce, then scan). The host counts the parts, from sizes alone.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaLineFold.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

using State = LineFold::State;

namespace {

constexpr int64_t blockThreads = 256, joinThreads = 128;
/// Lines as long as these, side by side or not, may be worth parts.
constexpr int64_t longLine = 8192, longColumn = 128;
/// As many lines keep a large GPU busy.
constexpr int64_t manyLines = 256, manyColumns = 16384;
/// Parts that a thread of a scan may have before its own.
constexpr int64_t mostColumnParts = 256, mostParts = 4096;

class SplitForm {
public:
  SplitForm(const CudaKernel &k, Operation *op, ValueRange parameters)
      : k(k), r(k.reader), fold(k, op), states(parameters[0]) {
    r.loc = op->getLoc();
    parts = arith::IndexCastOp::create(r.b, r.loc, r.b.getIndexType(), parameters[1]);
    length = fold.length();
    each = r.divide(r.add(length, r.sub(parts, r.constant(1))), parts);
  }

  void emitPart() {
    placePart();
    if (fold.liesAcross()) {
      r.onlyIf(exists, [&] { leave(fold.walk(kept, from, to, r.constant(1), fold.start())); });
      return;
    }
    State own =
        fold.walk(kept, r.add(from, r.threadId()), to, r.constant(blockThreads), fold.start());
    own = combineLine(k, fold, own, /*byBlock=*/true);
    r.onlyIf(r.equal(r.threadId(), r.constant(0)), [&] { leave(own); });
  }

  void emitJoin() {
    if (!fold.isScan())
      return joinLine();
    placePart();
    if (fold.liesAcross()) {
      r.onlyIf(exists, [&] {
        emitScanWalk(k, fold, kept, from, to, before(r.constant(0), r.constant(1)));
      });
      return;
    }
    State carried = before(r.threadId(), r.constant(blockThreads));
    carried = combineLine(k, fold, carried, /*byBlock=*/true);
    emitScanTiles(k, fold, kept, r.threadId(), from, to, carried, /*byBlock=*/true,
                  arith::ConstantIntOp::create(r.b, r.loc, r.b.getI1Type(), 1));
  }

  int64_t stateBytes() const { return fold.stateBytes(); }

private:
  /// Which part of which line is the thread's, or the block's.
  void placePart() {
    k.shape.threads = blockThreads;
    Value number = r.blockId(), lines = fold.count();
    if (fold.liesAcross()) {
      // Neighbouring threads have neighbouring lines.
      number = r.add(r.mul(number, r.constant(blockThreads)), r.threadId());
      exists = r.less(number, r.mul(lines, parts));
      number = r.minimum(number, r.sub(r.mul(lines, parts), r.constant(1)));
      line = r.remainder(number, lines);
      part = r.divide(number, lines);
    } else {
      line = r.divide(number, parts);
      part = r.remainder(number, parts);
    }
    kept = fold.keptIndices(line);
    from = r.minimum(r.mul(part, each), length);
    to = r.minimum(r.add(from, each), length);
  }

  /// Number of a part's state.
  Value stateOf(Value line, Value part) {
    return fold.liesAcross() ? r.add(r.mul(part, fold.count()), line)
                             : r.add(r.mul(line, parts), part);
  }
  void leave(const State &state) { fold.storeState(state, states, stateOf(line, part)); }

  /// States of the line's parts `first`, `first` + `step`, ... below `end`, combined.
  State ofParts(Value line, Value first, Value end, Value step) {
    auto loop = scf::ForOp::create(r.b, r.loc, first, end, step, ValueRange(fold.start()));
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    State next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    next = fold.combine(next, fold.loadState(states, stateOf(line, loop.getInductionVar())));
    scf::YieldOp::create(r.b, r.loc, ValueRange(next));
    return State(loop.getResults().begin(), loop.getResults().end());
  }
  State before(Value first, Value step) { return ofParts(line, first, part, step); }

  void joinLine() {
    k.shape.threads = joinThreads;
    constexpr int64_t lines = joinThreads / warpThreads;
    Value number = r.add(r.mul(r.blockId(), r.constant(lines)),
                         r.divide(r.threadId(), r.constant(warpThreads))),
          lane = r.remainder(r.threadId(), r.constant(warpThreads));
    Value isLine = r.less(number, fold.count());
    number = r.minimum(number, r.sub(fold.count(), r.constant(1)));
    State state = ofParts(number, lane, parts, r.constant(warpThreads));
    Value value = fold.result(combineLine(k, fold, state, /*byBlock=*/false));
    SmallVector<Value> at = fold.resultIndices(fold.keptIndices(number));
    r.onlyIf(r.logicalAnd(isLine, r.equal(lane, r.constant(0))),
             [&] { k.emitResults(at, fold.op(), value); });
  }

  const CudaKernel &k;
  CudaReader &r;
  LineFold fold;
  Value states, parts, length, each;
  Value line, part, from, to, exists;
  SmallVector<Value> kept;
};

} // namespace

void weir::emitSplitLines(plan::KernelOp kernel, StringRef symbol, gpu::GPUModuleOp module,
                          SiteTable &sites, LaunchShape &shape) {
  Operation *op = LineFold::find(kernel);
  if (!op)
    return;
  LaunchSplit split;
  split.across = LineFold::liesAcross(op);
  int64_t length = LineFold::knownLength(op), count = LineFold::knownCount(op);
  bool isLong = length < 0 || length >= (split.across ? longColumn : longLine);
  bool areFew = count < 0 || count < (split.across ? manyColumns : manyLines);
  if (!isLong || !areFew)
    return;
  Type i64 = IntegerType::get(kernel.getContext(), 64);
  auto emit = [&](StringRef name, function_ref<void(SplitForm &)> emitBody) {
    auto body = [&](const CudaKernel &k, ValueRange parameters) {
      k.reader.quiet = true; // the step has checked that sizes go together
      SplitForm made(k, op, parameters);
      emitBody(made);
      k.reader.quiet = false;
    };
    KernelForm form;
    form.parameters = {LLVM::LLVMPointerType::get(kernel.getContext()), i64};
    form.emit = body;
    return emitCudaKernel(kernel, name, module, sites, {}, &form).threads;
  };
  split.part = (symbol + "_part").str();
  split.join = (symbol + "_join").str();
  split.threads = emit(split.part, [](SplitForm &form) { form.emitPart(); });
  split.joinThreads = emit(split.join, [&](SplitForm &form) {
    form.emitJoin();
    split.state = form.stateBytes();
  });
  auto scan = dyn_cast<CumulativeOp>(op);
  split.axis = scan ? int64_t(scan.getAxis()) : -1;
  split.mostParts = scan && split.across ? mostColumnParts : mostParts;
  shape.split = std::move(split);
}
