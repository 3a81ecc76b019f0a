//===- BlockImports.cpp - blocks of space as batches, and as channels ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// A shape put together from sizes that may be computed, as tensor<n x i64>.
static Value shapeFrom(NodeImport &n, ArrayRef<Value> parts) {
  IntVector all;
  for (Value part : parts) {
    auto known = part ? constantIntegers(part) : std::nullopt;
    if (!known)
      return n.concat(parts, 0);
    all.append(known->begin(), known->end());
  }
  return n.ints(all);
}

/// Padding of all dimensions from that of the blocks' dimensions, which follow
/// the first: [spatial, before and after]. Crops are negative padding.
static Value blockPads(NodeImport &n, Value given, int64_t spatial, int64_t rank, bool isCrop) {
  if (spatial + 1 > rank) {
    (void)n.invalid("found blocks of " + Twine(spatial) + " dimensions for a tensor of rank " +
                    Twine(rank));
    return {};
  }
  Value borders = n.reshape(n.toI64(given), {spatial, 2});
  if (isCrop)
    borders = n.op<NegOp>(borders);
  Value whole = n.op<PadOp>(borders, n.ints({1, 0, rank - 1 - spatial, 0}), n.intScalar(0),
                            n.text("constant"));
  Value pads = n.reshape(n.transpose(whole, {1, 0}), {2 * rank});
  auto known = pads ? constantIntegers(pads) : std::nullopt;
  return known ? n.ints(*known) : pads;
}

/// The sizes of a block, tensor<1xi64> each, by an operand of operations of any number of
/// dimensions.
static FailureOr<SmallVector<Value>> blockOf(NodeImport &n) {
  IntVector block = {n.i("block_size"), n.i("block_size")};
  SmallVector<Value> sizes;
  if (n.node.op.ends_with("ND")) {
    Value given = n.toI64(n.in(1));
    if (!given)
      return failure();
    if (n.rank(given) != 1)
      return n.invalid("expected a block_shape of rank 1, got rank " + Twine(n.rank(given)));
    int64_t count = n.dim(given, 0);
    if (ShapedType::isDynamic(count))
      return n.unsupported("found a block_shape of an open number of dimensions; sizes that only "
                           "the run knows, of a known number of dimensions, are supported");
    auto known = constantIntegers(given);
    if (!known) {
      require(n, n.compare("gt", given, 0), "a size of the block is not positive");
      for (int64_t i = 0; i < count; ++i)
        sizes.push_back(n.slice(given, 0, i, i + 1));
      return sizes;
    }
    block = *known;
  }
  if (!frontend::canBe(block) || llvm::any_of(block, [](int64_t size) { return size <= 0; }))
    return n.invalid("found a block that is not of positive sizes");
  for (int64_t size : block)
    sizes.push_back(n.ints({size}));
  return sizes;
}

static void requireMultiple(NodeImport &n, Value size, Value step, StringRef message) {
  require(n, n.compare("eq", n.mul(n.div(size, step), step), size), message);
}

static LogicalResult spaceToBatch(NodeImport &n) {
  Value x = n.in(0);
  FailureOr<SmallVector<Value>> block = blockOf(n);
  if (failed(block))
    return failure();
  Value paddings = n.in(n.node.op.ends_with("ND") ? 2 : 1);
  if (!x || !paddings)
    return failure();
  int64_t rank = n.rank(x), spatial = block->size();
  Value pads = blockPads(n, paddings, spatial, rank, false);
  Value padded = n.op<PadOp>(x, pads, n.like(x, 0), n.text("constant"));
  if (!padded)
    return failure();
  // N, (S/b, b)…, rest → b…, N, S/b…, rest
  SmallVector<Value> cut = {n.sizeOf(padded, 0)}, joined;
  IntVector order, outer;
  Value batch = n.sizeOf(padded, 0);
  for (int64_t i = 0; i < spatial; ++i) {
    requireMultiple(n, n.sizeOf(padded, 1 + i), (*block)[i],
                    "a padded size is no multiple of the block's");
    Value size = n.div(n.sizeOf(padded, 1 + i), (*block)[i]);
    cut.push_back(size);
    cut.push_back((*block)[i]);
    joined.push_back(size);
    order.push_back(2 + 2 * i);
    batch = n.mul(batch, (*block)[i]);
  }
  order.push_back(0);
  for (int64_t i = 0; i < spatial; ++i)
    order.push_back(1 + 2 * i);
  joined.insert(joined.begin(), batch);
  for (int64_t i = 1 + spatial; i < rank; ++i) {
    cut.push_back(n.sizeOf(padded, i));
    joined.push_back(n.sizeOf(padded, i));
    order.push_back(i + spatial);
  }
  Value blocks = n.transpose(n.reshapeTo(padded, shapeFrom(n, cut)), order);
  return n.result(n.reshapeTo(blocks, shapeFrom(n, joined)));
}

