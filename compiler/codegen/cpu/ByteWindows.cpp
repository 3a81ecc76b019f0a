//===- ByteWindows.cpp - depthwise convolutions of bytes ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Depthwise convolutions of bytes by instructions that add four products to each word
// (VPDPBUSD): the four are elements of a window's column, one of each of four lines. A
// vector of 64 channels of each line (or 32, or 16) becomes four vectors of words by
// unpacking bytes and then pairs of them. Unpacking goes by quarters of a vector, so quads
// of channels change places before, by which each of the four has neighbouring channels.
//
// A part is a stretch of a line. Channels are the outer loop: their filter stays near while
// results of the stretch are computed, a few (`positions`) at a time, which share what
// their windows share. The last channels of a number that vectors do not divide are
// computed with some before them, once more.
//
// Where a vector of 64 bytes holds several pixels of an image of 32 or 16 channels, and windows
// move by one, its results are as many neighbouring ones; those at the ends of a line are computed
// by the narrower vectors of one pixel.
//
// Lines outside of the image are read from zeros on the stack, over and over; so are
// columns outside, of which blocks at the ends of a line ask.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PackedBytes.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t quad = 4; ///< lines side by side, and vectors of words of a vector of bytes

/// Vectors of words of neighbouring channels.
using Four = SmallVector<Value, quad>;

/// A line of the input that windows read.
struct InputLine {
  Value base; ///< pointer to its first element
  Value step; ///< bytes from a column to the next: 0 for a line outside of the image
};

class ByteWindowEmitter {
public:
  /// `lanes`: of a vector of words; `positions`: of a block; `pixels`: neighbouring results of a
  /// vector.
  ByteWindowEmitter(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv, int64_t lanes,
                    int64_t positions, int64_t pixels)
      : r(r), b(r.b), conv(conv), input(r.bufferOf(conv.getInput())),
        filter(r.bufferOf(bufferBehind(conv.getFilter()))),
        result(kernel.getBody().front().getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        parts(kernel.getSchedule()[plan::schedule::parts]), lanes(lanes), positions(positions),
        pixels(pixels), axes(windowLinesOf(conv)), line(axes.back()),
        rounded(roundedByteOf(result)) {
    channels = target.type.getShape().back();
    isSigned = !input.type.getElementType().isUnsignedInteger();
    columns = (positions - 1) * pixels * line.stride + (line.window - 1) * line.dilation + 1;
    pitch = input.extent(r, input.dims.size() - 1);
  }

  /// `narrow`: what computes the ends of lines where vectors hold several results; else null.
  void emit(Value begin, Value end, ByteWindowEmitter *narrow) {
    ends = narrow;
    // What is outside is as long as what a block reads of a line.
    int64_t room = (columns - 1) * *getConstantIntValue(pitch) + channels * pixels;
    zeros = stackElements(r, b.getI8Type(), room);
    LLVM::MemsetOp::create(
        b, r.loc, zeros, LLVM::ConstantOp::create(b, r.loc, b.getI8Type(), b.getI8IntegerAttr(0)),
        LLVM::ConstantOp::create(b, r.loc, b.getI64Type(), b.getI64IntegerAttr(room)),
        /*isVolatile=*/false);
    makeTurn();
    if (ends) {
      ends->zeros = zeros;
      ends->makeTurn();
    }
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> at = r.blockIndices(part, target.dims, parts);
      Value first = r.mul(at[2], r.constant(parts[2]));
      Value last = r.minimum(r.add(first, r.constant(parts[2])), target.dims[2]);
      lines.clear();
      for (int64_t k = 0; k < axes[0].window; ++k)
        lines.push_back(lineAt(at, k));
      int64_t each = quad * lanes / pixels;
      emitStepLoop(r, r.constant(0), r.constant(channels), each, [&](Value wanted) {
        channel = r.minimum(wanted, r.constant(channels - each));
        sumFilter();
        if (ends) {
          ends->lines = lines;
          ends->channel = channel;
          ends->sumFilter();
        }
        emitStepLoop(r, first, last, positions * pixels, [&](Value position) {
          at[2] = position;
          emitBlock(at, last);
        });
      });
    });
  }

