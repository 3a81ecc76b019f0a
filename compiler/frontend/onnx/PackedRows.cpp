//===- PackedRows.cpp - com.microsoft's GatherPacked ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of tables whose numbers lie in blocks of bytes, as GGUF files have them: the
// rows that are asked for become floats, the others stay as they are.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Microsoft.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// A block of a format: how many numbers are in how many bytes.
struct Format {
  int64_t id, numbers, bytes;
  /// The numbers [rows, numbers] in f32 of blocks [rows, bytes].
  Value (*numbersOf)(NodeImport &n, Value blocks);
};

/// Bytes [begin, end) of each block.
Value bytes(NodeImport &n, Value blocks, int64_t begin, int64_t end) {
  return n.slice(blocks, 1, begin, end);
}

Value f32(NodeImport &n, Value x) { return n.cast(x, n.b.getF32Type()); }

/// The bits of `x` as numbers of another type of that width.
Value bitcast(NodeImport &n, Value x, Type element) {
  return x ? BitcastOp::create(n.b, n.loc, cast<TensorType>(x.getType()).clone(element), x)
           : Value();
}

/// `count` bits of each byte from bit `from` on.
Value bits(NodeImport &n, Value x, int64_t from, int64_t count) {
  Value moved = from ? n.op<ShrOp>(x, n.like(x, double(from))) : x;
  return n.op<AndOp>(moved, n.like(x, double((1 << count) - 1)));
}

/// Little-endian numbers of `type`, of as many bytes each, from byte `begin` to `end`.
Value reals(NodeImport &n, Value blocks, int64_t begin, int64_t end, Type type) {
  int64_t width = type.getIntOrFloatBitWidth() / 8;
  Type word = IntegerType::get(n.b.getContext(), 8 * width, IntegerType::Unsigned);
  Value each = n.reshape(bytes(n, blocks, begin, end), {-1, (end - begin) / width, width}), sum;
  for (int64_t i = 0; i < width; ++i) {
    Value byte = n.cast(n.pick(each, 2, i), word);
    Value moved = i ? n.op<ShlOp>(byte, n.like(byte, double(8 * i))) : byte;
    sum = sum ? n.op<OrOp>(sum, moved) : moved;
  }
  return f32(n, bitcast(n, sum, type));
}

Value half(NodeImport &n, Value blocks, int64_t at) {
  return reals(n, blocks, at, at + 2, n.b.getF16Type());
}

Value ofF32(NodeImport &n, Value b) { return reals(n, b, 0, 4, n.b.getF32Type()); }
Value ofF16(NodeImport &n, Value b) { return reals(n, b, 0, 2, n.b.getF16Type()); }
Value ofBf16(NodeImport &n, Value b) { return reals(n, b, 0, 2, n.b.getBF16Type()); }

/// Low halves of all bytes, then high ones.
Value halves(NodeImport &n, Value x) {
  return n.concat({f32(n, bits(n, x, 0, 4)), f32(n, bits(n, x, 4, 4))}, 1);
}

Value ofQ4(NodeImport &n, Value b) {
  return n.mul(n.sub(halves(n, bytes(n, b, 2, 18)), 8.0), half(n, b, 0));
}

/// Bit i of each of some bytes, all of the first byte first.
Value everyBit(NodeImport &n, Value x, int64_t count) {
  Value place = n.op<IotaOp>(n.ints({8}), n.number(0), n.typeAttr(n.element(x)));
  Value moved = n.op<ShrOp>(n.unsqueeze(x, {2}), place);
  return n.reshape(f32(n, n.op<AndOp>(moved, n.like(x, 1))), {-1, 8 * count});
}

Value ofQ5(NodeImport &n, Value b) {
  Value high = n.mul(everyBit(n, bytes(n, b, 2, 6), 4), 16.0);
  return n.mul(n.sub(n.add(halves(n, bytes(n, b, 6, 22)), high), 16.0), half(n, b, 0));
}

Value ofQ8(NodeImport &n, Value b) {
  Value signs = bitcast(n, bytes(n, b, 2, 34), n.b.getI8Type());
  return n.mul(f32(n, signs), half(n, b, 0));
}

