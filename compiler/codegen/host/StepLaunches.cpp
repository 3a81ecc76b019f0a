//===- StepLaunches.cpp - how a step makes its launches ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/StepRewriter.h"
#include "dialects/weir/Pch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/plan/LaunchWork.h"
#include "passes/plan/SubviewForwarding.h"
#include "weir/abi.h"
#include "llvm/ADT/MapVector.h"
#include <cstddef>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

void StepRewriter::rewriteRun(plan::RunOp op) {
  SmallVector<Value> buffers(op.getInputs().begin(), op.getInputs().end());
  buffers.append(op.getOutputs().begin(), op.getOutputs().end());
  Value places = pointers.of(*this, 8 * buffers.size());
  SmallVector<Value> dims;
  for (auto [i, memref] : llvm::enumerate(buffers)) {
    Buffer buffer = unpack(memref);
    storeField(buffer.pointer, places, 8 * i);
    for (int64_t d = 0; d < buffer.type.getRank(); ++d)
      if (buffer.type.isDynamicDim(d))
        dims.push_back(buffer.dims[d]);
  }
  Value lengths = sizes.of(*this, 8 * dims.size());
  for (auto [i, dim] : llvm::enumerate(dims))
    storeField(dim, lengths, 8 * i);
  StringRef kernel = op.getKernel();
  Value function = LLVM::AddressOfOp::create(b, loc, pointer, tables.kernelSymbol[kernel]);
  Value range = toI64(op.getRange());
  returnIfError(call("weir_rt_parallel", b.getI32Type(),
                     {context, function, places, lengths, range, grainOf(op, range, dims),
                      i32(tables.kernelIndex[kernel])}));
  op.erase();
}

/// How much of the range is worth a thread: known, or by the work that its sizes make of it.
Value StepRewriter::grainOf(RunOp op, Value range, ArrayRef<Value> sizes) {
  auto work = op->getAttrOfType<ArrayAttr>(workAttribute);
  if (!work)
    return i64(op.getGrain());
  Value all;
  for (auto term : work.getAsRange<DenseI64ArrayAttr>()) {
    Value product = i64(term[0]);
    for (int64_t number : term.asArrayRef().drop_front())
      product = b.createOrFold<LLVM::MulOp>(loc, product, sizes[number]);
    all = all ? b.createOrFold<LLVM::AddOp>(loc, all, product) : product;
  }
  all = LLVM::SMaxOp::create(b, loc, all, i64(1));
  Value grain =
      LLVM::SDivOp::create(b, loc, LLVM::MulOp::create(b, loc, range, i64(workOfThread)), all);
  return LLVM::SMaxOp::create(b, loc, grain, i64(1));
}

//===----------------------------------------------------------------------===//
// Launches of which all is known
//===----------------------------------------------------------------------===//

/// Fewer launches than these are made by code of their own.
static constexpr size_t fewestRows = 8;

/// The addresses that every step knows come first.
enum KnownAddress : size_t { arenaAddress, blobsAddress, knownAddresses };

/// Where `memref` begins: `bytes` behind the value, or, where `base` says so, behind
/// the arena or the constants.
namespace {
struct Begin {
  Value value;
  std::optional<size_t> base;
  int64_t bytes = 0;
};
} // namespace

static Begin beginOf(Value memref, StepTables &tables) {
  Begin begin;
  begin.value = memref;
  while (auto view = begin.value.getDefiningOp<ViewOp>()) {
    if (auto offset = view->getAttrOfType<IntegerAttr>(viewOffsetAttribute))
      begin.bytes += offset.getInt();
    begin.value = view.getSource();
  }
  if (auto buffer = begin.value.getDefiningOp<BufferOp>()) {
    begin.base = arenaAddress;
    begin.bytes += buffer.getOffset().value_or(0);
  } else if (auto blob = begin.value.getDefiningOp<BlobOp>();
             blob && !isa<DenseStringElementsAttr>(blob.getValue())) {
    begin.base = blobsAddress;
    begin.bytes += tables.blobOffset(blob.getValue());
  }
  return begin;
}

