//===- Convolution.cpp - convolutions, channels last -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Direct convolution without copies: a register tile holds results that lie
// next to each other in a line (in several, where lines are short), by vectors
// of output channels; the sum runs over the window and the input's channels. The
// input is already padded, or has a border of zeros that is nowhere in memory
// (mindsBorder): lines of a window that lie in it are left out of the sum, and so are, of
// tiles at a line's ends, rows that lie before or behind the line for a tap.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

/// Whether the sum along a line of the window and its channels is one loop: of pairs of few
/// channels, whose own loop would be as long to enter as to run.
static bool hasRuns(ConvOp conv, const KernelBuilder::Buffer &input) {
  constexpr int64_t fewWords = 8;
  ArrayRef<int64_t> shape = input.type.getShape();
  return multipliesPairs(conv) && conv.getGroups() == 1 && conv.getDilations().back() == 1 &&
         shape.back() < fewWords && (input.extents.empty() || input.extents.back() == shape.back());
}

namespace {

/// How windows lie in an image along one of its dimensions.
struct Along {
  int64_t pad = 0, stride = 1, dilation = 1, taps = 1, size = 0; ///< size: of the image
  /// Taps of a window that read the image: from `first` to before `last`.
  struct Taps {
    int64_t first, last;
  };
  Taps tapsAt(int64_t place) const {
    int64_t start = place * stride - pad;
    auto before = [&](int64_t at) {
      int64_t count = llvm::divideCeil(std::max<int64_t>(at - start, 0), dilation);
      return std::min(count, taps);
    };
    int64_t first = before(0);
    return {first, std::max(first, before(size))};
  }
  bool isInside(int64_t place) const {
    Taps own = tapsAt(place);
    return own.first == 0 && own.last == taps;
  }
  /// The same of windows from `place` on, `count` of them.
  bool areInside(int64_t place, int64_t count) const {
    return llvm::all_of(llvm::seq(place, place + count), [&](int64_t at) { return isInside(at); });
  }
};

/// A convolution as a kernel computes it, part by part of its range.
class ConvolutionEmitter {
public:
  ConvolutionEmitter(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv);

  /// The parts from `begin` to before `end`.
  void emit(Value begin, Value end) {
    if (sharesByLines)
      return emitSharedLines(begin, end);
    if (isOpen || countsLines)
      return emitLines(begin, end);
    emitStepLoop(r, begin, end, 1, [&](Value number) { emitPart(partOf(number)); });
  }

private:
  /// A block of lines by a panel of channels, in a plane of an image.
  struct Part {
    SmallVector<Value> at; ///< image, plane; of known lines block of lines, of the line, panel
    Value panel, column;   ///< column: the panel's first
    Value firstLine, lines;
    Value plane;   ///< the first element that the group reads
    Value inPanel; ///< where `column` is in its panel; null: at the beginning
  };
  /// Some vectors of a panel's columns; those from `limit` on do not exist (null: all do).
  struct Columns {
    int64_t vectors;
    Value limit;
  };
  /// Results of one register tile: `rows` from position (line, x) on, in lines of `across`.
  struct Positions {
    int64_t rows, across;
    Value line, x;
    Value number; ///< counts the tiles of the part
  };

  void emitLines(Value begin, Value end);
  void emitSharedLines(Value begin, Value end);
  void emitWhileLeft(Value begin, Value end, function_ref<Value(Value position)> step);
  Value panelsOfLine();
  Value split(Value &number, Value by);
  SmallVector<Value> planeAt(Value plane);
  Part partOf(Value number);
  Part partAt(Value position, Value end);
  void placePart(Part &part);
  void emitPart(const Part &part);
  void emitGroup(const Part &part);
  void emitColumns(const Part &part, const Columns &wanted);
  void emitLine(const Part &part, const Columns &wanted, Value line, Value first, Value count,
                Value before);
  void emitPositions(const Part &part, const Columns &wanted, const Positions &positions);
  void emitPanelLines(const Part &part, const Columns &wanted);
  void emitBorderedLines(const Part &part, const Columns &wanted);
  void emitBorderedLine(const Part &part, const Columns &wanted, Value line, Value before);
  AxisRange linesInside(Value line);
  SmallVector<std::pair<Value, Value>> placesFrom(Value line, Value x, int64_t count);