private:
  VectorType words() { return VectorType::get({lanes}, b.getI32Type()); }
  Value splat(int32_t value) {
    return arith::ConstantOp::create(b, r.loc,
                                     SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
  }
  Value address(Value pointer, Value byte) {
    return BufferAccess::address(r, pointer, b.getI8Type(), byte);
  }
  Value isInside(Value place, Value size) {
    return arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::ult, place, size);
  }
  Value choose(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, r.loc, condition, yes, no);
  }
  Value intrinsic(StringRef name, Type type, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, r.loc, type, b.getStringAttr(name), operands)
        ->getResult(0);
  }

  /// Makes the order of quads in a vector of bytes, of which unpacking brings together those of
  /// as many quarters. LLVM must not know it: of what it knows it makes permutations of single
  /// bytes out of two vectors, which take three instructions each.
  void makeTurn() {
    int64_t quarters = lanes / quad;
    if (quarters == 1)
      return;
    SmallVector<int32_t> order;
    for (int64_t quarter = 0; quarter < quarters; ++quarter)
      for (int64_t v = 0; v < quad; ++v)
        order.push_back(v * quarters + quarter);
    Value place = stackElements(r, b.getI32Type(), lanes);
    Value known =
        arith::ConstantOp::create(b, r.loc, DenseElementsAttr::get(words(), ArrayRef(order)));
    LLVM::StoreOp::create(b, r.loc, known, place, /*alignment=*/64);
    turn = LLVM::LoadOp::create(b, r.loc, words(), place, /*alignment=*/64, /*isVolatile=*/true);
  }

  /// Line `k` of the windows of the results at `at`.
  InputLine lineAt(ValueRange at, int64_t k) {
    const WindowLine &down = axes[0];
    Value row =
        r.add(r.mul(at[1], r.constant(down.stride)), r.constant(k * down.dilation - down.before));
    SmallVector<Value> from{at[0], row, r.constant(0), r.constant(0)};
    Value base = address(input.pointer, r.linearIndex(input, from));
    if (down.before == 0 && down.after == 0)
      return {base, pitch};
    Value inside = isInside(row, input.dims[1]);
    return {choose(inside, base, zeros), choose(inside, pitch, r.constant(0))};
  }

  /// Sums begin with what is taken off for signed bytes, which are moved by 128.
  void sumFilter() {
    starts.assign(quad, splat(0));
    if (!isSigned)
      return;
    Value moved = splat(static_cast<int32_t>(0x80808080));
    for (int64_t v = 0; v < quad; ++v) {
      Value sum = splat(0);
      for (int64_t q = 0; q * quad < axes[0].window; ++q)
        for (int64_t k = 0; k < line.window; ++k)
          sum = addQuads(b, r.loc, sum, moved, filterAt(q, k, v));
      starts[v] = arith::SubIOp::create(b, r.loc, splat(0), sum);
    }
  }

  /// Of quad `q` of lines and column `k` of the window, vector `v` of the channels.
  Value filterAt(int64_t q, int64_t k, int64_t v) {
    Value before = r.constant((q * line.window + k) * channels + v * lanes % channels);
    Value byte = r.mul(r.add(channel, before), r.constant(quad));
    return LLVM::LoadOp::create(b, r.loc, words(), address(filter.pointer, byte), /*alignment=*/4);
  }

  /// Results from `at` on, of those before `last`.
  void emitBlock(ValueRange at, Value last) {
    Value origin = r.sub(r.mul(at[2], r.constant(line.stride)), r.constant(line.before));
    Value end = r.add(origin, r.constant(columns - 1 + pixels - 1));
    auto isAtMost = [&](Value x, Value y) {
      return arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::sle, x, y).getResult();
    };
    Value isWhole = r.logicalAnd(isAtMost(r.constant(0), origin), r.less(end, input.dims[2]));
    Value next = r.add(at[2], r.constant(positions * pixels));
    isWhole = r.logicalAnd(isWhole, isAtMost(next, last));
    emitEither(
        r, isWhole,
        [&] {
          SmallVector<Value> first;
          for (const InputLine &own : lines)
            first.push_back(address(own.base, r.add(r.mul(origin, own.step), channel)));
          auto pointer = [&](int64_t k, int64_t column) {
            return address(first[k], r.mul(r.constant(column), pitch));
          };
          for (auto [i, sums] : llvm::enumerate(sumsOf(pointer)))
            emitResult(at, i, sums);
        },
        [&] {
          if (ends)
            return ends->emitBlocks(at, r.minimum(next, last));
          SmallVector<Value> insides;
          for (int64_t column = 0; column < columns; ++column)
            insides.push_back(isInside(r.add(origin, r.constant(column)), input.dims[2]));
          auto pointer = [&](int64_t k, int64_t column) {
            Value place = r.mul(r.add(origin, r.constant(column)), lines[k].step);
            Value base = choose(insides[column], address(lines[k].base, place), zeros);
            return address(base, channel);
          };
          for (auto [i, sums] : llvm::enumerate(sumsOf(pointer))) {
            Value isThere = r.less(r.add(at[2], r.constant(i)), last);
            emitEither(r, isThere, [&, i = i, &sums = sums] { emitResult(at, i, sums); }, [] {});
          }
        });
  }

  /// All blocks from `at` to `last`.
  void emitBlocks(ValueRange at, Value last) {
    emitStepLoop(r, at[2], last, positions, [&](Value position) {
      SmallVector<Value> own(at);
      own[2] = position;
      emitBlock(own, last);
    });
  }

  /// The sums of a block, whose windows read line `k` of column `column` at `pointer(k, column)`.
  SmallVector<Four> sumsOf(function_ref<Value(int64_t k, int64_t column)> pointer) {
    SmallVector<Four> sums(positions, starts);
    for (int64_t column = 0; column < columns; ++column) {
      // The results that have the column in their windows, and where.
      SmallVector<std::pair<int64_t, int64_t>> users;
      for (int64_t i = 0; i < positions; ++i) {
        int64_t offset = column - i * pixels * line.stride;
        if (offset >= 0 && offset % line.dilation == 0 && offset / line.dilation < line.window)
          users.push_back({i, offset / line.dilation});
      }
      for (int64_t q = 0; !users.empty() && q * quad < axes[0].window; ++q) {
        SmallVector<Value> pointers;
        for (int64_t k = q * quad; k < std::min(axes[0].window, (q + 1) * quad); ++k)
          pointers.push_back(pointer(k, column));
        Four four = sideBySide(pointers);
        for (auto [i, k] : users)
          for (int64_t v = 0; v < quad; ++v)
            sums[i][v] = addQuads(b, r.loc, sums[i][v], four[v], filterAt(q, k, v));
      }
    }
    return sums;
  }

  /// Words of the bytes at up to four pointers; what a word has more is anything, whose factors
  /// are zeros.
  Four sideBySide(ArrayRef<Value> pointers) {
    if (pointers.size() == 1)
      return widened(pointers[0]);
    SmallVector<Value> rows;
    for (Value pointer : pointers)
      rows.push_back(turnedRow(pointer));
    auto both = [&](int64_t i, int64_t j, bool isHigh) {
      return unpacked(rows[i], rows[std::min<int64_t>(j, rows.size() - 1)], /*bytes=*/1, isHigh);
    };
    Four four;
    for (bool isHigh : {false, true}) {
      Value first = both(0, 1, isHigh), second = first;
      if (rows.size() > 2)
        second = both(2, 3, isHigh);
      for (bool isUpper : {false, true})
        four.push_back(LLVM::BitcastOp::create(b, r.loc, words(),
                                               unpacked(first, second, /*bytes=*/2, isUpper)));
    }
    return four;
  }

  /// Bytes of a line alone.
  Four widened(Value pointer) {
    Four four;
    for (int64_t v = 0; v < quad; ++v) {
      Value from = address(pointer, r.constant(v * lanes));
      Value bytes = LLVM::LoadOp::create(b, r.loc, VectorType::get({lanes}, b.getI8Type()), from,
                                         /*alignment=*/1);
      Value made = arith::ExtUIOp::create(b, r.loc, words(), bytes);
      four.push_back(isSigned ? arith::XOrIOp::create(b, r.loc, made, splat(0x80)) : made);
    }
    return four;
  }

  /// A vector of bytes whose quads have changed places (makeTurn).
  Value turnedRow(Value pointer) {
    Value row = LLVM::LoadOp::create(b, r.loc, words(), pointer, /*alignment=*/1);
    if (isSigned)
      row = arith::XOrIOp::create(b, r.loc, row, splat(static_cast<int32_t>(0x80808080)));
    if (turn)
      row = intrinsic(lanes == 16 ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx2.permd",
                      words(), {row, turn});
    return LLVM::BitcastOp::create(b, r.loc, VectorType::get({lanes * quad}, b.getI8Type()), row);
  }

  /// Elements of `bytes` bytes of both in turn, of the lower or upper half of each quarter.
  Value unpacked(Value x, Value y, int64_t bytes, bool isUpper) {
    int64_t count = lanes * quad / bytes, each = 16 / bytes;
    auto type = VectorType::get({count}, b.getIntegerType(8 * bytes));
    auto as = [&](Value value) -> Value { return LLVM::BitcastOp::create(b, r.loc, type, value); };
    SmallVector<int64_t> order;
    for (int64_t quarter = 0; quarter < count; quarter += each)
      for (int64_t i = 0; i < each / 2; ++i)
        for (int64_t from : {int64_t(0), count})
          order.push_back(from + quarter + isUpper * each / 2 + i);
    return vector::ShuffleOp::create(b, r.loc, as(x), as(y), order);
  }

  /// What follows the sums of result `i` of a block.
  void emitResult(ValueRange at, int64_t i, ArrayRef<Value> sums) {
    SmallVector<Value> indices(at);
    indices[2] = r.add(at[2], r.constant(i * pixels));
    indices[3] = channel;
    Value place = r.linearIndex(target, indices);
    VectorReader v(r, lanes);
    SmallVector<Value> made;
    if (rounded)
      v.followWords();
    for (auto [own, sum] : llvm::enumerate(sums)) {
      Value offset = r.constant(own * lanes);
      indices[2] = r.add(at[2], r.constant(i * pixels + own * lanes / channels));
      indices[3] = r.add(channel, r.constant(own * lanes % channels));
      v.setLanes(indices[3], Value());
      v.setAnchor(conv.getResult(), sum);
      if (rounded)
        made.push_back(nearestWords(b, r.loc, v.broadcast(v.element(rounded->real, indices)),
                                    rounded->isInWords));
      else
        v.store(v.element(result, indices), target.pointer, target.type.getElementType(),
                r.add(place, offset));
    }
    if (rounded)
      LLVM::StoreOp::create(b, r.loc,
                            packedBytes(b, r.loc, made, rounded->zero, rounded->isUnsigned),
                            address(target.pointer, place), /*alignment=*/1);
  }

  KernelBuilder &r;
  OpBuilder &b;
  ConvOp conv;
  const KernelBuilder::Buffer input, filter;
  Value result;
  const KernelBuilder::Buffer target;
  ArrayRef<int64_t> parts;
  int64_t lanes, positions, pixels;
  ByteWindowEmitter *ends = nullptr;  ///< see emit
  SmallVector<WindowLine> axes;       ///< by spatial dimension
  WindowLine line;                    ///< the last of them
  std::optional<RoundedByte> rounded; ///< what the kernel stores; none: something else
  int64_t channels = 0;
  int64_t columns = 0; ///< of a line that the windows of a block have
  bool isSigned = false;
  Value turn;                   ///< the order of quads in vectors of bytes; null: as they lie
  Value pitch, zeros, channel;  ///< the first of the channels that are computed
  SmallVector<InputLine> lines; ///< of the windows, one each
  Four starts;                  ///< of sums
};

} // namespace

