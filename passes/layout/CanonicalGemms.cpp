//===- CanonicalGemms.cpp - operands in the order of a GEMM -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Clusters.h"
#include "passes/layout/FilterGradients.h"
#include "passes/layout/Passes.h"
#include "passes/layout/VectorProducts.h"

namespace weir {
#define GEN_PASS_DEF_WEIRCANONICALGEMMSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// dot_general with its operands' dimensions in the order batch, free…, contract
/// on the left and batch, contract, free on the right. Rows may have several
/// dimensions, which count as one; columns, and what is contracted, have one.
void plainProduct(DotGeneralOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  auto result = cast<RankedTensorType>(dot.getType());
  SmallVector<int64_t> batchL(dot.getLhsBatch()), batchR(dot.getRhsBatch());
  SmallVector<int64_t> contractL(dot.getLhsContract()), contractR(dot.getRhsContract());
  SmallVector<int64_t> freeL = freeDims(lhs.getRank(), batchL, contractL),
                       freeR = freeDims(rhs.getRank(), batchR, contractR);
  size_t batch = batchL.size();
  bool mergeL = freeL.empty(), mergeR = freeR.size() != 1, mergeK = contractL.size() != 1;
  if (mayBeOffloaded(dot)) {
    bool isOpen = (mergeL && !lhs.hasStaticShape()) || (mergeR && !rhs.hasStaticShape()) ||
                  ((mergeL || mergeR) && !result.hasStaticShape());
    if (isOpen || mergeK || !lhs.getElementType().isF32() || !rhs.getElementType().isF32() ||
        !result.getElementType().isF32())
      return;
  } else if (!isGemmOfOneType(dot)) {
    return;
  }
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
  using Groups = SmallVector<SmallVector<int64_t>>;
  auto addEach = [](Groups &groups, size_t from, size_t count) {
    for (size_t i = from; i < from + count; ++i)
      groups.push_back({(int64_t)i});
  };
  auto addOne = [](Groups &groups, size_t from, size_t count) {
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(from, from + count)));
  };
  if (mergeL || mergeK) {
    Groups groups;
    addEach(groups, 0, batch + freeL.size());
    if (mergeL)
      groups.push_back({});
    addOne(groups, batch + freeL.size(), contractL.size());
    left = merged(b, loc, left, groups);
  }
  if (mergeR || mergeK) {
    Groups groups;
    addEach(groups, 0, batch);
    addOne(groups, batch, contractR.size());
    addOne(groups, batch + contractR.size(), freeR.size());
    right = merged(b, loc, right, groups);
  }
  SmallVector<int64_t> leading = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  if (left == dot.getLhs() && right == dot.getRhs())
    return;
  Value made = DotGeneralOp::create(
      b, loc, left, right, b.getDenseI64ArrayAttr(leading), b.getDenseI64ArrayAttr(leading),
      b.getDenseI64ArrayAttr({cast<RankedTensorType>(left.getType()).getRank() - 1}),
      b.getDenseI64ArrayAttr({(int64_t)batch}), dot.getAccumulatorAttr());
  copyDevice(dot, made);
  if (mergeL || mergeR)
    made = reshapedToResult(b, dot, made);
  replaceProduct(dot, made);
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
    return type.getElementType() == getElementTypeOrSelf(value.getType()) &&
           type.hasStaticShape() &&
           (type.getRank() == 0 ||
            llvm::all_of(type.getShape().drop_back(), [](int64_t size) { return size == 1; }));
  });
}

/// Whether it is computed as a GEMM (implicitly) of elements of its type.
bool isGemmConvolution(ConvOp conv) {
  Type element = getElementTypeOrSelf(conv.getInput().getType());
  return element.isF32() || (element.isF64() && !mayBeOffloaded(conv));
}

/// A convolution along one dimension as one over lines of a single column each:
/// those have two. Null where it is none.
ConvOp withLines(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  if (!conv.getChannelsLast() || input.getRank() != 3 || !isGemmConvolution(conv) ||
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

/// A window of one element that visits every position of an image whose size is open: a product,
/// whose rows run on from line to line. Of known sizes a convolution does so itself, and can go
/// in chains and write to parts of buffers. False where it is none.
bool productOfPositions(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t last = input.getRank() - 1;
  auto isOne = [](int64_t value) { return value == 1; };
  auto isOpen = [&](int64_t dim) { return input.isDynamicDim(dim); };
  if (!conv.getChannelsLast() || !isGemmConvolution(conv) || mayBeOffloaded(conv) ||
      conv.getGroups() != 1 || !filter.hasStaticShape() || isOpen(last) ||
      llvm::none_of(llvm::seq<int64_t>(1, last), isOpen) ||
      !llvm::all_of(filter.getShape().drop_back(2), isOne) ||
      !llvm::all_of(conv.getStrides(), isOne) ||
      !llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; }))
    return false;
  OpBuilder b(conv);
  Value weights = reshaped(b, conv.getLoc(), conv.getFilter(), filter.getShape().take_back(2));
  copyDevice(conv, weights);
  ArrayRef<int64_t> none;
  Value made =
      DotGeneralOp::create(b, conv.getLoc(), conv.getInput(), weights, b.getDenseI64ArrayAttr(none),
                           b.getDenseI64ArrayAttr(none), b.getDenseI64ArrayAttr({last}),
                           b.getDenseI64ArrayAttr({0}), conv.getAccumulatorAttr());
  copyDevice(conv, made);
  made.setType(cast<RankedTensorType>(conv.getType()));
  conv.replaceAllUsesWith(made);
  conv.erase();
  return true;
}

