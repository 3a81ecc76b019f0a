//===- SizeOrigins.cpp - which open sizes are the same -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/SizeOrigins.h"

#include "dialects/weir/Pch.h"
#include "dialects/weir/TreeEnsemble.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weir;

using Sizes = SizeOrigins::Sizes;

static void append(Sizes &sizes, const Sizes &from, ArrayRef<int64_t> batch,
                   ArrayRef<int64_t> contracted) {
  for (auto [i, size] : llvm::enumerate(from))
    if (!llvm::is_contained(batch, (int64_t)i) && !llvm::is_contained(contracted, (int64_t)i))
      sizes.push_back(size);
}

static Sizes without(Sizes sizes, ArrayRef<int64_t> axes) {
  for (int64_t i : axes)
    if (i >= 0 && i < (int64_t)sizes.size())
      sizes[i] = {};
  return sizes;
}

/// Of a reduction along `axes` of what has sizes `from`.
static Sizes reduced(const Sizes &from, ArrayRef<int64_t> axes, bool keepsDims) {
  if (keepsDims)
    return without(from, axes);
  Sizes sizes;
  for (auto [i, size] : llvm::enumerate(from))
    if (!llvm::is_contained(axes, (int64_t)i))
      sizes.push_back(size);
  return sizes;
}

KnownInteger SizeOrigins::of(Value tensor, int64_t i) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(i))
    return {type.getDimSize(i), {}, 0};
  auto it = known.find(tensor);
  return it == known.end() ? root({std::nullopt, tensor, i}) : root(it->second[i]);
}

std::optional<SizeOrigins::Sizes> SizeOrigins::integers(Value tensor) {
  return followIntegers(
      tensor, [this](Value v, int64_t i) { return of(v, i); },
      [this](const KnownInteger &part, const KnownInteger &whole) {
        return isPrefix(part, whole);
      });
}

bool SizeOrigins::areSizesOf(ArrayRef<KnownInteger> sizes, Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.getRank() != (int64_t)sizes.size())
    return false;
  for (auto [i, size] : llvm::enumerate(sizes))
    if ((!size.value && !size.tensor) || !(of(tensor, i) == size))
      return false;
  return true;
}

void SizeOrigins::takeFeeds(func::FuncOp function) {
  llvm::StringMap<KnownInteger> byName;
  for (BlockArgument feed : function.getArguments()) {
    auto names = function.getArgAttrOfType<ArrayAttr>(feed.getArgNumber(), "weir.dims");
    auto type = dyn_cast<RankedTensorType>(feed.getType());
    if (!names || !type || (int64_t)names.size() != type.getRank())
      continue;
    for (auto [i, name] : llvm::enumerate(names.getAsRange<StringAttr>())) {
      if (name.empty() || !type.isDynamicDim(i))
        continue;
      auto [it, isNew] = byName.try_emplace(name, of(feed, i));
      if (!isNew)
        same(of(feed, i), it->second);
    }
  }
  feeds = parents;
}

void SizeOrigins::forget() {
  known.clear();
  products.clear();
  productsOf.clear();
  shifts.clear();
  prefixes.clear();
  windows.clear();
  followed.clear();
  parents = feeds;
}

void SizeOrigins::follow(Value tensor) {
  // Floats say something about sizes where theirs are open, integers also by
  // their values.
  auto matters = [&](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type || !v.getDefiningOp() || followed.contains(v))
      return false;
    return !type.hasStaticShape() ||
           (isa<IntegerType>(type.getElementType()) && type.getNumElements() <= maxKnownIntegers);
  };
  SmallVector<Value> work{tensor};
  while (!work.empty()) {
    Value v = work.back();
    size_t before = work.size();
    Operation *op = v.getDefiningOp();
    if (op && !followed.contains(v) && op->getNumRegions() == 0)
      llvm::copy_if(op->getOperands(), std::back_inserter(work), matters);
    if (work.size() > before)
      continue;
    work.pop_back();
    if (op && followed.insert(v).second && op->getNumRegions() == 0)
      take(op, /*alwaysRuns=*/false);
  }
}

Type SizeOrigins::refined(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.hasStaticShape())
    return tensor.getType();
  follow(tensor);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [i, size] : llvm::enumerate(shape))
    if (KnownInteger traced = of(tensor, i); traced.value && *traced.value >= 0)
      size = *traced.value;
  return RankedTensorType::get(shape, type.getElementType());
}

