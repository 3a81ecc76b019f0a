//===- CudaGemm.cpp - products and convolutions --------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block computes a tile of the result. Along the depth, its threads bring
// slices of both operands into shared memory, and each adds products to a few
// rows and columns that it keeps in registers; where operands are f16, bf16 or bytes, its
// warps do that by tensor cores (mma.sync, m16n8k16 with sums in f32, m16n8k32 with sums in
// i32). A convolution is the product of its windows, laid out as lines, with the filter; the
// lines are never stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaGemm.h"
#include "compiler/codegen/cuda/CudaWideOperands.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

static constexpr int64_t threads = 256, tileColumns = 64, tileDepth = 16, columnsEach = 4,
                         padding = 4;
// Tensor cores: depths go through shared memory in words of two halves, or four bytes. Lines
// of 20 words let the eight rows that are read at once fall into different banks.
static constexpr int64_t coreWords = 16, coreLine = coreWords + 4;

namespace {

/// Zero as an operand: sums' own type, or a float as it lies in memory.
Value zeroOf(CudaReader &r, const GemmProblem &p) {
  if (p.operand == p.wide)
    return reductionStart(r, p.wide, ReduceKind::Sum);
  return arith::ConstantOp::create(r.b, r.loc, r.b.getZeroAttr(p.operand));
}

/// One block's tile of the result.
class Tile {
public:
  Tile(const CudaKernel &k, const GemmProblem &p)
      : k(k), p(p), r(k.reader), b(r.b), scalars(r, p.op, p.wide) {}

  void emit() {
    const KernelBuilder::Buffer target = k.first();
    int64_t knownRows = knownCount(target.type, p.rowDims),
            knownColumns = knownCount(target.type, p.columnDims);
    depthStep = p.onTensorCores() ? coreWords * p.ofWord() : tileDepth;
    tileRows = knownRows >= 0 && knownRows <= 16 ? 16 : 64;
    k.shape.threads = threads;
    k.shape.axes = {{p.batchDims, 1}, {p.rowDims, tileRows}, {p.columnDims, tileColumns}};
    // Left alone, ptxas may have registers for four blocks, which windows of bytes do not fit into.
    bool isOfBytes = p.onTensorCores() && p.ofWord() == 4;
    if (isOfBytes && !isa<DotGeneralOp>(p.op))
      r.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));

    r.loc = p.op->getLoc();
    SmallVector<Value> batchSizes = sizesAlong(target, p.batchDims);
    rowSizes = sizesAlong(target, p.rowDims);
    columnSizes = sizesAlong(target, p.columnDims);
    rows = product(r, rowSizes);
    columns = product(r, columnSizes);
    depth = product(r, p.depthSizes);
    wholeRows = knownRows >= 0 && knownRows % tileRows == 0;
    wholeColumns = knownColumns >= 0 && knownColumns % tileColumns == 0;
    wholeDepth = p.knownDepth >= 0 && p.knownDepth % depthStep == 0;
    thread = r.threadId();
    SmallVector<Value> block = r.delinearize(r.blockId(), r.axisBlocks(k.shape, target.dims));
    batch = r.delinearize(block[0], batchSizes);
    rowBase = r.mul(block[1], r.constant(tileRows));
    columnBase = r.mul(block[2], r.constant(tileColumns));
    yes = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
    zero = zeroOf(r, p);
    if (p.onTensorCores())
      emitOnTensorCores();
    else
      emitInThreads();
  }