/// Neighbouring results that a vector of 64 bytes holds; 1: one, or images lie otherwise.
static int64_t pixelsOfVector(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv) {
  constexpr int64_t widest = 64;
  const KernelBuilder::Buffer &input = r.bufferOf(conv.getInput());
  const KernelBuilder::Buffer &target =
      r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0));
  int64_t channels = target.type.getShape().back(),
          lanes = kernel.getSchedule()[plan::schedule::tile][2];
  bool isWhole = lanes * quad == channels && channels < widest && !target.hasGaps() &&
                 getConstantIntValue(input.extent(r, 3)) == channels;
  return isWhole && windowLinesOf(conv).back().stride == 1 ? widest / channels : 1;
}

void weir::emitByteWindows(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv, Value begin,
                           Value end) {
  int64_t lanes = kernel.getSchedule()[plan::schedule::tile][2];
  int64_t positions = *kernel.getSchedule().find(plan::schedule::positions);
  ByteWindowEmitter single(r, kernel, conv, lanes, positions, /*pixels=*/1);
  int64_t pixels = pixelsOfVector(r, kernel, conv);
  if (pixels == 1)
    return single.emit(begin, end, nullptr);
  ByteWindowEmitter several(r, kernel, conv, lanes * pixels, positions, pixels);
  several.emit(begin, end, &single);
}
