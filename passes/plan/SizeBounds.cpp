//===- SizeBounds.cpp - how large the sizes of a step can be --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/SizeBounds.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Chains of arithmetic are not followed further.
static constexpr int deepest = 200;
/// Assignments that are tried one by one.
static constexpr int64_t mostAssignments = 512;

/// Of a feed's size; the runtime refuses larger ones.
static constexpr int64_t longestDimension = int64_t(1) << 60;

static unsigned widthOf(Value value) {
  return ConstantIntRanges::getStorageBitwidth(value.getType());
}

std::pair<int64_t, int64_t> plan::feedBounds(func::FuncOp function, FeedDim dim) {
  auto feeds = function->getAttrOfType<ArrayAttr>("weir_plan.feeds");
  if (!feeds || dim.first >= int64_t(feeds.size()))
    return {0, -1};
  auto described = cast<DictionaryAttr>(feeds[dim.first]);
  auto at = [&](const char *key, int64_t otherwise) {
    if (auto values = described.getAs<ArrayAttr>(key))
      if (dim.second < int64_t(values.size()))
        return cast<IntegerAttr>(values[dim.second]).getInt();
    if (auto values = described.getAs<DenseI64ArrayAttr>(key))
      if (dim.second < values.size())
        return values[dim.second];
    return otherwise;
  };
  return {at("weir.lower", 0), at("weir.upper", -1)};
}

/// The operand that holds dimension `dim` of a view, alloc or fetch.
static Value sizeOperand(Operation *op, int64_t dim) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  unsigned at = isa<ViewOp>(op);
  for (int64_t i = 0; i < dim; ++i)
    at += type.isDynamicDim(i);
  return op->getOperand(at);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

std::optional<int64_t> SizeBounds::upper(Value value) {
  ConstantIntRanges range = rangeOf(value, 0, Unknown::Any);
  int64_t low = range.smin().getSExtValue(), high = range.smax().getSExtValue();
  // What went through 32 bits on its way is below 2^31 whatever it was, and one less below
  // 2^31 - 1.
  if (low < 0 || high >= INT32_MAX ||
      high != rangeOf(value, 0, Unknown::Half).smax().getSExtValue())
    return std::nullopt;
  return high;
}

ConstantIntRanges SizeBounds::rangeOfDim(Value memref, int64_t dim, int depth, Unknown unknown) {
  auto type = cast<MemRefType>(memref.getType());
  auto exactly = [](int64_t low, int64_t high) {
    return ConstantIntRanges::fromSigned(APInt(64, low, true), APInt(64, high, true));
  };
  if (!type.isDynamicDim(dim))
    return exactly(type.getDimSize(dim), type.getDimSize(dim));
  Operation *def = memref.getDefiningOp();
  if (auto feed = dyn_cast_or_null<FeedOp>(def)) {
    auto [low, high] = feedBounds(function, {int64_t(feed.getIndex()), dim});
    return exactly(low, high < 0 ? longestDimension / (unknown == Unknown::Half ? 2 : 1) : high);
  }
  if (isa_and_nonnull<ViewOp, AllocOp, FetchOp>(def))
    return rangeOf(sizeOperand(def, dim), depth + 1, unknown);
  return exactly(0, unknown == Unknown::Half ? INT64_MAX / 2 : INT64_MAX);
}

/// Half of what `width` bits hold, around 0; all of few bits, which are bounds enough.
static ConstantIntRanges halfRange(unsigned width) {
  if (width < 32)
    return ConstantIntRanges::maxRange(width);
  return ConstantIntRanges::fromSigned(APInt::getSignedMinValue(width).ashr(1),
                                       APInt::getSignedMaxValue(width).ashr(1));
}

ConstantIntRanges SizeBounds::rangeOf(Value value, int depth, Unknown unknown) {
  auto &known = this->known[int(unknown)];
  if (auto it = known.find(value); it != known.end())
    return it->second;
  const ConstantIntRanges any = ConstantIntRanges::maxRange(widthOf(value));
  auto orHalf = [&](const ConstantIntRanges &range) {
    return unknown == Unknown::Half && range == any ? halfRange(widthOf(value)) : range;
  };
  ConstantIntRanges result = any;
  Operation *def = value.getDefiningOp();
  if (!def || depth > deepest)
    return orHalf(result);
  if (auto dim = dyn_cast<memref::DimOp>(def)) {
    if (std::optional<int64_t> index = dim.getConstantIndex())
      result = rangeOfDim(dim.getSource(), *index, depth, unknown);
  } else if (auto inferrable = dyn_cast<InferIntRangeInterface>(def);
             inferrable &&
             llvm::all_of(def->getOperandTypes(), [](Type type) { return type.isIntOrIndex(); })) {
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : def->getOperands())
      operands.push_back(rangeOf(operand, depth + 1, unknown));
    inferrable.inferResultRanges(operands, [&](Value v, const ConstantIntRanges &range) {
      if (v == value)
        result = range;
    });
  }
  result = orHalf(result);
  known.try_emplace(value, result);
  return result;
}