  KernelBuilder &r;
  plan::KernelOp kernel;
  ConvOp conv;
  ArrayRef<int64_t> blocks; ///< of each dimension of the range
  TileShape shape;
  const KernelBuilder::Buffer target, input;
  ColumnsOperand filter;
  /// Dimensions before the lines: images, and planes where there are three spatial
  /// dimensions.
  int64_t outer, spatial;
  Value lines, width, columns; ///< the result's
  Value channels, filterRows;
  Value run; ///< what the innermost loop of the sum goes through
  SmallVector<Value> loops;
  int64_t outerLoops;
  /// From one element of a line of the input to the next, and of each spatial dimension.
  Value channelsOfAll;
  SmallVector<Value> steps;
  Value lineLength;
  bool isOpen;        ///< lines are of open length
  Value most;         ///< then: lines of a block
  bool countsLines;   ///< the range counts lines of panels, whose length is known
  bool sharesByLines; ///< then: panels of a line follow each other in it, not lines of a panel
  /// Where the border is nowhere in memory: of lines, and across.
  bool hasBorder;
  Along vertical, horizontal;
  bool wraps;  ///< positions run on from one line to the next, where memory may have a gap
  bool runsOn; ///< so do those of windows, whose rows are anywhere then
  int64_t tilesInPanel;
};

} // namespace

ConvolutionEmitter::ConvolutionEmitter(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv)
    : r(r), kernel(kernel), conv(conv), blocks(kernel.getSchedule()[plan::schedule::parts]),
      target(r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0))),
      input(leftOperand(r, conv)), filter(r, conv.getFilter()), outer(target.type.getRank() - 3),
      spatial(outer + 1) {
  auto tile = kernel.getSchedule()[plan::schedule::tile];
  shape = {tile[0], tile[1], tile[2]};
  lines = target.dims[outer], width = target.dims[outer + 1], columns = target.dims.back();
  channels = filter.dim(spatial), filterRows = channels;
  for (int64_t i = 0; i < spatial; ++i)
    filterRows = r.mul(filterRows, filter.dim(i));
  // Few channels of a window's neighbours in a line, which lie behind each other, are one loop.
  bool isRun = hasRuns(conv, input);
  outerLoops = isRun ? spatial - 1 : spatial;
  run = isRun ? r.mul(filter.dim(spatial - 1), channels) : channels;
  for (int64_t i = 0; i < outerLoops; ++i)
    loops.push_back(filter.dim(i));
  loops.push_back(run);
  channelsOfAll = input.extent(r, input.dims.size() - 1);
  steps.assign(spatial, channelsOfAll);
  for (int64_t i = spatial - 1; i > 0; --i)
    steps[i - 1] = r.mul(steps[i], input.extent(r, i + 1));
  lineLength = steps[spatial - 2];

  bool isPointwise = kernel.getSchedule()[plan::schedule::pointwise];
  wraps = isPointwise && target.hasGaps();
  for (BlockArgument argument : kernel.getBody().getArguments())
    wraps |= isPointwise && r.bufferOf(argument).hasGaps();
  hasBorder = llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
  if (hasBorder) {
    auto along = [&](int64_t i) -> Along {
      return {conv.getPads()[2 * i], conv.getStrides()[i], conv.getDilations()[i],
              cast<RankedTensorType>(conv.getFilter().getType()).getDimSize(i),
              cast<RankedTensorType>(conv.getInput().getType()).getDimSize(1 + i)};
    };
    vertical = along(0);
    horizontal = along(1);
  }
  isOpen = target.type.isDynamicDim(outer + 1);
  runsOn = isOpen && !isPointwise && shape.rows <= mostPointers;
  wraps |= runsOn;
  countsLines = kernel.getSchedule().find(plan::schedule::blockTiles).value_or(1) > 1;
  sharesByLines = countsLines && isSharedByLines(conv, shape.rows);
  if (!isOpen) {
    int64_t high = countsLines ? target.type.getDimSize(outer) : blocks[outer];
    tilesInPanel = llvm::divideCeil(high * target.type.getDimSize(outer + 1), shape.rows);
    if (sharesByLines)
      tilesInPanel = llvm::bit_floor(uint64_t(tilesInPanel)) / 2;
    return;
  }
  // At most so many tiles share in fetching ahead; a part knows how many it has.
  tilesInPanel = 32;
  // As many lines as those of known length, but some, and by twos.
  constexpr int64_t fewest = 4;
  Value two = r.constant(2),
        pairs = r.divide(r.constant(partPositions / 2), r.maximum(width, r.constant(1)));
  most = r.maximum(r.mul(pairs, two), r.constant(fewest));
}

