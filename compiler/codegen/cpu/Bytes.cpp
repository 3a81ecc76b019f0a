//===- Bytes.cpp - products of bytes -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bytes by constant signed bytes, with sums of 32
// bits: by matrix tiles (TDPBUSD, TDPBSSD), or by vectors whose lanes add four
// products (VPDPBUSD). The constant lies in panels of 32 columns, four rows side by
// side. Sums of a block of rows go through the stack to the elementwise operations
// that follow, a vector at a time.
//
// As in Matrix.cpp the left operand's rows are at one distance within a strip: all
// rows of a matrix; positions of several lines of an image, those of the border
// included, whose results are dropped; or positions of one line. The last block of a
// strip ends with it, and leaves out the results that the block before it has. A
// window's neighbours along a line are one run of the sum with their channels.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t width = 32;    ///< columns of a panel
constexpr int64_t quad = 4;      ///< rows side by side
constexpr int64_t tileBytes = 64; ///< of a tile's row

/// A strip of rows at one distance, and where their results go.
struct Strip {
  int64_t positions = 0; ///< rows
  int64_t pitch = 0;     ///< bytes from one to the next
  Value base;            ///< linear index of the first
  /// Indices of a row's results but the last, and whether it has any (null: yes).
  llvm::function_ref<std::pair<SmallVector<Value>, Value>(Value position)> place;
};

/// A loop of the sum: how often, and how far it takes the left operand and the rows
/// of the right one.
struct SumLoop {
  int64_t count, left, rows;
};

class ByteEmitter {
public:
  ByteEmitter(KernelReader &r, plan::KernelOp kernel, Operation *hero, BlockArgument weights)
      : r(r), b(r.b), kernel(kernel), hero(hero), weights(r.bufferOf(weights)),
        left(r.bufferOf(hero->getOperand(0))),
        isSigned(!left.type.getElementType().isUnsignedInteger()) {
    ArrayRef<int64_t> shape = this->weights.type.getShape();
    depth = this->weights.type.getNumElements() / (shape[0] * width);
    columns = cast<RankedTensorType>(hero->getResult(0).getType()).getShape().back();
    auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
    most = tile[0];
    lanes = tile[2];
    isTiles = kernel->getParentOfType<ModuleOp>()
                  ->getAttrOfType<StringAttr>(integerUnitAttribute)
                  .getValue() == "amx";
  }

  void product(DotGeneralOp dot, Value begin, Value end);
  void convolution(ConvOp conv, Value begin, Value end);

private:
  void call(StringRef name, ValueRange arguments) {
    LLVM::CallIntrinsicOp::create(b, r.loc, b.getStringAttr(("llvm.x86." + name).str()), arguments);
  }
  Value tile(int64_t number) {
    return LLVM::ConstantOp::create(b, r.loc, b.getI8Type(), b.getI8IntegerAttr(number));
  }
  Value i64(int64_t value) {
    return LLVM::ConstantOp::create(b, r.loc, b.getI64Type(), b.getI64IntegerAttr(value));
  }
  Value stackBytes(int64_t count) {
    return LLVM::AllocaOp::create(b, r.loc, LLVM::LLVMPointerType::get(b.getContext()),
                                  b.getI8Type(), i64(count), /*alignment=*/64);
  }
  Value address(Value pointer, Value byte) {
    return BufferAccess::address(r, pointer, b.getI8Type(), byte);
  }
  VectorType words() { return VectorType::get({lanes}, b.getI32Type()); }
  Value splat(int32_t value) {
    return arith::ConstantOp::create(b, r.loc, SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
  }
  Value loadWords(Value pointer, Value byte) {
    return LLVM::LoadOp::create(b, r.loc, words(), address(pointer, byte), /*alignment=*/4);
  }

  void configure(int64_t positions);
  void release() {
    if (isTiles)
      call("tilerelease", {});
  }
  Value addProducts(Value sum, Value unsignedBytes, Value signedBytes);
  /// 128 times the sum of each column of the panel, for left operands that are moved
  /// by as much to have no sign.
  void sumColumns();
  void sumByTiles(const Strip &strip, Value base);
  void sumByVectors(const Strip &strip, Value base);
  void multiplyTiles(const Strip &strip, Value at, Value row);
  void blocks(const Strip &strip, Value firstBlock, Value lastBlock, Value panel);
  void finish(const Strip &strip, Value start, Value skip, Value column);
  void finishRows(const Strip &strip, Value start, Value skip, Value column, bool isLastPanel);

  KernelReader &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  Operation *hero;
  const KernelReader::Buffer weights, left;
  bool isSigned, isTiles;
  SmallVector<SumLoop> loops; ///< of the sum; the last makes steps of `step` rows
  Value scratch, columnSums, panelBase;
  int64_t depth = 0;  ///< rows of the weights
  int64_t columns = 0, lanes = 0;
  int64_t step = 0;   ///< rows of the weights that are added at once
  int64_t most = 0;   ///< rows of a block
  int64_t rows = 0;   ///< of the blocks of this kernel
  int64_t height = 0; ///< rows of a tile
  int64_t second = 0; ///< where the second tile of rows begins
};

} // namespace

