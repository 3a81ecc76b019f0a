//===- RandomImports.cpp - operators that draw numbers --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The standard leaves the generator open. These draw what the reference
// implementation draws: NumPy's RandomState, begun anew from the node's seed in
// each run. A node without a seed has one of its own, made of its name.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Dropout.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

enum class Distribution : int64_t { Uniform = 0, Normal = 1 };

/// Numbers of the standard distribution, f64 of `shape` (tensor<rank x i64>),
/// whose sizes are `sizes`.
Value draw(NodeImport &n, Value shape, Ints sizes, Distribution kind) {
  if (!shape || !frontend::canBe(sizes))
    return {};
  auto type = RankedTensorType::get(sizes, n.b.getF64Type());
  Operation *made = n.kernelCall("weir_kernel_random_mersenne", {type}, {shape},
                                 {seedOf(n), static_cast<int64_t>(kind)});
  return made ? made->getResult(0) : Value();
}

Type typeOr(NodeImport &n, Type fallback) {
  return n.i("dtype") ? elementType(n.b.getContext(), static_cast<DataType>(n.i("dtype")))
                      : fallback;
}

/// low + (high - low) · u, or mean + scale · z, computed in the result's type.
LogicalResult scaled(NodeImport &n, Value numbers, Type type, Distribution kind) {
  if (!numbers || !isa_and_nonnull<FloatType>(type))
    return numbers ? n.unsupported("found numbers of a type that is no float") : failure();
  bool uniform = kind == Distribution::Uniform;
  double offset = n.f(uniform ? "low" : "mean");
  double factor = uniform ? n.f("high") - offset : n.f("scale");
  return n.result(n.add(n.mul(n.cast(numbers, type), factor), offset));
}