/// The range counts lines: within them of a panel, of blocks down, of planes. What there is of a
/// block and a panel goes at once. Of known length all lines are one block.
void ConvolutionEmitter::emitLines(Value begin, Value end) {
  emitWhileLeft(begin, end, [&](Value position) {
    Part part = partAt(position, end);
    emitPart(part);
    return r.add(position, part.lines);
  });
}

/// The range counts panels of lines. A part is whole lines, of which all panels go in turn, and
/// at its ends some panels of a line.
void ConvolutionEmitter::emitSharedLines(Value begin, Value end) {
  Value zero = r.constant(0), one = r.constant(1), panels = panelsOfLine();
  Value inPlane = r.mul(lines, panels);
  emitWhileLeft(begin, end, [&](Value position) {
    Part part;
    Value plane = position, inside = split(plane, inPlane);
    part.at = planeAt(plane);
    part.firstLine = r.divide(inside, panels);
    Value panel = r.remainder(inside, panels);
    Value left = r.minimum(r.sub(end, position), r.sub(inPlane, inside));
    Value whole = r.select(r.equal(panel, zero), r.divide(left, panels), zero);
    part.lines = r.maximum(whole, one);
    Value last = r.minimum(r.add(panel, left), panels);
    emitStepLoop(r, panel, last, 1, [&](Value number) {
      part.panel = number;
      placePart(part);
      emitPart(part);
    });
    return r.add(position, r.mul(r.sub(last, panel), part.lines));
  });
}

/// A loop from `begin` on while something is left in front of `end`; `step` returns where the next
/// turn begins.
void ConvolutionEmitter::emitWhileLeft(Value begin, Value end,
                                       function_ref<Value(Value position)> step) {
  auto isLeft = [&](OpBuilder &, Location, ValueRange state) {
    scf::ConditionOp::create(r.b, r.loc, r.less(state[0], end), state);
  };
  auto body = [&](OpBuilder &, Location, ValueRange state) {
    scf::YieldOp::create(r.b, r.loc, ValueRange(step(state[0])));
  };
  OpBuilder::InsertionGuard guard(r.b);
  scf::WhileOp::create(r.b, r.loc, TypeRange(begin.getType()), ValueRange(begin), isLeft, body);
}

/// The panels that the result's columns are.
Value ConvolutionEmitter::panelsOfLine() {
  Value width = r.constant(blocks.back());
  return r.divide(r.add(columns, r.constant(blocks.back() - 1)), width);
}

/// Leaves `number` divided by `by`, and returns the rest.
Value ConvolutionEmitter::split(Value &number, Value by) {
  Value rest = r.remainder(number, by);
  number = r.divide(number, by);
  return rest;
}

/// The indices of plane number `plane` in front of a line's.
SmallVector<Value> ConvolutionEmitter::planeAt(Value plane) {
  SmallVector<Value> at(outer);
  for (int64_t i = outer - 1; i > 0; --i)
    at[i] = split(plane, target.dims[i]);
  at[0] = plane;
  return at;
}

