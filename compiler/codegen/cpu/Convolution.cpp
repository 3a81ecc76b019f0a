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
// input is already padded.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
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

LogicalResult weir::emitConvolution(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                    Value end) {
  Block &body = kernel.getBody().front();
  auto convs = body.getOps<ConvOp>();
  ConvOp conv = *convs.begin();
  auto tile = kernel.getSchedule()[plan::schedule::tile];
  auto blocks = kernel.getSchedule()[plan::schedule::parts];
  TileShape shape{tile[0], tile[1], tile[2]};
  const KernelBuilder::Buffer target = r.bufferOf(body.getTerminator()->getOperand(0));
  const KernelBuilder::Buffer input = leftOperand(r, conv);
  ColumnsOperand filter(r, conv.getFilter());
  // Dimensions before the lines: images, and planes where there are three spatial
  // dimensions.
  int64_t outer = target.type.getRank() - 3, spatial = outer + 1;
  Value lines = target.dims[outer], width = target.dims[outer + 1], columns = target.dims.back();
  ArrayRef<int64_t> strides = conv.getStrides(), dilations = conv.getDilations();
  ArrayRef<int64_t> inLine = strides.take_back(2);
  Value channels = filter.dim(spatial), filterRows = channels;
  for (int64_t i = 0; i < spatial; ++i)
    filterRows = r.mul(filterRows, filter.dim(i));
  // Few channels of a window's neighbours in a line, which lie behind each other, are one loop.
  bool isRun = hasRuns(conv, input);
  int64_t outerLoops = isRun ? spatial - 1 : spatial;
  Value run = isRun ? r.mul(filter.dim(spatial - 1), channels) : channels;
  SmallVector<Value> loops;
  for (int64_t i = 0; i < outerLoops; ++i)
    loops.push_back(filter.dim(i));
  loops.push_back(run);
  // Elements from one step of a spatial dimension of the input to the next.
  Value channelsOfAll = input.extent(r, input.dims.size() - 1);
  SmallVector<Value> steps(spatial, channelsOfAll);
  for (int64_t i = spatial - 1; i > 0; --i)
    steps[i - 1] = r.mul(steps[i], input.extent(r, i + 1));
  Value lineLength = steps[spatial - 2];

  // Positions run on from one line to the next, where memory may have a gap.
  bool wraps = kernel.getSchedule()[plan::schedule::pointwise] && target.hasGaps();
  for (BlockArgument argument : body.getArguments())
    wraps |= kernel.getSchedule()[plan::schedule::pointwise] && r.bufferOf(argument).hasGaps();

  int64_t linesInBlock = blocks[outer];
  int64_t tilesInPanel =
      target.type.isDynamicDim(outer + 1)
          ? linesInBlock
          : llvm::divideCeil(linesInBlock * target.type.getDimSize(outer + 1), shape.rows);
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    // part = (image, plane, block of lines, block of the line, panel of channels)
    SmallVector<Value> at = r.blockIndices(part, target.dims, blocks);
    Value panel = at.back(), column = r.mul(panel, r.constant(shape.width()));
    // Whole panels belong to a group, which reads its own input channels.
    Value firstChannel = r.constant(0);
    if (int64_t groups = conv.getGroups(); groups > 1)
      firstChannel = r.mul(r.divide(column, r.divide(columns, r.constant(groups))), channels);
    Value firstLine = r.mul(at[outer], r.constant(linesInBlock));
    bool exact =
        !target.type.isDynamicDim(outer) && target.type.getDimSize(outer) % linesInBlock == 0;
    Value lineCount = exact ? r.constant(linesInBlock)
                            : r.minimum(r.constant(linesInBlock), r.sub(lines, firstLine));
    Value plane = r.mul(at[0], r.mul(input.extent(r, 1), steps[0]));
    if (outer == 2)
      plane = r.add(plane, r.mul(at[1], r.mul(r.constant(strides[0]), steps[0])));
    plane = r.add(plane, firstChannel);

    // A tile of results from position (line, x) on, in lines of `across`.
    // `number` counts the tiles of the part.
    auto emit = [&](int64_t rows, int64_t across, int64_t vectors, Value limit, Value line, Value x,
                    Value number) {
      TileShape own{rows, vectors, shape.lanes};
      Value base = r.add(r.add(plane, r.mul(r.mul(line, r.constant(inLine[0])), lineLength)),
                         r.mul(r.mul(x, r.constant(inLine[1])), channelsOfAll));
      auto readLeft = [&](int64_t i, ValueRange k) {
        Value window;
        for (int64_t d = 0; d < outerLoops; ++d) {
          Value own = r.mul(r.mul(k[d], r.constant(dilations[d])), steps[d]);
          window = window ? r.add(window, own) : own;
        }
        Value place = r.add(r.mul(r.constant(i / across * inLine[0]), lineLength),
                            r.mul(r.constant(i % across * inLine[1]), channelsOfAll));
        Value linear = r.add(r.add(r.add(base, window), k[outerLoops]), place);
        return loadStep(r, conv, input.pointer, linear);
      };
      auto filterRow = [&](ValueRange k) {
        Value row = k[0];
        for (int64_t d = 1; d < outerLoops; ++d)
          row = r.add(r.mul(row, filter.dim(d)), k[d]);
        return r.add(r.mul(row, run), k[outerLoops]);
      };
      auto readRight = [&](int64_t v, ValueRange k) {
        return std::make_pair(filter.buffer.pointer, filter.linear(r, filterRows, filterRow(k),
                                                                   panel, column, v * shape.lanes));
      };
      auto indexOfRow = [&](int64_t i) {
        SmallVector<Value> indices(at.begin(), at.begin() + outer);
        Value y = r.add(line, r.constant(i / across)), own = r.add(x, r.constant(i % across));
        if (wraps) {
          y = r.add(y, r.divide(own, width));
          own = r.remainder(own, width);
        }
        indices.append({y, own});
        return indices;
      };
      auto prefetch = [&](ValueRange k) {
        filter.prefetch(r, filterRows, filterRow(k), panel, number, tilesInPanel);
      };
      TileOperands operands{readLeft, readRight, filter.isPacked};
      if (filter.wantsPrefetch(kernel, tilesInPanel))
        operands.prefetch = prefetch;
      emitTile(r, kernel, conv, own, loops, operands, indexOfRow, column, limit);
    };
    // `count` positions of a line, from position (line, first) on; `before` lie
    // before them in the part.
    auto emitLine = [&](int64_t vectors, Value limit, Value line, Value first, Value count,
                        Value before) {
      emitRowTiles(r, count, shape.rows, [&](Value offset, int64_t rows) {
        Value number = r.divide(r.add(before, offset), r.constant(shape.rows));
        emit(rows, rows, vectors, limit, line, r.add(first, offset), number);
      });
    };
    emitPanel(
        r, target.type.getShape().back(), columns, column, shape,
        [&](int64_t vectors, Value limit) {
          Value zero = r.constant(0);
          if (kernel.getSchedule()[plan::schedule::pointwise]) {
            // Lines follow each other in both tensors: positions beyond the end of
            // one are those of the next.
            emitLine(vectors, limit, zero, r.mul(firstLine, width), r.mul(lineCount, width), zero);
          } else if (auto together = kernel.getSchedule().find(plan::schedule::lines)) {
            int64_t across = target.type.getDimSize(outer + 1);
            emitRowTiles(r, lineCount, *together, [&](Value offset, int64_t count) {
              emit(count * across, across, vectors, limit, r.add(firstLine, offset), zero,
                   r.divide(offset, r.constant(*together)));
            });
          } else {
            emitStepLoop(r, zero, lineCount, 1, [&](Value offset) {
              emitLine(vectors, limit, r.add(firstLine, offset), zero, width, r.mul(offset, width));
            });
          }
        });
  });
  return success();
}
