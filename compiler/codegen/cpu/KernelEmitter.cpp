//===- KernelEmitter.cpp - a kernel's function -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel becomes two functions: `symbol.body`, whose operands are pointers
// that do not alias and sizes, and `symbol`, the weir_kernel_fn that unpacks the
// runtime's arrays and calls it. LLVM inlines the one into the other and keeps
// what it learned of aliasing.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/MovedBlocks.h"
#include "compiler/codegen/cpu/PadBlocks.h"
#include "compiler/codegen/cpu/PiecewiseRows.h"
#include "compiler/codegen/cpu/PoolRows.h"
#include "compiler/codegen/cpu/RepeatedBlocks.h"
#include "compiler/codegen/cpu/TiledRows.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "compiler/codegen/kernel/LibraryCall.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/SubviewForwarding.h"

using namespace mlir;
using namespace weir;

namespace {

/// The costly operation that others follow in the kernel, or null.
ElementalOpInterface leadOf(Block &body) {
  ElementalOpInterface lead;
  Operation *root = body.getTerminator()->getOperand(0).getDefiningOp();
  for (Operation &op : body.without_terminator())
    if (auto elemental = dyn_cast<ElementalOpInterface>(op))
      if (elemental.isElementExpensive() && elemental != root)
        lead = elemental;
  return lead;
}

/// Elements of a line from which on its sum is one of vectors.
constexpr int64_t longLine = 16;

/// Loops over `dims` around `body`, which gets `indices` and theirs.
void emitNest(KernelBuilder &r, ArrayRef<Value> dims, SmallVector<Value> indices,
              function_ref<void(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(r.b);
  for (Value size : dims) {
    auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), size, r.constant(1));
    r.b.setInsertionPointToStart(loop.getBody());
    indices.push_back(loop.getInductionVar());
  }
  body(indices);
}

/// The elements of `results`, which hang together, at `indices`: all are computed before the
/// first is stored, so that operands which they are written over have been read.
void emitResults(KernelBuilder &r, ValueRange results, ElementalOpInterface lead,
                 ValueRange indices) {
  if (lead) {
    r.setAnchor({}, {});
    r.loc = lead.getLoc();
    Value value = lead.emitElement(r, 0, indices);
    r.setAnchor(lead->getResult(0), value);
  }
  SmallVector<Value> values;
  for (Value result : results) {
    auto opResult = cast<OpResult>(result);
    auto op = cast<ElementalOpInterface>(opResult.getOwner());
    r.loc = op.getLoc();
    values.push_back(op.emitElement(r, opResult.getResultNumber(), indices));
  }
  for (auto [result, value] : llvm::zip(results, values)) {
    r.loc = result.getLoc();
    r.store(value, r.bufferOf(result), indices);
  }
  r.setAnchor({}, {});
}

/// Results that have nothing to do with each other, one group behind the other.
void emitGroups(KernelBuilder &r, ArrayRef<ResultGroup> groups) {
  for (const ResultGroup &group : groups) {
    const KernelBuilder::Buffer first = r.bufferOf(group.results.front());
    SmallVector<Value> origin(first.dims.size(), r.constant(0));
    if (!group.isFlat) {
      emitNest(r, first.dims, {}, [&](ValueRange at) { emitResults(r, group.results, {}, at); });
      continue;
    }
    OpBuilder::InsertionGuard guard(r.b);
    Value count = r.constant(first.type.getNumElements());
    auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), count, r.constant(1));
    forbidUnrolling(loop);
    r.b.setInsertionPointToStart(loop.getBody());
    r.setFlatIndex(loop.getInductionVar());
    emitResults(r, group.results, {}, origin);
    r.setFlatIndex({});
  }
}

/// Whether it is a slice of neighbours.
bool isPlainPart(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  std::optional<SmallVector<int64_t>> steps =
      slice ? constantIntegers(slice.getSteps()) : std::nullopt;
  return steps && llvm::all_of(*steps, [](int64_t step) { return step == 1; });
}

/// Whether parts are so short lines that finding the place of each by divisions would cost as much
/// as computing it: they go by lines of parts, which may be vectors.
bool isOfShortLines(Block &body, int64_t parallel) {
  auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
  ArrayRef<int64_t> line = type.getShape().drop_front(parallel);
  if (body.getTerminator()->getNumOperands() != 1 || ShapedType::isDynamicShape(line) ||
      ShapedType::getNumElements(line) >= longLine)
    return false;
  // Of a few known ones LLVM makes one loop over all, with reductions written out.
  int64_t lines = type.getDimSize(parallel - 1);
  return ShapedType::isDynamic(lines) || lines >= longLine ||
         llvm::all_of(body.without_terminator(),
                      llvm::IsaPred<ConstantOp, ElementwiseOpInterface, SliceOp>);
}