static LogicalResult batchToSpace(NodeImport &n) {
  Value x = n.in(0);
  FailureOr<SmallVector<Value>> block = blockOf(n);
  if (failed(block))
    return failure();
  Value crops = n.in(n.node.op.ends_with("ND") ? 2 : 1);
  if (!x || !crops)
    return failure();
  int64_t rank = n.rank(x), spatial = block->size();
  require(n, n.compare("ge", crops, 0), "a crop is negative");
  // b…, N, S…, rest → N, (S, b)…, rest
  SmallVector<Value> cut(*block), joined;
  Value product = n.ints({1});
  for (Value one : *block)
    product = n.mul(product, one);
  requireMultiple(n, n.sizeOf(x, 0), product, "the batch is no multiple of the block's places");
  Value batch = n.div(n.sizeOf(x, 0), product);
  cut.push_back(batch);
  joined.push_back(batch);
  IntVector order = {spatial};
  for (int64_t i = 0; i < spatial; ++i) {
    Value size = n.sizeOf(x, 1 + i);
    cut.push_back(size);
    joined.push_back(n.mul(size, (*block)[i]));
    order.push_back(spatial + 1 + i);
    order.push_back(i);
  }
  for (int64_t i = 1 + spatial; i < rank; ++i) {
    cut.push_back(n.sizeOf(x, i));
    joined.push_back(n.sizeOf(x, i));
    order.push_back(i + spatial);
  }
  Value spread = n.transpose(n.reshapeTo(x, shapeFrom(n, cut)), order);
  Value whole = n.reshapeTo(spread, shapeFrom(n, joined));
  if (auto known = constantIntegers(crops);
      known && llvm::all_of(*known, [](int64_t crop) { return crop == 0; }))
    return n.result(whole);
  return n.result(n.op<PadOp>(whole, blockPads(n, crops, spatial, rank, true), n.like(whole, 0),
                              n.text("constant")));
}

/// DepthToSpace and SpaceToDepth, computed in NHWC order.
template <bool toSpace> static LogicalResult depthSpace(NodeImport &n) {
  Value x = n.in(0);
  std::string_view format = n.s("data_format");
  int64_t block = n.i("block_size");
  if (!x)
    return failure();
  if (format != "NHWC" && format != "NCHW")
    return n.unsupported("expected data format NHWC or NCHW, got " + Twine(std::string(format)));
  if (n.rank(x) != 4)
    return n.invalid("expected rank 4, got " + Twine(n.rank(x)));
  if (!n.isStep(block))
    return n.invalid("expected block_size 1 to 2^31 - 1, got " + Twine(block));
  if (format == "NCHW")
    x = n.transpose(x, {0, 2, 3, 1});
  Value b = n.ints({block});
  Value batch = n.sizeOf(x, 0), height = n.sizeOf(x, 1), width = n.sizeOf(x, 2),
        depth = n.sizeOf(x, 3);
  Value result;
  if constexpr (toSpace) {
    Value inner = n.div(depth, n.ints({block * block}));
    requireMultiple(n, depth, n.ints({block * block}),
                    "the depth is no multiple of the block's places");
    Value cut = n.reshapeTo(x, shapeFrom(n, {batch, height, width, b, b, inner}));
    result = n.reshapeTo(n.transpose(cut, {0, 1, 3, 2, 4, 5}),
                         shapeFrom(n, {batch, n.mul(height, b), n.mul(width, b), inner}));
  } else {
    Value h = n.div(height, b), w = n.div(width, b);
    requireMultiple(n, height, b, "the height is no multiple of the block's size");
    requireMultiple(n, width, b, "the width is no multiple of the block's size");
    Value cut = n.reshapeTo(x, shapeFrom(n, {batch, h, b, w, b, depth}));
    result = n.reshapeTo(n.transpose(cut, {0, 1, 3, 2, 4, 5}),
                         shapeFrom(n, {batch, h, w, n.mul(depth, n.ints({block * block}))}));
  }
  if (format == "NCHW")
    result = n.transpose(result, {0, 3, 1, 2});
  return n.result(result);
}

ArrayRef<OpImport> weir::tf::blockImports() {
  static const OpImport rows[] = {
      {"SpaceToBatch", spaceToBatch},     {"SpaceToBatchND", spaceToBatch},
      {"BatchToSpace", batchToSpace},     {"BatchToSpaceND", batchToSpace},
      {"DepthToSpace", depthSpace<true>}, {"SpaceToDepth", depthSpace<false>},
  };
  return rows;
}