/// Blocks have as many rows as fit; where a strip has fewer than two tiles, these
/// share them, and overlap by one where the number is odd.
void ByteEmitter::configure(int64_t positions) {
  rows = std::min(positions, most);
  scratch = stackBytes(rows * width * 4);
  if (!isTiles) {
    if (isSigned)
      columnSums = stackBytes(width * 4);
    return;
  }
  height = llvm::divideCeil(rows, 2);
  second = rows - height;
  // Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns.
  uint8_t bytes[64] = {};
  bytes[0] = 1; // palette
  for (int64_t number = 0; number < 8; ++number) {
    bytes[16 + 2 * number] = number == 4 || number == 5 ? step : tileBytes;
    bytes[48 + number] = number < 6 ? height : step / quad;
  }
  Value configuration = stackBytes(sizeof(bytes));
  for (size_t i = 0; i < sizeof(bytes); i += 8)
    LLVM::StoreOp::create(b, r.loc, i64(llvm::support::endian::read64le(bytes + i)),
                          address(configuration, r.constant(i)));
  call("ldtilecfg", {configuration});
}

void ByteEmitter::multiplyTiles(const Strip &strip, Value at, Value row) {
  constexpr int64_t panelRow = width * quad;
  StringRef product = isSigned ? "tdpbssd" : "tdpbusd";
  Value right = r.add(panelBase, r.mul(row, r.constant(width)));
  auto load = [&](int64_t number, const KernelReader::Buffer &buffer, Value byte, int64_t pitch) {
    call("tileloadd64", {tile(number), address(buffer.pointer, byte), i64(pitch)});
  };
  load(4, left, at, strip.pitch);
  load(6, weights, right, panelRow);
  call(product, {tile(0), tile(4), tile(6)});
  load(7, weights, r.add(right, r.constant(tileBytes)), panelRow);
  call(product, {tile(1), tile(4), tile(7)});
  load(5, left, r.add(at, r.constant(second * strip.pitch)), strip.pitch);
  call(product, {tile(2), tile(5), tile(6)});
  call(product, {tile(3), tile(5), tile(7)});
}

void ByteEmitter::sumByTiles(const Strip &strip, Value base) {
  for (int64_t i = 0; i < 4; ++i)
    call("tilezero", {tile(i)});
  std::function<void(size_t, Value, Value)> nest = [&](size_t level, Value at, Value row) {
    if (level == loops.size())
      return multiplyTiles(strip, at, row);
    const SumLoop &loop = loops[level];
    auto inside = [&](Value i) {
      nest(level + 1, r.add(at, r.mul(i, r.constant(loop.left))),
           r.add(row, r.mul(i, r.constant(loop.rows))));
    };
    if (loop.count == 1)
      return inside(r.constant(0));
    emitStepLoop(r, r.constant(0), r.constant(loop.count), 1, inside);
  };
  nest(0, base, r.constant(0));
  for (int64_t i = 0; i < 4; ++i) {
    int64_t offset = i / 2 * second * width * 4 + i % 2 * tileBytes;
    call("tilestored64", {tile(i), address(scratch, r.constant(offset)), i64(width * 4)});
  }
}

Value ByteEmitter::addProducts(Value sum, Value unsignedBytes, Value signedBytes) {
  auto bytes = VectorType::get({lanes * quad}, b.getI8Type());
  auto asBytes = [&](Value value) -> Value { return LLVM::BitcastOp::create(b, r.loc, bytes, value); };
  StringAttr name = b.getStringAttr("llvm.x86.avx512.vpdpbusd." + std::to_string(lanes * 32));
  return LLVM::CallIntrinsicOp::create(
             b, r.loc, words(), name, ValueRange{sum, asBytes(unsignedBytes), asBytes(signedBytes)})
      ->getResult(0);
}

void ByteEmitter::sumColumns() {
  int64_t vectors = width / lanes;
  Value offset = splat(static_cast<int32_t>(0x80808080));
  SmallVector<Value> inits(vectors, splat(0));
  SmallVector<Value> sums = emitReductionLoops(
      r, {r.constant(depth / quad)}, inits, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> next;
        Value from = r.add(panelBase, r.mul(at[0], r.constant(quad * width)));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(addProducts(carried[v], offset,
                                     loadWords(weights.pointer, r.add(from, r.constant(v * lanes * 4)))));
        return next;
      });
  for (int64_t v = 0; v < vectors; ++v) {
    Value negative = arith::SubIOp::create(b, r.loc, splat(0), sums[v]);
    LLVM::StoreOp::create(b, r.loc, negative, address(columnSums, r.constant(v * lanes * 4)));
  }
}