//===----------------------------------------------------------------------===//
// The check over the range
//===----------------------------------------------------------------------===//

SizeRange::SizeRange(func::FuncOp function) {
  std::map<std::string, size_t> byName;
  auto feeds = function->getAttrOfType<ArrayAttr>("weir_plan.feeds");
  for (auto [f, feed] : llvm::enumerate(feeds)) {
    auto described = cast<DictionaryAttr>(feed);
    auto type = dyn_cast<RankedTensorType>(described.getAs<TypeAttr>("type").getValue());
    auto names = described.getAs<ArrayAttr>("weir.dims");
    for (int64_t d = 0; type && d < type.getRank(); ++d) {
      auto [low, high] = feedBounds(function, {int64_t(f), d});
      if (!type.isDynamicDim(d) || high < 0)
        continue;
      std::string name;
      if (names && d < int64_t(names.size()))
        name = cast<StringAttr>(names[d]).str();
      auto [it, isNew] = byName.try_emplace(name, symbols.size());
      if (isNew || name.empty()) {
        it->second = symbols.size();
        symbols.push_back({{}, low, high});
      }
      symbols[it->second].dims.push_back({int64_t(f), d});
    }
  }
}

std::vector<std::map<FeedDim, int64_t>> SizeRange::assignments() const {
  int64_t count = 1;
  for (const Symbol &symbol : symbols)
    count = std::min(count * (symbol.upper - symbol.lower + 1), mostAssignments + 1);
  std::vector<std::map<FeedDim, int64_t>> all;
  auto set = [](std::map<FeedDim, int64_t> &to, const Symbol &symbol, int64_t value) {
    for (FeedDim dim : symbol.dims)
      to[dim] = value;
  };
  if (symbols.empty())
    return all;
  if (count <= mostAssignments) {
    all.emplace_back();
    for (const Symbol &symbol : symbols) {
      std::vector<std::map<FeedDim, int64_t>> next;
      for (const auto &one : all)
        for (int64_t value = symbol.lower; value <= symbol.upper; ++value) {
          next.push_back(one);
          set(next.back(), symbol, value);
        }
      all = std::move(next);
    }
    return all;
  }
  for (const Symbol &moved : symbols)
    for (bool others : {false, true}) {
      int64_t span = moved.upper - moved.lower, step = span / mostAssignments + 1;
      for (int64_t value = moved.lower; value < moved.upper + step; value += step) {
        all.emplace_back();
        for (const Symbol &symbol : symbols)
          set(all.back(), symbol, others ? symbol.upper : symbol.lower);
        set(all.back(), moved, std::min(value, moved.upper));
      }
    }
  return all;
}

std::optional<int64_t> SizeValues::of(Value value, int depth) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  std::optional<int64_t> result = compute(value, depth);
  known[value] = result;
  return result;
}

std::optional<int64_t> SizeValues::compute(Value value, int depth) {
  Operation *def = value.getDefiningOp();
  if (!def || depth > deepest)
    return std::nullopt;
  if (auto dim = dyn_cast<memref::DimOp>(def)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index)
      return std::nullopt;
    auto type = cast<MemRefType>(dim.getSource().getType());
    if (!type.isDynamicDim(*index))
      return type.getDimSize(*index);
    Operation *source = dim.getSource().getDefiningOp();
    if (auto feed = dyn_cast_or_null<FeedOp>(source)) {
      auto it = sizes.find({int64_t(feed.getIndex()), *index});
      return it == sizes.end() ? std::nullopt : std::optional(it->second);
    }
    if (isa_and_nonnull<ViewOp, AllocOp, FetchOp>(source))
      return of(sizeOperand(source, *index), depth + 1);
    return std::nullopt;
  }
  SmallVector<Attribute> operands;
  for (Value operand : def->getOperands()) {
    std::optional<int64_t> known =
        operand.getType().isIntOrIndex() ? of(operand, depth + 1) : std::nullopt;
    operands.push_back(known ? Attribute(IntegerAttr::get(operand.getType(), *known))
                             : Attribute());
  }
  SmallVector<OpFoldResult> results;
  if (failed(def->fold(operands, results)) || results.empty())
    return std::nullopt;
  OpFoldResult result = results[cast<OpResult>(value).getResultNumber()];
  if (auto attribute = dyn_cast<Attribute>(result)) {
    auto integer = dyn_cast<IntegerAttr>(attribute);
    // A hash may be of 128 bits.
    if (!integer || integer.getValue().getSignificantBits() > 64)
      return std::nullopt;
    return integer.getValue().getSExtValue();
  }
  return of(cast<Value>(result), depth + 1);
}
