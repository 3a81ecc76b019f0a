//===- StepLaunches.cpp - how a step makes its launches ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/KernelRows.h"
#include "compiler/codegen/host/StepRewriter.h"
#include "dialects/weir/Pch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/plan/LaunchWork.h"
#include "passes/plan/SubviewForwarding.h"
#include "weir/abi.h"
#include "llvm/ADT/MapVector.h"
#include <cstddef>
#include <map>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

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
// Launches as rows of tables
//===----------------------------------------------------------------------===//

/// Fewer rows than these are made by code of their own.
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

/// Declares a function of the object that returns a code.
void StepRewriter::declareInFront(StringRef name, ArrayRef<Type> arguments) {
  auto module = function->getParentOfType<ModuleOp>();
  OpBuilder outer(module.getContext());
  outer.setInsertionPointToStart(module.getBody());
  declareFunction(outer, module, name, b.getI32Type(), arguments);
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
    tables.launches.add(kernelRow(tables, kernel, op.getLoc()), tables.kernelSymbol[kernel],
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
  Type word = b.getI64Type();
  declareInFront(callee, {pointer, pointer, word, word, word});
  returnIfError(
      call(callee, b.getI32Type(),
           {context, addresses, i64(firstRow), i64(tables.launches.nextRow()), i64(firstBuffer)}));
  for (RunOp op : launches)
    op.erase();
}

namespace {
/// Operations of a block that become rows together: launches, and, where sizes are open,
/// what asks for memory and gives it back.
struct RowRun {
  SmallVector<Operation *> rows;
  /// Views of memory that is asked for in between.
  SmallVector<Operation *> views;
  bool isOpen = false;
};

/// Collects the runs of a block. Between rows stands what has no effect: it is brought in
/// front of them, and so are checks of sizes, which then come before any work.
class RowCollector {
public:
  explicit RowCollector(StepTables &tables) : tables(tables) {}

  std::vector<RowRun> collect(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op);
    end();
    return std::move(runs);
  }

private:
  void visit(Operation *op) {
    if (isa<RunOp, AllocOp, FreeOp>(op) && !isPool(op) && fits(op)) {
      current.rows.push_back(op);
      current.isOpen |= !isa<RunOp>(op) || !isKnown(cast<RunOp>(op));
      inside.insert(op->result_begin(), op->result_end());
      return;
    }
    bool isPlain = isa<BufferOp, RequireOp>(op) || isMemoryEffectFree(op);
    if (!isPlain || op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>())
      return end();
    if (current.rows.empty())
      return;
    auto isInside = [&](Value value) { return inside.contains(value); };
    if (llvm::none_of(op->getOperands(), isInside)) {
      op->moveBefore(current.rows.front());
      return;
    }
    if (!isa<ViewOp>(op) || llvm::any_of(op->getOperands().drop_front(), isInside))
      return end();
    current.views.push_back(op);
    inside.insert(op->getResult(0));
  }

  /// Memory of which others are pieces is there before the rows that name them.
  static bool isPool(Operation *op) {
    return isa<AllocOp>(op) && llvm::any_of(op->getUsers(), llvm::IsaPred<PieceOp>);
  }

  /// Whether a row's words can say where its buffers lie.
  bool fits(Operation *op) {
    // Sizes and addresses count alike.
    slots += op->getNumOperands() + 2;
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()))
        slots += cast<MemRefType>(operand.getType()).getNumDynamicDims();
    bool areFew = LaunchRows::fits(knownAddresses + slots, 0);
    auto isNear = [&](Value operand) {
      return !isa<MemRefType>(operand.getType()) ||
             LaunchRows::fits(0, beginOf(operand, tables).bytes);
    };
    if (areFew && llvm::all_of(op->getOperands(), isNear))
      return true;
    end();
    return false;
  }

  void end() {
    if (current.rows.size() >= fewestRows)
      runs.push_back(std::move(current));
    current = {};
    inside.clear();
    slots = 0;
  }

  StepTables &tables;
  std::vector<RowRun> runs;
  RowRun current;
  llvm::DenseSet<Value> inside; ///< made by its rows
  size_t slots = 0;
};
} // namespace

