//===- Winograd.cpp - convolutions with fewer multiplications -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) of Lavin and Gray 2015, arXiv:1509.09308. A block of lines has
// its 4x4 squares of the padded input, which overlap by two, transformed into
// 16 matrices [tiles, C] on the stack. For each panel these are multiplied with
// the filter's, and the 16 sums transformed back into 2x2 results, which the
// elementwise operations of the kernel follow. Of bf16 (multipliesPairs) both transformed
// operands are bf16, and sums, like all that is transformed, f32.
//
// Of an odd image the last squares reach beyond its input by a line or a column, which is read as
// the last one: results that depend on it are not stored. Where sizes are open, so is what a block
// has of a line, and how many lines, within `block_tiles` of the schedule.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// The sums of so many tiles and a panel take 256 KiB at most.
constexpr int64_t tilesOfSums = 64;

using Square = std::array<std::array<Value, 4>, 4>;

class WinogradEmitter {
public:
  WinogradEmitter(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv, BlockArgument filter)
      : r(r), b(r.b), kernel(kernel), conv(conv),
        result(kernel.getBody().front().getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        input(r.bufferOf(conv.getInput())), weights(r.bufferOf(filter)),
        isPairs(multipliesPairs(conv)), element(input.type.getElementType()) {
    auto tile = kernel.getSchedule()[plan::schedule::tile];
    shape = TileShape{tile[0], tile[1], tile[2]};
    mostAcross = kernel.getSchedule()[plan::schedule::parts][2] / 2;
    tiles = kernel.getSchedule()[plan::schedule::blockTiles];
    channels = input.type.getShape().back();
    readSizes();
  }

  /// The range counts lines of tiles: within them of a panel, of blocks across
  /// an image, of blocks down, of images. What a thread has of a block and a
  /// panel is computed at once, and what it transformed of a block serves the
  /// panels behind.
  void emit(Value begin, Value end) {
    transformed = stackElements(r, element, 16 * tiles * channels);
    sums = stackFloats(r, 16 * tilesAtOnce * shape.width());
    // Where the range is, and what tiles, of how many lines, are transformed.
    Value none = r.constant(-1);
    SmallVector<Type> types(3, none.getType());
    auto isLeft = [&](OpBuilder &, Location, ValueRange state) {
      scf::ConditionOp::create(b, r.loc, r.less(state[0], end), state);
    };
    auto body = [&](OpBuilder &, Location, ValueRange state) {
      Piece piece = pieceAt(state[0], end);
      Value isShort = r.less(piece.count, r.add(state[2], r.constant(1)));
      Value isThere = arith::AndIOp::create(b, r.loc, r.equal(piece.place, state[1]), isShort);
      Value there = arith::SelectOp::create(b, r.loc, isThere, state[2], piece.count);
      emitEither(r, isThere, [] {}, [&] { transformInput(piece); });
      if (getConstantIntValue(lines))
        emitEither(
            r, r.equal(piece.count, lines), [&] { emitPanel(piece, lines); },
            [&] { emitPanel(piece, piece.count); });
      else
        emitPanel(piece, piece.count);
      scf::YieldOp::create(b, r.loc, {r.add(state[0], piece.count), piece.place, there});
    };
    OpBuilder::InsertionGuard guard(b);
    scf::WhileOp::create(b, r.loc, types, {begin, none, none}, isLeft, body);
  }

private:
  /// Lines of tiles of a block, which are computed at once for a panel.
  struct Piece {
    Value image, top, left; ///< where they begin, in tiles
    Value panel;
    Value count;  ///< of lines
    Value across; ///< tiles of a line
    Value place;  ///< a number that other tiles do not have
  };

  Piece pieceAt(Value position, Value end) {
    auto split = [&](Value &number, Value by) {
      Value rest = r.remainder(number, by);
      number = r.divide(number, by);
      return rest;
    };
    Value panels = r.constant(weights.type.getDimSize(0)), ofLine = r.mul(blocksAcross, panels);
    Value image = position;
    Value rest = split(image, r.mul(down, ofLine));
    Value block = rest;
    rest = split(block, r.mul(lines, ofLine));
    Value first = r.mul(block, lines);
    // An image's last block may have fewer lines.
    Value height = r.minimum(lines, r.sub(down, first));
    Value line = split(rest, height);
    Value panel = split(rest, panels);
    Value top = r.add(first, line), left = r.mul(rest, across);
    Value count = r.minimum(r.sub(height, line), r.sub(end, position));
    Value place = r.add(r.mul(r.add(r.mul(image, down), top), blocksAcross), rest);
    Value some = getConstantIntValue(across) ? across : r.minimum(across, r.sub(allAcross, left));
    return {image, top, left, panel, count, some, place};
  }

  /// Of an image, in tiles: constants where its sizes are.
  void readSizes() {
    auto halfOf = [&](int64_t dim) {
      int64_t size = target.type.getDimSize(dim);
      return ShapedType::isDynamic(size)
                 ? r.divide(r.add(target.dims[dim], r.constant(1)), r.constant(2))
                 : r.constant(llvm::divideCeil(size, 2));
    };
    auto mayBeOdd = [&](int64_t dim) {
      return target.type.isDynamicDim(dim) || target.type.getDimSize(dim) % 2;
    };
    down = halfOf(1);
    allAcross = halfOf(2);
    isOddDown = mayBeOdd(1);
    isOddAcross = mayBeOdd(2);
    Value one = r.constant(1);
    if (target.type.isDynamicDim(2)) {
      across = r.maximum(r.minimum(r.constant(mostAcross), allAcross), one);
      blocksAcross = r.divide(r.add(allAcross, r.sub(across, one)), across);
      lines = r.divide(r.constant(tiles), across);
      linesOfSums = r.maximum(r.divide(r.constant(tilesOfSums), across), one);
      tilesAtOnce = std::max(tilesOfSums, mostAcross);
    } else {
      int64_t each = tiles / mostAcross;
      across = r.constant(mostAcross);
      blocksAcross =
          r.constant(llvm::divideCeil(llvm::divideCeil(target.type.getDimSize(2), 2), mostAcross));
      lines = r.constant(each);
      each = std::clamp<int64_t>(tilesOfSums / mostAcross, 1, each);
      linesOfSums = r.constant(each);
      tilesAtOnce = each * mostAcross;
    }
  }

  Value plus(Value x, Value y) { return arith::AddFOp::create(b, r.loc, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, r.loc, x, y); }

  /// `body(line, column, tile)` for the tiles of so many lines of a block.
  void forTiles(const Piece &piece, Value count, function_ref<void(Value, Value, Value)> body) {
    emitStepLoop(r, r.constant(0), count, 1, [&](Value line) {
      emitStepLoop(r, r.constant(0), piece.across, 1, [&](Value column) {
        body(line, column, r.add(r.mul(line, piece.across), column));
      });
    });
  }

  /// Index of element `channel` of a tile in matrix `number` of 16 that have so
  /// many tiles.
  Value place(int64_t number, int64_t tilesOfMatrix, Value tile, int64_t pitch, Value channel) {
    Value row = r.add(tile, r.constant(number * tilesOfMatrix));
    return r.add(r.mul(row, r.constant(pitch)), channel);
  }

  /// Sums and results of a panel, a few lines at a time.
  void emitPanel(const Piece &piece, Value count) {
    auto emitRowReduction = [&](Value first, Value some) {
      multiply(piece, first, some);
      transformBack(piece, first, some);
    };
    Value step = linesOfSums, whole = r.mul(r.divide(count, step), step);
    if (auto known = getConstantIntValue(step)) {
      emitStepLoop(r, r.constant(0), whole, *known,
                   [&](Value first) { emitRowReduction(first, step); });
    } else {
      emitStepLoop(r, r.constant(0), r.divide(count, step), 1,
                   [&](Value turn) { emitRowReduction(r.mul(turn, step), step); });
    }
    Value rest = r.sub(count, whole);
    if (!isConstantIntValue(rest, 0))
      emitEither(r, r.less(whole, count), [&] { emitRowReduction(whole, rest); }, [] {});
  }

  /// B^T d B of each square d, for a vector of channels at a time.
  void transformInput(const Piece &piece) {
    VectorReader vectors(r, shape.lanes);
    Type floats = VectorType::get({shape.lanes}, b.getF32Type());
    Type narrow = VectorType::get({shape.lanes}, element);
    Value pitch = input.dims[2];
    forTiles(piece, piece.count, [&](Value line, Value column, Value tile) {
      Value y = r.mul(r.add(piece.top, line), r.constant(2));
      Value x = r.mul(r.add(piece.left, column), r.constant(2));
      Value row = r.add(r.mul(piece.image, input.dims[1]), y);
      Value corner = r.mul(r.add(r.mul(row, pitch), x), r.constant(channels));
      // From a corner: lines and columns of a square, of which the last may be the one before.
      Value downwards[4], sidewards[4];
      for (int64_t i = 0; i < 4; ++i) {
        auto within = [&](Value first, Value size) {
          return r.minimum(r.constant(i), r.sub(r.sub(size, r.constant(1)), first));
        };
        bool isLast = i == 3;
        Value lineOf = isLast && isOddDown ? within(y, input.dims[1]) : r.constant(i);
        Value columnOf = isLast && isOddAcross ? within(x, input.dims[2]) : r.constant(i);
        downwards[i] = r.mul(r.mul(lineOf, pitch), r.constant(channels));
        sidewards[i] = r.mul(columnOf, r.constant(channels));
      }
      emitStepLoop(r, r.constant(0), r.constant(channels), shape.lanes, [&](Value channel) {
        Square from, half;
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t j = 0; j < 4; ++j) {
            Value offset = r.add(downwards[i], sidewards[j]);
            Value read =
                vectors.load(input.pointer, element, r.add(r.add(corner, offset), channel));
            from[i][j] = isPairs ? Value(arith::ExtFOp::create(b, r.loc, floats, read)) : read;
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
          for (int64_t j = 0; j < 4; ++j) {
            Value value =
                isPairs ? Value(arith::TruncFOp::create(b, r.loc, narrow, made[j])) : made[j];
            vectors.store(value, transformed, element,
                          place(i * 4 + j, tiles, tile, channels, channel));
          }
        }
      });
    });
  }

