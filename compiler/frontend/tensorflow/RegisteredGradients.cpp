//===- RegisteredGradients.cpp - gradients as TensorFlow has them ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RegisteredGradients.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "passes/gradient/Gradient.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

static bool carriesGradient(Value v) {
  return v && isa<FloatType, ComplexType>(getElementTypeOrSelf(v.getType()));
}

Value Differentiated::call(std::string_view op, ArrayRef<Value> inputs, size_t port,
                           std::vector<Attr> attributes) const {
  if (llvm::is_contained(inputs, Value()))
    return {};
  Node node = n.node;
  node.op = op;
  node.def = findOp(op);
  node.attrs = std::move(attributes);
  auto add = [&](const Attr &attr) {
    if (!findAttr(node.attrs, attr.first))
      node.attrs.push_back(attr);
  };
  for (const Attr &attr : n.node.attrs)
    add(attr);
  if (node.def)
    for (const AttrDef &def : node.def->attrs)
      if (def.hasDefault)
        add({def.name, def.value});
  const OpImport *row = findImport(op);
  std::vector<Imported> values(inputs.begin(), inputs.end());
  NodeImport inner(n.g, node, std::move(values), n.b, n.loc);
  if (!row || failed(row->import(inner)) || port >= inner.made.size())
    return {};
  return inner.made[port].kind == Imported::Kind::Tensor ? inner.made[port].value : Value();
}

static const GradientRow *findGradient(std::string_view op) {
  static const auto *table = [] {
    auto *map = new std::unordered_map<std::string_view, const GradientRow *>();
    for (ArrayRef<GradientRow> family :
         {activationGradients(), matrixGradients(), fourierGradients(), selectionGradients(),
          secondGradients()})
      for (const GradientRow &row : family)
        map->emplace(row.op, &row);
    return map;
  }();
  auto it = table->find(op);
  return it == table->end() ? nullptr : it->second;
}

