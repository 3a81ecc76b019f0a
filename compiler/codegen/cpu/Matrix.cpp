//===- Matrix.cpp - products of bf16 by matrix tiles -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bf16 on AMX (Intel 64 and IA-32 manual, volume 1,
// "Programming with Intel AMX"). A block of up to 32 results by 32 columns is two
// by two tiles of sums in f32; a step of the sum loads two tiles of the left
// operand, rows of 32 elements as they lie in memory, and two of the packed right
// operand, and multiplies them. Sums go through a block on the stack to the
// elementwise operations that follow, a vector at a time.
//
// The left operand's rows are at one distance within a strip: all rows of a
// matrix; the positions of several lines of an image, those of the border
// included, whose results are dropped; or the positions of one line where the
// window moves by more than one. The last block of a strip ends with it, and
// leaves out the results that the block before it has.
//
// Tile registers are named, not allocated: 0 to 3 hold sums, 4 and 5 rows, 6 and 7
// columns.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t lanes = 16;  ///< f32 of a tile's row
constexpr int64_t step = 32;   ///< bf16 of a tile's row
constexpr int64_t block = 32;  ///< rows, and columns, of a block
constexpr int64_t tileRows = 16;

/// A strip of rows at one distance, and where their results go.
struct Strip {
  int64_t positions = 0;  ///< rows
  int64_t pitch = 0;      ///< elements from one to the next
  Value base;             ///< linear index of the first
  /// Indices of a row's results but the last, and whether it has any (null: yes).
  llvm::function_ref<std::pair<SmallVector<Value>, Value>(Value position)> place;
};

class MatrixEmitter {
public:
  MatrixEmitter(KernelReader &r, plan::KernelOp kernel, Operation *hero, BlockArgument weights)
      : r(r), b(r.b), kernel(kernel), hero(hero), weights(r.bufferOf(weights)),
        left(r.bufferOf(hero->getOperand(0))) {
    ArrayRef<int64_t> shape = this->weights.type.getShape();
    depth = this->weights.type.getNumElements() / (shape[0] * block);
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

  void configure(int64_t positions);
  void loadTile(int64_t number, const KernelReader::Buffer &buffer, Value linear, int64_t pitch) {
    Value where = BufferAccess::address(r, buffer.pointer, b.getBF16Type(), linear);
    call("tileloadd64", {tile(number), where, i64(pitch * 2)});
  }
  /// Adds a step of the sum: rows from `at`, columns of weights' row `row`.
  void multiply(const Strip &strip, Value at, Value row);
  void prefetch(Value row);
  /// `before`: blocks of the part that lie before the first.
  void blocks(const Strip &strip, Value firstBlock, Value lastBlock, Value before, Value panel,
              llvm::function_ref<void(Value base)> sum);
  void finish(const Strip &strip, Value start, Value skip, Value column);
  Value weightsIndex(Value row) { return r.add(panelBase, r.mul(row, r.constant(block))); }

  KernelReader &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  Operation *hero;
  const KernelReader::Buffer weights, left;
  Value scratch, panelBase, blockInPart;
  int64_t depth = 0;       ///< rows of the weights
  int64_t sharers = 1;     ///< blocks of a part: each fetches a share ahead
  int64_t height = 0;      ///< rows of a tile
  int64_t second = 0;      ///< where the second tile of rows begins
  int64_t rows = 0;        ///< of a block
};

} // namespace

/// Blocks have as many rows as fit; where a strip has fewer than 32, its two
/// tiles share them, and overlap by one where the number is odd.
void MatrixEmitter::configure(int64_t positions) {
  rows = std::min(positions, block);
  height = llvm::divideCeil(rows, 2);
  second = rows - height;
  uint8_t bytes[64] = {};
  bytes[0] = 1; // palette
  for (int64_t number = 0; number < 8; ++number) {
    bytes[16 + 2 * number] = 64; // bytes of a row
    bytes[48 + number] = number < 6 ? height : tileRows;
  }
  Value configuration = stackBytes(sizeof(bytes));
  for (size_t i = 0; i < sizeof(bytes); i += 8) {
    Value where = BufferAccess::address(r, configuration, b.getI8Type(), r.constant(i));
    LLVM::StoreOp::create(b, r.loc, i64(llvm::support::endian::read64le(bytes + i)), where);
  }
  call("ldtilecfg", {configuration});
  scratch = stackBytes(block * block * 4);
}

