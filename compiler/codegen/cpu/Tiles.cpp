//===- Tiles.cpp - register tiles of products and convolutions ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/SlicePlaces.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

static std::optional<int64_t> known(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

Value weir::stackElements(KernelBuilder &r, Type element, int64_t count) {
  Value size = LLVM::ConstantOp::create(r.b, r.loc, r.b.getI64Type(), r.b.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(r.b, r.loc, LLVM::LLVMPointerType::get(r.b.getContext()),
                                BufferAccess::storageType(element), size, /*alignment=*/64);
}

Type weir::tileElement(Operation *anchor) {
  return BufferAccess::storageType(getElementTypeOrSelf(anchor->getResult(0).getType()));
}

Type weir::stepElement(Operation *anchor) {
  return multipliesPairs(anchor) ? IntegerType::get(anchor->getContext(), 32) : tileElement(anchor);
}

KernelBuilder::Buffer weir::leftOperand(KernelBuilder &r, Operation *anchor) {
  KernelBuilder::Buffer buffer = r.bufferOf(anchor->getOperand(0));
  if (!multipliesPairs(anchor))
    return buffer;
  SmallVector<int64_t> shape(buffer.type.getShape()), extents(buffer.extents);
  shape.back() /= 2;
  buffer.type = RankedTensorType::get(shape, r.b.getI32Type());
  buffer.dims.back() = r.constant(shape.back());
  if (!extents.empty()) {
    extents.back() /= 2;
    // The context keeps them.
    buffer.extents = DenseI64ArrayAttr::get(r.b.getContext(), extents).asArrayRef();
  }
  return buffer;
}

Value weir::loadStep(KernelBuilder &r, Operation *anchor, Value pointer, Value linear) {
  Type element = stepElement(anchor);
  if (!multipliesPairs(anchor))
    return BufferAccess::load(r, pointer, element, linear);
  return LLVM::LoadOp::create(r.b, r.loc, element,
                              BufferAccess::address(r, pointer, element, linear), /*alignment=*/2);
}

/// The sum of each lane, and the products of both pairs of bf16 in it.
static Value addPairs(KernelBuilder &r, Value left, Value right, Value sums) {
  auto type = cast<VectorType>(sums.getType());
  int64_t lanes = type.getNumElements();
  auto pairs = VectorType::get({2 * lanes}, r.b.getBF16Type());
  Value x = LLVM::BitcastOp::create(r.b, r.loc, pairs, left);
  Value y = LLVM::BitcastOp::create(r.b, r.loc, pairs, right);
  std::string name = "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * lanes);
  return LLVM::CallIntrinsicOp::create(r.b, r.loc, type, r.b.getStringAttr(name),
                                       ValueRange{sums, x, y})
      ->getResult(0);
}

BlockArgument weir::bufferBehind(Value value) {
  for (Operation *def; (def = value.getDefiningOp());)
    value = def->getOperand(0);
  return cast<BlockArgument>(value);
}

ColumnsOperand::ColumnsOperand(KernelBuilder &r, Value operand) {
  if (operand.getDefiningOp<ReshapeOp>()) {
    isPacked = true;
    buffer = r.bufferOf(bufferBehind(operand));
    buffer.type = RankedTensorType::get(buffer.type.getShape().drop_back(), r.b.getI32Type());
    buffer.dims.pop_back();
    return;
  }
  if (auto widening = operand.getDefiningOp<CastOp>()) {
    operand = widening.getOperand();
    narrow = getElementTypeOrSelf(operand.getType());
  }
  if (auto unpack = operand.getDefiningOp<UnpackPanelsOp>()) {
    isPacked = true;
    operand = unpack.getOperand();
  } else if (auto transpose = operand.getDefiningOp<TransposeOp>()) {
    isTurned = true;
    operand = transpose.getOperand();
  }
  if (auto slice = operand.getDefiningOp<SliceOp>()) {
    firstLine = sliceStart(slice, r, 0);
    operand = slice.getOperand();
  }
  buffer = r.bufferOf(operand);
}

Value ColumnsOperand::lineOf(KernelBuilder &r, Value number, Value lines) const {
  if (!firstLine)
    return r.mul(number, lines);
  return r.add(r.mul(number, buffer.dims[buffer.dims.size() - 2]), firstLine);
}

Value ColumnsOperand::linear(KernelBuilder &r, Value rows, Value row, Value panel, Value column,
                             int64_t lane) const {
  if (!isPacked)
    return r.add(r.mul(row, buffer.dims.back()), r.add(column, r.constant(lane)));
  return r.add(r.mul(r.add(r.mul(panel, rows), row), buffer.dims.back()), r.constant(lane));
}

bool ColumnsOperand::wantsPrefetch(plan::KernelOp kernel, int64_t tilesInPanel) const {
  constexpr int64_t muchOfTheCache = 1 << 18;
  if (!isPacked || tilesInPanel <= 1)
    return false;
  if (auto ahead = kernel.getSchedule().find(plan::schedule::fetchAhead))
    return *ahead;
  return buffer.type.getNumElements() * elementBytes(buffer.type.getElementType()) > muchOfTheCache;
}

void ColumnsOperand::prefetch(KernelBuilder &r, Value rows, Value row, Value panel, Value tile,
                              int64_t tilesInPanel, Value tiles) const {
  // A power of two makes offsets of shifts. What a tile beyond it fetches belongs
  // to the panel after the next.
  int64_t parts = llvm::bit_floor((uint64_t)tilesInPanel), width = buffer.type.getShape().back();
  parts = std::min(parts, (int64_t)llvm::bit_floor((uint64_t)width));
  Type element = buffer.type.getElementType();
  int64_t line = 64 / elementBytes(element); // of the cache, in elements
  Value next = r.mul(r.add(panel, r.constant(1)), rows);
  Value fraction = r.add(r.mul(tile, rows), row); // of parts * rows
  Value elements = r.mul(fraction, r.constant(width)), offset;
  // Fewer tiles fetch more each, but not more than a line at a step.
  for (int64_t fewer = std::min(parts, std::max<int64_t>(width / line, 1)); tiles && fewer < parts;
       fewer *= 2) {
    Value share = r.divide(elements, r.constant(fewer));
    if (!offset) {
      offset = share;
      continue;
    }
    offset = r.select(r.less(tiles, r.constant(fewer)), offset, share);
  }
  Value share = r.divide(elements, r.constant(parts));
  offset = offset ? r.select(r.less(tiles, r.constant(parts)), offset, share) : share;
  Value linear = r.add(r.mul(next, r.constant(width)), offset);
  for (int64_t i = 0; i < std::max<int64_t>(1, width / parts / line); ++i) {
    Value where =
        BufferAccess::address(r, buffer.pointer, element, r.add(linear, r.constant(i * line)));
    LLVM::Prefetch::create(r.b, r.loc, where, /*rw=*/0, /*hint=*/2, /*cache=*/1);
  }
}

SmallVector<Value> weir::laneMasks(KernelBuilder &r, const TileShape &shape, Value column,
                                   Value columns) {
  SmallVector<Value> masks(shape.vectors);
  for (int64_t v = 0; v < shape.vectors; ++v) {
    // With a fixed number of columns only the last vector is partly outside.
    if (!columns || (known(columns) && v + 1 < shape.vectors))
      continue;
    // The mask's operand may be negative: then no lane exists.
    Value left = r.sub(columns, r.add(column, r.constant(v * shape.lanes)));
    masks[v] = vector::CreateMaskOp::create(r.b, r.loc,
                                            VectorType::get({shape.lanes}, r.b.getI1Type()), left);
  }
  return masks;
}

/// Longer sums of a tile, of known length, go by blocks: what waits for a block to end leaves
/// the registers. Sums of open length are cut by who asks for tiles, into blocks of as many,
/// so that both have the same bits.
static constexpr SumBlocks tileBlocks = {/*most=*/512, /*cutsOpen=*/false};

/// `values` where `condition` holds, else what `others` returns, as many of the same types.
static SmallVector<Value> either(KernelBuilder &r, Value condition, ValueRange values,
                                 function_ref<SmallVector<Value>()> others) {
  OpBuilder::InsertionGuard guard(r.b);
  auto branch = scf::IfOp::create(r.b, r.loc, values.getTypes(), condition,
                                  /*withElseRegion=*/true);
  r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(r.b, r.loc, values);
  r.b.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(r.b, r.loc, others());
  return llvm::to_vector_of<Value>(branch.getResults());
}

void weir::emitTile(KernelBuilder &r, plan::KernelOp kernel, Operation *anchor,
                    const TileShape &shape, ArrayRef<Value> loops, const TileOperands &operands,
                    function_ref<SmallVector<Value>(int64_t)> indexOfRow, Value column,
                    Value columns) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  Type element = tileElement(anchor);
  bool isPairs = operands.addsPairs || multipliesPairs(anchor);
  Type stepType = isPairs ? b.getI32Type() : element;
  auto vectorType = VectorType::get({shape.lanes}, element);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType));
  SmallVector<Value> inits(shape.rows * shape.vectors, zero);
  VectorReader whole(r, shape.lanes);
  auto placeOf = [&](int64_t sum) {
    const PartialSums &partial = *operands.partial;
    int64_t row = sum / shape.vectors, v = sum % shape.vectors;
    return r.add(partial.first, r.constant(row * partial.pitch + v * shape.lanes));
  };
  SmallVector<std::unique_ptr<VectorReader>> readers;
  SmallVector<Value> masks = laneMasks(r, shape, column, columns);
  for (Value mask : masks) {
    readers.push_back(std::make_unique<VectorReader>(r, shape.lanes));
    readers.back()->setLanes({}, mask);
  }

  auto multiplyAdd = [&](Value x, Value y, Value sum) -> Value {
    if (isPairs)
      return addPairs(r, x, y, sum);
    if (isa<FloatType>(element))
      return vector::FMAOp::create(b, loc, x, y, sum);
    return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x, y), sum);
  };
  auto step = [&](ValueRange at, ValueRange carried) {
    SmallVector<Value> right, next;
    if (operands.prefetch)
      operands.prefetch(at);
    for (int64_t v = 0; v < shape.vectors; ++v) {
      auto [pointer, linear] = operands.right(v, at);
      VectorReader &reader = operands.isPadded ? whole : *readers[v];
      Value read = reader.load(pointer, operands.narrow ? operands.narrow : stepType, linear);
      right.push_back(operands.narrow ? Value(arith::ExtFOp::create(b, loc, vectorType, read))
                                      : read);
    }
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value scalar = operands.left(row, at);
      if (!scalar) {
        llvm::append_range(next, carried.slice(row * shape.vectors, shape.vectors));
        continue;
      }
      Value left =
          vector::BroadcastOp::create(b, loc, VectorType::get({shape.lanes}, stepType), scalar);
      for (int64_t v = 0; v < shape.vectors; ++v)
        next.push_back(multiplyAdd(left, right[v], carried[row * shape.vectors + v]));
    }
    return next;
  };
  // A block's sum begins with zero, and is added to those of the blocks before: as a part of
  // the sum has several blocks, or is one, so that parts change no bits.
  bool isPart = operands.partial && !operands.partial->isFirst, isFloat = isa<FloatType>(element);
  bool isCut = isFloat && llvm::any_of(blockedLoops(loops, tileBlocks),
                                       [](const BlockedLoop &loop) { return loop.begins; });
  auto readerOf = [&](int64_t sum) -> VectorReader & {
    return operands.partial->isInResult ? *readers[sum % shape.vectors] : whole;
  };
  auto before = [&] {
    auto load = [&] {
      SmallVector<Value> loaded;
      for (size_t i = 0; i < inits.size(); ++i)
        loaded.push_back(readerOf(i).load(operands.partial->pointer, element, placeOf(i)));
      return loaded;
    };
    if (Value isFirst = operands.partial->isFirstIf)
      return either(r, isFirst, inits, load);
    return load();
  };
  SmallVector<Value> start(inits);
  if (isPart && isCut)
    start = before();
  SmallVector<Value> sums =
      isFloat ? emitBlockedSums(r, loops, start, inits, tileBlocks, step, operands.form)
              : emitReductionLoops(r, loops, inits, step);
  if (isPart && !isCut)
    for (auto [earlier, sum] : llvm::zip(before(), sums))
      sum = isFloat ? Value(arith::AddFOp::create(b, loc, earlier, sum))
                    : Value(arith::AddIOp::create(b, loc, earlier, sum));
  if (operands.partial && !operands.partial->isLast) {
    for (auto [i, sum] : llvm::enumerate(sums))
      readerOf(i).store(sum, operands.partial->pointer, element, placeOf(i));
    return;
  }

  storeTile(r, kernel, anchor, shape, sums, indexOfRow, column, columns);
}

