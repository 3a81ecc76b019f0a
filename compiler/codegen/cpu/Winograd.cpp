//===- Winograd.cpp - convolutions with fewer multiplications -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) and F(4x4, 3x3) of Lavin and Gray 2015, arXiv:1509.09308. A block of lines has
// its squares of the padded input, 4x4 or 6x6, which overlap by two, transformed into
// 16 or 36 matrices [tiles, C] on the stack. For each panel these are multiplied with
// the filter's, and the sums transformed back into 2x2 or 4x4 results, which the
// elementwise operations of the kernel follow. Of bf16 (multipliesPairs) both transformed
// operands are bf16, and sums, like all that is transformed, f32.
//
// Of an image that tiles do not divide the last squares reach beyond its input, whose last line or
// column is read there: results that depend on it are not stored. Where sizes are open, so is what
// a block has of a line, and how many lines, within `block_tiles` of the schedule.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/WinogradForm.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

#include <cmath>

using namespace mlir;
using namespace weir;

namespace {

/// The sums of so many elements of a panel's columns take 256 KiB at most.
constexpr int64_t sumsOfColumn = 1024;

constexpr int64_t mostSquare = WinogradForm::mostSquare;
using Line = std::array<Value, mostSquare>;
using Square = std::array<Line, mostSquare>;

class WinogradEmitter {
public:
  WinogradEmitter(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv, BlockArgument filter)
      : r(r), b(r.b), kernel(kernel), conv(conv),
        result(kernel.getBody().front().getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        input(r.bufferOf(conv.getInput())), weights(r.bufferOf(filter)),
        isPairs(multipliesPairs(conv)), element(input.type.getElementType()),
        form{kernel.getSchedule()[plan::schedule::square]}, square(form.square()) {
    auto tile = kernel.getSchedule()[plan::schedule::tile];
    shape = TileShape{tile[0], tile[1], tile[2]};
    mostAcross = kernel.getSchedule()[plan::schedule::parts][2] / form.results;
    tilesOfSums = sumsOfColumn / form.matrices();
    tiles = kernel.getSchedule()[plan::schedule::blockTiles];
    channels = input.type.getShape().back();
    readSizes();
  }

  /// The range counts lines of tiles: within them of a panel, of blocks across
  /// an image, of blocks down, of images. What a thread has of a block and a
  /// panel is computed at once, and what it transformed of a block serves the
  /// panels behind.
  void emit(Value begin, Value end) {
    transformed = stackElements(r, element, form.matrices() * tiles * channels);
    sums = stackFloats(r, form.matrices() * tilesAtOnce * shape.width());
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
    auto tilesOf = [&](int64_t dim) {
      int64_t size = target.type.getDimSize(dim);
      return ShapedType::isDynamic(size)
                 ? r.divide(r.add(target.dims[dim], r.constant(form.results - 1)),
                            r.constant(form.results))
                 : r.constant(llvm::divideCeil(size, form.results));
    };
    auto mayBeCut = [&](int64_t dim) {
      return target.type.isDynamicDim(dim) || target.type.getDimSize(dim) % form.results;
    };
    down = tilesOf(1);
    allAcross = tilesOf(2);
    isCutDown = mayBeCut(1);
    isCutAcross = mayBeCut(2);
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
          r.constant(llvm::divideCeil(target.type.getDimSize(2), form.results * mostAcross));
      lines = r.constant(each);
      each = std::clamp<int64_t>(tilesOfSums / mostAcross, 1, each);
      linesOfSums = r.constant(each);
      tilesAtOnce = each * mostAcross;
    }
  }

  Value plus(Value x, Value y) { return arith::AddFOp::create(b, r.loc, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, r.loc, x, y); }
  Value number(double value) {
    auto floats = VectorType::get({shape.lanes}, b.getF32Type());
    return arith::ConstantOp::create(
        b, r.loc, SplatElementsAttr::get(floats, b.getF32FloatAttr(static_cast<float>(value))));
  }
  /// factor x + y
  Value plusTimes(double factor, Value x, Value y) {
    return vector::FMAOp::create(b, r.loc, number(factor), x, y);
  }

