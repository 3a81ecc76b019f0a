//===- FusedImports.cpp - operations that graph rewriters fuse ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What TensorFlow fuses is taken apart here; weir fuses by itself.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/tensorflow/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Borders and sizes before a convolution
//===----------------------------------------------------------------------===//

static LogicalResult padAndConvolve(NodeImport &n, Value x, Value pads, Value filter) {
  if (!x || !pads || !filter)
    return failure();
  if (n.rank(x) != 4 || n.rank(filter) != 4)
    return n.invalid("found a tensor of a rank that is not 4");
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  // [dimension, before and after] to all before, then all after.
  Value order = n.reshape(n.transpose(n.toI64(pads), {1, 0}), {-1});
  Value padded = n.op<PadOp>(x, order, n.like(x, 0),
                             n.text(n.s("mode") == "REFLECT" ? "reflect" : "symmetric"));
  return n.result(padded ? convolve(n, padded, filter, *windows, 1, *window) : Value());
}

static LogicalResult padConv(NodeImport &n) { return padAndConvolve(n, n.in(0), n.in(1), n.in(2)); }

static LogicalResult resizePadConv(NodeImport &n) {
  Value x = n.in(0), sizes = n.in(1);
  if (!x || !sizes)
    return failure();
  if (n.rank(x) != 4)
    return n.invalid("expected rank 4, got " + Twine(n.rank(x)));
  for (int64_t dim = 2; x && dim > 0; --dim) {
    Side side = sideOf(n, n.in(0), sizes, dim);
    side.alignCorners = n.isSet("resize_align_corners");
    Between between = neighbours(n, side);
    Value share = alongDim(n, n.cast(between.share, n.element(x)), dim, 4);
    Value lower = n.gather(x, between.lower, dim), upper = n.gather(x, between.upper, dim);
    x = n.add(lower, n.mul(n.sub(upper, lower), share));
  }
  return padAndConvolve(n, x, n.in(2), n.in(3));
}

//===----------------------------------------------------------------------===//
// What follows a product
//===----------------------------------------------------------------------===//

static Value activate(NodeImport &n, Value x, std::string_view name, bool &isKnown) {
  isKnown = true;
  if (name == "Relu")
    return n.op<ReluOp>(x);
  if (name == "Relu6")
    return n.minimum(n.maximum(x, 0.0), 6.0);
  if (name == "Elu")
    return n.select(n.compare("lt", x, 0), n.op<Expm1Op>(x), x);
  if (name == "LeakyRelu")
    return n.select(n.compare("gt", x, 0), x, n.mul(x, n.f("leakyrelu_alpha")));
  if (name == "Tanh")
    return n.op<TanhOp>(x);
  if (name == "Sigmoid")
    return n.op<LogisticOp>(x);
  if (name == "GeluApproximate" || name == "GeluExact")
    return n.op<GeluOp>(x, n.flag(name == "GeluApproximate"));
  isKnown = false;
  return {};
}

/// The operations in `fused_ops` on a product whose channels are dimension
/// `channel`; their operands are inputs from 2 on.
static LogicalResult finishFused(NodeImport &n, Value x, int64_t channel) {
  const AttrValue *ops = n.attr("fused_ops");
  if (!x)
    return failure();
  size_t next = 2;
  auto vector = [&](size_t i) -> Value {
    Value v = n.in(i);
    return v ? n.unsqueeze(v, axesFrom(1, n.rank(x) - channel)) : Value();
  };
  if (ops && ops->list)
    for (std::string_view name : ops->list->strings) {
      bool isKnown = true;
      if (name == "BiasAdd") {
        x = n.add(x, vector(next++));
      } else if (name == "Add") {
        x = n.add(x, n.in(next++));
      } else if (name == "FusedBatchNorm") {
        Value scale = n.in(next), offset = n.in(next + 1), mean = n.in(next + 2),
              variance = n.in(next + 3);
        next += 4;
        x = n.op<BatchNormOp>(x, scale, offset, mean, variance, n.number(channel),
                              n.real(n.f("epsilon")));
      } else {
        x = activate(n, x, name, isKnown);
      }
      if (!isKnown)
        return n.unsupported("found fused operation " + Twine(std::string(name)));
      if (!x)
        return failure();
    }
  return n.result(x);
}

