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
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

LogicalResult weir::emitConvolution(KernelReader &r, plan::KernelOp kernel,
                                    Value begin, Value end) {
  Block &body = kernel.getBody().front();
  auto convs = body.getOps<ConvOp>();
  ConvOp conv = *convs.begin();
  auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
  auto blocks = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
  TileShape shape{tile[0], tile[1], tile[2]};
  const KernelReader::Buffer target = r.bufferOf(body.getTerminator()->getOperand(0));
  const KernelReader::Buffer input = r.bufferOf(conv.getInput());
  ColumnsOperand filter(r, conv.getFilter());
  Value lines = target.dims[1], width = target.dims[2], columns = target.dims[3];
  ArrayRef<int64_t> strides = conv.getStrides(), dilations = conv.getDilations();
  Value channels = filter.dim(2);
  SmallVector<Value> loops{filter.dim(0), filter.dim(1), channels};
  Value filterRows = r.mul(r.mul(filter.dim(0), filter.dim(1)), channels);

  int64_t tilesInPanel =
      target.type.isDynamicDim(2)
          ? blocks[1]
          : llvm::divideCeil(blocks[1] * target.type.getDimSize(2), shape.rows);
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    // part = (image, block of lines, block of the line, panel of channels)
    SmallVector<Value> at = r.blockIndices(part, target.dims, blocks);
    Value column = r.mul(at[3], r.constant(shape.width()));
    // Whole panels belong to a group, which reads its own input channels.
    Value firstChannel = r.constant(0);
    if (int64_t groups = conv.getGroups(); groups > 1)
      firstChannel = r.mul(r.divide(column, r.divide(columns, r.constant(groups))), channels);
    Value firstLine = r.mul(at[1], r.constant(blocks[1]));
    bool exact = !target.type.isDynamicDim(1) && target.type.getDimSize(1) % blocks[1] == 0;
    Value lineCount = exact ? r.constant(blocks[1])
                            : r.minimum(r.constant(blocks[1]), r.sub(lines, firstLine));
    Value lineLength = r.mul(input.dims[2], input.dims[3]);
    Value image = r.mul(at[0], input.dims[1]);

    // A tile of results from position (line, x) on, in lines of `across`.
    // `number` counts the tiles of the part.
    auto emit = [&](int64_t rows, int64_t across, int64_t vectors, Value limit,
                    Value line, Value x, Value number) {
      TileShape own{rows, vectors, shape.lanes};
      Value base = r.add(r.mul(r.add(image, r.mul(line, r.constant(strides[0]))), lineLength),
                         r.mul(r.mul(x, r.constant(strides[1])), input.dims[3]));
      base = r.add(base, firstChannel);
      auto readLeft = [&](int64_t i, ValueRange k) {
        Value window = r.add(r.mul(r.mul(k[0], r.constant(dilations[0])), lineLength),
                             r.mul(r.mul(k[1], r.constant(dilations[1])), input.dims[3]));
        Value place = r.add(r.mul(r.constant(i / across * strides[0]), lineLength),
                            r.mul(r.constant(i % across * strides[1]), input.dims[3]));
        Value linear = r.add(r.add(r.add(base, window), k[2]), place);
        return BufferAccess::load(r, input.pointer, r.b.getF32Type(), linear);
      };
      auto readRight = [&](int64_t v, ValueRange k) {
        Value row = r.add(r.mul(r.add(r.mul(k[0], filter.dim(1)), k[1]), channels), k[2]);
        return std::make_pair(filter.buffer.pointer,
                              filter.linear(r, filterRows, row, at[3], column, v * shape.lanes));
      };
      auto indexOfRow = [&](int64_t i) {
        return SmallVector<Value>{at[0], r.add(line, r.constant(i / across)),
                                  r.add(x, r.constant(i % across))};
      };
      auto prefetch = [&](ValueRange k) {
        Value row = r.add(r.mul(r.add(r.mul(k[0], filter.dim(1)), k[1]), channels), k[2]);
        filter.prefetch(r, filterRows, row, at[3], number, tilesInPanel);
      };
      TileOperands operands{readLeft, readRight, filter.isPacked};
      if (filter.wantsPrefetch(tilesInPanel))
        operands.prefetch = prefetch;
      emitTile(r, kernel, conv, own, loops, operands, indexOfRow, column, limit);
    };
    // `count` positions of a line, from position (line, first) on; `before` lie
    // before them in the part.
    auto emitLine = [&](int64_t vectors, Value limit, Value line, Value first, Value count,
                        Value before) {
      auto tileAt = [&](int64_t rows, Value offset) {
        Value number = r.divide(r.add(before, offset), r.constant(shape.rows));
        emit(rows, rows, vectors, limit, line, r.add(first, offset), number);
      };
      emitTiled(
          r, r.constant(0), count, shape.rows,
          [&](Value offset) { tileAt(shape.rows, offset); },
          [&](Value offset, int64_t left) {
            if (left)
              return tileAt(left, offset);
            emitStepLoop(r, offset, count, 1, [&](Value one) { tileAt(1, one); });
          });
    };
    emitPanel(r, target.type.getShape().back(), columns, column, shape,
              [&](int64_t vectors, Value limit) {
      Value zero = r.constant(0);
      if (kernel->hasAttr("pointwise")) {
        // Lines follow each other in both tensors: positions beyond the end of
        // one are those of the next.
        emitLine(vectors, limit, zero, r.mul(firstLine, width), r.mul(lineCount, width), zero);
      } else if (auto together = kernel->getAttrOfType<IntegerAttr>("lines")) {
        int64_t across = target.type.getDimSize(2);
        auto tileAt = [&](int64_t count, Value offset) {
          emit(count * across, across, vectors, limit, r.add(firstLine, offset), zero,
               r.divide(offset, r.constant(together.getInt())));
        };
        emitTiled(
            r, zero, lineCount, together.getInt(),
            [&](Value offset) { tileAt(together.getInt(), offset); },
            [&](Value offset, int64_t left) {
              if (left)
                return tileAt(left, offset);
              emitStepLoop(r, offset, lineCount, 1, [&](Value one) { tileAt(1, one); });
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