  /// B^T d of a line d of a square.
  Line forth(const Line &d) {
    if (form.results == 2)
      return {minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]), minus(d[1], d[3])};
    // Products over the points but one: even powers, and odd ones, of each pair of points.
    constexpr double near = WinogradForm::near * WinogradForm::near,
                     far = WinogradForm::far * WinogradForm::far;
    auto ofPair = [&](double point, double others) {
      Value even = plusTimes(-others, d[2], d[4]), odd = plusTimes(-others, d[1], d[3]);
      return std::pair(plusTimes(point, odd, even), plusTimes(-point, odd, even));
    };
    auto ofEnd = [&](int64_t i) {
      return plusTimes(near * far, d[i], plusTimes(-(near + far), d[i + 2], d[i + 4]));
    };
    auto [one, two] = ofPair(WinogradForm::near, far);
    auto [three, four] = ofPair(WinogradForm::far, near);
    return {ofEnd(0), one, two, three, four, ofEnd(1)};
  }

  /// A^T m of a line m of sums.
  Line back(const Line &m) {
    if (form.results == 2)
      return {plus(plus(m[0], m[1]), m[2]), minus(minus(m[1], m[2]), m[3])};
    Value evenNear = plus(m[1], m[2]), oddNear = minus(m[1], m[2]);
    Value evenFar = plus(m[3], m[4]), oddFar = minus(m[3], m[4]);
    auto powers = [&](int64_t power, Value ofNear, Value ofFar) {
      Value scaled =
          arith::MulFOp::create(b, r.loc, number(std::pow(WinogradForm::far, power)), ofFar);
      return plusTimes(std::pow(WinogradForm::near, power), ofNear, scaled);
    };
    return {plus(m[0], plus(evenNear, evenFar)), powers(1, oddNear, oddFar),
            powers(2, evenNear, evenFar), plus(m[5], powers(3, oddNear, oddFar))};
  }

  /// `body(line, column, tile)` for the tiles of so many lines of a block.
  void forTiles(const Piece &piece, Value count, function_ref<void(Value, Value, Value)> body) {
    emitStepLoop(r, r.constant(0), count, 1, [&](Value line) {
      emitStepLoop(r, r.constant(0), piece.across, 1, [&](Value column) {
        body(line, column, r.add(r.mul(line, piece.across), column));
      });
    });
  }

  /// Index of element `channel` of a tile in matrix `number` of those that have so
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

  /// `body(false)` where all of the tile whose first result is at [y, x] is there; elsewhere
  /// `body(true)`.
  void emitWholeOrCut(Value y, Value x, function_ref<void(bool)> body) {
    Value isWhole;
    auto ask = [&](bool isCut, Value first, Value size) {
      if (!isCut)
        return;
      Value is = r.less(r.add(first, r.constant(form.results - 1)), size);
      isWhole = isWhole ? r.logicalAnd(isWhole, is) : is;
    };
    ask(isCutDown, y, target.dims[1]);
    ask(isCutAcross, x, target.dims[2]);
    if (!isWhole)
      return body(false);
    emitEither(r, isWhole, [&] { body(false); }, [&] { body(true); });
  }

  /// B^T d B of each square d.
  void transformInput(const Piece &piece) {
    forTiles(piece, piece.count, [&](Value line, Value column, Value tile) {
      Value y = r.mul(r.add(piece.top, line), r.constant(form.results));
      Value x = r.mul(r.add(piece.left, column), r.constant(form.results));
      emitWholeOrCut(y, x, [&](bool isCut) { transformSquare(piece.image, y, x, tile, isCut); });
    });
  }

  /// The square at [y, x], for a vector of channels at a time. Of one that is cut, lines and
  /// columns behind the first result's window may not be there: the last one is read again.
  void transformSquare(Value image, Value y, Value x, Value tile, bool isCut) {
    VectorReader vectors(r, shape.lanes);
    Type floats = VectorType::get({shape.lanes}, b.getF32Type());
    Type narrow = VectorType::get({shape.lanes}, element);
    Value pitch = input.dims[2], row = r.add(r.mul(image, input.dims[1]), y);
    Value corner = r.mul(r.add(r.mul(row, pitch), x), r.constant(channels));
    Value downwards[mostSquare], sidewards[mostSquare];
    for (int64_t i = 0; i < square; ++i) {
      auto within = [&](Value first, Value size) {
        return r.minimum(r.constant(i), r.sub(r.sub(size, r.constant(1)), first));
      };
      bool mayBeBeyond = isCut && i >= 3;
      Value lineOf = mayBeBeyond && isCutDown ? within(y, input.dims[1]) : r.constant(i);
      Value columnOf = mayBeBeyond && isCutAcross ? within(x, input.dims[2]) : r.constant(i);
      downwards[i] = r.add(corner, r.mul(r.mul(lineOf, pitch), r.constant(channels)));
      sidewards[i] = r.mul(columnOf, r.constant(channels));
    }
    emitStepLoop(r, r.constant(0), r.constant(channels), shape.lanes, [&](Value channel) {
      Square half;
      for (int64_t j = 0; j < square; ++j) {
        Line from;
        for (int64_t i = 0; i < square; ++i) {
          Value where = r.add(r.add(downwards[i], channel), sidewards[j]);
          Value read = vectors.load(input.pointer, element, where);
          from[i] = isPairs ? Value(arith::ExtFOp::create(b, r.loc, floats, read)) : read;
        }
        Line made = forth(from);
        for (int64_t i = 0; i < square; ++i)
          half[i][j] = made[i];
      }
      for (int64_t i = 0; i < square; ++i) {
        Line made = forth(half[i]);
        for (int64_t j = 0; j < square; ++j) {
          Value value =
              isPairs ? Value(arith::TruncFOp::create(b, r.loc, narrow, made[j])) : made[j];
          vectors.store(value, transformed, element,
                        place(i * square + j, tiles, tile, channels, channel));
        }
      }
    });
  }

  /// The products of a panel: [tiles, C] by [C, width], for the tiles of lines.
  void multiply(const Piece &piece, Value firstLine, Value count) {
    Value depth = r.constant(isPairs ? channels / 2 : channels),
          firstTile = r.mul(firstLine, piece.across);
    // A matrix that lasts for a while comes evenly; one that does not is asked for at once, or its
    // end would be asked for right before it is read.
    constexpr int64_t longMatrix = 48 << 10;
    int64_t bytes = channels * shape.width() * elementBytes(element);
    // Of an open image nobody knows how many row tiles there will be.
    bool isLong = bytes > longMatrix && !target.type.isDynamicDim(2);
    const int64_t shares =
        !isLong ? 1
                : std::min<int64_t>(
                      llvm::bit_floor(uint64_t(llvm::divideCeil(tilesAtOnce, shape.rows))), 4);
    emitStepLoop(r, r.constant(0), r.constant(form.matrices()), 1, [&](Value number) {
      Value matrix = r.add(r.mul(number, r.constant(tiles)), firstTile);
      Value sum = r.mul(number, r.constant(tilesAtOnce));
      Value columns = r.mul(r.add(r.mul(piece.panel, r.constant(form.matrices())), number), depth);
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
        // Matrices follow each other: each row tile of one brings its share of the next from
        // memory.
        auto fetchNext = [&](ValueRange k) {
          const int64_t line = 64 / 4; // of the cache, in numbers; pairs of bf16 are as large
          Value tile = r.remainder(r.divide(first, r.constant(shape.rows)), r.constant(shares));
          Value step = r.add(r.mul(tile, depth), k[0]);
          Value next = r.add(r.mul(r.add(columns, depth), r.constant(shape.width())),
                             r.divide(r.mul(step, r.constant(shape.width())), r.constant(shares)));
          for (int64_t i = 0; i < llvm::divideCeil(shape.width(), line * shares); ++i) {
            Value where = BufferAccess::address(r, weights.pointer, b.getF32Type(),
                                                r.add(next, r.constant(i * line)));
            LLVM::Prefetch::create(b, r.loc, where, /*rw=*/0, /*hint=*/2, /*cache=*/1);
          }
        };
        operands.prefetch = fetchNext;
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
    Square half, made;
    for (int64_t j = 0; j < square; ++j) {
      Line from;
      for (int64_t i = 0; i < square; ++i)
        from[i] = reader.load(
            sums, b.getF32Type(),
            place(i * square + j, tilesAtOnce, tile, shape.width(), r.constant(v * shape.lanes)));
      Line columnOf = back(from);
      for (int64_t i = 0; i < form.results; ++i)
        half[i][j] = columnOf[i];
    }
    for (int64_t i = 0; i < form.results; ++i)
      made[i] = back(half[i]);
    Value y = r.mul(r.add(piece.top, line), r.constant(form.results));
    Value x = r.mul(r.add(piece.left, column), r.constant(form.results));
    emitWholeOrCut(y, x, [&](bool isCut) {
      for (int64_t i = 0; i < form.results; ++i)
        for (int64_t j = 0; j < form.results; ++j)
          storeResult({piece.image, r.add(y, r.constant(i)), r.add(x, r.constant(j)), channel},
                      made[i][j], i && isCut && isCutDown, j && isCut && isCutAcross);
    });
  }

  /// One result of a tile, and what follows the convolution. Of a tile that is cut a line or a
  /// column may not be there.
  void storeResult(SmallVector<Value> indices, Value sum, bool mayBeBelow, bool mayBeBeside) {
    OpBuilder::InsertionGuard guard(b);
    Value isThere;
    if (mayBeBelow)
      isThere = r.less(indices[1], target.dims[1]);
    if (mayBeBeside) {
      Value isWithin = r.less(indices[2], target.dims[2]);
      isThere = isThere ? r.logicalAnd(isThere, isWithin) : isWithin;
    }
    if (isThere) {
      auto branch = scf::IfOp::create(b, r.loc, isThere, /*withElseRegion=*/false);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    VectorReader reader(r, shape.lanes);
    reader.setLanes(indices.back(), {});
    reader.setAnchor(conv.getResult(), sum);
    Value value = reader.element(result, indices);
    reader.store(value, target.pointer, target.type.getElementType(),
                 r.linearIndex(target, indices));
  }

  KernelBuilder &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  ConvOp conv;
  Value result;
  const KernelBuilder::Buffer target, input, weights;
  bool isPairs;
  Type element; ///< of what is multiplied
  const WinogradForm form;
  const int64_t square; ///< lines of a square
  TileShape shape;
  int64_t tiles, mostAcross; ///< of a block, and of a line of it
  int64_t tilesOfSums = 1;   ///< whose sums may be there at once
  int64_t tilesAtOnce = 1;   ///< of these, those that are
  int64_t channels = 1;
  bool isCutDown = false, isCutAcross = false; ///< or may be: tiles do not divide it
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
