//===- BlockQuantized.cpp - weights of which blocks share a scale ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/BlockQuantized.h"
#include "compiler/frontend/onnx/ConstantHashes.h"
#include "compiler/frontend/onnx/Microsoft.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/BlockQuantized.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::unpackBits(NodeImport &n, Value bytes, int64_t bits) {
  Type i32 = n.b.getI32Type();
  Value wide = n.cast(bytes, i32);
  if (!wide || bits == 8)
    return wide;
  SmallVector<Value> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value part = n.op<ShrOp>(wide, n.scalar(i32, double(shift)));
    parts.push_back(n.op<AndOp>(part, n.scalar(i32, double((1 << bits) - 1))));
    parts.back() = n.unsqueeze(parts.back(), {n.rank(wide)});
  }
  Value all = n.concat(parts, n.rank(wide));
  if (!all)
    return {};
  int64_t last = n.rank(wide) - 1;
  return n.reshapeTo(all,
                     n.concat({n.shapeSlice(all, 0, last), n.sizeProduct(all, last, last + 2)}, 0));
}

/// The elements of a constant; empty where it is none.
static DenseElementsAttr elementsOf(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  auto typed = constant ? dyn_cast<TypedAttr>(constant.getValue()) : TypedAttr();
  return typed ? materializedConstant(typed) : DenseElementsAttr();
}

/// Integer `i` of a constant's, of 2 to 8 bits; one that has all its bits has a sign.
static int integerAt(DenseElementsAttr elements, int64_t i) {
  Type type = elements.getElementType();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto byte = static_cast<unsigned char>(elements.getRawData()[elements.isSplat() ? 0 : i]);
  int number = byte & ((1u << bits) - 1);
  bool isNegative = !type.isUnsignedInteger() && number >> (bits - 1);
  return isNegative ? number - (1 << bits) : number;
}

/// Bytes as a constant matrix.
static Value matrixOf(NodeImport &n, ArrayRef<char> bytes, int64_t rows, int64_t columns) {
  Type ui8 = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  return n.constant(
      DenseElementsAttr::getFromRawBuffer(RankedTensorType::get({rows, columns}, ui8), bytes));
}

/// Zero points that lie packed in rows of whole bytes, [N, blocks], as [blocks, N]: bytes where
/// they are known.
static Value packedZeros(NodeImport &n, Value given, int64_t rows, int64_t blocks, int64_t bits) {
  Value packed = n.reshape(given, {rows, -1});
  DenseElementsAttr known = elementsOf(given);
  if (!known || known.getElementType().getIntOrFloatBitWidth() != 8) {
    Value zeros = n.slice(unpackBits(n, packed, bits), 1, 0, blocks);
    return n.transpose(n.cast(zeros, n.b.getF32Type()), {1, 0});
  }
  int64_t each = 8 / bits, pitch = llvm::divideCeil(blocks, each);
  std::vector<char> bytes(blocks * rows);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t at = known.isSplat() ? 0 : row * pitch + block / each;
      auto byte = static_cast<unsigned char>(known.getRawData()[at]);
      bytes[block * rows + row] = (byte >> (block % each * bits)) & ((1 << bits) - 1);
    }
  return matrixOf(n, bytes, blocks, rows);
}

bool weir::onnx::hasCount(NodeImport &n, Value given, int64_t count, StringRef what) {
  auto type = cast<RankedTensorType>(given.getType());
  if (type.hasStaticShape() && type.getNumElements() != count)
    (void)n.invalid("expected " + Twine(count) + " " + what + ", got " +
                    Twine(type.getNumElements()));
  return !type.hasStaticShape() || type.getNumElements() == count;
}

bool weir::onnx::hasZeroPoints(NodeImport &n, Value zeros, int64_t rows, int64_t blocks,
                               int64_t bits) {
  if (!zeros)
    return true;
  // A byte for each zero point would be read as some of several.
  return n.isFloat(zeros) ? hasCount(n, zeros, rows * blocks, "zero points")
                          : hasCount(n, zeros, rows * int64_t(llvm::divideCeil(blocks, 8 / bits)),
                                     "bytes of zero points");
}

Value weir::onnx::blockWeights(NodeImport &n, const BlockOperands &given, int64_t rows,
                               int64_t columns, int64_t bits, int64_t block) {
  if (!given.numbers || !given.scales)
    return {};
  int64_t blocks = llvm::divideCeil(columns, block);
  if (!hasZeroPoints(n, given.zeros, rows, blocks, bits))
    return {};
  Type f32 = n.b.getF32Type();
  Value numbers = n.transpose(n.reshape(given.numbers, {rows, -1}), {1, 0});
  Value scales = n.transpose(n.cast(n.reshape(given.scales, {rows, blocks}), f32), {1, 0});
  Value zeros = n.scalar(f32, double(1 << (bits - 1)));
  if (given.zeros)
    zeros = n.isFloat(given.zeros)
                ? n.transpose(n.cast(n.reshape(given.zeros, {rows, blocks}), f32), {1, 0})
                : packedZeros(n, given.zeros, rows, blocks, bits);
  return n.op<DequantizeBlocksOp>(numbers, scales, zeros, n.number(bits), n.number(block),
                                  n.number(columns));
}