/// Numbers what open rows refer to, and puts it where they find it.
class StepRewriter::OpenRows {
public:
  explicit OpenRows(StepRewriter &rewriter) : r(rewriter), b(rewriter.b) {}

  /// The slot of memory that a row asks for.
  size_t made(Value memref) { return addresses.try_emplace(memref, next++).first->second; }
  /// The slot where `memref` begins.
  size_t address(Value memref) {
    auto [known, isNew] = addresses.try_emplace(memref, next);
    if (isNew)
      stores.push_back({next++, r.unpack(memref).pointer});
    return known->second;
  }
  size_t base(size_t known) {
    auto [slot, isNew] = bases.try_emplace(known, next);
    if (isNew) {
      size_t field =
          known == arenaAddress ? offsetof(weir_context, arena) : offsetof(weir_context, blobs);
      stores.push_back({next++, r.loadField(r.context, field, r.pointer)});
    }
    return slot->second;
  }
  size_t size(Value index) {
    return remember({index.getAsOpaquePointer()}, [&] { return r.toI64(index); });
  }

  /// The open sizes of `memref`, of type index.
  SmallVector<Value> sizesOf(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    Operation *def = memref.getDefiningOp();
    if (auto piece = dyn_cast_or_null<PieceOp>(def))
      return SmallVector<Value>(piece.getSizes());
    if (isa_and_nonnull<AllocOp, FetchOp, ViewOp>(def))
      return SmallVector<Value>(isa<ViewOp>(def) ? def->getOperands().drop_front()
                                                 : def->getOperands());
    auto [known, isNew] = sizes.try_emplace(memref);
    if (isNew)
      for (int64_t i = 0; i < type.getRank(); ++i)
        if (type.isDynamicDim(i))
          known->second.push_back(memref::DimOp::create(b, r.loc, memref, i));
    return known->second;
  }
  size_t bytes(AllocOp op) {
    auto type = cast<MemRefType>(op.getType());
    Key key{type.getAsOpaquePointer()};
    for (Value size : op.getSizes())
      key.push_back(size.getAsOpaquePointer());
    return remember(key, [&] { return r.boundedBytesOf(type, r.sizesOf(type, op.getSizes())); });
  }
  size_t grain(RunOp op, ArrayRef<Value> open) {
    Attribute work = op->getAttr(workAttribute);
    if (!work)
      return remember({op.getGrainAttr().getAsOpaquePointer()},
                      [&] { return r.i64(op.getGrain()); });
    Key key{work.getAsOpaquePointer(), op.getRange().getAsOpaquePointer()};
    for (Value size : open)
      key.push_back(size.getAsOpaquePointer());
    return remember(key, [&] {
      SmallVector<Value> wide;
      for (Value size : open)
        wide.push_back(r.toI64(size));
      return r.grainOf(op, r.toI64(op.getRange()), wide);
    });
  }

  /// Writes all that is known before the rows run. Returns where slots lie.
  Value store() {
    Value slots = r.pointers.of(r, 8 * next);
    for (auto [slot, value] : stores)
      r.storeField(value, slots, 8 * slot);
    return slots;
  }

private:
  using Key = SmallVector<const void *>;
  size_t remember(const Key &key, function_ref<Value()> make) {
    auto [known, isNew] = values.try_emplace(key, next);
    if (isNew) {
      size_t slot = next++;
      stores.push_back({slot, make()});
    }
    return values.at(key);
  }

  StepRewriter &r;
  OpBuilder &b;
  size_t next = 0;
  llvm::DenseMap<Value, size_t> addresses;
  llvm::DenseMap<Value, SmallVector<Value>> sizes;
  std::map<size_t, size_t> bases;
  std::map<Key, size_t> values;
  SmallVector<std::pair<size_t, Value>> stores;
};