  /// 16 products of a panel: [tiles, C] by [C, width], for the tiles of lines.
  void multiply(const Piece &piece, Value firstLine, Value count) {
    Value depth = r.constant(isPairs ? channels / 2 : channels),
          firstTile = r.mul(firstLine, piece.across);
    emitStepLoop(r, r.constant(0), r.constant(16), 1, [&](Value number) {
      Value matrix = r.add(r.mul(number, r.constant(tiles)), firstTile);
      Value sum = r.mul(number, r.constant(tilesAtOnce));
      Value columns = r.mul(r.add(r.mul(piece.panel, r.constant(16)), number), depth);
      auto emitRows = [&](Value first, int64_t rows) {
        Value from = r.add(matrix, first), to = r.add(sum, first);
        auto left = [&](int64_t row, ValueRange k) {
          Value linear = r.add(r.mul(r.add(from, r.constant(row)), depth), k[0]);
          return loadStep(r, conv, transformed, linear);
        };
        auto right = [&](int64_t vector, ValueRange k) {
          Value linear = r.mul(r.add(columns, k[0]), r.constant(shape.width()));
          return std::make_pair(weights.pointer, r.add(linear, r.constant(vector * shape.lanes)));
        };
        TileOperands operands{left, right, /*isPadded=*/true};
        operands.partial = PartialSums{sums, r.mul(to, r.constant(shape.width())), shape.width(),
                                       /*isFirst=*/true, /*isLast=*/false};
        emitTile(
            r, kernel, conv, TileShape{rows, shape.vectors, shape.lanes}, {depth}, operands,
            [](int64_t) { return SmallVector<Value>(); }, Value(), Value());
      };
      emitRowTiles(r, r.mul(count, piece.across), shape.rows, emitRows);
    });
  }

