//===- Strips.cpp - products by rows at one distance -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Strips.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace weir;

FailureOr<PackedProduct> weir::packedProductOf(plan::KernelOp kernel) {
  PackedProduct product;
  for (Operation &op : kernel.getBody().front())
    if (op.hasAttr(matrixAttribute))
      product.op = &op;
  // The packed weights lie behind what undoes the packing.
  Value right = product.op ? product.op->getOperand(1) : Value();
  for (Operation *def; right && (def = right.getDefiningOp());)
    right = isa<ReshapeOp, UnpackPanelsOp, TransposeOp>(def) ? def->getOperand(0) : Value();
  product.weights = dyn_cast_or_null<BlockArgument>(right);
  if (!product.weights || !isa<BlockArgument>(product.op->getOperand(0)))
    return kernel.emitError("products by strips read packed weights and a buffer of rows");
  return product;
}

StripEmitter::StripEmitter(KernelReader &r, plan::KernelOp kernel, const PackedProduct &product,
                           Type element)
    : r(r), b(r.b), kernel(kernel), hero(product.op), weights(r.bufferOf(product.weights)),
      left(r.bufferOf(hero->getOperand(0))), element(element),
      elementBytes(element.getIntOrFloatBitWidth() / 8),
      parts(kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef()) {
  depth = weights.type.getNumElements() / (weights.type.getDimSize(0) * width);
}

void StripEmitter::call(StringRef name, ValueRange arguments) {
  LLVM::CallIntrinsicOp::create(b, r.loc, b.getStringAttr(("llvm.x86." + name).str()), arguments);
}

Value StripEmitter::tile(int64_t number) {
  return LLVM::ConstantOp::create(b, r.loc, b.getI8Type(), b.getI8IntegerAttr(number));
}

Value StripEmitter::i64(int64_t value) {
  return LLVM::ConstantOp::create(b, r.loc, b.getI64Type(), b.getI64IntegerAttr(value));
}

Value StripEmitter::stackBytes(int64_t count) {
  return LLVM::AllocaOp::create(b, r.loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(),
                                i64(count), /*alignment=*/64);
}

Value StripEmitter::byteAddress(Value pointer, Value byte) {
  return BufferAccess::address(r, pointer, b.getI8Type(), byte);
}

void StripEmitter::configureTiles(int64_t leftBytes, int64_t rightRows) {
  int64_t height = llvm::divideCeil(rows, 2);
  second = rows - height;
  uint8_t bytes[64] = {};
  bytes[0] = 1; // palette
  for (int64_t number = 0; number < 8; ++number) {
    bytes[16 + 2 * number] = number == 4 || number == 5 ? leftBytes : tileBytes;
    bytes[48 + number] = number < 6 ? height : rightRows;
  }
  Value configuration = stackBytes(sizeof(bytes));
  for (size_t i = 0; i < sizeof(bytes); i += 8)
    LLVM::StoreOp::create(b, r.loc, i64(llvm::support::endian::read64le(bytes + i)),
                          byteAddress(configuration, r.constant(i)));
  call("ldtilecfg", {configuration});
}

void StripEmitter::clearTiles() {
  for (int64_t i = 0; i < 4; ++i)
    call("tilezero", {tile(i)});
}

void StripEmitter::multiplyTiles(StringRef product, const TileRows &rows, Value right) {
  constexpr int64_t panelBytes = 2 * tileBytes; // of a row of both tiles of columns
  auto load = [&](StringRef name, int64_t number, Value pointer, Value linear, int64_t pitch) {
    Value where = BufferAccess::address(r, pointer, element, linear);
    call(name, {tile(number), where, i64(pitch)});
  };
  auto loadRows = [&](int64_t number, Value first) {
    load(rows.isPassing ? "tileloaddt164" : "tileloadd64", number, rows.pointer, first,
         rows.pitch * elementBytes);
  };
  auto loadColumns = [&](int64_t number, Value first) {
    load("tileloadd64", number, weights.pointer, first, panelBytes);
  };
  loadRows(4, rows.first);
  loadColumns(6, right);
  call(product, {tile(0), tile(4), tile(6)});
  loadColumns(7, r.add(right, r.constant(tileBytes / elementBytes)));
  call(product, {tile(1), tile(4), tile(7)});
  loadRows(5, r.add(rows.first, r.constant(rows.second)));
  call(product, {tile(2), tile(5), tile(6)});
  call(product, {tile(3), tile(5), tile(7)});
}

void StripEmitter::fetchColumns(Value first, Value share, int64_t sharers) {
  constexpr int64_t muchOfTheCache = 1 << 18, lines = 32;
  if (weights.type.getNumElements() * elementBytes < muchOfTheCache || sharers < 2)
    return;
  int64_t shares = std::min<int64_t>(llvm::bit_floor((uint64_t)sharers), lines);
  int64_t each = lines / shares, line = tileBytes / elementBytes;
  first = r.add(first, r.mul(share, r.constant(each * line)));
  for (int64_t i = 0; i < each; ++i) {
    Value where =
        BufferAccess::address(r, weights.pointer, element, r.add(first, r.constant(i * line)));
    LLVM::Prefetch::create(b, r.loc, where, /*rw=*/0, /*hint=*/2, /*cache=*/1);
  }
}