void weir::onnx::markByteRows(NodeImport &n, Value weights) {
  constexpr int64_t bytes = 4; // the least that rows must be computed in
  auto blocks = weights ? weights.getDefiningOp<DequantizeBlocksOp>() : DequantizeBlocksOp();
  if (blocks && intOr(n, "accuracy_level", 0) == bytes)
    blocks->setAttr(byteRowsAttribute, n.b.getUnitAttr());
}

static TypedAttr cuttable(Value v) {
  auto constant = v ? v.getDefiningOp<ConstantOp>() : ConstantOp();
  auto typed = constant ? dyn_cast<TypedAttr>(constant.getValue()) : TypedAttr();
  auto type = typed ? dyn_cast<RankedTensorType>(typed.getType()) : RankedTensorType();
  bool isWhole = type && type.getRank() > 0 && type.getElementType().isIntOrFloat() &&
                 type.getElementTypeBitWidth() >= 8;
  return isWhole && isa<weir::BlobAttr, DenseElementsAttr>(typed) ? typed : TypedAttr();
}

bool weir::onnx::isCuttableConstant(Value v) { return cuttable(v) != nullptr; }

Value weir::onnx::constantEntry(NodeImport &n, Value v, int64_t index) {
  TypedAttr whole = cuttable(v);
  if (!whole || index < 0 || index >= n.dim(v, 0))
    return {};
  auto type = cast<RankedTensorType>(whole.getType());
  auto part = RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
  int64_t length = part.getNumElements() * (type.getElementTypeBitWidth() / 8);
  if (auto dense = dyn_cast<DenseElementsAttr>(whole)) {
    if (dense.isSplat())
      return n.constant(dense.resizeSplat(part));
    return n.constant(DenseElementsAttr::getFromRawBuffer(
        part, dense.getRawData().slice(index * length, length)));
  }
  auto blob = cast<weir::BlobAttr>(whole);
  llvm::Expected<ArrayRef<char>> bytes = BlobStore::global().bytes(blob);
  if (!bytes) {
    (void)n.unsupported(Twine("cannot read a constant: ") + llvm::toString(bytes.takeError()));
    return {};
  }
  ArrayRef<char> own = bytes->slice(index * length, length);
  // Passes look into small constants.
  if (own.size() < blobBytes)
    return n.constant(DenseElementsAttr::getFromRawBuffer(part, own));
  return n.constant(cast<TypedAttr>(weir::BlobAttr::get(
      part, blob.getSource(), blob.getOffset() + index * length, length, blobHash(own))));
}

Value weir::onnx::dequantizedBlocks(NodeImport &n, Value q, Value scales, Value zeros, int64_t axis,
                                    int64_t block) {
  auto type = dyn_cast<IntegerType>(n.element(q));
  DenseElementsAttr known =
      type && type.getWidth() <= 8 && n.rank(q) == 2 ? elementsOf(q) : DenseElementsAttr();
  DenseElementsAttr knownZeros = zeros ? elementsOf(zeros) : DenseElementsAttr();
  if (!known || (zeros && (!knownZeros || n.rank(zeros) != 2)) || n.rank(scales) != 2 ||
      !n.isStatic(scales) || !n.isFloat(scales))
    return {};
  int64_t bits = type.getWidth(), each = 8 / bits;
  int64_t depth = n.dim(q, axis), columns = n.dim(q, 1 - axis);
  int64_t blocks = llvm::divideCeil(depth, block), filled = blocks * block;
  if (8 % bits || depth == 0 || n.dim(scales, axis) != blocks ||
      n.dim(scales, 1 - axis) != columns || filled % each ||
      (zeros && n.sizes(zeros) != n.sizes(scales)))
    return {};
  // Numbers without a sign, and columns along the last dimension.
  int shift = type.isUnsigned() ? 0 : 1 << (bits - 1);
  auto placeOf = [&](int64_t row, int64_t column, int64_t rows) {
    return axis == 0 ? row * columns + column : column * rows + row;
  };
  std::vector<char> bytes(filled / each * columns);
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t c = 0; c < columns; ++c)
      bytes[k / each * columns + c] |=
          static_cast<char>((integerAt(known, placeOf(k, c, depth)) + shift) << (k % each * bits));
  Value zero = n.scalar(n.b.getF32Type(), shift);
  if (zeros) {
    std::vector<char> shifted(blocks * columns);
    for (int64_t i = 0; i < blocks; ++i)
      for (int64_t c = 0; c < columns; ++c)
        shifted[i * columns + c] =
            static_cast<char>(integerAt(knownZeros, placeOf(i, c, blocks)) + shift);
    zero = matrixOf(n, shifted, blocks, columns);
  }
  Value wide = n.cast(scales, n.b.getF32Type());
  Value weights = n.op<DequantizeBlocksOp>(matrixOf(n, bytes, filled / each, columns),
                                           axis == 0 ? wide : n.transpose(wide, {1, 0}), zero,
                                           n.number(bits), n.number(block), n.number(depth));
  return axis == 0 ? weights : n.transpose(weights, {1, 0});
}