/// Whether each of a tile's sums goes through a function of dozens of instructions (an exponential,
/// an error function): code that is worth a loop over a tile's rows.
static bool isFollowedByFunction(Operation *anchor) {
  llvm::SetVector<Operation *> behind;
  behind.insert(anchor);
  for (size_t i = 0; i < behind.size(); ++i) {
    if (behind[i]->hasTrait<traits::CallsFunction>() || isa<ExpOp, LogisticOp>(behind[i]))
      return true;
    for (Operation *user : behind[i]->getUsers())
      behind.insert(user);
  }
  return false;
}

/// `count` elements on the stack, once for each call of the kernel.
static Value stackOfKernel(KernelBuilder &r, Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(r.b);
  // Loops that are being built have no parent yet.
  r.b.setInsertionPointToStart(r.context.getParentBlock());
  return stackElements(r, element, count);
}

/// Tells the indices of a row in a loop over a tile's rows, which begins where this is called and
/// holds what is emitted next. What a row's indices do not have in common waits on the stack.
static SmallVector<Value> indicesInLoop(KernelBuilder &r, ArrayRef<SmallVector<Value>> ofRows,
                                        function_ref<Value()> begin) {
  Type word = r.b.getI64Type();
  SmallVector<Value> indices(ofRows.front()), places(indices.size());
  auto addressOf = [&](size_t d, Value row) {
    return BufferAccess::address(r, places[d], word, row);
  };
  for (size_t d = 0; d < indices.size(); ++d) {
    if (llvm::all_of(ofRows, [&](const auto &row) { return row[d] == indices[d]; }))
      continue;
    places[d] = stackOfKernel(r, word, ofRows.size());
    for (auto [i, row] : llvm::enumerate(ofRows))
      LLVM::StoreOp::create(r.b, r.loc, r.b.createOrFold<arith::IndexCastOp>(r.loc, word, row[d]),
                            addressOf(d, r.constant(i)), /*alignment=*/8);
  }
  Value row = begin();
  for (size_t d = 0; d < indices.size(); ++d)
    if (places[d])
      indices[d] = arith::IndexCastOp::create(
          r.b, r.loc, r.b.getIndexType(),
          LLVM::LoadOp::create(r.b, r.loc, word, addressOf(d, row), /*alignment=*/8));
  return indices;
}