LogicalResult weir::tf::attachGradient(NodeImport &n) {
  const GradientRow *row = findGradient(n.node.op);
  if (!row)
    return success();
  SmallVector<Value> xs, ys;
  for (size_t i = 0; i < n.inputCount(); ++i)
    xs.push_back(n.inputs[i].kind == Imported::Kind::Tensor || n.inputs[i].isRef ? n.in(i)
                                                                                 : Value());
  for (const Imported &made : n.made)
    ys.push_back(made.kind == Imported::Kind::Tensor ? made.value : Value());
  SmallVector<size_t> inputs, outputs;
  for (auto [i, x] : llvm::enumerate(xs))
    if (carriesGradient(x))
      inputs.push_back(i);
  for (auto [i, y] : llvm::enumerate(ys))
    if (carriesGradient(y))
      outputs.push_back(i);
  if (inputs.empty() || outputs.empty())
    return success();

  SmallVector<Value> carried;
  for (size_t i : outputs)
    carried.push_back(ys[i]);
  for (size_t i : inputs)
    carried.push_back(xs[i]);
  OperationState state(n.loc, WhileOp::getOperationName());
  state.addOperands(carried);
  state.addTypes(ValueRange(carried).getTypes());
  state.addAttribute(givenGradientAttr, n.number(outputs.size()));
  SmallVector<Location> locations(carried.size(), n.loc);
  Block &never = state.addRegion()->emplaceBlock(), &body = state.addRegion()->emplaceBlock();
  for (Block *block : {&never, &body})
    block->addArguments(ValueRange(carried).getTypes(), locations);
  OpBuilder inside(n.b.getContext());
  inside.setInsertionPointToEnd(&never);
  TensorBuilder condition(inside, n.loc);
  YieldOp::create(inside, n.loc, ValueRange(condition.scalar(inside.getI1Type(), 0)));

  inside.setInsertionPointToEnd(&body);
  SmallVector<Value> dys(ys.size());
  for (auto [at, i] : llvm::enumerate(outputs))
    dys[i] = body.getArgument(at);
  NodeImport inner(n.g, n.node, n.inputs, inside, n.loc);
  SmallVector<Value> gradients = row->gradient({inner, xs, ys, dys});
  if (gradients.empty())
    return success(); // this form has none of its own
  gradients.resize(xs.size());
  SmallVector<Value> yields(body.getArguments().take_front(outputs.size()));
  for (size_t i : inputs) {
    Value gradient = gradients[i];
    if (!gradient)
      gradient = inner.expandTo(inner.like(xs[i], 0), inner.shapeOf(xs[i]));
    gradient = inner.generalize(gradient, n.type(xs[i]));
    if (!gradient)
      return failure();
    yields.push_back(gradient);
  }
  YieldOp::create(inside, n.loc, ValueRange(yields));
  Operation *made = n.b.create(state);
  for (auto [at, i] : llvm::enumerate(outputs))
    n.made[i].value = made->getResult(at);
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise operations, losses, reductions
//===----------------------------------------------------------------------===//

using Gradients = SmallVector<Value>;

static double largestOf(Type type) {
  return llvm::APFloat::getLargest(cast<FloatType>(type).getFloatSemantics()).convertToDouble();
}

/// The gradient as one operation of the gradient and the result, or the operand.
template <const char *const *name, bool ofResult>
static Gradients unaryGradient(const Differentiated &d) {
  return {d.call(*name, {d.dy[0], ofResult ? d.y[0] : d.x[0]})};
}

#define WEIR_GRADIENT_NAME(op) static constexpr const char *op##Name = #op
WEIR_GRADIENT_NAME(ReluGrad);
WEIR_GRADIENT_NAME(Relu6Grad);
WEIR_GRADIENT_NAME(EluGrad);
WEIR_GRADIENT_NAME(SeluGrad);
WEIR_GRADIENT_NAME(LeakyReluGrad);
WEIR_GRADIENT_NAME(SoftplusGrad);
WEIR_GRADIENT_NAME(SoftsignGrad);
#undef WEIR_GRADIENT_NAME

/// dy is of the result's shape; what was broadcast is summed up.
static Value sumLike(const Differentiated &d, Value gradient, Value x) {
  NodeImport &n = d.n;
  if (!gradient || !x || (n.type(gradient) == n.type(x) && n.isStatic(x)))
    return gradient;
  int64_t rank = n.rank(x), lead = n.rank(gradient) - rank;
  if (lead > 0)
    gradient = n.reduce(gradient, "sum", axesFrom(0, lead), false);
  for (int64_t i = 0; i < rank; ++i) {
    if (n.dim(x, i) == 1 && n.dim(gradient, i) != 1) {
      gradient = n.reduce(gradient, "sum", {i}, true);
    } else if (ShapedType::isDynamic(n.dim(x, i)) && n.dim(gradient, i) != 1) {
      // Whether there was one, the run knows.
      Value sum = n.reduce(gradient, "sum", {i}, true);
      Value isOne = n.toScalar(n.compare("eq", n.sizeOf(x, i), 1));
      Value size = n.select(isOne, n.ints({1}), n.sizeOf(gradient, i));
      IntVector open(n.sizes(gradient));
      Value kept =
          n.op<SliceOp>(gradient, n.ints({0}), size, n.ints({1}), n.list({i}), n.flag(false));
      gradient = n.select(isOne, sum, kept);
    }
  }
  return gradient;
}

static Gradients clipGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], low = d.x[1], high = d.x[2], dy = d.dy[0];
  if (isa<ComplexType>(n.element(x))) {
    (void)n.unsupported("found a gradient of complex elements, which TensorFlow does not have");
    return {};
  }
  Value below = n.compare("lt", x, low), above = n.compare("gt", x, high);
  Value zero = n.like(dy, 0);
  return {sumLike(d, n.select(n.op<OrOp>(below, above), zero, dy), x),
          sumLike(d, n.select(below, dy, zero), low), sumLike(d, n.select(above, dy, zero), high)};
}

static Gradients divNoNanGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], y = d.x[1], dy = d.dy[0];
  Value ratio = d.call("DivNoNan", {d.call("DivNoNan", {n.op<NegOp>(x), y}), y});
  return {sumLike(d, d.call("DivNoNan", {dy, y}), x), sumLike(d, n.mul(dy, ratio), y)};
}

static Gradients mulNoNanGradient(const Differentiated &d) {
  return {sumLike(d, d.call("MulNoNan", {d.dy[0], d.x[1]}), d.x[0]),
          sumLike(d, d.call("MulNoNan", {d.x[0], d.dy[0]}), d.x[1])};
}