/// Weights are read once for a part's rows, from far away where there are many:
/// while blocks pass by one panel they fetch the next, a share each.
void MatrixEmitter::prefetch(Value row) {
  constexpr int64_t muchOfTheCache = 1 << 17, line = 32; // elements
  if (weights.type.getNumElements() < muchOfTheCache || sharers < 2)
    return;
  int64_t shares = std::min<int64_t>(llvm::bit_floor((uint64_t)sharers), block);
  int64_t each = block / shares;
  Value first = r.add(weightsIndex(row), r.constant(depth * block));
  first = r.add(first, r.mul(blockInPart, r.constant(each * line)));
  for (int64_t i = 0; i < each; ++i) {
    Value where = BufferAccess::address(r, weights.pointer, b.getBF16Type(),
                                        r.add(first, r.constant(i * line)));
    LLVM::Prefetch::create(b, r.loc, where, /*rw=*/0, /*hint=*/2, /*cache=*/1);
  }
}

void MatrixEmitter::multiply(const Strip &strip, Value at, Value row) {
  constexpr int64_t panelRow = 2 * block; // a pair of rows of the weights
  prefetch(row);
  Value columns = weightsIndex(row);
  loadTile(4, left, at, strip.pitch);
  loadTile(6, weights, columns, panelRow);
  call("tdpbf16ps", {tile(0), tile(4), tile(6)});
  loadTile(7, weights, r.add(columns, r.constant(step)), panelRow);
  call("tdpbf16ps", {tile(1), tile(4), tile(7)});
  loadTile(5, left, r.add(at, r.constant(second * strip.pitch)), strip.pitch);
  call("tdpbf16ps", {tile(2), tile(5), tile(6)});
  call("tdpbf16ps", {tile(3), tile(5), tile(7)});
}

void MatrixEmitter::blocks(const Strip &strip, Value firstBlock, Value lastBlock, Value before,
                           Value panel, llvm::function_ref<void(Value base)> sum) {
  Value column = r.mul(panel, r.constant(block));
  panelBase = r.mul(column, r.constant(depth));
  emitStepLoop(r, firstBlock, lastBlock, 1, [&](Value number) {
    blockInPart = r.add(before, r.sub(number, firstBlock));
    Value wanted = r.mul(number, r.constant(rows));
    Value start = r.minimum(wanted, r.constant(strip.positions - rows));
    for (int64_t i = 0; i < 4; ++i)
      call("tilezero", {tile(i)});
    sum(r.add(strip.base, r.mul(start, r.constant(strip.pitch))));
    for (int64_t i = 0; i < 4; ++i) {
      int64_t offset = (i / 2 * second * block + i % 2 * lanes) * 4;
      Value where = BufferAccess::address(r, scratch, b.getI8Type(), r.constant(offset));
      call("tilestored64", {tile(i), where, i64(block * 4)});
    }
    finish(strip, start, r.sub(wanted, start), column);
  });
}

void MatrixEmitter::finish(const Strip &strip, Value start, Value skip, Value column) {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  const KernelReader::Buffer &target = r.bufferOf(result);
  VectorReader reader(r, lanes);
  emitStepLoop(r, skip, r.constant(rows), 1, [&](Value row) {
    OpBuilder::InsertionGuard guard(b);
    auto [indices, exists] = strip.place(r.add(start, row));
    if (exists) {
      auto branch = scf::IfOp::create(b, r.loc, exists, /*withElseRegion=*/false);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    indices.push_back(Value());
    for (int64_t v = 0; v < block / lanes; ++v) {
      Value from = r.add(r.mul(row, r.constant(block)), r.constant(v * lanes));
      indices.back() = r.add(column, r.constant(v * lanes));
      reader.setLanes(indices.back(), {});
      reader.setHero(hero->getResult(0), reader.load(scratch, b.getF32Type(), from));
      Value value = reader.element(result, indices);
      reader.store(value, target.pointer, target.type.getElementType(),
                   r.linearIndex(target, indices));
    }
  });
}

void MatrixEmitter::product(DotGeneralOp dot, Value begin, Value end) {
  auto parts = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
  auto type = cast<RankedTensorType>(dot.getType());
  int64_t columns = type.getShape().back(), count = type.getNumElements() / columns;
  int64_t rowDims = type.getRank() - 1;
  configure(count);
  sharers = std::min(parts[0] / block, (int64_t)llvm::divideCeil(count, rows));
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
  Value all = r.constant(llvm::divideCeil(count, rows)), each = r.constant(parts[0] / block);
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    Value first = r.mul(at[0], each);
    Value last = r.minimum(r.add(first, each), all);
    blocks(strip, first, last, r.constant(0), at[1], [&](Value base) {
      emitStepLoop(r, r.constant(0), r.constant(depth), step,
                   [&](Value k) { multiply(strip, r.add(base, k), k); });
    });
  });
  call("tilerelease", {});
}