/// The parts of [0, range) that a kernel without its own tiling is called for. `asksForBlocks`: as
/// blocks of its operand where it repeats or moves those.
void emitLoopForm(KernelBuilder &r, plan::KernelOp kernel, ElementalOpInterface lead, Value begin,
                  Value end, bool asksForBlocks = true) {
  OpBuilder::InsertionGuard guard(r.b);
  Block &body = kernel.getBody().front();
  const KernelBuilder::Buffer &first = r.bufferOf(body.getTerminator()->getOperand(0));
  int64_t rank = first.type.getRank();
  std::optional<ArrayRef<int64_t>> parts = kernel.getSchedule().find(plan::schedule::parts);
  // The range runs over the leading dimensions, row-major.
  int64_t parallel = parts ? parts->size() : 0;
  SmallVector<Value> indices;
  Value only = body.getTerminator()->getOperand(0);
  // A result inside of a larger buffer may have gaps, which blocks would fill.
  bool isWhole =
      first.extents.empty() || first.extents.drop_front() == first.type.getShape().drop_front();
  if (!lead && body.getTerminator()->getNumOperands() == 1 && isWhole && parallel + 1 == rank &&
      isOfBlocks(r, only)) {
    r.loc = only.getLoc();
    return emitBlocks(r, only.getDefiningOp<ConcatOp>(), first, begin, end);
  }
  if (asksForBlocks && !lead && body.getTerminator()->getNumOperands() == 1 && isWhole && parts) {
    r.loc = only.getLoc();
    // `emit` writes a range of the result, which has so much for each part, where `holds` says that
    // it can.
    auto emitEitherForm = [&](Value holds, ArrayRef<Value> dims,
                              function_ref<void(Value, Value)> emit) {
      auto emitRange = [&] {
        Value each = r.constant(1);
        for (Value dim : dims)
          each = r.mul(each, dim);
        emit(r.mul(begin, each), r.mul(end, each));
      };
      if (!holds)
        return emitRange();
      emitEither(r, holds, emitRange,
                 [&] { emitLoopForm(r, kernel, lead, begin, end, /*asksForBlocks=*/false); });
    };
    ArrayRef<Value> behind = ArrayRef(first.dims).drop_front(parallel);
    if (std::optional<RepeatedBlocks> blocks =
            parallel < rank ? repeatedBlocksOf(r, only) : std::nullopt)
      return emitEitherForm(blocks->holds, behind.drop_back(), [&](Value from, Value to) {
        emitRepeatedBlocks(r, *blocks, first, from, to);
      });
    if (TileOp tile = parallel < rank ? tileOfRows(r, only) : TileOp())
      return emitEitherForm({}, behind.drop_back(),
                            [&](Value from, Value to) { emitTiledRows(r, tile, first, from, to); });
    if (std::optional<MovedBlocks> blocks = movedBlocksOf(r, only))
      return emitEitherForm(blocks->holds, behind, [&](Value from, Value to) {
        emitMovedBlocks(r, *blocks, first, from, to);
      });
  }
  if (parallel > 1 && isOfShortLines(body, parallel)) {
    indices = emitLineLoops(r, ArrayRef(first.dims).take_front(parallel), begin, end);
  } else {
    auto outer = scf::ForOp::create(r.b, r.loc, begin, end, r.constant(1));
    // Of a loop of known length LLVM writes out every turn. Such a kernel is little
    // work, and its code would grow with its operands.
    if (outer.getStaticTripCount())
      forbidUnrolling(outer);
    r.b.setInsertionPointToStart(outer.getBody());
    Value iv = outer.getInductionVar();
    if (!parts) {
      r.setFlatIndex(iv);
      emitElements(r, body, lead, SmallVector<Value>(rank, r.constant(0)));
      return;
    }
    if (SmallVector<ResultGroup> groups = resultGroups(body); groups.size() > 1)
      return emitGroups(r, groups);
    indices = r.blockIndices(iv, ArrayRef(first.dims).take_front(parallel));
  }
  auto results = body.getTerminator()->getOperands();
  if (!lead && results.size() == 1 && isWhole && isPadBlocks(results[0].getDefiningOp())) {
    r.loc = results[0].getLoc();
    return emitPadBlocks(r, results[0].getDefiningOp<PadOp>(), indices);
  }
  if (!lead && results.size() == 1 && parallel < rank && isPiecewise(results[0])) {
    const KernelBuilder::Buffer target = r.bufferOf(results[0]);
    r.loc = results[0].getLoc();
    emitNest(r, ArrayRef(target.dims).drop_front(parallel).drop_back(), indices,
             [&](ValueRange at) {
               SmallVector<Value> outer(at);
               emitPiecewiseRow(r, results[0], outer, {target, outer, r.constant(0)});
             });
    return;
  }
  if (ConcatOp concat = lead || parallel == rank
                            ? ConcatOp()
                            : concatenationOfRows(results, body.getTerminator())) {
    emitNest(r, ArrayRef(first.dims).drop_front(parallel).drop_back(), indices,
             [&](ValueRange outer) {
               emitRowByOperands(r, concat, outer,
                                 [&](ArrayRef<Value> at) { emitElements(r, body, {}, at); });
             });
    return;
  }
  Operation *costly = lead ? lead.getOperation() : only.getDefiningOp();
  if (PoolOp pool = parallel < rank && results.size() == 1 ? poolOfRows(costly) : PoolOp()) {
    auto emitCut = [&](ValueRange at) { emitElements(r, body, lead, at); };
    auto emitWhole = [&](ValueRange at, Value element) {
      if (!lead)
        return r.store(element, first, at);
      r.setAnchor(pool.getResult(), element);
      emitElements(r, body, {}, at);
    };
    emitNest(r, ArrayRef(first.dims).drop_front(parallel).drop_back(), indices,
             [&](ValueRange outer) { emitPoolRow(r, pool, outer, emitCut, emitWhole); });
    return;
  }
  emitNest(r, ArrayRef(first.dims).drop_front(parallel), indices, [&](ValueRange at) {
    emitElements(r, body, lead, at);
    // Written out, a line whose place is looked up would be looked up element by element, one of a
    // part would be copied so, and short lines of elementwise operations would be vectors across
    // lines, whose elements lie apart.
    auto line = dyn_cast<scf::ForOp>(r.b.getInsertionBlock()->getParentOp());
    std::optional<APInt> length = line ? line.getStaticTripCount() : std::nullopt;
    bool isLooked = llvm::any_of(
        body, [](Operation &op) { return isa<GatherOp, GatherNdOp>(op) || isPlainPart(&op); });
    bool isAlongLines = llvm::all_of(body.without_terminator(), [](Operation &op) {
      return isa<ConstantOp, ElementwiseOpInterface>(op);
    });
    if (length && ((isLooked && length->sge(longLine)) ||
                   (isAlongLines && length->sge(longLine / 2) && length->sle(4 * longLine))))
      forbidUnrolling(line);
  });
}

