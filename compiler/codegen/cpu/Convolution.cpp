//===- Convolution.cpp - convolutions, channels last -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Direct convolution without copies: a register tile holds results that lie
// next to each other in a line, by vectors of output channels; the sum runs over
// the window and the input's channels. The input is already padded.
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

  emitStepLoop(r, begin, end, 1, [&](Value part) {
    // part = (image, block of lines, block of the line, panel of channels)
    SmallVector<Value> at(4);
    Value rest = part;
    for (int64_t i = 3; i >= 0; --i) {
      Value count = blocks[i] == 1
                        ? target.dims[i]
                        : r.divide(r.add(target.dims[i], r.constant(blocks[i] - 1)), r.constant(blocks[i]));
      at[i] = i ? r.remainder(rest, count) : rest;
      if (i)
        rest = r.divide(rest, count);
    }
    Value column = r.mul(at[3], r.constant(shape.width()));
    Value firstLine = r.mul(at[1], r.constant(blocks[1]));
    Value lastLine = r.minimum(r.add(firstLine, r.constant(blocks[1])), lines);
    Value lineLength = r.mul(input.dims[2], input.dims[3]);

    emitStepLoop(r, firstLine, lastLine, 1, [&](Value line) {
      Value lineBase = r.mul(r.add(r.mul(at[0], input.dims[1]), r.mul(line, r.constant(strides[0]))), lineLength);
      auto emit = [&](int64_t rows, int64_t vectors, Value limit, Value x) {
        TileShape own{rows, vectors, shape.lanes};
        Value base = r.add(lineBase, r.mul(r.mul(x, r.constant(strides[1])), input.dims[3]));
        auto readLeft = [&](int64_t i, ValueRange k) {
          Value window = r.add(r.mul(r.mul(k[0], r.constant(dilations[0])), lineLength),
                               r.mul(r.mul(k[1], r.constant(dilations[1])), input.dims[3]));
          Value linear = r.add(r.add(r.add(base, window), k[2]),
                               r.mul(r.constant(i * strides[1]), input.dims[3]));
          return BufferAccess::load(r, input.pointer, r.b.getF32Type(), linear);
        };
        auto readRight = [&](int64_t v, ValueRange k) {
          Value row = r.add(r.mul(r.add(r.mul(k[0], filter.dim(1)), k[1]), channels), k[2]);
          return std::make_pair(filter.buffer.pointer,
                                filter.linear(r, filterRows, row, at[3], column, v * shape.lanes));
        };
        auto indexOfRow = [&](int64_t i) {
          return SmallVector<Value>{at[0], line, r.add(x, r.constant(i))};
        };
        emitTile(r, kernel, conv, own, loops, {readLeft, readRight, filter.isPacked}, indexOfRow, column, limit);
      };
      auto emitLine = [&](int64_t vectors, Value limit) {
        emitTiled(
            r, r.constant(0), width, shape.rows,
            [&](Value x) { emit(shape.rows, vectors, limit, x); },
            [&](Value x, int64_t left) {
              if (left) {
                emit(left, vectors, limit, x);
                return;
              }
              emitStepLoop(r, x, width, 1, [&](Value one) { emit(1, vectors, limit, one); });
            });
      };
      emitPanel(r, target.type.getShape().back(), columns, column, shape, emitLine);
    });
  });
  return success();
}