/// x f(y), zero where x is: by x it is f(y) there, too, but for x = 0.
static Gradients guardedGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], y = d.x[1], dy = d.dy[0];
  Value isSome = n.cast(n.compare("ne", x, 0), n.element(x));
  Value byX = d.call(d.n.node.op, {isSome, y}), byY;
  if (n.node.op == "Xlogy")
    byY = d.call("Xdivy", {x, y});
  else if (n.node.op == "Xlog1py")
    byY = d.call("Xdivy", {x, n.add(y, 1.0)});
  else
    byY = d.call("Xdivy", {n.op<NegOp>(x), n.mul(y, y)});
  return {sumLike(d, n.mul(byX, dy), x), sumLike(d, n.mul(byY, dy), y)};
}

/// The loss has a gradient of its own as second result, whatever the labels sum
/// up to; what comes back along that is the softmax's.
static Gradients crossEntropyGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value logits = d.x[0];
  Value perRow = n.unsqueeze(d.dy[0], {1});
  Value dx = n.mul(perRow, d.y[1]);
  Value softmax = n.softmax(logits, 1);
  Value inner = n.reduce(n.mul(d.dy[1], softmax), "sum", {1}, true);
  dx = n.add(dx, n.mul(n.sub(d.dy[1], inner), softmax));
  dx = sumLike(d, dx, logits);
  if (n.node.op != "SoftmaxCrossEntropyWithLogits")
    return {dx, Value()};
  Value log = n.softmax(logits, 1, true);
  return {dx, sumLike(d, n.mul(perRow, n.op<NegOp>(log)), d.x[1])};
}

static Gradients ctcGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  return {n.mul(d.dy[0] ? n.unsqueeze(d.dy[0], {0, 2}) : Value(), d.y[1]), Value(), Value(),
          Value()};
}

static Gradients cumprodGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  std::vector<Attr> back;
  AttrValue reverse;
  reverse.kind = AttrValue::Kind::Bool;
  reverse.b = !n.isSet("reverse");
  back.emplace_back("reverse", reverse);
  Value sum = d.call("Cumsum", {n.mul(d.y[0], d.dy[0]), d.x[1]}, 0, back);
  return {d.call("DivNoNan", {sum, d.x[0]}), Value()};
}

/// The gradient's logarithm as weights: of its positive and its negative part.
static Gradients cumulativeLogsumexpGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], y = d.y[0], dy = d.dy[0];
  std::vector<Attr> back;
  AttrValue reverse;
  reverse.kind = AttrValue::Kind::Bool;
  reverse.b = !n.isSet("reverse");
  back.emplace_back("reverse", reverse);
  auto part = [&](Value weight) {
    Value lowest = n.op<NegOp>(n.like(dy, largestOf(n.element(dy))));
    Value log = n.select(n.compare("gt", weight, 0), n.op<LogOp>(weight), lowest);
    Value sum = d.call("CumulativeLogsumexp", {n.sub(log, y), d.x[1]}, 0, back);
    return n.exp(n.add(sum, x));
  };
  return {n.sub(part(dy), part(n.op<NegOp>(dy))), Value()};
}

/// Of a quantisation that says its range: 1 within, 0 without.
static Gradients quantizeV4Gradient(const Differentiated &d) {
  Gradients all;
  for (size_t i = 0; i < 3; ++i)
    all.push_back(d.call("QuantizeAndDequantizeV4Grad", {d.dy[0], d.x[0], d.x[1], d.x[2]}, i));
  return all;
}

static Gradients through(const Differentiated &d) { return {d.dy[0]}; }

/// Bits that are cut off have no gradient; the conversion has.
static Gradients truncatedCastGradient(const Differentiated &d) {
  auto hasGradient = [&](Value v) { return d.n.isFloat(v) || isa<ComplexType>(d.n.element(v)); };
  const AttrValue *source = d.n.attr("SrcT");
  if (!source || !d.n.isSet("Truncate") || !hasGradient(d.x[0]) || !hasGradient(d.y[0]))
    return {};
  AttrValue back = *source, whole = *d.n.attr("Truncate");
  whole.b = false;
  return {d.call("Cast", {d.dy[0]}, 0, {{"DstT", back}, {"Truncate", whole}})};
}

static Gradients nextAfterGradient(const Differentiated &d) {
  return {sumLike(d, d.dy[0], d.x[0]), Value()};
}

