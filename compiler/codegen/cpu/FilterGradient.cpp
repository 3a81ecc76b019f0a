//===- FilterGradient.cpp - gradients of convolutions' filters ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dw[c, i, j, o] is the sum over images n and positions (y, x) of the gradient of what that
// image has at (y s + i d - p, x s + j d - p) in channel c, times the gradient in channel o. The
// kernel's convolution has these as its filter and image, behind transpositions that
// nobody computes: both are read where they lie, and what would be border is left out.
//
// A part of the range holds channels of the image, a line of the window, and a panel of
// channels of the gradient. It goes over the images by blocks of positions that the caches
// hold while tiles of (c by o) at all places of the line pass by; between blocks sums wait on the
// stack.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// A tensor behind a transposition: elements from one index to the next, by dimension of
/// what the transposition makes.
struct TurnedOperand {
  Value pointer;
  SmallVector<int64_t> sizes, steps;

  TurnedOperand(KernelBuilder &r, Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    pointer = r.bufferOf(transpose.getOperand()).pointer;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(transpose.getOperand().getType()).getShape();
    for (int64_t from : transpose.getPermutation()) {
      sizes.push_back(shape[from]);
      steps.push_back(ShapedType::getNumElements(shape.drop_front(from + 1)));
    }
  }
};

class FilterGradientEmitter {
public:
  FilterGradientEmitter(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv)
      : r(r), kernel(kernel), conv(conv), image(r, conv.getInput()), gradient(r, conv.getFilter()),
        target(r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0))),
        blocks(kernel.getSchedule()[plan::schedule::parts]) {
    auto tile = kernel.getSchedule()[plan::schedule::tile];
    shape = {tile[0], tile[1], tile[2]};
  }

  void emit(Value begin, Value end) {
    sums = stackFloats(r, blocks[2] * blocks[0] * shape.width());
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> at = r.blockIndices(part, target.dims, blocks);
      firstChannel = r.mul(at[0], r.constant(blocks[0]));
      rowCount =
          image.sizes[0] % blocks[0] == 0
              ? r.constant(blocks[0])
              : r.minimum(r.constant(blocks[0]), r.sub(r.constant(image.sizes[0]), firstChannel));
      line = at[1];
      column = r.mul(at[3], r.constant(shape.width()));
      emitPanel(r, target.type.getShape().back(), target.dims.back(), column, shape,
                [&](int64_t vectors, Value limit) { emitPart(vectors, limit); });
    });
  }