void weir::storeTile(KernelBuilder &r, plan::KernelOp kernel, Operation *anchor,
                     const TileShape &shape, ArrayRef<Value> sums,
                     function_ref<SmallVector<Value>(int64_t)> indexOfRow, Value column,
                     Value columns) {
  SmallVector<std::unique_ptr<VectorReader>> readers;
  SmallVector<Value> masks = laneMasks(r, shape, column, columns);
  for (int64_t v = 0; v < shape.vectors; ++v)
    readers.push_back(std::make_unique<VectorReader>(r, shape.lanes));
  // All are computed before the first is stored: it may lie where another's operand does.
  OperandRange results = kernel.getBody().front().getTerminator()->getOperands();
  auto storeRow = [&](SmallVector<Value> indices, function_ref<Value(int64_t)> sumOf) {
    indices.push_back(Value());
    for (int64_t v = 0; v < shape.vectors; ++v) {
      VectorReader &reader = *readers[v];
      indices.back() = r.add(column, r.constant(v * shape.lanes));
      reader.setLanes(indices.back(), masks[v]);
      reader.setAnchor(anchor->getResult(0), sumOf(v));
      SmallVector<Value> values;
      for (Value result : results)
        values.push_back(reader.element(result, indices));
      for (auto [result, value] : llvm::zip(results, values)) {
        const KernelBuilder::Buffer &target = r.bufferOf(result);
        reader.store(value, target.pointer, target.type.getElementType(),
                     r.linearIndex(target, indices));
      }
    }
  };
  // Fewer rows are as little code.
  constexpr int64_t manyRows = 4;
  if (shape.rows < manyRows || !isFollowedByFunction(anchor)) {
    for (int64_t row = 0; row < shape.rows; ++row)
      storeRow(indexOfRow(row), [&](int64_t v) { return sums[row * shape.vectors + v]; });
    return;
  }
  VectorReader whole(r, shape.lanes);
  Type element = tileElement(anchor);
  Value waiting = stackOfKernel(r, element, shape.rows * shape.width());
  for (auto [i, sum] : llvm::enumerate(sums))
    whole.store(sum, waiting, element, r.constant(i * shape.lanes));
  SmallVector<SmallVector<Value>> ofRows;
  for (int64_t row = 0; row < shape.rows; ++row)
    ofRows.push_back(indexOfRow(row));
  OpBuilder::InsertionGuard guard(r.b);
  Value row;
  SmallVector<Value> indices = indicesInLoop(r, ofRows, [&] {
    auto loop =
        scf::ForOp::create(r.b, r.loc, r.constant(0), r.constant(shape.rows), r.constant(1));
    forbidUnrolling(loop);
    r.b.setInsertionPointToStart(loop.getBody());
    return row = loop.getInductionVar();
  });
  storeRow(indices, [&](int64_t v) {
    Value place = r.add(r.mul(row, r.constant(shape.width())), r.constant(v * shape.lanes));
    return whole.load(waiting, element, place);
  });
}