/// Eight groups of 32 with a scale and a minimum of six bits each.
Value ofQ5K(NodeImport &n, Value b) {
  Value first = bytes(n, b, 4, 8), second = bytes(n, b, 8, 12), third = bytes(n, b, 12, 16);
  auto joined = [&](Value low, int64_t from, Value high) {
    return n.add(f32(n, bits(n, low, from, 4)), n.mul(f32(n, bits(n, high, 6, 2)), 16.0));
  };
  Value scales = n.concat({f32(n, bits(n, first, 0, 6)), joined(third, 0, first)}, 1);
  Value least = n.concat({f32(n, bits(n, second, 0, 6)), joined(third, 4, second)}, 1);
  Value high = bytes(n, b, 16, 48);
  SmallVector<Value> groups;
  for (int64_t i = 0; i < 8; ++i) {
    Value low = bits(n, bytes(n, b, 48 + 32 * (i / 2), 80 + 32 * (i / 2)), 4 * (i % 2), 4);
    Value q = n.add(f32(n, low), n.mul(f32(n, bits(n, high, i, 1)), 16.0));
    Value scale = n.mul(half(n, b, 0), n.slice(scales, 1, i, i + 1));
    groups.push_back(n.sub(n.mul(q, scale), n.mul(half(n, b, 2), n.slice(least, 1, i, i + 1))));
  }
  return n.concat(groups, 1);
}

/// Sixteen groups of 16 with a scale of a byte each.
Value ofQ6K(NodeImport &n, Value b) {
  Value scales = f32(n, bitcast(n, bytes(n, b, 192, 208), n.b.getI8Type()));
  SmallVector<Value> parts;
  for (int64_t i = 0; i < 8; ++i) { // 32 numbers each, of two groups
    int64_t whole = i / 4, part = i % 4;
    int64_t begin = 64 * whole + 32 * (part % 2);
    Value low = bits(n, bytes(n, b, begin, begin + 32), 4 * (part / 2), 4);
    Value high = bits(n, bytes(n, b, 128 + 32 * whole, 160 + 32 * whole), 2 * part, 2);
    Value q = n.sub(n.add(f32(n, low), n.mul(f32(n, high), 16.0)), 32.0);
    Value scale = n.slice(scales, 1, 2 * i, 2 * i + 2);
    Value each = n.mul(n.reshape(q, {-1, 2, 16}), n.unsqueeze(n.mul(scale, half(n, b, 208)), {2}));
    parts.push_back(n.reshape(each, {-1, 32}));
  }
  return n.concat(parts, 1);
}

constexpr Format formats[] = {
    {0, 1, 4, ofF32},  {1, 1, 2, ofF16},      {2, 32, 18, ofQ4},     {6, 32, 22, ofQ5},
    {8, 32, 34, ofQ8}, {13, 256, 176, ofQ5K}, {14, 256, 210, ofQ6K}, {30, 1, 2, ofBf16},
};

LogicalResult gatherPacked(NodeImport &n) {
  Value data = n.in(0), indices = n.in(1);
  int64_t id = n.i("packed_type"), columns = n.i("K");
  const Format *format = llvm::find_if(formats, [&](const Format &f) { return f.id == id; });
  if (format == std::end(formats))
    return n.unsupported("expected a packed_type of F32, F16, BF16, Q4_0, Q5_0, Q8_0, Q5_K or "
                         "Q6_K, got number " +
                         Twine(id));
  if (!n.isCount("K", columns))
    return failure();
  if (columns % format->numbers)
    return n.invalid("expected K to be a multiple of " + Twine(format->numbers) + ", got " +
                     Twine(columns));
  int64_t blocks = columns / format->numbers;
  Type type = elementType(n.b.getContext(), static_cast<DataType>(n.i("output_dtype")));
  if (!isa_and_nonnull<FloatType>(type))
    return n.unsupported("expected a float as output_dtype, got another type");
  if (!n.hasRank(data, 2, "data") || !n.hasSize(data, 1, blocks * format->bytes, "data"))
    return failure();
  // What is no row is the first one.
  Value at = n.cast(n.reshape(indices, {-1}), n.b.getI64Type());
  Value isRow =
      n.op<AndOp>(n.compare("ge", at, 0.0), n.compare("lt", at, n.toScalar(n.sizeOf(data, 0))));
  Value rows = n.gather(data, n.select(isRow, at, n.like(at, 0)), 0);
  Value numbers = format->numbersOf(n, n.reshape(rows, {-1, format->bytes}));
  Value y = n.reshapeTo(numbers, n.concat({n.shapeOf(indices), n.ints({columns})}, 0));
  return n.result(n.cast(y, type));
}

constexpr OperatorImport table[] = {{"com.microsoft", "GatherPacked", 1, 0, gatherPacked}};

} // namespace

ArrayRef<OperatorImport> weir::onnx::packedRowImports() { return table; }