static LogicalResult fusedConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!x || !filter)
    return failure();
  if (n.rank(x) != 4 || n.rank(filter) != 4)
    return n.invalid("found a tensor of a rank that is not 4");
  if (const AttrValue *format = n.attr("filter_format");
      format && !format->s.empty() && format->s != "HWIO")
    return n.unsupported("expected filter_format HWIO, got " + Twine(std::string(format->s)));
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  return finishFused(n, convolve(n, x, filter, *windows, 1, *window), windows->channelDim());
}

static LogicalResult fusedMatMul(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  if (n.rank(x) != 2 || n.rank(y) != 2)
    return n.invalid("expected two matrices, got ranks " + Twine(n.rank(x)) + " and " +
                     Twine(n.rank(y)));
  if (n.isSet("transpose_a"))
    x = n.transpose(x, {1, 0});
  if (n.isSet("transpose_b"))
    y = n.transpose(y, {1, 0});
  if (failed(finishFused(n, n.matmul(x, y), 1)))
    return failure();
  // Where nothing is summed TensorFlow gives zeros, without what is fused behind.
  if (int64_t terms = n.dim(x, 1); terms == 0 || ShapedType::isDynamic(terms)) {
    Value &made = n.made.back().value;
    Value none = n.like(made, 0);
    made = terms == 0 ? n.expandTo(none, n.shapeOf(made))
                      : n.select(n.compare("eq", n.toScalar(n.sizeOf(x, 1)), 0), none, made);
    return n.made.back().value ? success() : failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What layout rewriters leave around shapes
//===----------------------------------------------------------------------===//

/// Where each dimension of `source_format` is in `dst_format`; reports.
static std::optional<std::pair<std::string, std::string>> readFormats(NodeImport &n) {
  std::string from(n.s("src_format")), to(n.s("dst_format"));
  std::string sortedFrom = from, sortedTo = to;
  llvm::sort(sortedFrom);
  llvm::sort(sortedTo);
  if (!from.empty() && sortedFrom == sortedTo)
    return std::make_pair(from, to);
  (void)n.invalid("expected two orders of the same letters, got formats " + Twine(from) + " and " +
                  Twine(to));
  return std::nullopt;
}

static LogicalResult dimMap(NodeImport &n) {
  Value x = n.in(0);
  auto formats = readFormats(n);
  if (!x || !formats)
    return failure();
  auto [from, to] = *formats;
  IntVector table;
  for (char letter : from)
    table.push_back(to.find(letter));
  Value size = n.intScalar(table.size());
  Value index = n.op<FloorModOp>(n.toI64(x), size);
  return n.result(n.cast(n.gather(n.ints(table), index, 0), n.element(x)));
}

/// Of 2 entries or rows, only those of height and width are there.
static LogicalResult vecPermute(NodeImport &n) {
  Value x = n.in(0);
  auto formats = readFormats(n);
  if (!x || !formats)
    return failure();
  auto [from, to] = *formats;
  int64_t size = n.rank(x) > 0 ? n.dim(x, 0) : 0;
  if (size == static_cast<int64_t>(from.size()) - 2) {
    auto isOther = [](char letter) { return letter == 'N' || letter == 'C'; };
    llvm::erase_if(from, isOther);
    llvm::erase_if(to, isOther);
  }
  if (!ShapedType::isDynamic(size) && size != static_cast<int64_t>(from.size()))
    return n.invalid("found " + Twine(size) + " entries for format " + Twine(from));
  IntVector table;
  for (char letter : to)
    table.push_back(from.find(letter));
  return n.result(n.gather(x, n.ints(table), 0));
}

ArrayRef<OpImport> weir::tf::fusedImports() {
  static const OpImport rows[] = {
      {"FusedPadConv2D", padConv},  {"FusedResizeAndPadConv2D", resizePadConv},
      {"_FusedConv2D", fusedConv},  {"_FusedMatMul", fusedMatMul},
      {"DataFormatDimMap", dimMap}, {"DataFormatVecPermute", vecPermute},
  };
  return rows;
}