void weir::emitStepLoop(KernelBuilder &r, Value begin, Value end, int64_t step,
                        function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(r.b);
  auto loop = scf::ForOp::create(r.b, r.loc, begin, end, r.constant(step));
  r.b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

scf::ForOp weir::createBlockLoop(KernelBuilder &r, Value begin, Value end, Value length) {
  Value one = r.constant(1);
  Value last = r.divide(r.add(end, r.sub(length, one)), length);
  return scf::ForOp::create(r.b, r.loc, r.divide(begin, length), last, one);
}

/// Replaces what is said of a loop to LLVM.
static void annotate(scf::ForOp loop, LLVM::LoopVectorizeAttr vectors,
                     LLVM::LoopUnrollAttr unroll) {
  loop->setAttr("llvm.loop_annotation",
                LLVM::LoopAnnotationAttr::get(loop.getContext(), {}, vectors, {}, unroll, {}, {},
                                              {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

void weir::forbidUnrolling(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  annotate(loop, {},
           LLVM::LoopUnrollAttr::get(context, /*disable=*/BoolAttr::get(context, true), {}, {}, {},
                                     {}, {}, {}));
}

void weir::forbidVectors(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  annotate(loop,
           LLVM::LoopVectorizeAttr::get(context, /*disable=*/BoolAttr::get(context, true), {}, {},
                                        {}, {}, {}, {}),
           {});
}

void weir::emitEither(KernelBuilder &r, Value condition, function_ref<void()> yes,
                      function_ref<void()> no) {
  OpBuilder::InsertionGuard guard(r.b);
  auto branch = scf::IfOp::create(r.b, r.loc, condition, /*withElseRegion=*/true);
  r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  yes();
  r.b.setInsertionPointToStart(&branch.getElseRegion().front());
  no();
}

void weir::emitTiled(KernelBuilder &r, int64_t count, int64_t size, function_ref<void(Value)> full,
                     function_ref<void(Value, int64_t)> rest) {
  int64_t whole = llvm::alignDown(count, size);
  if (whole > 0)
    emitStepLoop(r, r.constant(0), r.constant(whole), size, full);
  if (whole < count)
    rest(r.constant(whole), count - whole);
}

void weir::emitRowTiles(KernelBuilder &r, Value count, int64_t size,
                        function_ref<void(Value, int64_t)> tile) {
  auto full = [&](Value first) { tile(first, size); };
  Value zero = r.constant(0);
  if (auto fixed = known(count))
    return emitTiled(r, *fixed, size, full, tile);
  if (size == 1)
    return emitStepLoop(r, zero, count, 1, full);
  int64_t half = llvm::bit_floor((uint64_t)size - 1);
  Value tiles = r.divide(count, r.constant(size));
  // The last tile and few rows beside it are two tiles that are neither small.
  if (int64_t few = 2 * half - size; few > 0) {
    Value left = r.remainder(count, r.constant(size));
    Value isFew =
        arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::eq, left, r.constant(few));
    Value fewer = r.maximum(r.sub(tiles, r.constant(1)), r.constant(0));
    tiles = arith::SelectOp::create(r.b, r.loc, isFew, fewer, tiles);
  }
  Value at = r.mul(tiles, r.constant(size));
  emitStepLoop(r, zero, at, size, full);
  // Half a tile, as an image of 7x7 leaves of 14 rows, would be three small ones, and each waits
  // for its own sums.
  constexpr int64_t manyRows = 12;
  OpBuilder::InsertionGuard guard(r.b);
  if (int64_t rows = size / 2; size >= manyRows && size % 2 == 0 && !llvm::isPowerOf2_64(rows)) {
    Value isHalf = r.equal(r.sub(count, at), r.constant(rows));
    auto branch = scf::IfOp::create(r.b, r.loc, isHalf, /*withElseRegion=*/true);
    r.b.setInsertionPointToStart(&branch.getThenRegion().front());
    tile(at, rows);
    r.b.setInsertionPointToStart(&branch.getElseRegion().front());
  }
  Value halves = r.divide(r.sub(count, at), r.constant(half));
  Value next = r.add(at, r.mul(halves, r.constant(half)));
  emitStepLoop(r, at, next, half, [&](Value first) { tile(first, half); });
  for (int64_t rows = half / 2; rows; rows /= 2) {
    OpBuilder::InsertionGuard guard(r.b);
    Value after = r.add(next, r.constant(rows));
    Value fits = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::sle, after, count);
    auto branch = scf::IfOp::create(r.b, r.loc, fits, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard inner(r.b);
      r.b.setInsertionPointToStart(&branch.getThenRegion().front());
      tile(next, rows);
    }
    next = arith::SelectOp::create(r.b, r.loc, fits, after, next);
  }
}

RowBlock weir::evenBlock(KernelBuilder &r, Value rows, int64_t most, int64_t size, Value number) {
  std::optional<int64_t> all = known(rows);
  if (all && *all > 0 && *all % most == 0)
    return {r.mul(number, r.constant(most)), r.constant(most)};
  // Blocks that are no whole tiles stay as they are.
  if (most % size)
    size = most;
  auto blocksOf = [&](int64_t each) {
    return r.divide(r.add(rows, r.constant(each - 1)), r.constant(each));
  };
  Value tiles = blocksOf(size), count = blocksOf(most);
  auto begin = [&](Value block) {
    return r.mul(r.divide(r.mul(block, tiles), count), r.constant(size));
  };
  Value first = begin(number), end = r.minimum(begin(r.add(number, r.constant(1))), rows);
  return {first, r.sub(end, first)};
}

bool weir::isWholeBuffer(KernelBuilder &r, Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  return isa<BlockArgument>(tensor) && r.bufferOf(tensor).extents.empty() &&
         element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 <= 1;
}

void weir::copyElements(KernelBuilder &r, const KernelBuilder::Buffer &source, Value from,
                        const KernelBuilder::Buffer &target, Value to, Value count) {
  Type element = target.type.getElementType();
  Value begin = BufferAccess::address(r, source.pointer, element, from);
  Value place = BufferAccess::address(r, target.pointer, element, to);
  Value bytes = r.mul(count, r.constant(elementBytes(element)));
  Value size = r.b.createOrFold<arith::IndexCastOp>(r.loc, r.b.getI64Type(), bytes);
  LLVM::MemcpyOp::create(r.b, r.loc, place, begin, size, /*isVolatile=*/false);
}

void weir::copyRow(KernelBuilder &r, const KernelBuilder::Buffer &source, ValueRange from,
                   const KernelBuilder::Buffer &target, ValueRange to) {
  copyElements(r, source, r.linearIndex(source, from), target, r.linearIndex(target, to),
               source.dims.back());
}

Value weir::insidePadding(KernelBuilder &r, ValueRange at, PadOp pad,
                          SmallVectorImpl<Value> &inside) {
  std::optional<SmallVector<int64_t>> known = constantIntegers(pad.getPads());
  size_t rank = cast<RankedTensorType>(pad.getType()).getRank();
  inside.assign(at.begin(), at.end());
  Value isInside;
  for (size_t i = 0; i < at.size(); ++i) {
    if (known && (*known)[i] == 0 && (*known)[rank + i] == 0)
      continue;
    inside[i] = r.sub(at[i], shape::entry(r, pad.getPads(), i));
    Value within = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, inside[i],
                                                   r.dim(pad.getOperand(), i));
    isInside = isInside ? r.logicalAnd(isInside, within) : within;
  }
  return isInside;
}

Value weir::startOfLanes(KernelBuilder &r, ReduceKind kind, Type element, int64_t lanes) {
  TypedAttr start;
  [[maybe_unused]] bool isKnown =
      matchPattern(shape::reductionStart(r, element, kind), m_Constant(&start));
  assert(isKnown && "reductions start from a constant");
  auto type = VectorType::get({lanes}, start.getType());
  return arith::ConstantOp::create(r.b, r.loc, SplatElementsAttr::get(type, Attribute(start)));
}

Value weir::reduceLanes(KernelBuilder &r, ReduceKind kind, Type element, Value x, Value y) {
  if (isa<IntegerType>(element)) {
    const bool isUnsigned = element.isUnsignedInteger();
    if (kind == ReduceKind::Max)
      return isUnsigned ? arith::MaxUIOp::create(r.b, r.loc, x, y).getResult()
                        : arith::MaxSIOp::create(r.b, r.loc, x, y);
    if (kind == ReduceKind::Min)
      return isUnsigned ? arith::MinUIOp::create(r.b, r.loc, x, y).getResult()
                        : arith::MinSIOp::create(r.b, r.loc, x, y);
    if (kind == ReduceKind::Prod)
      return arith::MulIOp::create(r.b, r.loc, x, y);
    return arith::AddIOp::create(r.b, r.loc, x, y);
  }
  // To tell -0 from 0 would take x86 as many instructions again.
  constexpr auto eitherZero = arith::FastMathFlags::nsz;
  if (kind == ReduceKind::Max)
    return arith::MaximumFOp::create(r.b, r.loc, x, y, eitherZero);
  if (kind == ReduceKind::Min)
    return arith::MinimumFOp::create(r.b, r.loc, x, y, eitherZero);
  if (kind == ReduceKind::Prod)
    return arith::MulFOp::create(r.b, r.loc, x, y);
  return arith::AddFOp::create(r.b, r.loc, x, y);
}

Value weir::meanOf(KernelBuilder &r, VectorReader &v, Value sums, Value count) {
  Value wide = arith::IndexCastOp::create(r.b, r.loc, r.b.getI64Type(), count);
  Value divisor = arith::SIToFPOp::create(r.b, r.loc, getElementTypeOrSelf(sums.getType()), wide);
  return arith::DivFOp::create(r.b, r.loc, sums, v.broadcast(divisor));
}