  /// A^T m A of each square of sums m, and what follows.
  void transformBack(const Piece &piece, Value firstLine, Value count) {
    int64_t columns = target.type.getShape().back();
    bool isExact = columns % shape.width() == 0;
    forTiles(piece, count, [&](Value line, Value column, Value tile) {
      for (int64_t v = 0; v < shape.vectors; ++v) {
        OpBuilder::InsertionGuard guard(b);
        Value first = r.mul(piece.panel, r.constant(shape.width()));
        Value channel = r.add(first, r.constant(v * shape.lanes));
        if (!isExact) {
          auto branch = scf::IfOp::create(b, r.loc, r.less(channel, r.constant(columns)), false);
          b.setInsertionPointToStart(&branch.getThenRegion().front());
        }
        emitResults(piece, r.add(firstLine, line), column, tile, v, channel);
      }
    });
  }

  void emitResults(const Piece &piece, Value line, Value column, Value tile, int64_t v,
                   Value channel) {
    VectorReader reader(r, shape.lanes);
    Value half[2][4];
    for (int64_t j = 0; j < 4; ++j) {
      Value from[4];
      for (int64_t i = 0; i < 4; ++i)
        from[i] = reader.load(
            sums, b.getF32Type(),
            place(i * 4 + j, tilesAtOnce, tile, shape.width(), r.constant(v * shape.lanes)));
      half[0][j] = plus(plus(from[0], from[1]), from[2]);
      half[1][j] = minus(minus(from[1], from[2]), from[3]);
    }
    for (int64_t i = 0; i < 2; ++i) {
      Value made[2] = {plus(plus(half[i][0], half[i][1]), half[i][2]),
                       minus(minus(half[i][1], half[i][2]), half[i][3])};
      for (int64_t j = 0; j < 2; ++j) {
        auto positionOf = [&](Value from, Value own, int64_t offset) {
          return r.add(r.mul(r.add(from, own), r.constant(2)), r.constant(offset));
        };
        SmallVector<Value> indices{piece.image, positionOf(piece.top, line, i),
                                   positionOf(piece.left, column, j), channel};
        OpBuilder::InsertionGuard guard(b);
        Value isThere;
        if (i && isOddDown)
          isThere = r.less(indices[1], target.dims[1]);
        if (j && isOddAcross) {
          Value isWithin = r.less(indices[2], target.dims[2]);
          isThere = isThere ? r.logicalAnd(isThere, isWithin) : isWithin;
        }
        if (isThere) {
          auto branch = scf::IfOp::create(b, r.loc, isThere, /*withElseRegion=*/false);
          b.setInsertionPointToStart(&branch.getThenRegion().front());
        }
        reader.setLanes(channel, {});
        reader.setAnchor(conv.getResult(), made[j]);
        Value value = reader.element(result, indices);
        reader.store(value, target.pointer, target.type.getElementType(),
                     r.linearIndex(target, indices));
      }
    }
  }

  KernelBuilder &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  ConvOp conv;
  Value result;
  const KernelBuilder::Buffer target, input, weights;
  bool isPairs;
  Type element; ///< of what is multiplied
  TileShape shape;
  int64_t tiles, mostAcross; ///< of a block, and of a line of it
  int64_t tilesAtOnce = 1;   ///< whose sums are there at once
  int64_t channels = 1;
  bool isOddDown = false, isOddAcross = false; ///< or may be
  Value down, allAcross;                       ///< tiles of an image
  Value across, blocksAcross, lines;           ///< tiles of a block's line, such blocks, its lines
  Value linesOfSums;                           ///< whose sums are there at once
  Value transformed, sums;
};

} // namespace

LogicalResult weir::emitWinograd(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  ConvOp conv = *kernel.getBody().front().getOps<ConvOp>().begin();
  auto cast = conv.getFilter().getDefiningOp<UnrealizedConversionCastOp>();
  auto filter = cast ? dyn_cast<BlockArgument>(cast.getOperand(0)) : BlockArgument();
  if (!filter)
    return kernel.emitError("a transformed filter is an operand of the kernel");
  WinogradEmitter(r, kernel, conv, filter).emit(begin, end);
  return success();
}