ConvolutionEmitter::Part ConvolutionEmitter::partAt(Value position, Value end) {
  Value panels = panelsOfLine();
  Value plane = position, rest = split(plane, r.mul(lines, panels));
  Value first = r.constant(0), height = lines;
  if (isOpen) {
    Value block = rest;
    rest = split(block, r.mul(most, panels));
    first = r.mul(block, most);
    // A plane's last block may have fewer lines.
    height = r.minimum(most, r.sub(lines, first));
  }
  Value line = split(rest, height);
  Part part;
  part.at = planeAt(plane);
  part.panel = rest;
  part.firstLine = r.add(first, line);
  part.lines = r.minimum(r.sub(height, line), r.sub(end, position));
  placePart(part);
  return part;
}

ConvolutionEmitter::Part ConvolutionEmitter::partOf(Value number) {
  int64_t linesInBlock = blocks[outer];
  Part part;
  part.at = r.blockIndices(number, target.dims, blocks);
  part.panel = part.at.back();
  part.firstLine = r.mul(part.at[outer], r.constant(linesInBlock));
  bool exact =
      !target.type.isDynamicDim(outer) && target.type.getDimSize(outer) % linesInBlock == 0;
  part.lines = exact ? r.constant(linesInBlock)
                     : r.minimum(r.constant(linesInBlock), r.sub(lines, part.firstLine));
  placePart(part);
  return part;
}

/// Where the part's columns are, and what they read.
void ConvolutionEmitter::placePart(Part &part) {
  part.column = r.mul(part.panel, r.constant(blocks.back()));
  // A group, or whole panels of one, which reads its own input channels.
  Value firstChannel = r.constant(0);
  if (int64_t groups = conv.getGroups(); groups > 1)
    firstChannel = r.mul(r.divide(part.column, r.divide(columns, r.constant(groups))), channels);
  part.plane = r.mul(part.at[0], r.mul(input.extent(r, 1), steps[0]));
  if (outer == 2)
    part.plane =
        r.add(part.plane, r.mul(part.at[1], r.mul(r.constant(conv.getStrides()[0]), steps[0])));
  part.plane = r.add(part.plane, firstChannel);
}

/// Lines and places in them of `count` positions from (`line`, `x`) on, where `x` may be beyond the
/// line's end.
SmallVector<std::pair<Value, Value>> ConvolutionEmitter::placesFrom(Value line, Value x,
                                                                    int64_t count) {
  Value zero = r.constant(0), one = r.constant(1);
  SmallVector<std::pair<Value, Value>> places = {
      {r.add(line, r.divide(x, width)), r.remainder(x, width)}};
  while (int64_t(places.size()) < count) {
    auto [last, at] = places.back();
    Value next = r.add(at, one), isEnd = r.equal(next, width);
    places.push_back({r.select(isEnd, r.add(last, one), last), r.select(isEnd, zero, next)});
  }
  return places;
}