void ByteEmitter::sumByVectors(const Strip &strip, Value base) {
  int64_t vectors = width / lanes;
  SmallVector<Value> inits, sizes;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < vectors; ++v)
      inits.push_back(isSigned ? loadWords(columnSums, r.constant(v * lanes * 4)) : splat(0));
  for (const SumLoop &loop : loops)
    sizes.push_back(r.constant(loop.count));
  SmallVector<Value> sums = emitReductionLoops(
      r, sizes, inits, [&](ValueRange at, ValueRange carried) {
        Value from = base, place = r.constant(0);
        for (auto [loop, i] : llvm::zip(loops, at)) {
          from = r.add(from, r.mul(i, r.constant(loop.left)));
          place = r.add(place, r.mul(i, r.constant(loop.rows)));
        }
        Value right = r.add(panelBase, r.mul(place, r.constant(width)));
        SmallVector<Value> loaded, next;
        for (int64_t v = 0; v < vectors; ++v)
          loaded.push_back(loadWords(weights.pointer, r.add(right, r.constant(v * lanes * 4))));
        for (int64_t row = 0; row < rows; ++row) {
          Value four = LLVM::LoadOp::create(b, r.loc, b.getI32Type(),
                                            address(left.pointer, r.add(from, r.constant(row * strip.pitch))),
                                            /*alignment=*/1);
          Value all = vector::BroadcastOp::create(b, r.loc, words(), four);
          if (isSigned)
            all = arith::XOrIOp::create(b, r.loc, all, splat(static_cast<int32_t>(0x80808080)));
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(addProducts(carried[row * vectors + v], all, loaded[v]));
        }
        return next;
      });
  for (auto [i, sum] : llvm::enumerate(sums))
    LLVM::StoreOp::create(b, r.loc, sum, address(scratch, r.constant(i * lanes * 4)), /*alignment=*/4);
}

void ByteEmitter::blocks(const Strip &strip, Value firstBlock, Value lastBlock, Value panel) {
  Value column = r.mul(panel, r.constant(width));
  panelBase = r.mul(column, r.constant(depth));
  if (columnSums)
    sumColumns();
  emitStepLoop(r, firstBlock, lastBlock, 1, [&](Value number) {
    Value wanted = r.mul(number, r.constant(rows));
    Value start = r.minimum(wanted, r.constant(strip.positions - rows));
    Value base = r.add(strip.base, r.mul(start, r.constant(strip.pitch)));
    if (isTiles)
      sumByTiles(strip, base);
    else
      sumByVectors(strip, base);
    finish(strip, start, r.sub(wanted, start), column);
  });
}

void ByteEmitter::finish(const Strip &strip, Value start, Value skip, Value column) {
  if (columns % width == 0)
    return finishRows(strip, start, skip, column, /*isLastPanel=*/false);
  if (columns < width)
    return finishRows(strip, start, skip, column, /*isLastPanel=*/true);
  OpBuilder::InsertionGuard guard(b);
  Value fits = r.less(column, r.constant(columns / width * width));
  auto branch = scf::IfOp::create(b, r.loc, fits, /*withElseRegion=*/true);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  finishRows(strip, start, skip, column, /*isLastPanel=*/false);
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  finishRows(strip, start, skip, r.constant(columns / width * width), /*isLastPanel=*/true);
}