void StripEmitter::storeTiles(Value block) {
  constexpr int64_t rowBytes = 2 * tileBytes; // of a block's sums
  for (int64_t i = 0; i < 4; ++i) {
    int64_t offset = i / 2 * second * rowBytes + i % 2 * tileBytes;
    call("tilestored64", {tile(i), byteAddress(block, r.constant(offset)), i64(rowBytes)});
  }
}

Strip StripEmitter::stripOf(DotGeneralOp dot) {
  auto type = cast<RankedTensorType>(dot.getType());
  Strip strip;
  strip.positions = type.getNumElements() / type.getShape().back();
  strip.pitch = depth;
  strip.base = r.constant(0);
  return strip;
}

bool StripEmitter::isFlat(ConvOp conv) {
  return conv.getStrides()[0] == 1 && conv.getStrides()[1] == 1;
}

Strip StripEmitter::stripOf(ConvOp conv) {
  int64_t span = cast<RankedTensorType>(conv.getType()).getDimSize(2);
  Strip strip;
  strip.positions = isFlat(conv) ? (parts[1] - 1) * left.type.getDimSize(2) + span : span;
  strip.pitch = conv.getStrides()[1] * left.type.getDimSize(3);
  return strip;
}

void StripEmitter::eachPart(
    DotGeneralOp dot, Strip strip, Value begin, Value end,
    llvm::function_ref<void(const Strip &, Value first, Value last, Value panel)> body) {
  auto type = cast<RankedTensorType>(dot.getType());
  int64_t rowDims = type.getRank() - 1;
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
  SmallVector<Value> sizes{r.constant(strip.positions), r.constant(type.getShape().back())};
  Value all = r.constant(llvm::divideCeil(strip.positions, rows));
  Value each = r.constant(std::max<int64_t>(1, parts[0] / rows));
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    Value first = r.mul(at[0], each);
    body(strip, first, r.minimum(r.add(first, each), all), at[1]);
  });
}

void StripEmitter::eachPart(
    ConvOp conv, Strip strip, Value begin, Value end,
    llvm::function_ref<void(const Strip &, Value count, Value before, Value panel)> body) {
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t span = type.getDimSize(2), lines = parts[1];
  int64_t line = left.type.getDimSize(2), channels = left.type.getDimSize(3);
  Value blockCount = r.constant(llvm::divideCeil(strip.positions, rows));
  SmallVector<Value> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(r.constant(size));
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    Value firstLine = r.mul(at[1], r.constant(lines));
    auto lineIndex = [&](Value number) {
      Value from =
          r.add(r.mul(at[0], left.dims[1]), r.mul(number, r.constant(conv.getStrides()[0])));
      return r.mul(from, r.constant(line * channels));
    };
    if (isFlat(conv)) {
      auto place = [&](Value position) {
        Value x = r.remainder(position, r.constant(line));
        Value y = r.add(firstLine, r.divide(position, r.constant(line)));
        Value exists = line == span ? Value() : r.less(x, r.constant(span));
        return std::make_pair(SmallVector<Value>{at[0], y, x}, exists);
      };
      strip.base = lineIndex(firstLine);
      strip.place = place;
      body(strip, blockCount, r.constant(0), at[3]);
      return;
    }
    emitStepLoop(r, r.constant(0), r.constant(lines), 1, [&](Value offset) {
      Value y = r.add(firstLine, offset);
      auto place = [&](Value position) {
        return std::make_pair(SmallVector<Value>{at[0], y, position}, Value());
      };
      strip.base = lineIndex(y);
      strip.place = place;
      body(strip, blockCount, r.mul(offset, blockCount), at[3]);
    });
  });
}

void StripEmitter::finishRows(const Strip &strip, Value start, Value from, Value to, Value column,
                              int64_t present, int64_t lanes,
                              llvm::function_ref<Value(VectorReader &, Value)> sums,
                              Value isStreamed) {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  const KernelReader::Buffer &target = r.bufferOf(result);
  VectorReader reader(r, lanes);
  emitStepLoop(r, from, to, 1, [&](Value row) {
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
      Value sum = r.add(r.mul(row, r.constant(width)), r.constant(v * lanes));
      indices.back() = r.add(column, r.constant(v * lanes));
      reader.setLanes(indices.back(), mask);
      reader.setHero(hero->getResult(0), sums(reader, sum));
      Value value = reader.element(result, indices);
      Value linear = r.linearIndex(target, indices);
      Type element = target.type.getElementType();
      auto store = [&] { reader.store(value, target.pointer, element, linear); };
      if (!isStreamed || mask)
        store();
      else
        emitEither(
            r, isStreamed, [&] { reader.stream(value, target.pointer, element, linear); }, store);
    }
  });
}
