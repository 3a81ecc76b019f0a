//===- MlImports.cpp - ai.onnx.ml on numbers ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/PostTransform.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

/// The strings of an attribute, as a vector.
static Value stringVector(NodeImport &n, std::string_view attribute) {
  SmallVector<StringRef> values;
  for (std::string_view value : n.ss(attribute))
    values.emplace_back(value.data(), value.size());
  return n.strings(values);
}

/// sqrt(2) times the inverse of the error function at 2x - 1, by Winitzki's
/// approximation (2008), which ONNX Runtime uses.
static Value probit(NodeImport &n, Value x) {
  Value y = n.sub(n.mul(x, 2.0), 1.0);
  Value logarithm = n.op<LogOp>(n.mul(n.sub(n.like(y, 1), y), n.add(y, 1.0)));
  Value v = n.add(n.mul(logarithm, 0.5), 2 / (3.14159 * 0.147));
  Value root = n.sqrt(n.sub(n.mul(v, v), n.mul(logarithm, 1 / 0.147)));
  Value size = n.sqrt(n.sub(root, v));
  return n.mul(n.select(n.compare("lt", y, 0.0), n.op<NegOp>(size), size), 1.41421356);
}

Value weir::onnx::postTransform(NodeImport &n, Value scores, std::string_view name) {
  if (!scores || name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return n.op<LogisticOp>(scores);
  int64_t last = n.rank(scores) - 1;
  if (name == "SOFTMAX")
    return n.softmax(scores, last);
  if (name == "SOFTMAX_ZERO") {
    // Scores of zero stay zero, and take no part.
    Value zero = n.compare("eq", scores, 0.0);
    Value most = n.reduce(scores, "max", {last}, true);
    Value powers = n.exp(n.sub(scores, most));
    powers = n.select(zero, n.like(scores, 0), powers);
    Value sum = n.reduce(powers, "sum", {last}, true);
    return n.div(powers, n.select(n.compare("eq", sum, 0.0), n.like(sum, 1), sum));
  }
  if (name == "PROBIT")
    return probit(n, scores);
  (void)n.unsupported(
      "expected post_transform NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT, got " +
      Twine(name));
  return {};
}

Value weir::onnx::classLabels(NodeImport &n, std::string_view integers) {
  if (std::optional<SmallVector<int64_t>> labels = n.is(integers); labels && !labels->empty())
    return n.ints(*labels);
  std::vector<std::string_view> names = n.ss("classlabels_strings");
  if (names.empty())
    (void)n.invalid("found no names of classes");
  return names.empty() ? Value() : stringVector(n, "classlabels_strings");
}

Value weir::onnx::labelOf(NodeImport &n, Value score, Value labels, double limit) {
  if (!score || !labels)
    return {};
  Value isSecond = n.squeeze(n.compare("gt", score, limit), {1});
  return n.gather(labels, n.cast(isSecond, n.b.getI64Type()), 0);
}

Value weir::onnx::pairOfScores(NodeImport &n, Value score, std::string_view transform, bool ofOne) {
  if (!score)
    return {};
  bool isLogistic = transform == "LOGISTIC", isProbit = transform == "PROBIT";
  Value other =
      !isLogistic && (ofOne || isProbit) ? n.sub(n.like(score, 1), score) : n.op<NegOp>(score);
  Value both = n.concat({other, score}, 1);
  return isLogistic || isProbit ? postTransform(n, both, transform) : both;
}

LogicalResult weir::onnx::classify(NodeImport &n, Value scores, Value labels) {
  if (!scores || !labels)
    return failure();
  Value best = n.op<ArgReduceOp>(scores, n.flag(true), n.number(1), n.flag(false), n.flag(false),
                                 n.typeAttr(n.b.getI64Type()));
  return n.results({n.gather(labels, best, 0), postTransform(n, scores, n.s("post_transform"))});
}

namespace {

/// A sample may stand alone, as a vector.
Value rows(NodeImport &n, Value x) { return x && n.rank(x) == 1 ? n.unsqueeze(x, {0}) : x; }

Value inFloat(NodeImport &n, Value x) { return n.cast(x, n.b.getF32Type()); }

LogicalResult arrayFeatureExtractor(NodeImport &n) {
  Value x = rows(n, n.in(0)), y = n.in(1);
  if (!x || !y)
    return failure();
  Value negative = n.compare("lt", n.reshape(y, {-1}), 0.0);
  n.require(n.logicalNot(n.reduce(negative, "any", {0}, false)), "an index is negative");
  return n.result(n.gather(x, n.reshape(y, {-1}), n.rank(x) - 1));
}

LogicalResult binarizer(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  return n.result(n.cast(n.compare("gt", n.besideReals(x), n.f("threshold")), n.element(x)));
}

LogicalResult scaler(NodeImport &n) {
  Value x = inFloat(n, n.in(0));
  if (!x)
    return failure();
  if (std::optional<SmallVector<double>> offset = n.fs("offset"))
    x = n.sub(x, n.floats(*offset, n.b.getF32Type()));
  if (std::optional<SmallVector<double>> scale = n.fs("scale"))
    x = n.mul(x, n.floats(*scale, n.b.getF32Type()));
  return n.result(x);
}

LogicalResult normalizer(NodeImport &n) {
  Value x = inFloat(n, n.in(0));
  if (!x)
    return failure();
  if (n.rank(x) != 1 && n.rank(x) != 2)
    return n.invalid("expected rows, or one, got rank " + Twine(n.rank(x)));
  int64_t last = n.rank(x) - 1;
  std::string_view norm = n.s("norm");
  Value size;
  if (norm == "L1")
    size = n.reduce(n.op<AbsOp>(x), "sum", {last}, true);
  else if (norm == "L2")
    size = n.sqrt(n.reduce(n.mul(x, x), "sum", {last}, true));
  else
    size = n.reduce(x, "max", {last}, true);
  Value zero = n.compare("eq", size, 0.0);
  return n.result(n.div(x, n.select(zero, n.like(x, 1), size)));
}

LogicalResult imputer(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Value fill, missing;
  if (n.isFloat(x)) {
    std::optional<SmallVector<double>> values = n.fs("imputed_value_floats");
    if (!values)
      return n.invalid("found no imputed_value_floats");
    fill = n.floats(*values, n.element(x));
    double replaced = n.f("replaced_value_float");
    missing = replaced != replaced ? n.op<IsNanOp>(x) : n.compare("eq", x, replaced);
  } else {
    std::optional<SmallVector<int64_t>> values = n.is("imputed_value_int64s");
    if (!values)
      return n.invalid("found no imputed_value_int64s");
    fill = n.cast(n.ints(*values), n.element(x));
    missing = n.compare("eq", x, double(n.i("replaced_value_int64")));
  }
  return n.result(n.select(missing, fill, x));
}

LogicalResult featureVectorizer(NodeImport &n) {
  SmallVector<Value> parts;
  for (Value part : n.tensors())
    parts.push_back(inFloat(n, rows(n, part)));
  std::optional<SmallVector<int64_t>> widths = n.is("inputdimensions");
  if (parts.empty())
    return failure();
  if (widths && widths->size() != parts.size())
    return n.invalid("found " + Twine(widths->size()) + " inputdimensions for " +
                     Twine(parts.size()) + " inputs");
  for (size_t i = 0; widths && i < parts.size(); ++i) {
    int64_t width = (*widths)[i], own = n.dim(parts[i], 1);
    if (own != width)
      return n.unsupported("expected as many columns as inputdimensions says, " + Twine(width) +
                           ", got " + sizeText(own) + " of input " + Twine(i));
  }
  return n.result(n.concat(parts, 1));
}

LogicalResult oneHotEncoder(NodeImport &n) {
  Value x = n.in(0);
  std::optional<SmallVector<int64_t>> categories = n.is("cats_int64s");
  if (!x)
    return failure();
  auto encoded = [&](Value hits) {
    if (hits && !n.i("zeros"))
      n.require(n.reduce(n.reduce(hits, "any", {n.rank(hits) - 1}, false), "all",
                         axesFrom(0, n.rank(x)), false),
                "a value is none of the categories, and zeros is 0");
    return n.result(inFloat(n, hits));
  };
  if (n.isString(x))
    return encoded(n.equalStrings(n.unsqueeze(x, {n.rank(x)}), stringVector(n, "cats_strings")));
  if (!categories)
    return n.unsupported("found categories that are strings, and numbers as "
                         "input");
  Value wide = n.unsqueeze(n.cast(x, n.b.getI64Type()), {n.rank(x)});
  return encoded(n.compare("eq", wide, n.ints(*categories)));
}

/// Keys or values of a LabelEncoder, whichever attribute holds them.
Value labels(NodeImport &n, const std::string &which) {
  if (std::optional<SmallVector<int64_t>> ints = n.is(which + "_int64s"))
    return n.ints(*ints);
  if (std::optional<SmallVector<double>> floats = n.fs(which + "_floats"))
    return n.floats(*floats, n.b.getF32Type());
  if (n.hasAttr(which + "_strings"))
    return stringVector(n, which + "_strings");
  const NodeAttribute *attr = n.attr(which + "_tensor");
  return attr ? n.tensorConstant(attr->tensors[0]) : Value();
}

/// values[i] where x is keys[i] (the first such i), `other` elsewhere.
Value mapLabels(NodeImport &n, Value x, Value keys, Value values, Value other) {
  auto type = RankedTensorType::get(n.sizes(x), n.b.getI64Type());
  Operation *found =
      n.kernelCall("weir_kernel_label_index", {type}, {x, n.cast(keys, n.element(x))}, {});
  if (!found)
    return {};
  Value at = found->getResult(0);
  return n.select(n.compare("ge", at, 0), n.gather(values, n.maximum(at, 0.0), 0), other);
}

/// Names and numbers of categories, one another's way round.
LogicalResult mapCategories(NodeImport &n, Value names, Value numbers) {
  Value x = n.in(0);
  if (!x || !names || !numbers)
    return failure();
  std::string_view unknown = n.s("default_string");
  if (n.isString(x))
    return n.result(mapLabels(n, x, names, numbers, n.intScalar(n.i("default_int64"))));
  return n.result(
      mapLabels(n, x, numbers, names, n.stringScalar(StringRef(unknown.data(), unknown.size()))));
}

LogicalResult categoryMapper(NodeImport &n) {
  std::optional<SmallVector<int64_t>> numbers = n.is("cats_int64s");
  if (!numbers || numbers->size() != n.ss("cats_strings").size())
    return n.invalid("found lists of categories that differ in length");
  return mapCategories(n, stringVector(n, "cats_strings"), n.ints(*numbers));
}

LogicalResult labelEncoder(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (n.version < 2) {
    Value classes = stringVector(n, "classes_strings");
    SmallVector<int64_t> numbers = axesFrom(0, n.type(classes).getNumElements());
    return mapCategories(n, classes, n.ints(numbers));
  }
  Value keys = labels(n, "keys"), values = labels(n, "values");
  if (!keys || !values || n.isString(keys) != n.isString(x))
    return n.invalid("found no keys or values, or keys of another type than the "
                     "input");
  Value other;
  if (const NodeAttribute *attr = n.attr("default_tensor")) {
    other = n.toScalar(n.tensorConstant(attr->tensors[0]));
  } else if (n.isString(values)) {
    std::string_view unknown = n.s("default_string");
    other = n.stringScalar(StringRef(unknown.data(), unknown.size()));
  } else {
    other = n.like(values, n.isFloat(values) ? n.f("default_float") : double(n.i("default_int64")));
  }
  if (n.isString(x))
    return n.result(mapLabels(n, x, keys, values, other));
  keys = n.cast(keys, n.element(x));
  Value hits = n.compare("eq", n.unsqueeze(x, {n.rank(x)}), keys);
  if (n.isFloat(x)) {
    Value both = n.op<AndOp>(n.unsqueeze(n.op<IsNanOp>(x), {n.rank(x)}), n.op<IsNanOp>(keys));
    hits = n.op<OrOp>(hits, both);
  }
  int64_t last = n.rank(x);
  Value first = n.op<ArgReduceOp>(n.cast(hits, n.b.getI32Type()), n.flag(true), n.number(last),
                                  n.flag(false), n.flag(false), n.typeAttr(n.b.getI64Type()));
  Value found = n.reduce(hits, "any", {last}, false);
  return n.result(n.select(found, n.gather(values, first, 0), other));
}

/// x · coefficientsᵀ + intercepts, [samples, targets].
Value linear(NodeImport &n, int64_t targets) {
  Value x = inFloat(n, rows(n, n.in(0)));
  std::optional<SmallVector<double>> coefficients = n.fs("coefficients");
  if (!x || !coefficients || targets < 1 || coefficients->size() % targets) {
    (void)n.invalid("found coefficients that do not go with the targets");
    return {};
  }
  Value weights = n.reshape(n.floats(*coefficients, n.b.getF32Type()), {targets, -1});
  Value y = n.matmul(x, n.transpose(weights, {1, 0}));
  if (std::optional<SmallVector<double>> intercepts = n.fs("intercepts");
      intercepts && !intercepts->empty())
    y = n.add(y, n.floats(*intercepts, n.b.getF32Type()));
  return y;
}

LogicalResult linearRegressor(NodeImport &n) {
  return n.result(postTransform(n, linear(n, n.i("targets")), n.s("post_transform")));
}

LogicalResult linearClassifier(NodeImport &n) {
  Value labels = classLabels(n, "classlabels_ints");
  if (!labels)
    return failure();
  std::optional<SmallVector<double>> intercepts = n.fs("intercepts");
  int64_t classes = n.dim(labels, 0);
  bool isSingle = classes == 2 && intercepts && intercepts->size() == 1;
  Value scores = linear(n, isSingle ? 1 : classes);
  if (!isSingle)
    return classify(n, scores, labels);
  return n.results(
      {labelOf(n, scores, labels, 0), pairOfScores(n, scores, n.s("post_transform"), true)});
}

/// A sequence of maps, one a sample, is the matrix of their values: the keys are
/// the same in all, and stand in the node.
LogicalResult zipMap(NodeImport &n) {
  Value x = rows(n, n.in(0)), keys = classLabels(n, "classlabels_int64s");
  if (!x || !keys)
    return failure();
  int64_t columns = n.dim(x, n.rank(x) - 1);
  if (!ShapedType::isDynamic(columns) && columns != n.dim(keys, 0))
    return n.invalid("found " + Twine(columns) + " columns for " + Twine(n.dim(keys, 0)) + " keys");
  return n.result(x);
}

constexpr std::string_view ml = "ai.onnx.ml";

constexpr OperatorImport table[] = {
    {ml, "ArrayFeatureExtractor", 1, 0, arrayFeatureExtractor},
    {ml, "Binarizer", 1, 0, binarizer},
    {ml, "CategoryMapper", 1, 0, categoryMapper},
    {ml, "FeatureVectorizer", 1, 0, featureVectorizer},
    {ml, "Imputer", 1, 0, imputer},
    {ml, "LabelEncoder", 1, 0, labelEncoder},
    {ml, "LinearClassifier", 1, 0, linearClassifier},
    {ml, "LinearRegressor", 1, 0, linearRegressor},
    {ml, "Normalizer", 1, 0, normalizer},
    {ml, "OneHotEncoder", 1, 0, oneHotEncoder},
    {ml, "Scaler", 1, 0, scaler},
    {ml, "ZipMap", 1, 0, zipMap},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::mlImports() { return table; }
