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
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/WinogradForm.h"

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
    // Behind both is what a row tile reads and writes that reaches beyond the tiles of the last
    // matrix.
    transformed = stackElements(r, element, (form.matrices() * tiles + shape.rows) * channels);
    sums = stackFloats(r, (form.matrices() * tilesAtOnce + shape.rows) * shape.width());
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
      emitPanel(piece);
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

  /// A loop of long turns, which are not written out one behind the other.
  void forEach(Value end, Value step, function_ref<void(Value)> body) {
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(b, r.loc, r.constant(0), end, step);
    forbidUnrolling(loop);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// Sums and results of a panel, a few lines at a time.
  void emitPanel(const Piece &piece) {
    forEach(piece.count, linesOfSums, [&](Value first) {
      Value some = r.minimum(linesOfSums, r.sub(piece.count, first));
      multiply(piece, first, some);
      transformBack(piece, first, some);
    });
  }

  /// Runs `body(i, j, y, x)` for result [i, j], at [y, x], of a tile whose first is at [top, left],
  /// from the last one to the first. Of an image that tiles do not divide, those that do not exist
  /// have the place of the last line or column that does, whose own come after them.
  void forResults(Value top, Value left,
                  function_ref<void(int64_t i, int64_t j, Value, Value)> body) {
    auto place = [&](Value first, int64_t i, bool isCut, Value size) {
      Value at = r.add(first, r.constant(i));
      return i && isCut ? r.minimum(at, r.sub(size, r.constant(1))) : at;
    };
    Value y[mostSquare], x[mostSquare];
    for (int64_t i = 0; i < form.results; ++i) {
      y[i] = place(top, i, isCutDown, target.dims[1]);
      x[i] = place(left, i, isCutAcross, target.dims[2]);
    }
    for (int64_t i = form.results - 1; i >= 0; --i)
      for (int64_t j = form.results - 1; j >= 0; --j)
        body(i, j, y[i], x[j]);
  }

  /// B^T d B of each square d.
  void transformInput(const Piece &piece) {
    forTiles(piece, piece.count, [&](Value line, Value column, Value tile) {
      Value y = r.mul(r.add(piece.top, line), r.constant(form.results));
      Value x = r.mul(r.add(piece.left, column), r.constant(form.results));
      transformSquare(piece.image, y, x, tile);
    });
  }

  /// The square at [y, x], for a vector of channels at a time. Where tiles do not divide the image,
  /// lines and columns behind the first result's window may not be there: the last one is read
  /// again.
  void transformSquare(Value image, Value y, Value x, Value tile) {
    VectorReader vectors(r, shape.lanes);
    Type floats = VectorType::get({shape.lanes}, b.getF32Type());
    Type narrow = VectorType::get({shape.lanes}, element);
    Value pitch = input.dims[2], row = r.add(r.mul(image, input.dims[1]), y);
    Value corner = r.mul(r.add(r.mul(row, pitch), x), r.constant(channels));
    Value downwards[mostSquare], sidewards[mostSquare];
    for (int64_t i = 0; i < square; ++i) {
      auto within = [&](bool isCut, Value first, Value size) {
        Value at = r.constant(i);
        return isCut && i >= 3 ? r.minimum(at, r.sub(r.sub(size, r.constant(1)), first)) : at;
      };
      Value lineOf = within(isCutDown, y, input.dims[1]);
      downwards[i] = r.add(corner, r.mul(r.mul(lineOf, pitch), r.constant(channels)));
      sidewards[i] = r.mul(within(isCutAcross, x, input.dims[2]), r.constant(channels));
    }
    forEach(r.constant(channels), r.constant(shape.lanes), [&](Value channel) {
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

  bool isOpenImage() const { return target.type.isDynamicDim(1) || target.type.isDynamicDim(2); }

  /// What lines of a known length leave over of whole row tiles, where they are as many as they
  /// are unless a thread's range ends within them.
  SmallVector<int64_t> usualRests() const {
    int64_t all = llvm::divideCeil(target.type.getDimSize(1), form.results);
    int64_t ofBlock = tiles / mostAcross, atOnce = tilesAtOnce / mostAcross;
    SmallVector<int64_t> rests;
    auto add = [&](int64_t count) {
      int64_t rest = count * mostAcross % shape.rows;
      if (rest && !llvm::is_contained(rests, rest))
        rests.push_back(rest);
    };
    if (all >= ofBlock) {
      if (ofBlock >= atOnce)
        add(atOnce);
      add(ofBlock % atOnce);
    }
    int64_t last = all % ofBlock;
    if (last >= atOnce)
      add(atOnce);
    add(last % atOnce);
    return rests;
  }

  /// Runs `tile(first, rows)` so that each tile of so many lines is in one of these row tiles. The
  /// last one may reach beyond them, where what is left is not usual: code of its own would take
  /// longer to compile than it saves.
  void forRowTiles(const Piece &piece, Value count, function_ref<void(Value, int64_t)> tile) {
    Value all = r.mul(count, piece.across), size = r.constant(shape.rows);
    if (isOpenImage())
      return emitRowTiles(r, all, shape.rows, tile);
    Value whole = r.mul(r.divide(all, size), size), rest = r.sub(all, whole), end = all;
    SmallVector<int64_t> rests = usualRests();
    for (int64_t usual : rests)
      end = r.select(r.equal(rest, r.constant(usual)), whole, end);
    emitStepLoop(r, r.constant(0), end, shape.rows, [&](Value first) { tile(first, shape.rows); });
    for (int64_t usual : rests)
      emitEither(r, r.equal(rest, r.constant(usual)), [&] { tile(whole, usual); }, [] {});
  }

  /// The products of a panel: [tiles, C] by [C, width], for the tiles of lines.
  void multiply(const Piece &piece, Value firstLine, Value count) {
    Value depth = r.constant(isPairs ? channels / 2 : channels),
          firstTile = r.mul(firstLine, piece.across);
    // A matrix that lasts for a while comes evenly; one that does not is asked for at once, or its
    // end would be asked for right before it is read. Narrow vectors take longer for as many bytes.
    constexpr int64_t mostShares = 4, wideLanes = 16;
    const int64_t longMatrix = (shape.lanes < wideLanes ? 12 : 48) << 10;
    int64_t bytes = channels * shape.width() * elementBytes(element);
    const bool isLong = bytes > longMatrix;
    // Of an open image row tiles are counted when they are there.
    const bool isOpen = isOpenImage();
    const int64_t most = isLong ? mostShares : 1,
                  fewest = isOpen ? 1
                                  : std::min<int64_t>(llvm::bit_floor(uint64_t(llvm::divideCeil(
                                                          tilesAtOnce, shape.rows))),
                                                      most);
    Value shares = r.constant(fewest);
    for (int64_t more = fewest * 2; isOpen && more <= most; more *= 2) {
      Value isEnough = r.less(r.constant((more - 1) * shape.rows), r.mul(count, piece.across));
      shares = r.select(isEnough, r.constant(more), shares);
    }
    Value ofStep = r.divide(r.constant(shape.width()), shares);
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
          // Tiles of fewer rows than usual count, too.
          Value tile = r.divide(r.add(first, r.constant(shape.rows - 1)), r.constant(shape.rows));
          tile = r.remainder(tile, shares);
          Value step = r.add(r.mul(tile, depth), k[0]);
          Value next =
              r.add(r.mul(r.add(columns, depth), r.constant(shape.width())), r.mul(step, ofStep));
          for (int64_t i = 0; i < int64_t(llvm::divideCeil(shape.width(), line * fewest)); ++i) {
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
      forRowTiles(piece, count, emitRows);
    });
  }

  /// A^T m A of each square of sums m, and what follows.
  void transformBack(const Piece &piece, Value firstLine, Value count) {
    int64_t columns = target.type.getShape().back();
    Value first = r.mul(piece.panel, r.constant(shape.width())), end = r.constant(shape.width());
    if (columns % shape.width())
      end = r.minimum(end, r.sub(r.constant(columns), first));
    forTiles(piece, count, [&](Value line, Value column, Value tile) {
      Value y = r.mul(r.add(piece.top, r.add(firstLine, line)), r.constant(form.results));
      Value x = r.mul(r.add(piece.left, column), r.constant(form.results));
      forEach(end, r.constant(shape.lanes), [&](Value lane) {
        emitResults(piece.image, y, x, backFrom(tile, lane), r.add(first, lane));
      });
    });
  }

  /// The results of a tile in a vector of the panel's columns.
  Square backFrom(Value tile, Value lane) {
    VectorReader reader(r, shape.lanes);
    Square half, made;
    for (int64_t j = 0; j < square; ++j) {
      Line from;
      for (int64_t i = 0; i < square; ++i)
        from[i] = reader.load(sums, b.getF32Type(),
                              place(i * square + j, tilesAtOnce, tile, shape.width(), lane));
      Line columnOf = back(from);
      for (int64_t i = 0; i < form.results; ++i)
        half[i][j] = columnOf[i];
    }
    for (int64_t i = 0; i < form.results; ++i)
      made[i] = back(half[i]);
    return made;
  }

  /// What follows the convolution, and stores. Where results may share a place with one that does
  /// not exist, all are computed before the first is stored: an operand may lie there.
  void emitResults(Value image, Value top, Value left, const Square &sums, Value channel) {
    VectorReader reader(r, shape.lanes);
    struct Result {
      Value value, place;
    };
    SmallVector<Result> waiting;
    auto store = [&](const Result &made) {
      reader.store(made.value, target.pointer, target.type.getElementType(), made.place);
    };
    forResults(top, left, [&](int64_t i, int64_t j, Value y, Value x) {
      SmallVector<Value> indices{image, y, x, channel};
      reader.setLanes(channel, {});
      reader.setAnchor(conv.getResult(), sums[i][j]);
      Result made{reader.element(result, indices), r.linearIndex(target, indices)};
      if (isCutDown || isCutAcross)
        waiting.push_back(made);
      else
        store(made);
    });
    llvm::for_each(waiting, store);
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