/// Taps at the ends of a window that read nothing but padding, wherever the window is, are
/// left out: dilated windows reach far beyond small images.
void dropOutsideTaps(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto result = cast<RankedTensorType>(conv.getType());
  if (!filter.hasStaticShape())
    return;
  int64_t spatial = input.getRank() - 2, ofImage = conv.getChannelsLast() ? 1 : 2;
  int64_t ofFilter = conv.getChannelsLast() ? 0 : 2;
  SmallVector<int64_t> pads(conv.getPads()), starts, ends, axes;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = input.getDimSize(ofImage + i), count = result.getDimSize(ofImage + i);
    int64_t window = filter.getDimSize(ofFilter + i), dilation = conv.getDilations()[i];
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(count))
      continue;
    int64_t &before = pads[2 * i], &after = pads[2 * i + 1];
    auto isUsed = [&](int64_t tap) {
      for (int64_t at = 0; at < count; ++at)
        if (int64_t place = at * conv.getStrides()[i] - before + tap * dilation;
            place >= 0 && place < size)
          return true;
      return false;
    };
    int64_t first = 0, last = window;
    while (first < window && !isUsed(first) && before - (first + 1) * dilation >= 0)
      ++first;
    while (last - 1 > first && !isUsed(last - 1) && after - (window - last + 1) * dilation >= 0)
      --last;
    if (first == window || (first == 0 && last == window))
      continue;
    before -= first * dilation;
    after -= (window - last) * dilation;
    starts.push_back(first);
    ends.push_back(last);
    axes.push_back(ofFilter + i);
  }
  if (axes.empty())
    return;
  OpBuilder b(conv);
  Location loc = conv.getLoc();
  SmallVector<int64_t> steps(axes.size(), 1);
  Value kept = SliceOp::create(b, loc, conv.getFilter(), integers(b, loc, starts),
                               integers(b, loc, ends), integers(b, loc, steps), axes, false);
  copyDevice(conv, kept);
  conv.getFilterMutable().assign(kept);
  conv.setPads(pads);
}

/// Neighbouring results along a dimension whose windows have the same taps inside of the image.
struct SameTaps {
  int64_t begin, end;  ///< results
  int64_t first, last; ///< taps
};

/// The results along spatial dimension `i`, cut where other taps lie inside of the image; empty
/// where a window has none there, or sizes are open.
SmallVector<SameTaps> cutsOf(ConvOp conv, int64_t i) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto result = cast<RankedTensorType>(conv.getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t dim = i + (conv.getChannelsLast() ? 1 : 2);
  if (input.isDynamicDim(dim) || result.isDynamicDim(dim))
    return {};
  int64_t window = filter.getDimSize(i + (conv.getChannelsLast() ? 0 : 2));
  SmallVector<SameTaps> cuts;
  for (int64_t at = 0; at < result.getDimSize(dim); ++at) {
    int64_t place = at * conv.getStrides()[i] - conv.getPads()[2 * i];
    int64_t first = 0, last = window;
    while (first < last && place + first * conv.getDilations()[i] < 0)
      ++first;
    while (last > first && place + (last - 1) * conv.getDilations()[i] >= input.getDimSize(dim))
      --last;
    if (first == last)
      return {};
    if (!cuts.empty() && cuts.back().first == first && cuts.back().last == last)
      ++cuts.back().end;
    else
      cuts.push_back({at, at + 1, first, last});
  }
  return cuts;
}

/// The products of an element of the result along spatial dimension `i`, as a share of those of
/// the whole window.
double shareInside(ConvOp conv, int64_t i, ArrayRef<SameTaps> cuts) {
  int64_t taps = 0;
  for (const SameTaps &cut : cuts)
    taps += (cut.end - cut.begin) * (cut.last - cut.first);
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t window = filter.getDimSize(i + (conv.getChannelsLast() ? 0 : 2));
  return cuts.empty() ? 1 : static_cast<double>(taps) / (window * cuts.back().end);
}

