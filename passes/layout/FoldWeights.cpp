//===- FoldWeights.cpp - rearranges constants at compile time ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDWEIGHTSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// The elements of a constant, row-major, each a whole number of bytes.
static std::optional<ArrayRef<char>> rawBytes(Attribute value) {
  if (auto blob = dyn_cast<weir::BlobAttr>(value)) {
    auto bytes = BlobStore::global().bytes(blob);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return std::nullopt;
    }
    return *bytes;
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || dense.isSplat() || dense.getElementType().isInteger(1) ||
      isa<StringType>(dense.getElementType()))
    return std::nullopt;
  return dense.getRawData();
}

/// Copies `size`-byte elements in the order of `permutation`; the innermost
/// dimension of the source is walked in blocks, so that both sides use whole
/// cache lines.
template <typename T>
static void permute(const char *from, char *to, ArrayRef<int64_t> shape,
                    ArrayRef<int64_t> permutation) {
  int64_t rank = shape.size();
  SmallVector<int64_t> strides(rank, 1), target(rank), step(rank);
  for (int64_t i = rank - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  int64_t count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    target[i] = shape[permutation[i]];
    step[i] = strides[permutation[i]];
    count *= target[i];
  }
  SmallVector<int64_t> at(rank, 0);
  const T *source = reinterpret_cast<const T *>(from);
  T *sink = reinterpret_cast<T *>(to);
  int64_t offset = 0, inner = rank ? target[rank - 1] : 1, innerStep = rank ? step[rank - 1] : 0;
  for (int64_t done = 0; done < count; done += inner) {
    for (int64_t i = 0; i < inner; ++i)
      sink[done + i] = source[offset + i * innerStep];
    for (int64_t i = rank - 2; i >= 0; --i) {
      offset += step[i];
      if (++at[i] < target[i])
        break;
      offset -= step[i] * target[i];
      at[i] = 0;
    }
  }
}

/// The constant that `op`, a transposition, reshape or broadcast of `value`,
/// yields. Broadcasts grow: only those of one element are folded.
static TypedAttr rearranged(Operation *op, Attribute value) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return dense.resizeSplat(type);
  if (isa<BroadcastToOp>(op))
    return {};
  if (isa<ReshapeOp>(op)) {
    if (auto blob = dyn_cast<weir::BlobAttr>(value))
      return weir::BlobAttr::get(type, blob.getSource(), blob.getOffset(), blob.getLength(), blob.getHash());
    if (auto dense = dyn_cast<DenseElementsAttr>(value))
      return dense.reshape(type);
    return {};
  }
  auto transpose = cast<TransposeOp>(op);
  auto source = cast<RankedTensorType>(transpose.getOperand().getType());
  auto bytes = rawBytes(value);
  Type element = source.getElementType();
  if (!bytes || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 ||
      source.getNumElements() == 0)
    return {};
  std::vector<char> result(bytes->size());
  auto run = [&](auto tag) {
    permute<decltype(tag)>(bytes->data(), result.data(), source.getShape(), transpose.getPermutation());
  };
  switch (element.getIntOrFloatBitWidth() / 8) {
  case 1: run(uint8_t()); break;
  case 2: run(uint16_t()); break;
  case 4: run(uint32_t()); break;
  case 8: run(uint64_t()); break;
  default: return {};
  }
  return DenseElementsAttr::getFromRawBuffer(type, result);
}

namespace {
struct FoldWeightsPass : weir::impl::WeirFoldWeightsPassBase<FoldWeightsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa<TransposeOp, ReshapeOp, BroadcastToOp>(op))
        return;
      auto constant = op->getOperand(0).getDefiningOp<ConstantOp>();
      if (!constant)
        return;
      TypedAttr value = rearranged(op, constant.getValue());
      if (!value)
        return;
      OpBuilder b(op);
      auto made = ConstantOp::create(b, constant.getLoc(), value);
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
      if (constant->use_empty())
        constant.erase();
    });
  }
};
} // namespace
