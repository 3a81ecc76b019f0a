//===- Winograd.cpp - convolutions with fewer multiplications ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) of Lavin and Gray 2015, arXiv:1509.09308. A part transforms its 4x4
// squares of the padded input, which overlap by two, into 16 matrices [tiles, C] on
// the stack, multiplies each with the filter's, and transforms the 16 sums of a panel
// back into 2x2 results, which the elementwise operations of the kernel follow.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

using Square = std::array<std::array<Value, 4>, 4>;

class WinogradEmitter {
public:
  WinogradEmitter(KernelReader &r, plan::KernelOp kernel, ConvOp conv, BlockArgument filter)
      : r(r), b(r.b), kernel(kernel), conv(conv),
        result(kernel.getBody().front().getTerminator()->getOperand(0)),
        target(r.bufferOf(result)), input(r.bufferOf(conv.getInput())),
        weights(r.bufferOf(filter)) {
    auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
    shape = TileShape{tile[0], tile[1], tile[2]};
    auto parts = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
    cuts.assign(parts.begin(), parts.end());
    lines = cuts[1] / 2;
    across = cuts[2] / 2;
    channels = input.type.getShape().back();
  }

  void emit(Value begin, Value end) {
    transformed = stackFloats(r, 16 * lines * across * channels);
    sums = stackFloats(r, 16 * lines * across * shape.width());
    int64_t all = target.type.getDimSize(1) / 2, rest = all % lines;
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      at = r.blockIndices(part, target.dims, cuts);
      if (!rest)
        return emitPart(lines);
      OpBuilder::InsertionGuard guard(b);
      Value isWhole = r.less(at[1], r.constant(all / lines));
      auto branch = scf::IfOp::create(b, r.loc, isWhole, /*withElseRegion=*/true);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      emitPart(lines);
      b.setInsertionPointToStart(&branch.getElseRegion().front());
      emitPart(rest);
    });
  }