/// Whether nothing about the launch has to be computed when the step runs, but for
/// where its buffers begin.
static bool isKnown(RunOp op) {
  auto hasSize = [](Value memref) { return cast<MemRefType>(memref.getType()).hasStaticShape(); };
  return getConstantIntValue(op.getRange()) && llvm::all_of(op.getInputs(), hasSize) &&
         llvm::all_of(op.getOutputs(), hasSize);
}

void StepRewriter::tabulate(ArrayRef<RunOp> launches) {
  size_t firstRow = tables.launches.nextRow(), firstBuffer = tables.launches.nextBuffer();
  llvm::MapVector<Value, size_t> others;
  for (RunOp op : launches) {
    SmallVector<uint64_t> words;
    for (Value memref : llvm::concat<Value>(SmallVector<Value>(op.getInputs()),
                                            SmallVector<Value>(op.getOutputs()))) {
      Begin begin = beginOf(memref, tables);
      size_t base =
          begin.base
              ? *begin.base
              : others.try_emplace(begin.value, knownAddresses + others.size()).first->second;
      words.push_back(LaunchRows::word(base, begin.bytes));
    }
    StringRef kernel = op.getKernel();
    tables.launches.add(tables.kernelIndex[kernel], tables.kernelSymbol[kernel],
                        *getConstantIntValue(op.getRange()), op.getGrain(), words);
  }

  // All buffers exist where the last launch is, and nothing in between changes them.
  RunOp last = launches.back();
  b.setInsertionPoint(last);
  loc = last.getLoc();
  Value addresses = pointers.of(*this, 8 * (knownAddresses + others.size()));
  storeField(loadField(context, offsetof(weir_context, arena), pointer), addresses,
             8 * arenaAddress);
  storeField(loadField(context, offsetof(weir_context, blobs), pointer), addresses,
             8 * blobsAddress);
  for (auto [memref, number] : others)
    storeField(unpack(memref).pointer, addresses, 8 * number);
  std::string callee = tables.launches.function();
  auto module = function->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(callee)) {
    OpBuilder outer(module.getContext());
    outer.setInsertionPointToStart(module.getBody());
    Type word = b.getI64Type();
    LLVM::LLVMFuncOp::create(
        outer, module.getLoc(), callee,
        LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, pointer, word, word, word}));
  }
  returnIfError(
      call(callee, b.getI32Type(),
           {context, addresses, i64(firstRow), i64(tables.launches.nextRow()), i64(firstBuffer)}));
  for (RunOp op : launches)
    op.erase();
}

void StepRewriter::tabulateLaunches() {
  SmallVector<SmallVector<RunOp>> runs;
  for (Block &block : function.getBody()) {
    SmallVector<RunOp> run;
    llvm::SmallDenseSet<Value> others;
    auto end = [&] {
      if (run.size() >= fewestRows)
        runs.push_back(run);
      run.clear();
      others.clear();
    };
    for (Operation &op : block) {
      auto launch = dyn_cast<RunOp>(op);
      if (!launch) {
        // What only says where something lies may stand between launches.
        if (!isa<BufferOp>(op) && !isMemoryEffectFree(&op))
          end();
        continue;
      }
      bool isRow = isKnown(launch);
      for (Value memref : launch->getOperands().drop_front())
        if (isRow) {
          Begin begin = beginOf(memref, tables);
          if (!begin.base)
            others.insert(begin.value);
          isRow = LaunchRows::fits(knownAddresses + others.size(), begin.bytes);
        }
      if (!isRow)
        end();
      else
        run.push_back(launch);
    }
    end();
  }
  for (ArrayRef<RunOp> run : runs)
    tabulate(run);
  if (runs.empty())
    return;
  // What was there only to say where their buffers lie.
  SmallVector<Operation *> places;
  function.walk([&](Operation *op) {
    if (isa<BufferOp, BlobOp, ViewOp>(op))
      places.push_back(op);
  });
  for (Operation *op : llvm::reverse(places))
    if (op->use_empty())
      op->erase();
}
