//===- CanonicalGemms.cpp - operands that register tiles read -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRCANONICALGEMMSPASS
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
  SmallVector<int64_t> batchL(dot.getLhsBatch()), batchR(dot.getRhsBatch());
  SmallVector<int64_t> contractL(dot.getLhsContract()), contractR(dot.getRhsContract());
  SmallVector<int64_t> freeL = freeDims(lhs.getRank(), batchL, contractL),
                       freeR = freeDims(rhs.getRank(), batchR, contractR);
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

/// Whether `user` computes on `value` and on what is the same for all positions,
/// element by element, without changing shape or type.
bool isOverChannels(Operation *user, Value value) {
  if (!isa<ElementwiseOpInterface>(user) || user->getNumResults() != 1 ||
      user->getResult(0).getType() != value.getType())
    return false;
  return llvm::all_of(user->getOperands(), [&](Value operand) {
    if (operand == value)
      return true;
    auto type = cast<RankedTensorType>(operand.getType());
    return type.getElementType().isF32() && type.hasStaticShape() &&
           (type.getRank() == 0 ||
            llvm::all_of(type.getShape().drop_back(), [](int64_t size) { return size == 1; }));
  });
}

/// A convolution along one dimension as one over lines of a single column each:
/// tiles count two. Null where it is none.
ConvOp withLines(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  if (!conv.getChannelsLast() || input.getRank() != 3 || !input.getElementType().isF32() ||
      !filter.hasStaticShape() || input.isDynamicDim(2))
    return {};
  OpBuilder b(conv);
  Location loc = conv.getLoc();
  Value images = reshaped(b, loc, conv.getInput(),
                          {MadeSize{1, 0}, MadeSize{}, MadeSize{1, 1}, MadeSize{1, 2}});
  Value weights = reshaped(b, loc, conv.getFilter(),
                           {MadeSize{}, MadeSize{1, 0}, MadeSize{1, 1}, MadeSize{1, 2}});
  ArrayRef<int64_t> pads = conv.getPads();
  auto made =
      ConvOp::create(b, loc, images, weights, b.getDenseI64ArrayAttr({1, conv.getStrides()[0]}),
                     b.getDenseI64ArrayAttr({0, 0, pads[0], pads[1]}),
                     b.getDenseI64ArrayAttr({1, conv.getDilations()[0]}), conv.getGroupsAttr(),
                     b.getBoolAttr(true), conv.getAccumulatorAttr());
  copyDevice(conv, made);
  // What only adds a bias or scales by channels goes before the reshape: the
  // convolution's kernel computes it.
  Value images4 = made, old = conv.getResult();
  SmallVector<Operation *> replaced{conv};
  while (old.hasOneUse() && isOverChannels(*old.getUsers().begin(), old)) {
    Operation *user = *old.getUsers().begin();
    b.setInsertionPoint(user);
    IRMapping mapping;
    mapping.map(old, images4);
    Operation *copy = b.clone(*user, mapping);
    copy->getResult(0).setType(images4.getType());
    images4 = copy->getResult(0);
    old = user->getResult(0);
    replaced.push_back(user);
  }
  Value line = reshaped(b, loc, images4, {MadeSize{1, 0}, MadeSize{1, 2}, MadeSize{1, 3}});
  if (line.getType() != old.getType())
    line.setType(cast<RankedTensorType>(old.getType()));
  old.replaceAllUsesWith(line);
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  return made;
}

/// The padding of a convolution that register tiles will compute, as an
/// operation before it: windows then lie inside of their input.
void explicitPadding(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  // Depthwise convolutions mind the border themselves.
  bool isDepthwise = input.getShape().back() == (int64_t)conv.getGroups();
  int64_t rank = input.getRank(), spatial = rank - 2;
  if (!conv.getChannelsLast() || (rank != 4 && rank != 5) ||
      (conv.getGroups() != 1 && isDepthwise) || !input.getElementType().isF32() ||
      llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; }))
    return;
  OpBuilder b(conv);
  Location loc = conv.getLoc();
  ArrayRef<int64_t> pads = conv.getPads();
  SmallVector<int64_t> amounts(2 * rank, 0);
  for (int64_t i = 0; i < spatial; ++i) {
    amounts[1 + i] = pads[2 * i];
    amounts[rank + 1 + i] = pads[2 * i + 1];
  }
  Value sizes = integers(b, loc, amounts);
  Value zero = ConstantOp::create(
      b, loc, SplatElementsAttr::get(RankedTensorType::get({}, b.getF32Type()), 0.0f));
  Value padded = PadOp::create(b, loc, conv.getInput(), sizes, zero, "constant");
  copyDevice(conv, padded);
  conv.getInputMutable().assign(padded);
  conv.setPads(SmallVector<int64_t>(2 * spatial, 0));
}

struct CanonicalGemmsPass : weir::impl::WeirCanonicalGemmsPassBase<CanonicalGemmsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<DotGeneralOp, ConvOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (auto dot = dyn_cast<DotGeneralOp>(op))
        plainProduct(dot);
      else if (ConvOp lines = withLines(cast<ConvOp>(op)))
        explicitPadding(lines);
      else
        explicitPadding(cast<ConvOp>(op));
    }
  }
};
} // namespace