private:
  Value index(int64_t value) { return r.constant(value); }

  /// What `load` gives where `ok` holds, and zero elsewhere.
  Value guarded(Value ok, function_ref<Value()> load) {
    return matchPattern(ok, m_One()) ? load() : emitIf(r, ok, load, [&] { return zero; });
  }
  /// Element of the left operand, zero outside.
  Value leftAt(Value row, Value place) {
    Value globalRow = r.add(rowBase, row);
    Value ok = r.logicalAnd(wholeRows ? yes : r.less(globalRow, rows),
                            wholeDepth ? yes : r.less(place, depth));
    return guarded(ok, [&] {
      return p.left(batch, r.delinearize(globalRow, rowSizes), r.delinearize(place, p.depthSizes));
    });
  }
  Value rightAt(Value place, Value column) {
    Value globalColumn = r.add(columnBase, column);
    Value ok = r.logicalAnd(wholeColumns ? yes : r.less(globalColumn, columns),
                            wholeDepth ? yes : r.less(place, depth));
    return guarded(ok, [&] {
      return p.right(batch, r.delinearize(place, p.depthSizes),
                     r.delinearize(globalColumn, columnSizes));
    });
  }

  /// Runs `step` for each slice of the depth, with where it begins and the sums.
  scf::ForOp alongDepth(ArrayRef<Value> sums,
                        function_ref<SmallVector<Value>(Value, SmallVector<Value>)> step) {
    auto loop = scf::ForOp::create(b, r.loc, index(0), depth, index(depthStep), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        step(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
    r.barrier();
    scf::YieldOp::create(b, r.loc, next);
    return loop;
  }

  /// Stores sums of one row of the tile, each with its column, and what follows.
  void finishRow(Value tileRow, ArrayRef<std::pair<Value, Value>> sums) {
    Value row = r.add(rowBase, tileRow);
    r.onlyIf(wholeRows ? yes : r.less(row, rows), [&] {
      SmallVector<Value> indices(k.first().type.getRank());
      setIndices(indices, p.batchDims, batch);
      setIndices(indices, p.rowDims, r.delinearize(row, rowSizes));
      for (auto [tileColumn, sum] : sums) {
        Value column = r.add(columnBase, tileColumn);
        r.loc = p.op->getLoc();
        r.onlyIf(wholeColumns ? yes : r.less(column, columns), [&, sum = sum] {
          setIndices(indices, p.columnDims, r.delinearize(column, columnSizes));
          k.emitResults(indices, p.op, scalars.cast(sum, p.wide, p.result, false));
        });
      }
    });
  }

  void emitInThreads();
  void emitOnTensorCores();

  const CudaKernel &k;
  const GemmProblem &p;
  CudaReader &r;
  OpBuilder &b;
  ScalarBuilder scalars;
  int64_t depthStep = tileDepth, tileRows = 64;
  bool wholeRows = false, wholeColumns = false, wholeDepth = false;
  SmallVector<Value> batch, rowSizes, columnSizes;
  Value rows, columns, depth, thread, rowBase, columnBase, yes, zero;
};

void Tile::emitInThreads() {
  int64_t columnThreads = tileColumns / columnsEach;
  int64_t rowsEach = tileRows / (threads / columnThreads);
  Value leftTile = r.shared(p.wide, {tileDepth, tileRows + padding}),
        rightTile = r.shared(p.wide, {tileDepth, tileColumns});
  Value x = r.remainder(thread, index(columnThreads)), y = r.divide(thread, index(columnThreads));
  SmallVector<Value> zeros(rowsEach * columnsEach, zero);
  auto loop = alongDepth(zeros, [&](Value first, SmallVector<Value> sums) {
    for (int64_t i = 0; i < tileRows * tileDepth; i += threads) {
      Value item = r.add(thread, index(i));
      Value row = r.divide(item, index(tileDepth)), at = r.remainder(item, index(tileDepth));
      Value value = leftAt(row, r.add(first, at));
      memref::StoreOp::create(b, r.loc, value, leftTile, ValueRange{at, row});
    }
    for (int64_t i = 0; i < tileColumns * tileDepth; i += threads) {
      Value item = r.add(thread, index(i));
      Value at = r.divide(item, index(tileColumns)), column = r.remainder(item, index(tileColumns));
      Value value = rightAt(r.add(first, at), column);
      memref::StoreOp::create(b, r.loc, value, rightTile, ValueRange{at, column});
    }
    r.barrier();
    for (int64_t d = 0; d < tileDepth; ++d) {
      SmallVector<Value> left, right;
      for (int64_t i = 0; i < rowsEach; ++i)
        left.push_back(memref::LoadOp::create(
            b, r.loc, leftTile, ValueRange{index(d), r.add(r.mul(y, index(rowsEach)), index(i))}));
      for (int64_t j = 0; j < columnsEach; ++j)
        right.push_back(memref::LoadOp::create(
            b, r.loc, rightTile,
            ValueRange{index(d), r.add(r.mul(x, index(columnsEach)), index(j))}));
      for (int64_t i = 0; i < rowsEach; ++i)
        for (int64_t j = 0; j < columnsEach; ++j) {
          Value &sum = sums[i * columnsEach + j];
          sum = multiplyAdd(r, scalars, sum, left[i], right[j]);
        }
    }
    return sums;
  });
  for (int64_t i = 0; i < rowsEach; ++i) {
    SmallVector<std::pair<Value, Value>> sums;
    for (int64_t j = 0; j < columnsEach; ++j)
      sums.push_back(
          {r.add(r.mul(x, index(columnsEach)), index(j)), loop.getResult(i * columnsEach + j)});
    finishRow(r.add(r.mul(y, index(rowsEach)), index(i)), sums);
  }
}

/// Each warp has 16 rows, and as many groups of eight columns as make the block's
/// tile with all warps. Which lane has which elements is what PTX says of
/// mma.m16n8k16.
void Tile::emitOnTensorCores() {
  Type word = b.getI32Type();
  int64_t rowWarps = tileRows / tensorCoreRows, columnWarps = threads / 32 / rowWarps,
          warpColumns = tileColumns / columnWarps, groups = warpColumns / tensorCoreColumns;
  Value leftTile = r.shared(word, {tileRows, coreLine}),
        rightTile = r.shared(word, {tileColumns, coreLine});
  Value warp = r.divide(thread, index(32)), lane = r.remainder(thread, index(32));
  Value g = r.divide(lane, index(4)), t = r.remainder(lane, index(4));
  Value warpRow = r.mul(r.remainder(warp, index(rowWarps)), index(tensorCoreRows)),
        warpColumn = r.mul(r.divide(warp, index(rowWarps)), index(warpColumns));
  Value none = reductionStart(r, p.wide, ReduceKind::Sum);
  SmallVector<Value> zeros(groups * 4, none);
  auto loop = alongDepth(zeros, [&](Value first, SmallVector<Value> sums) {
    auto pack = [&](Value first, function_ref<Value(Value place)> element) {
      SmallVector<Value> numbers;
      for (int64_t i = 0; i < p.ofWord(); ++i)
        numbers.push_back(element(r.add(first, index(i))));
      return packWord(r, numbers);
    };
    for (int64_t i = 0; i < tileRows * coreWords; i += threads) {
      Value item = r.add(thread, index(i));
      Value row = r.divide(item, index(coreWords)), word = r.remainder(item, index(coreWords));
      Value all = pack(r.add(first, r.mul(word, index(p.ofWord()))),
                       [&](Value place) { return leftAt(row, place); });
      memref::StoreOp::create(b, r.loc, all, leftTile, ValueRange{row, word});
    }
    for (int64_t i = 0; i < tileColumns * coreWords; i += threads) {
      Value item = r.add(thread, index(i));
      Value word = r.divide(item, index(tileColumns)),
            column = r.remainder(item, index(tileColumns));
      Value all = pack(r.add(first, r.mul(word, index(p.ofWord()))),
                       [&](Value place) { return rightAt(place, column); });
      memref::StoreOp::create(b, r.loc, all, rightTile, ValueRange{column, word});
    }
    r.barrier();
    for (int64_t slice = 0; slice < coreWords; slice += 8) {
      auto load = [&](Value tile, Value line, int64_t lineStep, int64_t wordStep) {
        return memref::LoadOp::create(
                   b, r.loc, tile,
                   ValueRange{r.add(line, index(lineStep)), r.add(t, index(slice + wordStep))})
            .getResult();
      };
      Value leftLine = r.add(warpRow, g);
      SmallVector<Value> left = {load(leftTile, leftLine, 0, 0), load(leftTile, leftLine, 8, 0),
                                 load(leftTile, leftLine, 0, 4), load(leftTile, leftLine, 8, 4)};
      for (int64_t j = 0; j < groups; ++j) {
        Value rightLine = r.add(warpColumn, g);
        SmallVector<Value> right = {load(rightTile, rightLine, j * tensorCoreColumns, 0),
                                    load(rightTile, rightLine, j * tensorCoreColumns, 4)};
        multiplyOnTensorCores(r, p.coreType(p.leftType), p.coreType(p.rightType), left, right,
                              MutableArrayRef(sums).slice(j * 4, 4));
      }
    }
    return sums;
  });
  for (int64_t i : {0, 1}) {
    SmallVector<std::pair<Value, Value>> sums;
    for (int64_t j = 0; j < groups; ++j)
      for (int64_t c : {0, 1})
        sums.push_back(
            {r.add(warpColumn, r.add(r.mul(t, index(2)), index(j * tensorCoreColumns + c))),
             loop.getResult(j * 4 + i * 2 + c)});
    finishRow(r.add(warpRow, r.add(g, index(i * 8))), sums);
  }
}

bool isTileable(Type wide) {
  return isa<IntegerType, FloatType>(wide) && !wide.isInteger(1) &&
         wide.getIntOrFloatBitWidth() >= 8;
}

/// What shared memory gets: sums' own type, or the operands' where tensor cores of any
/// architecture multiply them.
void takeTypes(GemmProblem &p, Type left, Type right) {
  p.leftType = left;
  p.rightType = right;
  p.operand = p.wide;
  if (!tensorCoresTake(left, right, p.wide))
    return;
  if (isa<Float16Type, BFloat16Type>(left))
    p.operand = left;
  else if (isa<FloatType>(left)) // f16 has all of their values
    p.operand = Float16Type::get(left.getContext());
  else if (isa<IntegerType>(left))
    p.operand = IntegerType::get(left.getContext(), 8);
}

/// An 8-bit float as f16, exactly: the upper half of one, or a number whose exponent has a bias
/// of 7 and not of 15.
Value halfOf(CudaReader &r, Value value, Type element) {
  OpBuilder &b = r.b;
  Type i16 = b.getI16Type(), f16 = b.getF16Type();
  auto word = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(b, r.loc, i16, number);
  };
  Value byte = arith::BitcastOp::create(b, r.loc, b.getI8Type(), value),
        bits = arith::ExtUIOp::create(b, r.loc, i16, byte);
  if (isa<Float8E5M2Type>(element))
    return arith::BitcastOp::create(b, r.loc, f16,
                                    arith::ShLIOp::create(b, r.loc, bits, word(8)).getResult());
  Value sign = arith::ShLIOp::create(b, r.loc, arith::AndIOp::create(b, r.loc, bits, word(0x80)),
                                     word(8)),
        magnitude = arith::AndIOp::create(b, r.loc, bits, word(0x7f)),
        place = arith::ShLIOp::create(b, r.loc, magnitude, word(7));
  // Products by powers of two are exact, of the smallest numbers, too.
  Value small = arith::BitcastOp::create(b, r.loc, f16, place),
        wide = arith::ExtFOp::create(b, r.loc, b.getF32Type(), small),
        factor = arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(256)),
        made = arith::TruncFOp::create(b, r.loc, f16,
                                       arith::MulFOp::create(b, r.loc, wide, factor).getResult()),
        number = arith::BitcastOp::create(b, r.loc, i16, made);
  Value isNan = arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::eq, magnitude, word(0x7f));
  number = arith::SelectOp::create(b, r.loc, isNan, word(0x7e00), number);
  return arith::BitcastOp::create(b, r.loc, f16,
                                  arith::OrIOp::create(b, r.loc, number, sign).getResult());
}