void MatrixEmitter::convolution(ConvOp conv, Value begin, Value end) {
  auto parts = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
  auto type = cast<RankedTensorType>(conv.getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t width = type.getDimSize(2), lines = parts[1];
  int64_t line = left.type.getDimSize(2), channels = left.type.getDimSize(3);
  ArrayRef<int64_t> strides = conv.getStrides(), dilations = conv.getDilations();
  bool isFlat = strides[0] == 1 && strides[1] == 1;
  Strip strip;
  strip.positions = isFlat ? (lines - 1) * line + width : width;
  strip.pitch = strides[1] * channels;
  configure(strip.positions);

  // Steps of the sum: lines and columns of the window, then channels.
  auto sum = [&](Value base) {
    emitStepLoop(r, r.constant(0), r.constant(filter.getDimSize(0)), 1, [&](Value y) {
      emitStepLoop(r, r.constant(0), r.constant(filter.getDimSize(1)), 1, [&](Value x) {
        Value window = r.add(r.mul(y, r.constant(dilations[0] * line)),
                             r.mul(x, r.constant(dilations[1])));
        Value at = r.add(base, r.mul(window, r.constant(channels)));
        Value row = r.mul(r.add(r.mul(y, r.constant(filter.getDimSize(1))), x),
                          r.constant(channels));
        emitStepLoop(r, r.constant(0), r.constant(channels), step, [&](Value c) {
          multiply(strip, r.add(at, c), r.add(row, c));
        });
      });
    });
  };
  int64_t count = llvm::divideCeil(strip.positions, rows);
  Value blockCount = r.constant(count);
  sharers = isFlat ? count : count * lines;
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
        Value exists = line == width ? Value() : r.less(x, r.constant(width));
        return std::make_pair(SmallVector<Value>{at[0], y, x}, exists);
      };
      strip.base = lineIndex(firstLine);
      strip.place = place;
      blocks(strip, r.constant(0), blockCount, r.constant(0), at[3], sum);
      return;
    }
    emitStepLoop(r, r.constant(0), r.constant(lines), 1, [&](Value offset) {
      Value y = r.add(firstLine, offset);
      auto place = [&](Value position) {
        return std::make_pair(SmallVector<Value>{at[0], y, position}, Value());
      };
      strip.base = lineIndex(y);
      strip.place = place;
      blocks(strip, r.constant(0), blockCount, r.mul(offset, blockCount), at[3], sum);
    });
  });
  call("tilerelease", {});
}

LogicalResult weir::emitMatrix(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  Operation *hero = nullptr;
  for (Operation &op : kernel.getBody().front())
    if (op.hasAttr(matrixAttribute))
      hero = &op;
  // The packed weights lie behind what undoes the packing.
  Value right = hero ? hero->getOperand(1) : Value();
  for (Operation *def; right && (def = right.getDefiningOp());)
    right = isa<ReshapeOp, TransposeOp>(def) ? def->getOperand(0) : Value();
  auto weights = dyn_cast_or_null<BlockArgument>(right);
  if (!weights || !isa<BlockArgument>(hero->getOperand(0)))
    return kernel.emitError("matrix tiles read packed weights and a buffer of rows");
  MatrixEmitter emitter(r, kernel, hero, weights);
  if (auto dot = dyn_cast<DotGeneralOp>(hero))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(hero), begin, end);
  return success();
}