void ConvolutionEmitter::emitPositions(const Part &part, const Columns &wanted,
                                       const Positions &positions) {
  ArrayRef<int64_t> dilations = conv.getDilations(), inLine = conv.getStrides().take_back(2);
  int64_t across = positions.across;
  TileShape own{positions.rows, wanted.vectors, shape.lanes};
  Value y = r.sub(r.mul(positions.line, r.constant(inLine[0])), r.constant(vertical.pad)),
        x = r.sub(r.mul(positions.x, r.constant(inLine[1])), r.constant(horizontal.pad));
  Value base = r.add(r.add(part.plane, r.mul(y, lineLength)), r.mul(x, channelsOfAll));
  // Rows that are outside for some taps: of tiles whose place is known.
  SmallVector<Along::Taps> cut;
  std::optional<int64_t> first = getConstantIntValue(positions.x);
  if (hasBorder && first && !horizontal.areInside(*first, across))
    for (int64_t i = 0; i < positions.rows; ++i)
      cut.push_back(horizontal.tapsAt(*first + i % across));
  SmallVector<std::pair<Value, Value>> places;
  SmallVector<Value> bases(positions.rows, base);
  if (wraps)
    places = placesFrom(positions.line, positions.x, positions.rows);
  if (runsOn)
    for (auto [own, place] : llvm::zip_equal(bases, places))
      own = r.add(r.add(part.plane, r.mul(r.mul(place.first, r.constant(inLine[0])), lineLength)),
                  r.mul(r.mul(place.second, r.constant(inLine[1])), channelsOfAll));
  auto readLeft = [&](int64_t i, ValueRange k) {
    Value window;
    for (int64_t d = 0; d < outerLoops; ++d) {
      Value own = r.mul(r.mul(k[d], r.constant(dilations[d])), steps[d]);
      window = window ? r.add(window, own) : own;
    }
    if (runsOn)
      return loadStep(r, conv, input.pointer, r.add(r.add(bases[i], window), k[outerLoops]));
    Value line = r.mul(r.constant(i / across * inLine[0]), lineLength),
          inOwn = r.mul(r.constant(i % across * inLine[1]), channelsOfAll);
    if (!cut.empty()) {
      int64_t tap = *getConstantIntValue(k[outerLoops - 1]);
      if (tap < cut[i].first || tap >= cut[i].last)
        return Value();
    }
    // One address for all of an open line: else LLVM would keep one for each.
    Value linear = isOpen ? r.add(r.add(r.add(r.add(base, line), window), k[outerLoops]), inOwn)
                          : r.add(r.add(r.add(base, window), k[outerLoops]), r.add(line, inOwn));
    return loadStep(r, conv, input.pointer, linear);
  };
  auto filterRow = [&](ValueRange k) {
    Value row = k[0];
    for (int64_t d = 1; d < outerLoops; ++d)
      row = r.add(r.mul(row, filter.dim(d)), k[d]);
    return r.add(r.mul(row, run), k[outerLoops]);
  };
  auto readRight = [&](int64_t v, ValueRange k) {
    Value linear =
        filter.linear(r, filterRows, filterRow(k), part.panel, part.column, v * shape.lanes);
    if (filter.isPacked && part.inPanel)
      linear = r.add(linear, part.inPanel);
    return std::make_pair(filter.buffer.pointer, linear);
  };
  auto indexOfRow = [&](int64_t i) {
    SmallVector<Value> indices(part.at.begin(), part.at.begin() + outer);
    if (wraps)
      indices.append({places[i].first, places[i].second});
    else
      indices.append({r.add(positions.line, r.constant(i / across)),
                      r.add(positions.x, r.constant(i % across))});
    return indices;
  };
  Value tiles;
  if (isOpen)
    tiles = r.divide(r.add(r.mul(part.lines, width), r.constant(shape.rows - 1)),
                     r.constant(shape.rows));
  auto prefetch = [&](ValueRange k) {
    filter.prefetch(r, filterRows, filterRow(k), part.panel, positions.number, tilesInPanel, tiles);
  };
  // A group's panel is as wide as the group, and ends where the constant may.
  TileOperands operands{readLeft, readRight, filter.isPacked && !part.inPanel};
  if (filter.wantsPrefetch(kernel, tilesInPanel))
    operands.prefetch = prefetch;
  if (hasBorder && positions.rows == across)
    operands.form.outermost = linesInside(positions.line);
  if (!cut.empty())
    operands.form.writtenOut = outerLoops - 1;
  emitTile(r, kernel, conv, own, loops, operands, indexOfRow, part.column, wanted.limit);
}

/// `count` positions of a line, from position (line, first) on; `before` lie
/// before them in the part.
void ConvolutionEmitter::emitLine(const Part &part, const Columns &wanted, Value line, Value first,
                                  Value count, Value before) {
  emitRowTiles(r, count, shape.rows, [&](Value offset, int64_t rows) {
    Value number = r.divide(r.add(before, offset), r.constant(shape.rows));
    emitPositions(part, wanted, {rows, rows, line, r.add(first, offset), number});
  });
}