/// An element as shared memory gets it: bytes as they are, all else as what is multiplied.
Value toOperand(CudaReader &r, ScalarBuilder &s, const GemmProblem &p, Value value, Type element) {
  if (p.operand.isInteger(8))
    return value;
  if (p.operand.isF16() && isByteElement(element))
    return halfOf(r, value, element);
  return s.cast(value, element, p.operand, false);
}

/// An operand of a product, by groups of dimensions.
struct DotOperand {
  Value tensor;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;

  DotOperand(Value tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : tensor(tensor), batch(batch), contract(contract),
        free(freeDims(ranked(tensor).getRank(), batch, contract)) {}

  SmallVector<Value> indices(ValueRange ofBatch, ValueRange ofFree, ValueRange ofContract) const {
    SmallVector<Value> at(ranked(tensor).getRank());
    setIndices(at, batch, ofBatch);
    setIndices(at, free, ofFree);
    setIndices(at, contract, ofContract);
    return at;
  }
};

/// Whether neighbours along the depth, else along free dimensions, lie next to each other
/// in whole chunks. Nothing: neither.
std::optional<bool> chunksAlongDepth(const DotOperand &operand) {
  if (!isa<BlockArgument>(operand.tensor))
    return std::nullopt;
  RankedTensorType type = ranked(operand.tensor);
  int64_t chunk = 16 / elementBytes(type.getElementType());
  for (bool along : {true, false}) {
    // Matrices of bytes are not turned as they are read.
    if (!along && isByteElement(type.getElementType()))
      continue;
    ArrayRef<int64_t> group = along ? operand.contract : operand.free;
    int64_t count = knownCount(type, group);
    if (count > 0 && count % chunk == 0 && isDenseAlong(type, group))
      return along;
  }
  return std::nullopt;
}

/// Where the element at `indices` of a buffer lies.
Value pointerTo(CudaReader &r, Value tensor, ValueRange indices) {
  const KernelBuilder::Buffer &buffer = r.bufferOf(tensor);
  return BufferAccess::address(r, buffer.pointer, getElementTypeOrSelf(tensor.getType()),
                               r.linearIndex(buffer, indices));
}

bool emitDot(const CudaKernel &k, DotGeneralOp dot) {
  CudaReader &r = k.reader;
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType()),
       rhs = cast<RankedTensorType>(dot.getRhs().getType());
  GemmProblem p;
  p.op = dot;
  p.result = dot.getAccumulator();
  p.wide = accumulatorType(p.result);
  if (!isTileable(p.wide))
    return false;
  takeTypes(p, lhs.getElementType(), rhs.getElementType());
  const DotOperand leftOperand(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract()),
      rightOperand(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  int64_t next = 0;
  auto take = [&](SmallVector<int64_t> &dims, size_t count) {
    for (size_t i = 0; i < count; ++i)
      dims.push_back(next++);
  };
  take(p.batchDims, dot.getLhsBatch().size());
  take(p.rowDims, leftOperand.free.size());
  take(p.columnDims, rightOperand.free.size());
  // One row or column, or next to no depth, leaves tiles empty.
  auto result = cast<RankedTensorType>(dot.getType());
  p.knownDepth = knownCount(lhs, dot.getLhsContract());
  if (knownCount(result, p.rowDims) == 1 || knownCount(result, p.columnDims) == 1 ||
      (p.knownDepth >= 0 && p.knownDepth < 4))
    return false;
  r.loc = dot.getLoc();
  for (auto [i, j] : llvm::zip(dot.getLhsContract(), dot.getRhsContract()))
    p.depthSizes.push_back(r.minimum(r.dim(dot.getLhs(), i), r.dim(dot.getRhs(), j)));
  ScalarBuilder s(r, dot, p.wide);
  auto read = [&](const DotOperand &operand, ValueRange batch, ValueRange free, ValueRange place) {
    return toOperand(r, s, p, r.element(operand.tensor, operand.indices(batch, free, place)),
                     getElementTypeOrSelf(operand.tensor.getType()));
  };
  auto left = [&](ValueRange batch, ValueRange row, ValueRange place) {
    return read(leftOperand, batch, row, place);
  };
  auto right = [&](ValueRange batch, ValueRange place, ValueRange column) {
    return read(rightOperand, batch, column, place);
  };
  p.left = left;
  p.right = right;
  // 8-bit floats that lie in chunks are copied, and multiplied, as they are.
  bool isNarrow = p.operand.isF16() && isByteElement(lhs.getElementType()) &&
                  isByteElement(rhs.getElementType());
  if (isNarrow && chunksAlongDepth(leftOperand) && chunksAlongDepth(rightOperand))
    p.operand = IntegerType::get(dot.getContext(), 8);
  auto chunks = [&](const DotOperand &operand) -> std::optional<ChunkedOperand> {
    std::optional<bool> along = chunksAlongDepth(operand);
    // What is copied is multiplied as it is.
    bool isConverted =
        p.operand.isF16() && isByteElement(getElementTypeOrSelf(operand.tensor.getType()));
    if (!p.onTensorCores() || !along || isConverted)
      return std::nullopt;
    return ChunkedOperand{
        *along, [&](ValueRange batch, Value free, Value place) {
          const KernelBuilder::Buffer &buffer = r.bufferOf(operand.tensor);
          SmallVector<Value> ofFree = r.delinearize(free, sizesAlong(buffer, operand.free)),
                             ofDepth = r.delinearize(place, sizesAlong(buffer, operand.contract));
          return MatrixChunk{pointerTo(r, operand.tensor, operand.indices(batch, ofFree, ofDepth)),
                             Value()};
        }};
  };
  p.leftChunks = chunks(leftOperand);
  p.rightChunks = chunks(rightOperand);
  if (!emitPipelined(k, p))
    Tile(k, p).emit();
  return true;
}

bool emitConvolution(const CudaKernel &k, ConvOp conv) {
  CudaReader &r = k.reader;
  OpBuilder &b = r.b;
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto result = cast<RankedTensorType>(conv.getType());
  GemmProblem p;
  p.op = conv;
  p.result = conv.getAccumulator();
  p.wide = accumulatorType(p.result);
  Type element = getElementTypeOrSelf(conv.getInput().getType());
  takeTypes(p, element, filter.getElementType());
  int64_t rank = result.getRank(), spatial = rank - 2;
  bool last = conv.getChannelsLast();
  if (conv.getGroups() != 1 || !isTileable(p.wide) || !filter.hasStaticShape())
    return false;
  int64_t channel = last ? rank - 1 : 1, firstSpatial = last ? 1 : 2;
  int64_t firstWindow = last ? 0 : 2, inner = last ? rank - 2 : 1, outer = last ? rank - 1 : 0;
  p.columnDims = {channel};
  for (int64_t i = 0; i < rank; ++i)
    if (i != channel)
      p.rowDims.push_back(i);
  // The depth runs as the filter lies in memory.
  r.loc = conv.getLoc();
  SmallVector<int64_t> depthDims;
  for (int64_t i = 0; i < rank; ++i)
    if (i != outer)
      depthDims.push_back(i);
  for (int64_t dim : depthDims) {
    p.depthSizes.push_back(r.constant(filter.getDimSize(dim)));
    p.knownDepth *= filter.getDimSize(dim);
  }
  if (p.knownDepth < 4 || filter.getDimSize(outer) < 4)
    return false;
  ScalarBuilder s(r, conv, p.wide);
  bool padded = llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
  Value zero = zeroOf(r, p);
  // The input's indices for a position of the result and a place in the window, and
  // whether that is inside.
  auto inputAt = [&](ValueRange row, ValueRange place, SmallVector<Value> &at) -> Value {
    at.resize(rank);
    Value ok = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
    auto placeOf = [&](int64_t dim) {
      return place[llvm::find(depthDims, dim) - depthDims.begin()];
    };
    at[0] = row[0];
    at[channel] = placeOf(inner);
    for (int64_t i = 0; i < spatial; ++i) {
      // A row is an image and a position: the channel is not among its dimensions.
      Value index = r.add(r.mul(row[1 + i], r.constant(conv.getStrides()[i])),
                          r.mul(placeOf(firstWindow + i), r.constant(conv.getDilations()[i])));
      if (padded) {
        index = r.sub(index, r.constant(conv.getPads()[2 * i]));
        Value inside = r.logicalAnd(r.less(r.constant(-1), index),
                                    r.less(index, r.dim(conv.getInput(), firstSpatial + i)));
        ok = r.logicalAnd(ok, inside);
      }
      at[firstSpatial + i] = index;
    }
    return ok;
  };
  auto left = [&](ValueRange, ValueRange row, ValueRange place) -> Value {
    SmallVector<Value> at;
    Value ok = inputAt(row, place, at);
    auto load = [&] { return toOperand(r, s, p, r.element(conv.getInput(), at), element); };
    return padded ? emitIf(r, ok, load, [&] { return zero; }) : load();
  };
  auto filterAt = [&](ValueRange place, Value column) {
    SmallVector<Value> at(rank);
    setIndices(at, depthDims, place);
    at[outer] = column;
    return at;
  };
  auto right = [&](ValueRange, ValueRange place, ValueRange column) {
    return toOperand(r, s, p, r.element(conv.getFilter(), filterAt(place, column[0])),
                     filter.getElementType());
  };
  p.left = left;
  p.right = right;
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  // Chunks are of neighbouring channels; matrices of bytes are not turned as they are read.
  if (last && p.onTensorCores() && !isByteElement(element) && isa<BlockArgument>(conv.getInput()) &&
      isa<BlockArgument>(conv.getFilter()) && !input.isDynamicDim(channel) &&
      input.getDimSize(channel) % 8 == 0 && filter.getDimSize(outer) % 8 == 0) {
    p.leftChunks = ChunkedOperand{
        true, [&](ValueRange, Value free, Value place) {
          SmallVector<Value> row = r.delinearize(free, sizesAlong(k.first(), p.rowDims)),
                             inWindow = r.delinearize(place, p.depthSizes), at;
          Value ok = inputAt(row, inWindow, at);
          Value pointer = pointerTo(r, conv.getInput(), at);
          if (!padded)
            return MatrixChunk{pointer, Value()};
          // What is not read is an address that could be.
          pointer =
              arith::SelectOp::create(b, r.loc, ok, pointer, r.bufferOf(conv.getInput()).pointer);
          return MatrixChunk{pointer, ok};
        }};
    p.rightChunks = ChunkedOperand{
        false, [&](ValueRange, Value free, Value place) {
          return MatrixChunk{
              pointerTo(r, conv.getFilter(), filterAt(r.delinearize(place, p.depthSizes), free)),
              Value()};
        }};
  }
  if (!emitPipelined(k, p))
    Tile(k, p).emit();
  return true;
}

} // namespace

Operation *weir::onlyProduct(plan::KernelOp kernel) {
  Operation *anchor = nullptr;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (isa<DotGeneralOp, ConvOp>(op)) {
      if (anchor)
        return nullptr;
      anchor = &op;
    }
  return anchor;
}

bool weir::resultsLieAs(plan::KernelOp kernel, Operation *product) {
  auto own = cast<RankedTensorType>(product->getResult(0).getType());
  return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(), [&](Value result) {
    return cast<RankedTensorType>(result.getType()).getShape() == own.getShape();
  });
}

bool weir::emitGemm(const CudaKernel &k) {
  Operation *anchor = onlyProduct(k.kernel);
  if (!anchor || !resultsLieAs(k.kernel, anchor))
    return false;
  if (auto dot = dyn_cast<DotGeneralOp>(anchor))
    return emitSkinnyGemm(k, dot) || emitDot(k, dot);
  return emitConvolution(k, cast<ConvOp>(anchor));
}