void SizeOrigins::take(Operation *op, bool alwaysRuns) {
  if (alwaysRuns)
    merge(op);
  if (op->getNumResults() == 0)
    return;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.hasStaticShape())
    return;
  Sizes sizes = sizesOf(op, type.getRank());
  if (sizes.empty()) {
    known.erase(op->getResult(0));
    return;
  }
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!sizes[i].value && !sizes[i].tensor)
      sizes[i] = {std::nullopt, op->getResult(0), i};
  if (isa<TopKOp>(op))
    known[op->getResult(1)] = sizes;
  known[op->getResult(0)] = std::move(sizes);
}

KnownInteger SizeOrigins::root(KnownInteger size) {
  while (size.isSymbol()) {
    auto it = parents.find({size.tensor, size.dimension});
    if (it == parents.end())
      break;
    size = it->second;
  }
  return size;
}

void SizeOrigins::same(KnownInteger a, KnownInteger b) {
  a = root(a), b = root(b);
  if (a == b)
    return;
  if (a.isSymbol())
    parents[{a.tensor, a.dimension}] = b;
  else if (b.isSymbol())
    parents[{b.tensor, b.dimension}] = a;
}

void SizeOrigins::merge(Operation *op) {
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    auto first = dyn_cast<RankedTensorType>(concat.getInputs()[0].getType());
    for (Value input : concat.getInputs().drop_front()) {
      auto type = dyn_cast<RankedTensorType>(input.getType());
      if (!first || !type || type.getRank() != first.getRank())
        return;
      for (int64_t i = 0; i < type.getRank(); ++i)
        if (i != (int64_t)concat.getAxis())
          same(of(input, i), of(concat.getInputs()[0], i));
    }
  } else if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    if (!isa<RankedTensorType>(dot.getLhs().getType()) ||
        !isa<RankedTensorType>(dot.getRhs().getType()))
      return;
    auto pairs = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
      for (auto [i, j] : llvm::zip(left, right))
        same(of(dot.getRhs(), j), of(dot.getLhs(), i));
    };
    pairs(dot.getLhsBatch(), dot.getRhsBatch());
    pairs(dot.getLhsContract(), dot.getRhsContract());
  } else if (auto conv = dyn_cast<ConvOp>(op)) {
    auto input = dyn_cast<RankedTensorType>(conv.getInput().getType()),
         filter = dyn_cast<RankedTensorType>(conv.getFilter().getType());
    if (!input || !filter || filter.getRank() != input.getRank() || input.getRank() < 2)
      return;
    int64_t last = input.getRank() - 1;
    int64_t inputs = filter.getDimSize(conv.getChannelsLast() ? last - 1 : 1), channels;
    if (!ShapedType::isDynamic(inputs) &&
        !__builtin_mul_overflow(inputs, int64_t(conv.getGroups()), &channels))
      same({channels, {}}, of(conv.getInput(), conv.getChannelsLast() ? last : 1));
  } else if (auto transposed = dyn_cast<ConvTransposeOp>(op)) {
    auto input = dyn_cast<RankedTensorType>(transposed.getInput().getType()),
         filter = dyn_cast<RankedTensorType>(transposed.getFilter().getType());
    if (!input || !filter || filter.getRank() != input.getRank() || input.getRank() < 2)
      return;
    int64_t last = input.getRank() - 1;
    int64_t channels = filter.getDimSize(transposed.getChannelsLast() ? last : 0);
    if (!ShapedType::isDynamic(channels))
      same({channels, {}}, of(transposed.getInput(), transposed.getChannelsLast() ? last : 1));
  }
}

SizeOrigins::Sizes SizeOrigins::all(Value tensor) {
  Sizes sizes;
  if (auto type = dyn_cast<RankedTensorType>(tensor.getType()))
    for (int64_t i = 0; i < type.getRank(); ++i)
      sizes.push_back(of(tensor, i));
  return sizes;
}

SizeOrigins::Sizes SizeOrigins::sizesOf(Operation *op, int64_t rank) {
  Sizes sizes = trace(op, rank);
  return (int64_t)sizes.size() == rank ? sizes : Sizes();
}