void StepRewriter::tabulateOpen(ArrayRef<Operation *> rows, ArrayRef<Operation *> views) {
  // What rows need of sizes is there before the first of them, and what lies behind is
  // not disturbed before the last.
  b.setInsertionPointAfter(rows.back());
  loc = rows.back()->getLoc();
  OpenRows open(*this);
  size_t firstWord = tables.launches.nextWord();
  for (Operation *op : rows) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      size_t bytes = open.bytes(alloc);
      tables.launches.addAllocation(open.made(alloc), bytes,
                                    site(op, "out of memory", WEIR_RESOURCE_EXHAUSTED));
      continue;
    }
    if (auto free = dyn_cast<FreeOp>(op)) {
      tables.launches.addFree(open.address(beginOf(free.getBuffer(), tables).value));
      continue;
    }
    auto run = cast<RunOp>(op);
    SmallVector<uint64_t> words;
    SmallVector<Value> sizes;
    for (Value memref : run->getOperands().drop_front()) {
      Begin begin = beginOf(memref, tables);
      size_t slot = begin.base ? open.base(*begin.base) : open.address(begin.value);
      words.push_back(LaunchRows::word(slot, begin.bytes));
      if (!cast<MemRefType>(memref.getType()).hasStaticShape())
        llvm::append_range(sizes, open.sizesOf(memref));
    }
    SmallVector<size_t> sizeSlots;
    for (Value size : sizes)
      sizeSlots.push_back(open.size(size));
    size_t range = open.size(run.getRange()), grain = open.grain(run, sizes);
    StringRef kernel = run.getKernel();
    tables.launches.addOpen(kernelRow(tables, kernel, run.getLoc()), tables.kernelSymbol[kernel],
                            range, grain, words, sizeSlots);
  }
  Value slots = open.store();
  std::string callee = tables.launches.openFunction();
  Type word = b.getI64Type();
  declareInFront(callee, {pointer, pointer, word, word});
  returnIfError(call(callee, b.getI32Type(),
                     {context, slots, i64(firstWord), i64(tables.launches.nextWord())}));
  // What lies behind the rows may go on with memory that they asked for.
  SmallVector<AllocOp> allocs;
  for (Operation *op : llvm::reverse(rows)) {
    if (auto alloc = dyn_cast<AllocOp>(op))
      allocs.push_back(alloc);
    else
      op->erase();
  }
  SmallVector<Operation *> used;
  for (Operation *view : llvm::reverse(views)) {
    if (!view->use_empty())
      used.push_back(view);
    else
      view->erase();
  }
  for (Operation *view : llvm::reverse(used))
    view->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  for (AllocOp alloc : allocs) {
    if (!alloc->use_empty()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(b.getInsertionBlock());
      auto type = cast<MemRefType>(alloc.getType());
      SmallVector<Value> dims = sizesOf(type, alloc.getSizes());
      alloc.replaceAllUsesWith(pack(type, loadField(slots, 8 * open.made(alloc), pointer), dims));
    }
    alloc.erase();
  }
}

void StepRewriter::tabulateLaunches() {
  std::vector<RowRun> runs;
  for (Block &block : function.getBody())
    for (RowRun &run : RowCollector(tables).collect(block))
      runs.push_back(std::move(run));
  for (RowRun &run : runs) {
    if (run.isOpen) {
      tabulateOpen(run.rows, run.views);
      continue;
    }
    SmallVector<RunOp> launches;
    for (Operation *op : run.rows)
      launches.push_back(cast<RunOp>(op));
    tabulate(launches);
  }
  if (runs.empty())
    return;
  // What was there only to say where their buffers lie.
  SmallVector<Operation *> places;
  function.walk([&](Operation *op) {
    if (isa<BufferOp, BlobOp, ViewOp, PieceOp>(op))
      places.push_back(op);
  });
  for (Operation *op : llvm::reverse(places))
    if (op->use_empty())
      op->erase();
}