/// The part of `conv` that has the results of `cut` along spatial dimension `i`.
ConvOp partOf(OpBuilder &b, ConvOp conv, int64_t i, const SameTaps &cut) {
  Location loc = conv.getLoc();
  int64_t dim = i + (conv.getChannelsLast() ? 1 : 2), tap = i + (conv.getChannelsLast() ? 0 : 2);
  auto sliced = [&](Value value, int64_t axis, int64_t begin, int64_t end) -> Value {
    auto number = [&](int64_t at) { return integers(b, loc, ArrayRef<int64_t>(at)); };
    Value made =
        SliceOp::create(b, loc, value, number(begin), number(end), number(1), {axis}, false);
    copyDevice(conv, made);
    return made;
  };
  int64_t stride = conv.getStrides()[i], dilation = conv.getDilations()[i];
  int64_t from = cut.begin * stride - conv.getPads()[2 * i] + cut.first * dilation;
  int64_t to = (cut.end - 1) * stride - conv.getPads()[2 * i] + (cut.last - 1) * dilation + 1;
  assert(from >= 0 && to <= cast<RankedTensorType>(conv.getInput().getType()).getDimSize(dim) &&
         "taps of a cut lie inside");
  SmallVector<int64_t> pads(conv.getPads());
  pads[2 * i] = pads[2 * i + 1] = 0;
  Value image = sliced(conv.getInput(), dim, from, to);
  Value filter = sliced(conv.getFilter(), tap, cut.first, cut.last);
  auto part =
      ConvOp::create(b, loc, image, filter, conv.getStridesAttr(), b.getDenseI64ArrayAttr(pads),
                     conv.getDilationsAttr(), conv.getGroupsAttr(),
                     b.getBoolAttr(conv.getChannelsLast()), conv.getAccumulatorAttr());
  copyDevice(conv, part);
  return part;
}

/// A dilated window of which a large share lies in the padding, at one edge of the image or the
/// other: its results are cut where other taps lie inside, and each part has those alone.
void cutByTaps(ConvOp conv, SmallVectorImpl<ConvOp> &parts) {
  constexpr double worthIt = 0.7;
  constexpr size_t mostParts = 3;
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t spatial = filter.getRank() - 2, best = -1;
  SmallVector<SameTaps> cuts;
  double share = worthIt;
  for (int64_t i = 0; i < spatial && filter.hasStaticShape() && !mayBeOffloaded(conv); ++i)
    if (SmallVector<SameTaps> own = cutsOf(conv, i);
        conv.getDilations()[i] > 1 && own.size() > 1 && own.size() <= mostParts)
      if (double inside = shareInside(conv, i, own); inside < share) {
        share = inside;
        best = i;
        cuts = std::move(own);
      }
  if (best < 0)
    return parts.push_back(conv);
  OpBuilder b(conv);
  SmallVector<Value> values;
  SmallVector<ConvOp> made;
  for (const SameTaps &cut : cuts) {
    made.push_back(partOf(b, conv, best, cut));
    values.push_back(made.back());
  }
  Value whole = ConcatOp::create(b, conv.getLoc(), ValueRange(values),
                                 uint64_t(best + (conv.getChannelsLast() ? 1 : 2)));
  copyDevice(conv, whole);
  conv.getResult().replaceAllUsesWith(whole);
  conv->erase();
  for (ConvOp part : made)
    cutByTaps(part, parts);
}

/// The padding of a convolution that is computed as a GEMM, as an
/// operation before it: windows then lie inside of their input.
void explicitPadding(ConvOp conv) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  // Depthwise convolutions mind the border themselves.
  bool isDepthwise = input.getShape().back() == (int64_t)conv.getGroups();
  int64_t rank = input.getRank(), spatial = rank - 2;
  if (!conv.getChannelsLast() || (rank != 4 && rank != 5) ||
      (conv.getGroups() != 1 && isDepthwise) || !isGemmConvolution(conv) ||
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
  auto scalar = RankedTensorType::get({}, input.getElementType());
  Value zero = ConstantOp::create(
      b, loc, SplatElementsAttr::get(scalar, b.getFloatAttr(input.getElementType(), 0.0)));
  Value padded = PadOp::create(b, loc, conv.getInput(), sizes, zero, PadMode::Constant);
  copyDevice(conv, padded);
  conv.getInputMutable().assign(padded);
  conv.setPads(SmallVector<int64_t>(2 * spatial, 0));
}

struct CanonicalGemmsPass : weir::impl::WeirCanonicalGemmsPassBase<CanonicalGemmsPass> {
  void runOnOperation() override {
    SmallVector<ConvOp> gradients;
    getOperation().walk([&](ConvOp conv) {
      if (isFilterGradient(conv) && !hasFilterGradientKernel(conv))
        gradients.push_back(conv);
    });
    for (ConvOp conv : gradients)
      formFilterProducts(conv);
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<DotGeneralOp, ConvOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (auto dot = dyn_cast<DotGeneralOp>(op)) {
        if (!elementwiseProduct(dot))
          plainProduct(dot);
        continue;
      }
      auto conv = cast<ConvOp>(op);
      if (hasFilterGradientKernel(conv)) {
        keepGradientApart(conv);
        continue;
      }
      if (productOfPositions(conv))
        continue;
      dropOutsideTaps(conv);
      SmallVector<ConvOp> parts;
      cutByTaps(conv, parts);
      for (ConvOp part : parts) {
        if (ConvOp lines = withLines(part))
          explicitPadding(lines);
        else
          explicitPadding(part);
      }
    }
  }
};
} // namespace
