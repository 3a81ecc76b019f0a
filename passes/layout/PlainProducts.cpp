//===- PlainProducts.cpp - operands that register tiles read -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/layout/Rearrange.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPLAINPRODUCTSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// dot_general with its operands' dimensions in the order batch, free…, contract
/// on the left and batch, contract, free on the right. Rows may have several
/// dimensions, which tiles count together; columns have one.
void plainProduct(DotGeneralOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  auto result = cast<RankedTensorType>(dot.getType());
  if (!lhs.getElementType().isF32() || !rhs.getElementType().isF32() ||
      !result.getElementType().isF32() || dot.getLhsContract().size() != 1)
    return;
  auto freeOf = [](RankedTensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> free;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i))
        free.push_back(i);
    return free;
  };
  SmallVector<int64_t> batchL(dot.getLhsBatch()), batchR(dot.getRhsBatch());
  SmallVector<int64_t> contractL(dot.getLhsContract()), contractR(dot.getRhsContract());
  SmallVector<int64_t> freeL = freeOf(lhs, batchL, contractL), freeR = freeOf(rhs, batchR, contractR);
  int64_t batch = batchL.size();
  // Several columns' dimensions become one where the shapes are fixed.
  bool mergeL = freeL.empty(), mergeR = freeR.size() != 1;
  if ((mergeL && !lhs.hasStaticShape()) || (mergeR && !rhs.hasStaticShape()) ||
      ((mergeL || mergeR) && !result.hasStaticShape()))
    return;
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  auto concat = [](ArrayRef<int64_t> a, ArrayRef<int64_t> c, ArrayRef<int64_t> d) {
    SmallVector<int64_t> all(a);
    all.append(c.begin(), c.end());
    all.append(d.begin(), d.end());
    return all;
  };
  Value left = transposed(b, loc, dot.getLhs(), concat(batchL, freeL, contractL));
  Value right = transposed(b, loc, dot.getRhs(), concat(batchR, contractR, freeR));
  auto count = [](RankedTensorType type, ArrayRef<int64_t> dims) {
    int64_t product = 1;
    for (int64_t dim : dims)
      product *= type.getDimSize(dim);
    return product;
  };
  auto batchShape = [&](RankedTensorType type, ArrayRef<int64_t> dims) {
    SmallVector<int64_t> shape;
    for (int64_t dim : dims)
      shape.push_back(type.getDimSize(dim));
    return shape;
  };
  if (mergeL) {
    auto shape = batchShape(lhs, batchL);
    shape.push_back(1);
    shape.push_back(lhs.getDimSize(contractL[0]));
    left = reshaped(b, loc, left, shape);
  }
  if (mergeR) {
    auto shape = batchShape(rhs, batchR);
    shape.push_back(rhs.getDimSize(contractR[0]));
    shape.push_back(count(rhs, freeR));
    right = reshaped(b, loc, right, shape);
  }
  SmallVector<int64_t> leading;
  for (int64_t i = 0; i < batch; ++i)
    leading.push_back(i);
  if (left == dot.getLhs() && right == dot.getRhs())
    return;
  Value made = DotGeneralOp::create(
      b, loc, left, right, b.getDenseI64ArrayAttr(leading), b.getDenseI64ArrayAttr(leading),
      b.getDenseI64ArrayAttr({cast<RankedTensorType>(left.getType()).getRank() - 1}),
      b.getDenseI64ArrayAttr({batch}), dot.getAccumulatorAttr());
  if (mergeL || mergeR)
    made = reshaped(b, loc, made, result.getShape());
  if (made.getType() != result)
    made.setType(result);
  copyDevice(dot, made);
  dot.replaceAllUsesWith(made);
  dot.erase();
}

/// The padding of a convolution that register tiles will compute, as an
/// operation before it: windows then lie inside of their input.
void explicitPadding(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  // Depthwise convolutions mind the border themselves.
  bool isDepthwise = input.getShape().back() == (int64_t)conv.getGroups();
  if (!conv.getChannelsLast() || input.getRank() != 4 ||
      (conv.getGroups() != 1 && isDepthwise) || !input.getElementType().isF32() ||
      llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; }))
    return;
  OpBuilder b(conv);
  Location loc = conv.getLoc();
  ArrayRef<int64_t> pads = conv.getPads();
  SmallVector<int64_t> amounts{0, pads[0], pads[2], 0, 0, pads[1], pads[3], 0};
  Value sizes = integers(b, loc, amounts);
  Value zero = ConstantOp::create(b, loc, SplatElementsAttr::get(RankedTensorType::get({}, b.getF32Type()), 0.0f));
  Value padded = PadOp::create(b, loc, conv.getInput(), sizes, zero, "constant");
  copyDevice(conv, padded);
  conv.getInputMutable().assign(padded);
  conv.setPads({0, 0, 0, 0});
}

struct PlainProductsPass : weir::impl::WeirPlainProductsPassBase<PlainProductsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<DotGeneralOp, ConvOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (auto dot = dyn_cast<DotGeneralOp>(op))
        plainProduct(dot);
      else
        explicitPadding(cast<ConvOp>(op));
    }
  }
};
} // namespace