static Gradients fakeQuantArgs(const Differentiated &d) {
  return {d.call("FakeQuantWithMinMaxArgsGradient", {d.dy[0], d.x[0]})};
}
template <const char *const *name> static Gradients fakeQuantVars(const Differentiated &d) {
  Gradients all;
  for (size_t i = 0; i < 3; ++i)
    all.push_back(d.call(*name, {d.dy[0], d.x[0], d.x[1], d.x[2]}, i));
  return all;
}
static constexpr const char *varsName = "FakeQuantWithMinMaxVarsGradient";
static constexpr const char *channelName = "FakeQuantWithMinMaxVarsPerChannelGradient";

static Gradients maxPoolGradient(const Differentiated &d) {
  return {d.call("MaxPoolGrad", {d.x[0], d.y[0], d.dy[0]})};
}
static Gradients maxPoolV2Gradient(const Differentiated &d) {
  return {d.call("MaxPoolGradV2", {d.x[0], d.y[0], d.dy[0], d.x[1], d.x[2]}), Value(), Value()};
}
static Gradients maxPool3dGradient(const Differentiated &d) {
  return {d.call("MaxPool3DGrad", {d.x[0], d.y[0], d.dy[0]})};
}
static Gradients lrnGradient(const Differentiated &d) {
  return {d.call("LRNGrad", {d.dy[0], d.x[0], d.y[0]})};
}

/// The sizes of an image's two sides, i32.
static Value imageSizes(const Differentiated &d) {
  return d.n.cast(d.n.shapeSlice(d.x[0], 1, 3), d.n.b.getI32Type());
}
static Gradients nearestGradient(const Differentiated &d) {
  return {d.call("ResizeNearestNeighborGrad", {d.dy[0], imageSizes(d)}), Value()};
}
static Gradients bilinearGradient(const Differentiated &d) {
  return {d.call("ResizeBilinearGrad", {d.dy[0], d.x[0]}), Value()};
}
static Gradients bicubicGradient(const Differentiated &d) {
  return {d.call("ResizeBicubicGrad", {d.dy[0], d.x[0]}), Value()};
}
static Gradients scaleAndTranslateGradient(const Differentiated &d) {
  return {d.call("ScaleAndTranslateGrad", {d.dy[0], d.x[0], d.x[2], d.x[3]}), Value(), Value(),
          Value()};
}
static Gradients cropAndResizeGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Gradients all(4);
  Value shape = n.cast(n.shapeOf(d.x[0]), n.b.getI32Type());
  all[0] = d.call("CropAndResizeGradImage", {d.dy[0], d.x[1], d.x[2], shape});
  all[1] = d.call("CropAndResizeGradBoxes", {d.dy[0], d.x[0], d.x[1], d.x[2]});
  return all;
}

/// The gradient is moved back by the inverse matrices, and interpolated again.
static Gradients projectiveGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value dy = d.dy[0], transforms = d.x[1];
  Type type = n.element(transforms);
  Value count = n.sizeOf(transforms, 0);
  Value one = n.expandTo(n.scalar(type, 1), n.concat({count, n.ints({1})}, 0));
  Value matrices =
      n.reshapeTo(n.concat({transforms, one}, 1), n.concat({count, n.ints({3, 3})}, 0));
  std::vector<Attr> plain;
  plain.emplace_back("adjoint", AttrValue());
  plain.back().second.kind = AttrValue::Kind::Bool;
  Value inverse = d.call("MatrixInverse", {matrices}, 0, plain);
  if (!inverse)
    return {};
  Value flat = n.reshapeTo(inverse, n.concat({count, n.ints({9})}, 0));
  flat = n.slice(n.div(flat, n.slice(flat, 1, 8, 9)), 1, 0, 8);
  SmallVector<Value> inputs{dy, flat, imageSizes(d)};
  if (d.x.size() > 3)
    inputs.push_back(n.scalar(type, 0));
  return {d.call(n.node.op, inputs)};
}

//===----------------------------------------------------------------------===//
// Special functions
//===----------------------------------------------------------------------===//