/// The part [begin, end) by the kernel's strategy. Where only running tells whether sizes are
/// as it wants them, and they are not, the first part is everything, element by element.
LogicalResult emitParts(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  const KernelStrategy &strategy = strategyOf(kernel);
  SizeEqualities sizes(r);
  strategy.requireSizes(r, kernel, sizes);
  if (!sizes.all())
    return strategy.emit(r, kernel, begin, end);
  Block &body = kernel.getBody().front();
  Value result = body.getTerminator()->getOperand(0);
  OpBuilder::InsertionGuard guard(r.b);
  auto branch = scf::IfOp::create(r.b, r.loc, sizes.all(), /*withElseRegion=*/true);
  r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  if (failed(strategy.emit(r, kernel, begin, end)))
    return failure();
  r.b.setInsertionPointToStart(&branch.getElseRegion().front());
  auto first = scf::IfOp::create(r.b, r.loc, r.equal(begin, r.constant(0)), false);
  r.b.setInsertionPointToStart(&first.getThenRegion().front());
  emitNest(r, r.bufferOf(result).dims, {}, [&](ValueRange at) { emitElements(r, body, {}, at); });
  return success();
}

} // namespace

SmallVector<Value> weir::emitLineLoops(KernelBuilder &r, ArrayRef<Value> dims, Value begin,
                                       Value end) {
  Value zero = r.constant(0), one = r.constant(1);
  if (dims.empty()) {
    r.b.setInsertionPointToStart(scf::ForOp::create(r.b, r.loc, begin, end, one).getBody());
    return {};
  }
  Value lines = dims.back();
  // None is computed of a result without lines, whose range is empty.
  Value count = arith::MaxSIOp::create(r.b, r.loc, lines, one);
  scf::ForOp block = createBlockLoop(r, begin, end, count);
  r.b.setInsertionPointToStart(block.getBody());
  SmallVector<Value> indices = r.blockIndices(block.getInductionVar(), dims.drop_back());
  Value before = r.mul(block.getInductionVar(), count);
  Value from = arith::MaxSIOp::create(r.b, r.loc, r.sub(begin, before), zero);
  Value to = arith::MinSIOp::create(r.b, r.loc, r.sub(end, before), lines);
  auto line = scf::ForOp::create(r.b, r.loc, from, to, one);
  r.b.setInsertionPointToStart(line.getBody());
  indices.push_back(line.getInductionVar());
  return indices;
}