SizeOrigins::Sizes SizeOrigins::trace(Operation *op, int64_t rank) {
  if (op->hasTrait<traits::KeepsShape>())
    return all(op->getOperand(0));
  if (isa<ElementwiseOpInterface>(op))
    return broadcast(op, rank);
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshaped(reshape);
  if (auto to = dyn_cast<BroadcastToOp>(op))
    return wanted(to.getShape());
  if (auto iota = dyn_cast<IotaOp>(op))
    return wanted(iota.getShape());
  if (auto range = dyn_cast<RangeOp>(op)) {
    // From 0 by steps of 1 it has as many elements as its limit says, which is no size below 0.
    std::optional<Sizes> start = integers(range.getStart()), limit = integers(range.getLimit()),
                         step = integers(range.getDelta());
    auto is = [](const std::optional<Sizes> &known, int64_t value) {
      return known && known->size() == 1 && known->front().value == value;
    };
    bool counts = is(start, 0) && is(step, 1) && limit && limit->size() == 1;
    return counts && limit->front().isSymbol() ? Sizes{limit->front()} : Sizes();
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Sizes from = all(transpose.getOperand()), sizes;
    for (int64_t i : transpose.getPermutation())
      sizes.push_back(i < (int64_t)from.size() ? from[i] : KnownInteger());
    return sizes;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Sizes sizes = all(slice.getOperand());
    notePrefixes(slice, sizes);
    return without(sizes, slice.getAxes());
  }
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    Sizes sizes = all(repeat.getOperand());
    return without(sizes, {(int64_t)repeat.getAxis()});
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    Sizes sizes = all(concat.getInputs()[0]);
    return without(sizes, {(int64_t)concat.getAxis()});
  }
  if (auto pad = dyn_cast<PadOp>(op)) {
    Sizes sizes = all(pad.getOperand());
    std::optional<Sizes> pads = integers(pad.getPads());
    if (!pads || (int64_t)pads->size() != 2 * rank || (int64_t)sizes.size() != rank)
      return {};
    for (int64_t i = 0; i < rank; ++i) {
      std::optional<int64_t> before = (*pads)[i].value, after = (*pads)[rank + i].value;
      sizes[i] = before && after ? windowsIn(sizes[i], *before + *after, 1, {pad.getResult(), i})
                                 : KnownInteger();
    }
    return sizes;
  }
  if (auto tile = dyn_cast<TileOp>(op)) {
    Sizes sizes = all(tile.getOperand());
    std::optional<Sizes> repeats = integers(tile.getRepeats());
    if (!repeats || repeats->size() != sizes.size())
      return {};
    for (int64_t i = 0; i < (int64_t)sizes.size(); ++i) {
      Product count;
      bool isKnown = multiply(count, sizes[i]) && multiply(count, (*repeats)[i]);
      sizes[i] = isKnown ? product(std::move(count), {tile.getResult(), i}) : KnownInteger();
    }
    return sizes;
  }
  if (auto top = dyn_cast<TopKOp>(op))
    return without(all(top.getOperand()), {(int64_t)top.getAxis()});
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduced(all(reduce.getOperand()), reduce.getAxes(), reduce.getKeepDims());
  if (auto reduce = dyn_cast<ArgReduceOp>(op))
    return reduced(all(reduce.getOperand()), {(int64_t)reduce.getAxis()}, reduce.getKeepDims());
  if (auto trees = dyn_cast<TreeEnsembleOp>(op)) {
    Sizes sizes = all(trees.getSamples());
    return sizes.size() == 2 ? without(sizes, {1}) : Sizes();
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Sizes from = all(gather.getOperand()), indices = all(gather.getIndices());
    int64_t axis = gather.getAxis(), batch = gather.getBatchDims();
    if (axis >= (int64_t)from.size() || batch > (int64_t)indices.size())
      return {};
    Sizes sizes(from.begin(), from.begin() + axis);
    sizes.append(indices.begin() + batch, indices.end());
    sizes.append(from.begin() + axis + 1, from.end());
    return sizes;
  }
  if (auto gather = dyn_cast<GatherNdOp>(op)) {
    Sizes from = all(gather.getOperand()), sizes = all(gather.getIndices());
    if (sizes.empty() || !sizes.back().value)
      return {};
    int64_t picked = gather.getBatchDims() + *sizes.pop_back_val().value;
    if (picked > (int64_t)from.size())
      return {};
    sizes.append(from.begin() + picked, from.end());
    return sizes;
  }
  if (auto gather = dyn_cast<GatherElementsOp>(op))
    return all(gather.getIndices());
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    Sizes sizes;
    for (int64_t i : dot.getLhsBatch())
      sizes.push_back(of(dot.getLhs(), i));
    append(sizes, all(dot.getLhs()), dot.getLhsBatch(), dot.getLhsContract());
    append(sizes, all(dot.getRhs()), dot.getRhsBatch(), dot.getRhsContract());
    return sizes;
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    Sizes sizes = all(attention.getQuery());
    return without(sizes, {(int64_t)sizes.size() - 1});
  }
  if (auto conv = dyn_cast<ConvOp>(op)) {
    auto filter = dyn_cast<RankedTensorType>(conv.getFilter().getType());
    if (!filter || filter.getRank() != rank)
      return {};
    return slide(conv, conv.getInput(),
                 filter.getShape().slice(conv.getChannelsLast() ? 0 : 2, rank - 2), false);
  }
  if (auto pool = dyn_cast<PoolOp>(op)) {
    Sizes sizes = slide(pool, pool.getOperand(), pool.getWindow(), pool.getCeilMode());
    int64_t channel = pool.getChannelsLast() ? rank - 1 : 1;
    if (channel < (int64_t)sizes.size() && isa<RankedTensorType>(pool.getOperand().getType()))
      sizes[channel] = of(pool.getOperand(), channel);
    return sizes;
  }
  if (isa<ConvTransposeOp>(op)) { // the batch
    Sizes sizes(rank);
    if (isa<RankedTensorType>(op->getOperand(0).getType()))
      sizes[0] = of(op->getOperand(0), 0);
    return sizes;
  }
  return {};
}

