//===- RefineFeeds.cpp - sizes of feeds that follow from weights ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/SizeOrigins.h"
#include "passes/simplify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRREFINEFEEDSPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// A list of numbers that stands for a feed's dimensions; empty where there is none.
SmallVector<int64_t> numbersOf(func::FuncOp function, unsigned feed, StringRef name) {
  SmallVector<int64_t> numbers;
  if (auto list = function.getArgAttrOfType<ArrayAttr>(feed, name))
    for (auto number : list.getAsRange<IntegerAttr>())
      numbers.push_back(number.getInt());
  return numbers;
}

struct RefineFeedsPass : weir::impl::WeirRefineFeedsPassBase<RefineFeedsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // A function that is called keeps the types that its calls rely on.
      if (function.isExternal() || function.isPrivate() || !hasOpenFeed(function))
        continue;
      SizeOrigins origins;
      origins.takeFeeds(function);
      for (Operation &op : function.getBody().front())
        origins.take(&op, /*alwaysRuns=*/true);
      for (BlockArgument feed : function.getArguments())
        refine(function, feed, origins);
      // What is fetched may be a feed.
      Block &body = function.getBody().front();
      function.setType(FunctionType::get(&getContext(), body.getArgumentTypes(),
                                         body.getTerminator()->getOperandTypes()));
    }
  }

  static bool hasOpenFeed(func::FuncOp function) {
    return llvm::any_of(function.getArgumentTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && !tensor.hasStaticShape();
    });
  }

  static void refine(func::FuncOp function, BlockArgument feed, SizeOrigins &origins) {
    auto type = dyn_cast<RankedTensorType>(feed.getType());
    if (!type || type.hasStaticShape())
      return;
    unsigned index = feed.getArgNumber();
    size_t rank = type.getRank();
    SmallVector<int64_t> shape(type.getShape()), lower = numbersOf(function, index, "weir.lower"),
                                                 upper = numbersOf(function, index, "weir.upper");
    SmallVector<Attribute> names;
    if (auto list = function.getArgAttrOfType<ArrayAttr>(index, "weir.dims"))
      llvm::append_range(names, list);
    Builder b(function.getContext());
    for (size_t i = 0; i < rank; ++i) {
      std::optional<int64_t> size = origins.of(feed, i).value;
      if (!ShapedType::isDynamic(shape[i]) || !size || *size < 0)
        continue;
      // What the user says of the size stands: then no run can succeed, and says why.
      bool isBounded = lower.size() == rank && upper.size() == rank;
      if (isBounded && (*size < lower[i] || (upper[i] >= 0 && *size > upper[i])))
        continue;
      shape[i] = *size;
      if (isBounded)
        lower[i] = upper[i] = *size;
      if (names.size() == rank)
        names[i] = b.getStringAttr("");
    }
    if (shape == type.getShape())
      return;
    feed.setType(RankedTensorType::get(shape, type.getElementType()));
    if (!names.empty())
      function.setArgAttr(index, "weir.dims", b.getArrayAttr(names));
    if (!lower.empty())
      function.setArgAttr(index, "weir.lower", b.getI64ArrayAttr(lower));
    if (!upper.empty())
      function.setArgAttr(index, "weir.upper", b.getI64ArrayAttr(upper));
  }
};

} // namespace