/// What lines of the windows of result line `line` lie in the image.
AxisRange ConvolutionEmitter::linesInside(Value line) {
  Value zero = r.constant(0), taps = r.constant(vertical.taps),
        dilation = r.constant(vertical.dilation);
  Value start = r.sub(r.mul(line, r.constant(vertical.stride)), r.constant(vertical.pad));
  auto before = [&](int64_t at) {
    Value lines = r.maximum(r.sub(r.constant(at), start), zero);
    return r.minimum(r.divide(r.add(lines, r.constant(vertical.dilation - 1)), dilation), taps);
  };
  Value first = before(0);
  return {first, r.maximum(r.sub(before(vertical.size), first), zero)};
}

/// A line of an image whose border is nowhere: tiles at its ends have rows beyond it.
void ConvolutionEmitter::emitBorderedLine(const Part &part, const Columns &wanted, Value line,
                                          Value before) {
  int64_t size = shape.rows, all = target.type.getDimSize(outer + 1), whole = all / size;
  auto emit = [&](Value first, int64_t rows) {
    Value number = r.divide(r.add(before, first), r.constant(size));
    emitPositions(part, wanted, {rows, rows, line, first, number});
  };
  // Whole tiles from `begin` to before `end` are inside.
  int64_t begin = 0, end = whole;
  while (begin < end && !horizontal.areInside(begin * size, size))
    ++begin;
  while (end > begin && !horizontal.areInside((end - 1) * size, size))
    --end;
  for (int64_t tile = 0; tile < begin; ++tile)
    emit(r.constant(tile * size), size);
  if (begin < end)
    emitStepLoop(r, r.constant(begin * size), r.constant(end * size), size,
                 [&](Value first) { emit(first, size); });
  for (int64_t tile = end; tile < whole; ++tile)
    emit(r.constant(tile * size), size);
  if (all % size)
    emit(r.constant(whole * size), all % size);
}

/// The lines of a part where the border is nowhere. Of several lines in a tile none may be
/// without some of its window: such lines are a tile each.
void ConvolutionEmitter::emitBorderedLines(const Part &part, const Columns &wanted) {
  int64_t all = target.type.getDimSize(outer + 1), height = target.type.getDimSize(outer);
  int64_t together = kernel.getSchedule().find(plan::schedule::lines).value_or(1);
  Value end = r.add(part.firstLine, part.lines);
  auto emitLines = [&](Value from, Value to) {
    emitStepLoop(r, from, to, 1, [&](Value line) {
      Value before = r.mul(r.sub(line, part.firstLine), r.constant(all));
      emitBorderedLine(part, wanted, line, before);
    });
  };
  if (together == 1)
    return emitLines(part.firstLine, end);
  int64_t top = 0, bottom = height;
  while (top < bottom && !vertical.isInside(top))
    ++top;
  while (bottom > top && !vertical.isInside(bottom - 1))
    --bottom;
  Value first = r.minimum(r.maximum(part.firstLine, r.constant(top)), end);
  Value last = r.minimum(r.maximum(r.constant(bottom), first), end);
  emitLines(part.firstLine, first);
  emitRowTiles(r, r.sub(last, first), together, [&](Value offset, int64_t count) {
    Value line = r.add(first, offset);
    Value number = r.divide(r.sub(line, part.firstLine), r.constant(together));
    emitPositions(part, wanted, {count * all, all, line, r.constant(0), number});
  });
  emitLines(last, end);
}

/// The tiles of a panel that begin in the part's lines: positions run on over all of the image, so
/// that tiles are the same ones however it is cut.
void ConvolutionEmitter::emitPanelLines(const Part &part, const Columns &wanted) {
  int64_t size = shape.rows,
          all = target.type.getDimSize(outer) * target.type.getDimSize(outer + 1);
  int64_t whole = all / size, rest = all % size;
  auto tileAt = [&](Value line) {
    return r.divide(r.add(r.mul(line, width), r.constant(size - 1)), r.constant(size));
  };
  Value first = tileAt(part.firstLine), last = tileAt(r.add(part.firstLine, part.lines));
  auto emit = [&](Value number, int64_t rows) {
    // Of lines that two threads share each fetches whole panels.
    Value share =
        sharesByLines ? r.remainder(r.sub(number, first), r.constant(tilesInPanel)) : number;
    emitPositions(part, wanted,
                  {rows, rows, r.constant(0), r.mul(number, r.constant(size)), share});
  };
  emitStepLoop(r, first, r.minimum(last, r.constant(whole)), 1,
               [&](Value number) { emit(number, size); });
  if (!rest)
    return;
  Value isThere = arith::AndIOp::create(r.b, r.loc, r.less(r.constant(whole), last),
                                        r.less(first, r.constant(whole + 1)));
  OpBuilder::InsertionGuard guard(r.b);
  auto branch = scf::IfOp::create(r.b, r.loc, isThere, /*withElseRegion=*/false);
  r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  emit(r.constant(whole), rest);
}