void weir::emitElements(KernelBuilder &r, Block &body, ElementalOpInterface lead,
                        ValueRange indices) {
  emitResults(r, body.getTerminator()->getOperands(), lead, indices);
}

void weir::emitLoops(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  Block &body = kernel.getBody().front();
  if (!kernel.getSchedule().has(plan::schedule::parts) &&
      (hasOpenOperand(body) || isStretchedElementwise(body)))
    return emitFlatElements(r, kernel, begin, end);
  r.askSizes(body);
  ElementalOpInterface lead = leadOf(body);
  SizeEqualities equalities(r);
  SmallVector<std::pair<Value, unsigned>> sizes;
  for (Operation &op : body.without_terminator()) {
    // What else asks whether a size is 1 means another thing by it.
    if (isa<BroadcastToOp>(op) && !constantElements(op.getOperand(0))) {
      equalities.clear();
      sizes.clear();
      break;
    }
    if (!isa<ElementwiseOpInterface>(op) || keepsOpenSizes(&op))
      continue;
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    for (Value operand : op.getOperands()) {
      auto own = cast<RankedTensorType>(operand.getType());
      int64_t missing = type.getRank() - own.getRank();
      for (int64_t i = 0; i < own.getRank(); ++i)
        if (own.isDynamicDim(i)) {
          equalities.addSizes(operand, i, op.getResult(0), i + missing);
          sizes.push_back({operand, unsigned(i)});
        }
    }
  }
  auto assumeEqual = [&] {
    for (auto [tensor, i] : sizes)
      r.assumeNotStretched(tensor, i);
  };
  if (!equalities.all()) {
    assumeEqual();
    return emitLoopForm(r, kernel, lead, begin, end);
  }
  OpBuilder::InsertionGuard guard(r.b);
  auto branch = scf::IfOp::create(r.b, r.loc, equalities.all(), /*withElseRegion=*/true);
  r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  assumeEqual();
  emitLoopForm(r, kernel, lead, begin, end);
  r.b.setInsertionPointToStart(&branch.getElseRegion().front());
  emitLoopForm(r, kernel, {}, begin, end);
}

void KernelStrategy::requireSizes(KernelBuilder &, plan::KernelOp kernel,
                                  SizeEqualities &sizes) const {
  Block &body = kernel.getBody().front();
  if (ElementalOpInterface lead = leadOf(body))
    sizes.addShape(lead->getResult(0), body.getTerminator()->getOperand(0));
}

/// A sum over lines: LLVM would unroll the loop over a short line whole, and then
/// vectorise the one over lines, whose elements lie a line apart.
static void keepLines(func::FuncOp function) {
  function.walk([&](scf::ForOp line) {
    auto lines = dyn_cast<scf::ForOp>(line->getParentOp());
    std::optional<APInt> length = line.getStaticTripCount();
    if (!lines || line.getNumResults() == 0 ||
        !llvm::equal(lines.getBody()->getTerminator()->getOperands(), line.getResults()))
      return;
    if (length && length->sge(longLine))
      forbidUnrolling(line);
  });
}

