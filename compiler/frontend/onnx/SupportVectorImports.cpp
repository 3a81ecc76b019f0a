//===- SupportVectorImports.cpp - support vector machines -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ai.onnx.ml's machines as LIBSVM (Chang and Lin, 2011) lays them out: one
// decision a pair of classes, a vote each, and probabilities coupled pairwise.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/NodeImport.h"
#include "compiler/frontend/onnx/PostTransform.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;
using frontend::Values;

namespace {

SmallVector<double> list(NodeImport &n, std::string_view name) {
  return n.fs(name).value_or(SmallVector<double>());
}

/// The kernel of samples x [samples, features] and `vectors` [count, features]:
/// [samples, count]. Null, with a report, where the node names none.
Value kernel(NodeImport &n, Value x, Value vectors) {
  SmallVector<double> parameters = list(n, "kernel_params");
  parameters.resize(3);
  double gamma = parameters[0], offset = parameters[1], degree = parameters[2];
  std::string_view name = n.s("kernel_type");
  Value products = n.matmul(x, n.transpose(vectors, {1, 0}));
  if (!products || name == "LINEAR")
    return products;
  if (name == "POLY")
    return n.op<PowOp>(n.add(n.mul(products, gamma), offset), n.like(products, degree));
  if (name == "SIGMOID")
    return n.op<TanhOp>(n.add(n.mul(products, gamma), offset));
  if (name == "RBF") {
    Value apart = n.sub(n.unsqueeze(x, {1}), n.unsqueeze(vectors, {0}));
    Value squares = n.reduce(n.mul(apart, apart), "sum", {2}, false);
    return n.exp(n.mul(squares, -gamma));
  }
  (void)n.invalid("expected kernel_type LINEAR, POLY, RBF or SIGMOID, got " + Twine(name));
  return {};
}

/// Samples as a matrix of f32; one may stand alone.
Value samples(NodeImport &n) {
  Value x = n.cast(n.in(0), n.b.getF32Type());
  return x && n.rank(x) == 1 ? n.unsqueeze(x, {0}) : x;
}

/// `count` support vectors, [count, features].
Value supportVectors(NodeImport &n, int64_t count) {
  SmallVector<double> vectors = list(n, "support_vectors");
  if (count < 1 || vectors.empty() || vectors.size() % static_cast<size_t>(count)) {
    (void)n.invalid("found support_vectors that are not " + Twine(count));
    return {};
  }
  return n.reshape(n.floats(vectors, n.b.getF32Type()), {count, -1});
}

LogicalResult regressor(NodeImport &n) {
  Value x = samples(n);
  SmallVector<double> coefficients = list(n, "coefficients"), rho = list(n, "rho");
  if (!x || coefficients.empty() || rho.empty())
    return n.invalid("found no coefficients or rho");
  Value weights = n.unsqueeze(n.floats(coefficients, n.b.getF32Type()), {1});
  int64_t count = n.i("n_supports");
  Value features = x;
  if (count > 0) {
    Value vectors = supportVectors(n, count);
    features = vectors ? kernel(n, x, vectors) : Value();
  }
  Value y = n.add(n.matmul(features, weights), rho[0]);
  if (n.i("one_class"))
    y = n.select(n.compare("gt", y, 0.0), n.like(y, 1), n.like(y, -1));
  return n.result(postTransform(n, y, n.s("post_transform")));
}

/// What classes' pairwise probabilities [samples, 1] say of each class: the
/// second method of Wu, Lin and Weng ("Probability estimates for multi-class
/// classification by pairwise coupling", 2004), with LIBSVM's bounds.
/// `pairs[i][j]` is the probability of i where it is i or j.
Value coupled(NodeImport &n, ArrayRef<SmallVector<Value>> pairs) {
  int64_t classes = pairs.size();
  Value any = pairs[0][1];
  // Q is symmetric: the squares of what others claim, and minus products.
  SmallVector<SmallVector<Value>> q(classes, SmallVector<Value>(classes));
  for (int64_t t = 0; t < classes; ++t)
    for (int64_t j = 0; j < classes; ++j) {
      if (j == t)
        continue;
      Value square = n.mul(pairs[j][t], pairs[j][t]);
      q[t][t] = q[t][t] ? n.add(q[t][t], square) : square;
      q[t][j] = n.op<NegOp>(n.mul(pairs[j][t], pairs[t][j]));
    }
  Values start;
  for (int64_t t = 0; t < classes; ++t)
    start.push_back(n.expandTo(n.like(any, 1.0 / double(classes)), n.shapeOf(any)));
  start.push_back(n.expandTo(n.scalar(n.b.getI1Type(), 0), n.shapeOf(any)));
  double enough = 0.005 / double(classes);
  int64_t most = std::max<int64_t>(100, classes);
  FailureOr<Values> made =
      buildLoop(n, n.intScalar(most), {}, start, [&](Value, Values args) -> FailureOr<Values> {
        Value done = args.pop_back_val();
        auto timesQ = [&](int64_t t) {
          Value sum;
          for (int64_t j = 0; j < classes; ++j) {
            Value one = n.mul(q[t][j], args[j]);
            sum = sum ? n.add(sum, one) : one;
          }
          return sum;
        };
        Values before = args;
        SmallVector<Value> qp;
        Value pqp;
        for (int64_t t = 0; t < classes; ++t) {
          qp.push_back(timesQ(t));
          Value one = n.mul(args[t], qp[t]);
          pqp = pqp ? n.add(pqp, one) : one;
        }
        Value worst;
        for (int64_t t = 0; t < classes; ++t) {
          Value error = n.op<AbsOp>(n.sub(qp[t], pqp));
          worst = worst ? n.maximum(worst, error) : error;
        }
        done = n.op<OrOp>(done, n.compare("lt", worst, enough));
        for (int64_t t = 0; t < classes; ++t) {
          Value step = n.div(n.sub(pqp, qp[t]), q[t][t]);
          args[t] = n.add(args[t], step);
          Value scale = n.add(step, 1.0);
          pqp = n.div(n.add(pqp, n.mul(step, n.add(n.mul(step, q[t][t]), n.mul(qp[t], 2.0)))),
                      n.mul(scale, scale));
          for (int64_t j = 0; j < classes; ++j) {
            qp[j] = n.div(n.add(qp[j], n.mul(step, q[t][j])), scale);
            args[j] = n.div(args[j], scale);
          }
        }
        // A sample that has come to rest stays as it is.
        for (int64_t t = 0; t < classes; ++t)
          args[t] = n.select(done, before[t], args[t]);
        args.push_back(done);
        return args;
      });
  if (failed(made))
    return {};
  made->pop_back();
  return n.concat(*made, 1);
}

class Classifier {
public:
  explicit Classifier(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool decisions();
  Value probabilities();

  NodeImport &n;
  int64_t classes = 0;
  SmallVector<Value> pairs; ///< decisions of each pair, [samples, 1]
  Value votes;              ///< [samples, classes]
};

/// Each pair's decision: above zero is a vote for the first.
bool Classifier::decisions() {
  std::optional<SmallVector<int64_t>> sizes = n.is("vectors_per_class");
  SmallVector<double> coefficients = list(n, "coefficients"), rho = list(n, "rho");
  Value x = samples(n);
  int64_t count = 0;
  // None can have more vectors than there are coefficients.
  int64_t most = coefficients.size();
  bool fits = sizes && static_cast<int64_t>(sizes->size()) == classes &&
              llvm::all_of(*sizes, [&](int64_t size) { return size >= 0 && size <= most; });
  if (fits)
    for (int64_t size : *sizes)
      count += size;
  if (!x || !fits || static_cast<int64_t>(coefficients.size()) != (classes - 1) * count ||
      static_cast<int64_t>(rho.size()) != classes * (classes - 1) / 2) {
    (void)n.unsupported("found vectors_per_class, coefficients or rho that do "
                        "not go with " +
                        Twine(classes) + " classes");
    return false;
  }
  Value vectors = supportVectors(n, count);
  Value values = vectors ? kernel(n, x, vectors) : Value();
  if (!values)
    return false;
  SmallVector<int64_t> starts = {0};
  for (int64_t size : *sizes)
    starts.push_back(starts.back() + size);
  SmallVector<Value> perClass(classes);
  size_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      // Of the other classes' vectors the coefficients are zero.
      SmallVector<double> column(count);
      for (int64_t s = starts[i]; s < starts[i + 1]; ++s)
        column[s] = coefficients[(j - 1) * count + s];
      for (int64_t s = starts[j]; s < starts[j + 1]; ++s)
        column[s] = coefficients[i * count + s];
      Value weights = n.unsqueeze(n.floats(column, n.b.getF32Type()), {1});
      Value decision = n.add(n.matmul(values, weights), rho[pair]);
      pairs.push_back(decision);
      Value first = n.cast(n.compare("gt", decision, 0.0), n.b.getF32Type());
      for (auto [which, vote] : {std::pair(i, first), std::pair(j, n.sub(n.like(first, 1), first))})
        perClass[which] = perClass[which] ? n.add(perClass[which], vote) : vote;
    }
  votes = n.concat(perClass, 1);
  return votes != nullptr;
}

/// Platt's probabilities of each pair, coupled.
Value Classifier::probabilities() {
  SmallVector<double> a = list(n, "prob_a"), b = list(n, "prob_b");
  if (a.size() != pairs.size() || b.size() != pairs.size()) {
    (void)n.invalid("found prob_a and prob_b that are not one a pair");
    return {};
  }
  SmallVector<SmallVector<Value>> chance(classes, SmallVector<Value>(classes));
  size_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      Value linear = n.add(n.mul(pairs[pair], a[pair]), b[pair]);
      Value first = n.op<LogisticOp>(n.op<NegOp>(linear));
      first = n.minimum(n.maximum(first, 1e-7), 1 - 1e-7);
      chance[i][j] = first;
      chance[j][i] = n.sub(n.like(first, 1), first);
    }
  return coupled(n, chance);
}

LogicalResult Classifier::run() {
  Value labels = classLabels(n, "classlabels_ints");
  if (!labels)
    return failure();
  classes = n.dim(labels, 0);
  if (classes < 2)
    return n.invalid("found fewer than two classes");
  if (!decisions())
    return failure();
  Value best = n.op<ArgReduceOp>(votes, n.flag(true), n.number(1), n.flag(false), n.flag(false),
                                 n.typeAttr(n.b.getI64Type()));
  Value answer = n.gather(labels, best, 0);
  std::string_view transform = n.s("post_transform");
  if (!list(n, "prob_a").empty())
    return n.results({answer, postTransform(n, probabilities(), transform)});
  if (pairs.size() > 1)
    return n.results({answer, postTransform(n, n.concat(pairs, 1), transform)});
  return n.results({answer, pairOfScores(n, pairs[0], transform, transform != "NONE")});
}

LogicalResult classifier(NodeImport &n) { return Classifier(n).run(); }

constexpr std::string_view ml = "ai.onnx.ml";

constexpr OperatorImport table[] = {
    {ml, "SVMClassifier", 1, 0, classifier},
    {ml, "SVMRegressor", 1, 0, regressor},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::supportVectorImports() { return table; }