/// dy times a function of the operand and the result.
template <Value (*slope)(const Differentiated &d)>
static Gradients bySlope(const Differentiated &d) {
  return {d.n.mul(d.dy[0], slope(d))};
}
static Value lgammaSlope(const Differentiated &d) { return d.call("Digamma", {d.x[0]}); }
static Value digammaSlope(const Differentiated &d) {
  return d.call("Polygamma", {d.n.like(d.x[0], 1), d.x[0]});
}
static Value erfinvSlope(const Differentiated &d) {
  NodeImport &n = d.n;
  return n.mul(n.exp(n.mul(d.y[0], d.y[0])), std::sqrt(M_PI) / 2);
}
static Value ndtriSlope(const Differentiated &d) {
  NodeImport &n = d.n;
  return n.mul(n.exp(n.mul(n.mul(d.y[0], d.y[0]), 0.5)), std::sqrt(2 * M_PI));
}
static Value dawsnSlope(const Differentiated &d) {
  NodeImport &n = d.n;
  return n.sub(n.like(d.x[0], 1), n.mul(n.mul(d.x[0], d.y[0]), 2.0));
}
static Value expintSlope(const Differentiated &d) { return d.n.div(d.n.exp(d.x[0]), d.x[0]); }
static Value fresnelSlope(const Differentiated &d) {
  NodeImport &n = d.n;
  Value angle = n.mul(n.mul(d.x[0], d.x[0]), M_PI / 2);
  return n.node.op == "FresnelSin" ? n.op<SinOp>(angle) : n.op<CosOp>(angle);
}
static Value spenceSlope(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], slope = n.div(n.op<LogOp>(x), n.sub(n.like(x, 1), x));
  return n.select(n.compare("eq", x, 1), n.like(x, -1), slope);
}
static Value bessel0Slope(const Differentiated &d) {
  std::string_view op = d.n.node.op;
  std::string other(op);
  other.replace(other.find('0'), 1, "1");
  Value first = d.call(other, {d.x[0]});
  if (op == "BesselI0")
    return first;
  if (op == "BesselI0e") // I1e - sign(x) I0e
    return d.n.sub(first, d.n.mul(d.n.op<SignOp>(d.x[0]), d.y[0]));
  if (op == "BesselK0e") // K0e - K1e
    return d.n.sub(d.y[0], first);
  return d.n.op<NegOp>(first);
}
/// Of the functions of order one: by those of order zero, and the limit at 0.
static Value bessel1Slope(const Differentiated &d) {
  NodeImport &n = d.n;
  std::string_view op = n.node.op;
  std::string other(op);
  other.replace(other.find('1'), 1, "0");
  Value x = d.x[0], y = d.y[0], zeroth = d.call(other, {x});
  Value quotient = n.div(y, x), isZero = n.compare("eq", x, 0);
  if (op == "BesselK1")
    return n.sub(n.op<NegOp>(zeroth), quotient);
  if (op == "BesselK1e")
    return n.sub(n.sub(y, quotient), zeroth);
  if (op == "BesselY1")
    return n.sub(zeroth, quotient);
  if (op == "BesselI1e") {
    Value safe = n.select(isZero, n.like(x, 1), x);
    Value slope = n.sub(zeroth, n.mul(y, n.add(n.op<SignOp>(x), n.div(n.like(x, 1), safe))));
    return n.select(isZero, n.like(x, 0.5), slope);
  }
  return n.select(isZero, n.like(x, op == "BesselI1" ? 1.0 : 0.5), n.sub(zeroth, quotient));
}

static Gradients igammaGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value a = d.x[0], x = d.x[1], dy = d.dy[0];
  Value byA = d.call("IgammaGradA", {a, x});
  Value lgamma = n.op<LgammaOp>(a);
  Value byX = n.exp(n.sub(n.add(n.op<NegOp>(x), n.mul(n.sub(a, 1.0), n.op<LogOp>(x))), lgamma));
  if (n.node.op == "Igammac")
    dy = n.op<NegOp>(dy);
  return {sumLike(d, n.mul(byA, dy), a), sumLike(d, n.mul(byX, dy), x)};
}

/// By x alone: TensorFlow has none by a and b.
static Gradients betaincGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value a = d.x[0], b = d.x[1], x = d.x[2];
  Value log = n.sub(n.add(n.op<LgammaOp>(a), n.op<LgammaOp>(b)), n.op<LgammaOp>(n.add(a, b)));
  Value partial = n.exp(n.sub(n.add(d.call("Xlog1py", {n.sub(b, 1.0), n.op<NegOp>(x)}),
                                    d.call("Xlogy", {n.sub(a, 1.0), x})),
                              log));
  return {Value(), Value(), sumLike(d, n.mul(partial, d.dy[0]), x)};
}