LogicalResult weir::emitKernel(plan::KernelOp kernel, StringRef symbol,
                               std::optional<int64_t> range, SiteTable &sites) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  OpBuilder b(kernel);
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i32 = b.getI32Type(), i64 = b.getI64Type(), index = b.getIndexType();
  Block &source = kernel.getBody().front();
  auto results = source.getTerminator()->getOperands();

  SmallVector<Value> tensors(source.getArguments().begin(), source.getArguments().end());
  tensors.append(results.begin(), results.end());
  int64_t dynamicCount = 0;
  for (Value tensor : tensors)
    dynamicCount += cast<RankedTensorType>(tensor.getType()).getNumDynamicDims();

  // The body.
  SmallVector<Type> types{pointer};
  types.append(tensors.size(), pointer);
  types.append(dynamicCount + 2, index);
  std::string bodyName = symbol.str() + ".body";
  auto function = func::FuncOp::create(b, loc, bodyName, b.getFunctionType(types, {i32}));
  function.setPrivate();
  for (size_t i = 0; i < tensors.size(); ++i) {
    function.setArgAttr(i + 1, "llvm.noalias", b.getUnitAttr());
    if (i < source.getNumArguments())
      function.setArgAttr(i + 1, "llvm.readonly", b.getUnitAttr());
  }
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  KernelBuilder reader(b, loc, sites);
  reader.context = entry->getArgument(0);
  Value zero = arith::ConstantIntOp::create(b, loc, i32, 0);
  Value one64 = arith::ConstantIntOp::create(b, loc, i64, 1);
  reader.errorSlot = LLVM::AllocaOp::create(b, loc, pointer, i32, one64);
  LLVM::StoreOp::create(b, loc, zero, reader.errorSlot);
  unsigned next = 1 + tensors.size();
  SmallVector<SmallVector<Value>> sizes;
  for (Value tensor : tensors) {
    sizes.emplace_back();
    for (int64_t size : cast<RankedTensorType>(tensor.getType()).getShape())
      sizes.back().push_back(ShapedType::isDynamic(size) ? Value(entry->getArgument(next++))
                                                         : reader.constant(size));
  }
  ArrayAttr extents = kernel.getExtentsAttr();
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    KernelBuilder::Buffer buffer;
    // What is read in place is read through the pointer that is written to: that
    // the others do not alias stays true. It has the result's sizes, too, and through others
    // LLVM would not see the same address, and go element by element where bytes are shared.
    std::optional<unsigned> over = kernel.overwriterOf(unsigned(i));
    size_t written = over ? source.getNumArguments() + *over : i;
    buffer.pointer = entry->getArgument(written + 1);
    buffer.type = cast<RankedTensorType>(tensor.getType());
    buffer.dims = sizes[buffer.type == tensors[written].getType() ? written : i];
    if (extents)
      reader.setPart(buffer, cast<DenseI64ArrayAttr>(extents[i]).asArrayRef());
    reader.bind(tensor, buffer);
  }
  Value begin = range ? reader.constant(0) : Value(entry->getArgument(next));
  Value end = range ? reader.constant(*range) : Value(entry->getArgument(next + 1));
  if (failed(emitParts(reader, kernel, begin, end)))
    return failure();
  b.setInsertionPointToEnd(entry);
  Value code = LLVM::LoadOp::create(b, loc, i32, reader.errorSlot);
  func::ReturnOp::create(b, loc, code);
  keepLines(function);

  // The entry point that the runtime calls.
  b.setInsertionPoint(kernel);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64, i64});
  auto wrapper = LLVM::LLVMFuncOp::create(b, loc, symbol, type, LLVM::Linkage::Internal);
  Block *block = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments{block->getArgument(0)};
  auto element = [&](Value array, Type elementType, int64_t i) -> Value {
    Value where = LLVM::GEPOp::create(b, loc, pointer, elementType, array,
                                      ArrayRef<LLVM::GEPArg>{(int32_t)i});
    return LLVM::LoadOp::create(b, loc, elementType, where);
  };
  for (size_t i = 0; i < tensors.size(); ++i)
    arguments.push_back(element(block->getArgument(1), pointer, i));
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, loc, index, value);
  };
  for (int64_t i = 0; i < dynamicCount; ++i)
    arguments.push_back(toIndex(element(block->getArgument(2), i64, i)));
  arguments.push_back(toIndex(block->getArgument(3)));
  arguments.push_back(toIndex(block->getArgument(4)));
  auto call = func::CallOp::create(b, loc, bodyName, TypeRange{i32}, arguments);
  LLVM::ReturnOp::create(b, loc, call.getResult(0));
  return success();
}