void ByteEmitter::finishRows(const Strip &strip, Value start, Value skip, Value column,
                             bool isLastPanel) {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  const KernelReader::Buffer &target = r.bufferOf(result);
  int64_t present = isLastPanel ? columns % width : width;
  VectorReader reader(r, lanes);
  emitStepLoop(r, skip, r.constant(rows), 1, [&](Value row) {
    OpBuilder::InsertionGuard guard(b);
    auto [indices, exists] = strip.place(r.add(start, row));
    if (exists) {
      auto branch = scf::IfOp::create(b, r.loc, exists, /*withElseRegion=*/false);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    indices.push_back(Value());
    for (int64_t v = 0; v * lanes < present; ++v) {
      Value mask;
      if (present < (v + 1) * lanes)
        mask = vector::CreateMaskOp::create(b, r.loc, VectorType::get({lanes}, b.getI1Type()),
                                            r.constant(present - v * lanes));
      Value from = r.mul(r.add(r.mul(row, r.constant(width)), r.constant(v * lanes)), r.constant(4));
      indices.back() = r.add(column, r.constant(v * lanes));
      reader.setLanes(indices.back(), mask);
      reader.setHero(hero->getResult(0), loadWords(scratch, from));
      Value value = reader.element(result, indices);
      reader.store(value, target.pointer, target.type.getElementType(),
                   r.linearIndex(target, indices));
    }
  });
}

void ByteEmitter::product(DotGeneralOp dot, Value begin, Value end) {
  auto parts = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
  auto type = cast<RankedTensorType>(dot.getType());
  int64_t count = type.getNumElements() / columns, rowDims = type.getRank() - 1;
  step = isTiles ? quadStep(depth) : quad;
  loops.push_back({depth / step, step, step});
  configure(count);
  Strip strip;
  strip.positions = count;
  strip.pitch = depth;
  strip.base = r.constant(0);
  auto place = [&](Value position) {
    SmallVector<Value> indices(rowDims);
    for (int64_t d = rowDims - 1; d > 0; --d) {
      indices[d] = r.remainder(position, r.constant(type.getDimSize(d)));
      position = r.divide(position, r.constant(type.getDimSize(d)));
    }
    indices[0] = position;
    return std::make_pair(indices, Value());
  };
  strip.place = place;
  SmallVector<Value> sizes{r.constant(count), r.constant(columns)};
  Value all = r.constant(llvm::divideCeil(count, rows));
  Value each = r.constant(std::max<int64_t>(1, parts[0] / rows));
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    Value first = r.mul(at[0], each);
    blocks(strip, first, r.minimum(r.add(first, each), all), at[1]);
  });
  release();
}

void ByteEmitter::convolution(ConvOp conv, Value begin, Value end) {
  auto parts = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
  auto type = cast<RankedTensorType>(conv.getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t span = type.getDimSize(2), lines = parts[1];
  int64_t line = left.type.getDimSize(2), channels = left.type.getDimSize(3);
  ArrayRef<int64_t> strides = conv.getStrides(), dilations = conv.getDilations();
  int64_t high = filter.getDimSize(0), wide = filter.getDimSize(1);
  loops.push_back({high, dilations[0] * line * channels, wide * channels});
  int64_t run = wide * channels;
  if (dilations[1] != 1) {
    loops.push_back({wide, dilations[1] * channels, channels});
    run = channels;
  }
  step = isTiles ? quadStep(run) : quad;
  loops.push_back({run / step, step, step});
  bool isFlat = strides[0] == 1 && strides[1] == 1;
  Strip strip;
  strip.positions = isFlat ? (lines - 1) * line + span : span;
  strip.pitch = strides[1] * channels;
  configure(strip.positions);

  Value blockCount = r.constant(llvm::divideCeil(strip.positions, rows));
  SmallVector<Value> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(r.constant(size));
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    Value firstLine = r.mul(at[1], r.constant(lines));
    auto lineIndex = [&](Value number) {
      Value from = r.add(r.mul(at[0], left.dims[1]), r.mul(number, r.constant(strides[0])));
      return r.mul(from, r.constant(line * channels));
    };
    if (isFlat) {
      auto place = [&](Value position) {
        Value x = r.remainder(position, r.constant(line));
        Value y = r.add(firstLine, r.divide(position, r.constant(line)));
        Value exists = line == span ? Value() : r.less(x, r.constant(span));
        return std::make_pair(SmallVector<Value>{at[0], y, x}, exists);
      };
      strip.base = lineIndex(firstLine);
      strip.place = place;
      blocks(strip, r.constant(0), blockCount, at[3]);
      return;
    }
    emitStepLoop(r, r.constant(0), r.constant(lines), 1, [&](Value offset) {
      Value y = r.add(firstLine, offset);
      auto place = [&](Value position) {
        return std::make_pair(SmallVector<Value>{at[0], y, position}, Value());
      };
      strip.base = lineIndex(y);
      strip.place = place;
      blocks(strip, r.constant(0), blockCount, at[3]);
    });
  });
  release();
}

LogicalResult weir::emitBytes(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  Operation *hero = nullptr;
  for (Operation &op : kernel.getBody().front())
    if (op.hasAttr(matrixAttribute))
      hero = &op;
  // The packed weights lie behind what undoes the packing.
  Value right = hero ? hero->getOperand(1) : Value();
  for (Operation *def; right && (def = right.getDefiningOp());)
    right = isa<ReshapeOp, UnpackPanelsOp, TransposeOp>(def) ? def->getOperand(0) : Value();
  auto weights = dyn_cast_or_null<BlockArgument>(right);
  if (!weights || !isa<BlockArgument>(hero->getOperand(0)))
    return kernel.emitError("products of bytes read packed weights and a buffer of rows");
  ByteEmitter emitter(r, kernel, hero, weights);
  if (auto dot = dyn_cast<DotGeneralOp>(hero))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(hero), begin, end);
  return success();
}