void ConvolutionEmitter::emitColumns(const Part &part, const Columns &wanted) {
  Value zero = r.constant(0);
  if (countsLines && kernel.getSchedule()[plan::schedule::pointwise])
    return emitPanelLines(part, wanted);
  if (runsOn || kernel.getSchedule()[plan::schedule::pointwise]) {
    // Lines follow each other in both tensors: positions beyond the end of
    // one are those of the next.
    emitLine(part, wanted, zero, r.mul(part.firstLine, width), r.mul(part.lines, width), zero);
  } else if (hasBorder) {
    emitBorderedLines(part, wanted);
  } else if (auto together = kernel.getSchedule().find(plan::schedule::lines)) {
    int64_t across = target.type.getDimSize(outer + 1);
    emitRowTiles(r, part.lines, *together, [&](Value offset, int64_t count) {
      emitPositions(part, wanted,
                    {count * across, across, r.add(part.firstLine, offset), zero,
                     r.divide(offset, r.constant(*together))});
    });
  } else {
    // Lines that may be short go two at a time, half a tile of each.
    bool isPaired = isOpen && shape.rows % 2 == 0;
    Value pairs = isPaired ? r.mul(r.divide(part.lines, r.constant(2)), r.constant(2)) : zero;
    auto emitHalves = [&](Value offset, int64_t count) {
      emitRowTiles(r, width, shape.rows / 2, [&](Value first, int64_t across) {
        Value before = r.add(r.mul(offset, width), first);
        emitPositions(part, wanted,
                      {count * across, across, r.add(part.firstLine, offset), first,
                       r.divide(before, r.constant(shape.rows))});
      });
    };
    if (isPaired)
      emitStepLoop(r, zero, pairs, 2, [&](Value offset) { emitHalves(offset, 2); });
    emitStepLoop(r, pairs, part.lines, 1, [&](Value offset) {
      if (isPaired)
        return emitHalves(offset, 1);
      emitLine(part, wanted, r.add(part.firstLine, offset), zero, width, r.mul(offset, width));
    });
  }
}

/// The tiles of a part that is a group whose columns, one panel, are no whole vectors.
void ConvolutionEmitter::emitGroup(const Part &part) {
  int64_t width = shape.width(), rest = blocks.back() % width, lanes = shape.lanes;
  auto from = [&](Value offset) {
    Part panel = part;
    panel.column = r.add(part.column, offset);
    panel.inPanel = offset;
    return panel;
  };
  Value whole = r.constant(blocks.back() - rest),
        end = r.add(part.column, r.constant(blocks.back()));
  emitStepLoop(r, r.constant(0), whole, width,
               [&](Value offset) { emitColumns(from(offset), {shape.vectors, {}}); });
  emitColumns(from(whole), {(rest + lanes - 1) / lanes, rest % lanes ? end : Value()});
}

void ConvolutionEmitter::emitPart(const Part &part) {
  if (blocks.back() != shape.width())
    return emitGroup(part);
  emitPanel(r, target.type.getShape().back(), columns, part.column, shape,
            [&](int64_t vectors, Value limit) { emitColumns(part, {vectors, limit}); });
}

LogicalResult weir::emitConvolution(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                    Value end) {
  ConvOp conv = *kernel.getBody().front().getOps<ConvOp>().begin();
  ConvolutionEmitter(r, kernel, conv).emit(begin, end);
  return success();
}