KnownInteger SizeOrigins::windowsIn(KnownInteger size, int64_t by, int64_t stride, Symbol self) {
  size = root(size);
  if (!size.isSymbol())
    return {};
  if (auto it = shifts.find({size.tensor, size.dimension}); it != shifts.end()) {
    by += it->second.by;
    size = root(it->second.base);
    if (!size.isSymbol())
      return {};
  }
  if (stride == 1 && by == 0)
    return size;
  auto [first, isNew] = windows.try_emplace({size.tensor, size.dimension, by, stride},
                                            KnownInteger{std::nullopt, self.first, self.second});
  // A size that has become smaller may have been cut at 0.
  if (isNew && stride == 1 && by > 0)
    shifts[self] = {size, by};
  return first->second;
}

template <typename Op>
SizeOrigins::Sizes SizeOrigins::slide(Op op, Value image, ArrayRef<int64_t> kernel, bool roundsUp) {
  auto type = dyn_cast<RankedTensorType>(image.getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  int64_t spatial = kernel.size();
  if (!type || !result || type.getRank() != spatial + 2 || result.getRank() != spatial + 2 ||
      (int64_t)op.getPads().size() != 2 * spatial || (int64_t)op.getStrides().size() != spatial ||
      (int64_t)op.getDilations().size() != spatial)
    return {};
  Sizes sizes(spatial + 2);
  sizes[0] = of(image, 0);
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t dim = i + (op.getChannelsLast() ? 1 : 2), room, pads, stride = op.getStrides()[i];
    if (ShapedType::isDynamic(kernel[i]) || !result.isDynamicDim(dim) ||
        __builtin_mul_overflow(kernel[i] - 1, op.getDilations()[i], &room) ||
        __builtin_add_overflow(op.getPads()[2 * i], op.getPads()[2 * i + 1], &pads) ||
        __builtin_sub_overflow(pads, room, &pads))
      continue;
    sizes[dim] = windowsIn(of(image, dim), pads, roundsUp && stride != 1 ? -stride : stride,
                           {op.getResult(), dim});
  }
  return sizes;
}

SizeOrigins::Sizes SizeOrigins::wanted(Value shape) {
  auto sizes = integers(shape);
  if (!sizes)
    return {};
  for (KnownInteger &size : *sizes)
    if (size.value && *size.value < 0)
      size = {};
  return *sizes;
}

bool SizeOrigins::areEqual(Value a, int64_t i, Value b, int64_t j) {
  follow(a);
  follow(b);
  return of(a, i) == of(b, j);
}

bool SizeOrigins::multiply(Product &product, KnownInteger size) {
  size = root(size);
  if (size.value)
    return !__builtin_mul_overflow(product.factor, *size.value, &product.factor);
  if (!size.tensor)
    return false;
  auto it = products.find({size.tensor, size.dimension});
  if (it == products.end()) {
    product.symbols.push_back(size);
    return true;
  }
  product.symbols.append(it->second.symbols);
  return !__builtin_mul_overflow(product.factor, it->second.factor, &product.factor);
}