static Gradients zetaGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], q = d.x[1];
  Value partial = n.mul(n.op<NegOp>(x), d.call("Zeta", {n.add(x, 1.0), q}));
  return {Value(), sumLike(d, n.mul(partial, d.dy[0]), q)};
}

static Gradients polygammaGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value partial = d.call("Polygamma", {n.add(d.x[0], 1.0), d.x[1]});
  return {Value(), sumLike(d, n.mul(partial, d.dy[0]), d.x[1])};
}

ArrayRef<GradientRow> weir::tf::activationGradients() {
  static const GradientRow rows[] = {
      {"Relu", unaryGradient<&ReluGradName, true>},
      {"Relu6", unaryGradient<&Relu6GradName, true>},
      {"Elu", unaryGradient<&EluGradName, true>},
      {"Selu", unaryGradient<&SeluGradName, true>},
      {"LeakyRelu", unaryGradient<&LeakyReluGradName, false>},
      {"Softplus", unaryGradient<&SoftplusGradName, false>},
      {"Softsign", unaryGradient<&SoftsignGradName, false>},
      {"ClipByValue", clipGradient},
      {"DivNoNan", divNoNanGradient},
      {"MulNoNan", mulNoNanGradient},
      {"Xdivy", guardedGradient},
      {"Xlogy", guardedGradient},
      {"Xlog1py", guardedGradient},
      {"SoftmaxCrossEntropyWithLogits", crossEntropyGradient},
      {"SparseSoftmaxCrossEntropyWithLogits", crossEntropyGradient},
      {"CTCLoss", ctcGradient},
      {"CTCLossV2", ctcGradient},
      {"Cumprod", cumprodGradient},
      {"FakeQuantWithMinMaxArgs", fakeQuantArgs},
      {"FakeQuantWithMinMaxVars", fakeQuantVars<&varsName>},
      {"FakeQuantWithMinMaxVarsPerChannel", fakeQuantVars<&channelName>},
      {"CumulativeLogsumexp", cumulativeLogsumexpGradient},
      {"QuantizeAndDequantizeV4", quantizeV4Gradient},
      {"NextAfter", nextAfterGradient},
      {"Cast", truncatedCastGradient},
      {"QuantizeAndDequantize", through},
      {"QuantizeAndDequantizeV2", through},
      {"QuantizeAndDequantizeV3", through},
      {"MaxPool", maxPoolGradient},
      {"MaxPoolV2", maxPoolV2Gradient},
      {"MaxPool3D", maxPool3dGradient},
      {"LRN", lrnGradient},
      {"ResizeNearestNeighbor", nearestGradient},
      {"ResizeBilinear", bilinearGradient},
      {"ResizeBicubic", bicubicGradient},
      {"ScaleAndTranslate", scaleAndTranslateGradient},
      {"CropAndResize", cropAndResizeGradient},
      {"ImageProjectiveTransformV2", projectiveGradient},
      {"ImageProjectiveTransformV3", projectiveGradient},
      {"Lgamma", bySlope<lgammaSlope>},
      {"Digamma", bySlope<digammaSlope>},
      {"Erfinv", bySlope<erfinvSlope>},
      {"Ndtri", bySlope<ndtriSlope>},
      {"Dawsn", bySlope<dawsnSlope>},
      {"Expint", bySlope<expintSlope>},
      {"FresnelSin", bySlope<fresnelSlope>},
      {"FresnelCos", bySlope<fresnelSlope>},
      {"Spence", bySlope<spenceSlope>},
      {"BesselI0", bySlope<bessel0Slope>},
      {"BesselI0e", bySlope<bessel0Slope>},
      {"BesselK0", bySlope<bessel0Slope>},
      {"BesselK0e", bySlope<bessel0Slope>},
      {"BesselJ0", bySlope<bessel0Slope>},
      {"BesselY0", bySlope<bessel0Slope>},
      {"BesselI1", bySlope<bessel1Slope>},
      {"BesselI1e", bySlope<bessel1Slope>},
      {"BesselK1", bySlope<bessel1Slope>},
      {"BesselK1e", bySlope<bessel1Slope>},
      {"BesselJ1", bySlope<bessel1Slope>},
      {"BesselY1", bySlope<bessel1Slope>},
      {"Igamma", igammaGradient},
      {"Igammac", igammaGradient},
      {"Betainc", betaincGradient},
      {"Zeta", zetaGradient},
      {"Polygamma", polygammaGradient},
  };
  return rows;
}