template <Distribution kind> LogicalResult random(NodeImport &n) {
  std::optional<SmallVector<int64_t>> shape = n.is("shape");
  if (!shape || llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return n.invalid("found no shape, or a negative size");
  return scaled(n, draw(n, n.ints(*shape), *shape, kind), typeOr(n, n.b.getF32Type()), kind);
}

template <Distribution kind> LogicalResult randomLike(NodeImport &n) {
  Value x = n.in(0);
  return x ? scaled(n, draw(n, n.shapeOf(x), n.sizes(x), kind), typeOr(n, n.element(x)), kind)
           : failure();
}

LogicalResult bernoulli(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  auto type = RankedTensorType::get(n.sizes(x), n.b.getF64Type());
  Operation *made = n.kernelCall("weir_kernel_random_bernoulli", {type},
                                 {n.cast(x, n.b.getF64Type())}, {seedOf(n)});
  return made ? n.result(n.cast(made->getResult(0), typeOr(n, n.element(x)))) : failure();
}

/// Classes by unnormalised logarithms of their probabilities: the first whose
/// cumulative probability is above a uniform number.
LogicalResult multinomial(NodeImport &n) {
  Value x = n.in(0);
  int64_t samples = n.i("sample_size");
  if (!x || n.rank(x) != 2 || samples < 1)
    return n.invalid("found logarithms that are not of rank 2, or no samples");
  Value chances = n.softmax(n.cast(x, n.b.getF64Type()), 1);
  Value sums =
      n.op<CumulativeOp>(chances, n.text("sum"), n.number(1), n.flag(false), n.flag(false));
  Value numbers = draw(n, n.concat({n.sizeOf(x, 0), n.ints({samples})}, 0), {n.dim(x, 0), samples},
                       Distribution::Uniform);
  // Rounding may leave the last sum below one: that class takes the rest.
  int64_t classes = n.dim(x, 1);
  Value bounds =
      ShapedType::isDynamic(classes)
          ? n.op<SliceOp>(sums, n.ints({0}), n.ints({-1}), n.ints({1}), n.list({1}), n.flag(false))
          : n.slice(sums, 1, 0, classes - 1);
  Value below = n.compare("le", n.unsqueeze(bounds, {1}), n.unsqueeze(numbers, {2}));
  Type type = typeOr(n, n.b.getI32Type());
  return n.result(n.reduce(n.cast(below, type), "sum", {2}, false));
}

LogicalResult dropout(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (n.version < 7 && n.i("is_test") == 0 && n.wants(1))
    return n.unsupported("expected inference, got dropout that trains");
  // Before version 10 the mask has the operand's type.
  Type maskType = n.version < 10 ? n.element(x) : n.b.getI1Type();
  Value y = x, mask;
  if (n.wants(1))
    mask = n.expandTo(n.scalar(maskType, 1), n.shapeOf(x));
  if (n.graph.training)
    return n.results({markDropout(n, x, 1), mask});
  if (n.version < 12 || !n.has(2))
    return n.results({y, mask});
  Value training = n.toScalar(n.in(2));
  Value ratio = n.has(1) ? n.toScalar(n.in(1)) : n.like(x, 0.5);
  if (!training || !ratio)
    return failure();
  Value drops = n.op<AndOp>(training, n.compare("ne", ratio, 0.0));
  std::optional<SmallVector<int64_t>> known = constantIntegers(drops);
  if (known && !(*known)[0])
    return n.results({y, mask});
  Value isShare = n.op<AndOp>(n.compare("ge", ratio, 0.0), n.compare("lt", ratio, 1.0));
  n.require(n.op<OrOp>(n.logicalNot(training), isShare), "the ratio is not in [0, 1)");
  Value numbers = draw(n, n.shapeOf(x), n.sizes(x), Distribution::Uniform);
  Value kept = n.compare("ge", numbers, n.cast(ratio, n.b.getF64Type()));
  Value scale = n.div(n.like(ratio, 1), n.sub(n.like(ratio, 1), ratio));
  Value dropped = n.mul(n.mul(n.cast(kept, n.element(x)), x), n.cast(scale, n.element(x)));
  if (known)
    return n.results({dropped, kept});
  return n.results(
      {n.select(drops, dropped, x), n.wants(1) ? n.select(drops, kept, mask) : Value()});
}

constexpr OperatorImport table[] = {
    {"", "Bernoulli", 15, 0, bernoulli},
    {"", "Dropout", 1, 0, dropout},
    {"", "Multinomial", 7, 0, multinomial},
    {"", "RandomNormal", 1, 0, random<Distribution::Normal>},
    {"", "RandomNormalLike", 1, 0, randomLike<Distribution::Normal>},
    {"", "RandomUniform", 1, 0, random<Distribution::Uniform>},
    {"", "RandomUniformLike", 1, 0, randomLike<Distribution::Uniform>},
};

} // namespace

int64_t weir::onnx::seedOf(const NodeImport &n) {
  if (const NodeAttribute *seed = n.attr("seed"))
    return seed->kind == AttributeKind::Float ? static_cast<int64_t>(seed->f) : seed->i;
  uint32_t hash = 2166136261u; // FNV-1a
  for (char c : n.node.outputs[0])
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

Value weir::onnx::markDropout(NodeImport &n, Value x, size_t ratio) {
  double share = n.attr("ratio") ? n.f("ratio") : 0.5;
  if (n.has(ratio)) {
    std::optional<SmallVector<double>> known = n.constantFloats(ratio);
    if (!known || known->size() != 1) {
      (void)n.unsupported("found a ratio of dropout that the model computes; possible in training "
                          "is a constant");
      return {};
    }
    share = known->front();
  }
  if (!x || share < 0 || share > 1) {
    (void)n.invalid("found a ratio of dropout that is none from 0 to 1");
    return {};
  }
  auto mark = GateOp::create(n.b, n.loc, x.getType(), x, ValueRange());
  mark->setAttr(dropoutAttr, n.real(share));
  return mark;
}

ArrayRef<OperatorImport> weir::onnx::randomImports() { return table; }