std::optional<SizeOrigins::Product> SizeOrigins::quotient(Product dividend,
                                                          const Product &divisor) {
  if (divisor.factor <= 0 || dividend.factor <= 0 || dividend.factor % divisor.factor != 0)
    return std::nullopt;
  dividend.factor /= divisor.factor;
  for (const KnownInteger &symbol : divisor.symbols) {
    auto *it = llvm::find(dividend.symbols, symbol);
    if (it == dividend.symbols.end())
      return std::nullopt;
    dividend.symbols.erase(it);
  }
  return dividend;
}

SizeOrigins::Sizes SizeOrigins::reshaped(ReshapeOp op) {
  Sizes sizes = wanted(op.getShape());
  // The run compares the counts of elements: with one size left, they say it.
  auto isLeft = [](const KnownInteger &size) { return !size.value && !size.tensor; };
  auto operand = dyn_cast<RankedTensorType>(op.getOperand().getType());
  if (!operand || llvm::count_if(sizes, isLeft) != 1)
    return sizes;
  int64_t left = llvm::find_if(sizes, isLeft) - sizes.begin();
  Product total, others;
  for (const KnownInteger &size : all(op.getOperand()))
    if (!multiply(total, size))
      return sizes;
  for (auto [i, size] : llvm::enumerate(sizes))
    if ((int64_t)i != left && !multiply(others, size))
      return sizes;
  std::optional<Product> size = quotient(std::move(total), others);
  if (!size)
    return sizes;
  sizes[left] = product(std::move(*size), {op.getResult(), left});
  return sizes;
}

KnownInteger SizeOrigins::product(Product size, Symbol self) {
  // Nothing is nothing whatever it is multiplied by.
  if (size.factor == 0 || size.symbols.empty())
    return {size.factor, {}, 0};
  if (size.factor == 1 && size.symbols.size() == 1)
    return size.symbols.front();
  llvm::sort(size.symbols, [](const KnownInteger &a, const KnownInteger &b) {
    return std::make_pair(a.tensor.getAsOpaquePointer(), a.dimension) <
           std::make_pair(b.tensor.getAsOpaquePointer(), b.dimension);
  });
  SmallVector<Symbol> &met = productsOf[size.symbols.front().tensor];
  for (const Symbol &other : met)
    if (auto it = products.find(other); it != products.end() && it->second.factor == size.factor &&
                                        it->second.symbols == size.symbols)
      return root({std::nullopt, other.first, other.second});
  met.push_back(self);
  products[self] = std::move(size);
  return {std::nullopt, self.first, self.second};
}

void SizeOrigins::notePrefixes(SliceOp slice, const Sizes &from) {
  std::optional<Sizes> starts = integers(slice.getStarts()), ends = integers(slice.getEnds()),
                       steps = integers(slice.getSteps());
  size_t count = slice.getAxes().size();
  if (!starts || !ends || !steps || starts->size() != count || ends->size() != count ||
      steps->size() != count)
    return;
  for (auto [i, axis] : llvm::enumerate(slice.getAxes()))
    if ((*starts)[i].value == 0 && (*steps)[i].value == 1 && (*ends)[i].isSymbol() &&
        axis < (int64_t)from.size() && from[axis].value.value_or(0) > 1)
      prefixes[{slice.getResult(), axis}] = (*ends)[i];
}

bool SizeOrigins::isPrefix(KnownInteger part, KnownInteger whole) {
  auto it = part.isSymbol() ? prefixes.find({part.tensor, part.dimension}) : prefixes.end();
  return it != prefixes.end() && whole.isSymbol() && root(it->second) == root(whole);
}

SizeOrigins::Sizes SizeOrigins::broadcast(Operation *op, int64_t rank) {
  Sizes sizes(rank, {1, {}, 0});
  SmallVector<bool> differ(rank);
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || type.getRank() > rank)
      return {};
    for (int64_t i = 0; i < type.getRank(); ++i) {
      int64_t to = rank - type.getRank() + i;
      KnownInteger own = of(operand, i);
      if (own.value == 1 || own == sizes[to])
        continue;
      if (own.value || sizes[to].value == 1)
        sizes[to] = own;
      else if (isPrefix(sizes[to], own))
        sizes[to] = own;
      else if (sizes[to].isSymbol() && !isPrefix(own, sizes[to]))
        differ[to] = true;
    }
  }
  for (int64_t i = 0; i < rank; ++i)
    if (differ[i] && !sizes[i].value)
      sizes[i] = {};
  return sizes;
}