private:
  /// Positions of the gradient, along spatial dimension `i`, that meet the image at place
  /// `at` of the window.
  struct Met {
    Value first, last;
  };
  Met metAt(int64_t i, Value at) {
    int64_t step = conv.getDilations()[i];
    // Where position 0 lies in the image, to the left of it.
    Value before =
        r.sub(r.constant(conv.getPads()[2 * i]), r.mul(at, r.constant(conv.getStrides()[i])));
    auto divided = [&](Value count) {
      return r.divide(r.maximum(r.constant(0), count), r.constant(step));
    };
    Value first = divided(r.add(before, r.constant(step - 1)));
    Value last = divided(r.add(before, r.constant(image.sizes[1 + i] - 1 + step)));
    return {first, r.minimum(last, r.constant(gradient.sizes[i]))};
  }

  void emitPart(int64_t vectors, Value limit) {
    // So many positions are read while all tiles of a part pass by.
    constexpr int64_t positions = 256;
    int64_t height = gradient.sizes[0], width = gradient.sizes[1];
    int64_t lines = std::clamp<int64_t>(positions / std::max<int64_t>(width, 1), 1, height);
    Value zero = r.constant(0);
    VectorReader whole(r, shape.lanes);
    Value noSum = arith::ConstantOp::create(
        r.b, r.loc, r.b.getZeroAttr(VectorType::get({shape.lanes}, r.b.getF32Type())));
    emitStepLoop(r, zero, r.constant(blocks[2] * blocks[0] * shape.width()), shape.lanes,
                 [&](Value at) { whole.store(noSum, sums, r.b.getF32Type(), at); });
    Met rows = metAt(0, line);
    emitStepLoop(r, zero, r.constant(image.sizes[3]), 1, [&](Value number) {
      emitStepLoop(r, rows.first, rows.last, lines, [&](Value from) {
        Value count = r.minimum(r.constant(lines), r.sub(rows.last, from));
        emitStepLoop(r, zero, r.constant(blocks[2]), 1,
                     [&](Value place) { addBlock(vectors, limit, number, from, count, place); });
      });
    });
    emitStepLoop(r, zero, r.constant(blocks[2]), 1,
                 [&](Value place) { finish(vectors, limit, place); });
  }

  /// Where the sums of a tile wait.
  Value sumsAt(Value place, Value offset) {
    return r.mul(r.add(r.mul(place, r.constant(blocks[0])), offset), r.constant(shape.width()));
  }

  /// Adds `count` lines of positions from `from` on of image `number`, at `place` of the
  /// window's line.
  void addBlock(int64_t vectors, Value limit, Value number, Value from, Value count, Value place) {
    Met columns = metAt(1, place);
    // The image's element that the first position meets.
    auto along = [&](int64_t i, Value position, Value at) {
      Value whole = r.add(r.mul(position, r.constant(conv.getDilations()[i])),
                          r.mul(at, r.constant(conv.getStrides()[i])));
      return r.mul(r.sub(whole, r.constant(conv.getPads()[2 * i])), r.constant(image.steps[1 + i]));
    };
    Value left = r.add(r.mul(number, r.constant(image.steps[3])),
                       r.add(along(0, from, line), along(1, columns.first, place)));
    left = r.add(left, r.mul(firstChannel, r.constant(image.steps[0])));
    Value right = r.add(r.mul(number, r.constant(gradient.steps[2])),
                        r.add(r.mul(from, r.constant(gradient.steps[0])),
                              r.mul(columns.first, r.constant(gradient.steps[1]))));
    SmallVector<Value> loops = {count, r.sub(columns.last, columns.first)};
    emitRowTiles(r, rowCount, shape.rows, [&](Value offset, int64_t tileRows) {
      Value base = r.add(left, r.mul(offset, r.constant(image.steps[0])));
      auto readLeft = [&](int64_t row, ValueRange at) {
        Value linear = base;
        for (int64_t i = 0; i < 2; ++i)
          linear =
              r.add(linear, r.mul(at[i], r.constant(conv.getDilations()[i] * image.steps[1 + i])));
        Value first = BufferAccess::address(r, image.pointer, r.b.getF32Type(), linear);
        return BufferAccess::load(r, first, r.b.getF32Type(), r.constant(row * image.steps[0]));
      };
      auto readRight = [&](int64_t vector, ValueRange at) {
        Value linear = r.add(right, r.add(column, r.constant(vector * shape.lanes)));
        for (int64_t i = 0; i < 2; ++i)
          linear = r.add(linear, r.mul(at[i], r.constant(gradient.steps[i])));
        return std::make_pair(gradient.pointer, linear);
      };
      TileOperands operands{readLeft, readRight};
      operands.partial = PartialSums{sums, sumsAt(place, offset), shape.width(),
                                     /*isFirst=*/false, /*isLast=*/false};
      emitTile(
          r, kernel, conv, {tileRows, vectors, shape.lanes}, loops, operands,
          [](int64_t) { return SmallVector<Value>(); }, column, limit);
    });
  }

  /// What follows the sums of a place, and stores.
  void finish(int64_t vectors, Value limit, Value place) {
    emitRowTiles(r, rowCount, shape.rows, [&](Value offset, int64_t tileRows) {
      VectorReader whole(r, shape.lanes);
      SmallVector<Value> ready;
      Value first = sumsAt(place, offset);
      for (int64_t row = 0; row < tileRows; ++row)
        for (int64_t v = 0; v < vectors; ++v)
          ready.push_back(
              whole.load(sums, r.b.getF32Type(),
                         r.add(first, r.constant(row * shape.width() + v * shape.lanes))));
      auto indexOfRow = [&](int64_t row) -> SmallVector<Value> {
        return {r.add(r.add(firstChannel, offset), r.constant(row)), line, place};
      };
      storeTile(r, kernel, conv, {tileRows, vectors, shape.lanes}, ready, indexOfRow, column,
                limit);
    });
  }

  KernelBuilder &r;
  plan::KernelOp kernel;
  ConvOp conv;
  TurnedOperand image;    ///< C H W N
  TurnedOperand gradient; ///< H W N O
  const KernelBuilder::Buffer target;
  ArrayRef<int64_t> blocks; ///< of C, lines and places of the window, O
  TileShape shape;
  // Of the present part.
  Value sums, firstChannel, rowCount, line, column;
};

} // namespace

void weir::emitFilterGradient(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv, Value begin,
                              Value end) {
  FilterGradientEmitter(r, kernel, conv).emit(begin, end);
}