private:
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, r.loc, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, r.loc, x, y); }

  /// `body(line, column, tile)` for the part's tiles.
  void forTiles(int64_t count, function_ref<void(Value, Value, Value)> body) {
    emitStepLoop(r, r.constant(0), r.constant(count), 1, [&](Value line) {
      emitStepLoop(r, r.constant(0), r.constant(across), 1, [&](Value column) {
        body(line, column, r.add(r.mul(line, r.constant(across)), column));
      });
    });
  }

  /// Index of element `channel` of a tile in matrix `number` out of 16.
  Value place(int64_t number, int64_t tiles, Value tile, int64_t pitch, Value channel) {
    Value row = r.add(tile, r.constant(number * tiles));
    return r.add(r.mul(row, r.constant(pitch)), channel);
  }

  void emitPart(int64_t count) {
    transformInput(count);
    int64_t panels = weights.type.getDimSize(0), inGroup = cuts[3] / shape.width();
    Value first = r.mul(at[3], r.constant(inGroup));
    Value last = r.minimum(r.add(first, r.constant(inGroup)), r.constant(panels));
    emitStepLoop(r, first, last, 1, [&](Value panel) {
      multiply(count * across, panel);
      transformBack(count, panel);
    });
  }

  /// B^T d B of each square d, for a vector of channels at a time.
  void transformInput(int64_t count) {
    int64_t tiles = count * across;
    VectorReader vectors(r, shape.lanes);
    Type f32 = b.getF32Type();
    Value width = input.dims[2];
    forTiles(count, [&](Value line, Value column, Value tile) {
      Value y = r.mul(r.add(r.mul(at[1], r.constant(lines)), line), r.constant(2));
      Value x = r.mul(r.add(r.mul(at[2], r.constant(across)), column), r.constant(2));
      Value row = r.add(r.mul(at[0], input.dims[1]), y);
      Value corner = r.mul(r.add(r.mul(row, width), x), r.constant(channels));
      emitStepLoop(r, r.constant(0), r.constant(channels), shape.lanes, [&](Value channel) {
        Square from, half;
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t j = 0; j < 4; ++j) {
            Value offset = r.mul(r.add(r.mul(r.constant(i), width), r.constant(j)),
                                 r.constant(channels));
            from[i][j] = vectors.load(input.pointer, f32, r.add(r.add(corner, offset), channel));
          }
        for (int64_t j = 0; j < 4; ++j) {
          half[0][j] = minus(from[0][j], from[2][j]);
          half[1][j] = plus(from[1][j], from[2][j]);
          half[2][j] = minus(from[2][j], from[1][j]);
          half[3][j] = minus(from[1][j], from[3][j]);
        }
        for (int64_t i = 0; i < 4; ++i) {
          Value made[4] = {minus(half[i][0], half[i][2]), plus(half[i][1], half[i][2]),
                           minus(half[i][2], half[i][1]), minus(half[i][1], half[i][3])};
          for (int64_t j = 0; j < 4; ++j)
            vectors.store(made[j], transformed, f32,
                          place(i * 4 + j, tiles, tile, channels, channel));
        }
      });
    });
  }

  /// 16 products of a panel: [tiles, C] by [C, width].
  void multiply(int64_t tiles, Value panel) {
    Value depth = r.constant(channels);
    emitStepLoop(r, r.constant(0), r.constant(16), 1, [&](Value number) {
      Value matrix = r.mul(number, r.constant(tiles));
      Value columns = r.mul(r.add(r.mul(panel, r.constant(16)), number), depth);
      auto emitRows = [&](Value first, int64_t rows) {
        Value from = r.add(matrix, first);
        auto left = [&](int64_t row, ValueRange k) {
          Value linear = r.add(r.mul(r.add(from, r.constant(row)), depth), k[0]);
          return BufferAccess::load(r, transformed, b.getF32Type(), linear);
        };
        auto right = [&](int64_t vector, ValueRange k) {
          Value linear = r.mul(r.add(columns, k[0]), r.constant(shape.width()));
          return std::make_pair(weights.pointer, r.add(linear, r.constant(vector * shape.lanes)));
        };
        TileOperands operands{left, right, /*isPadded=*/true};
        operands.partial = PartialSums{sums, r.mul(from, r.constant(shape.width())), shape.width(),
                                       /*isFirst=*/true, /*isLast=*/false};
        emitTile(r, kernel, conv, TileShape{rows, shape.vectors, shape.lanes}, {depth}, operands,
                 [](int64_t) { return SmallVector<Value>(); }, Value(), Value());
      };
      emitRowTiles(r, r.constant(tiles), shape.rows, emitRows);
    });
  }

  /// A^T m A of each square of sums m, and what follows.
  void transformBack(int64_t count, Value panel) {
    int64_t tiles = count * across, columns = target.type.getShape().back();
    bool isExact = columns % shape.width() == 0;
    forTiles(count, [&](Value line, Value column, Value tile) {
      for (int64_t v = 0; v < shape.vectors; ++v) {
        OpBuilder::InsertionGuard guard(b);
        Value channel = r.add(r.mul(panel, r.constant(shape.width())), r.constant(v * shape.lanes));
        if (!isExact) {
          auto branch = scf::IfOp::create(b, r.loc, r.less(channel, r.constant(columns)), false);
          b.setInsertionPointToStart(&branch.getThenRegion().front());
        }
        emitResults(tiles, line, column, tile, v, channel);
      }
    });
  }

  void emitResults(int64_t tiles, Value line, Value column, Value tile, int64_t v, Value channel) {
    VectorReader reader(r, shape.lanes);
    Value half[2][4];
    for (int64_t j = 0; j < 4; ++j) {
      Value from[4];
      for (int64_t i = 0; i < 4; ++i)
        from[i] = reader.load(sums, b.getF32Type(),
                              place(i * 4 + j, tiles, tile, shape.width(),
                                    r.constant(v * shape.lanes)));
      half[0][j] = plus(plus(from[0], from[1]), from[2]);
      half[1][j] = minus(minus(from[1], from[2]), from[3]);
    }
    for (int64_t i = 0; i < 2; ++i) {
      Value made[2] = {plus(plus(half[i][0], half[i][1]), half[i][2]),
                       minus(minus(half[i][1], half[i][2]), half[i][3])};
      for (int64_t j = 0; j < 2; ++j) {
        auto positionOf = [&](Value block, int64_t each, Value own, int64_t offset) {
          Value tile = r.add(r.mul(block, r.constant(each)), own);
          return r.add(r.mul(tile, r.constant(2)), r.constant(offset));
        };
        SmallVector<Value> indices{at[0], positionOf(at[1], lines, line, i),
                                   positionOf(at[2], across, column, j), channel};
        reader.setLanes(channel, {});
        reader.setHero(conv.getResult(), made[j]);
        Value value = reader.element(result, indices);
        reader.store(value, target.pointer, target.type.getElementType(),
                     r.linearIndex(target, indices));
      }
    }
  }

  KernelReader &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  ConvOp conv;
  Value result;
  const KernelReader::Buffer target, input, weights;
  TileShape shape;
  SmallVector<int64_t> cuts;
  int64_t lines = 1, across = 1; ///< tiles of a part
  int64_t channels = 1;
  SmallVector<Value> at;         ///< the part's indices
  Value transformed, sums;
};

} // namespace

LogicalResult weir::emitWinograd(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  ConvOp conv = *kernel.getBody().front().getOps<ConvOp>().begin();
  auto cast = conv.getFilter().getDefiningOp<UnrealizedConversionCastOp>();
  auto filter = cast ? dyn_cast<BlockArgument>(cast.getOperand(0)) : BlockArgument();
  if (!filter)
    return kernel.emitError("a transformed filter is an operand of the kernel");
  WinogradEmitter(r, kernel, conv, filter).emit(begin, end);
  return success();
}
