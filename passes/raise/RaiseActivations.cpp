//===- RaiseActivations.cpp - GELU and the logistic function --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations as exporters write them out, in whatever sums, products and powers:
//
//   gelu      x/2 (1 + erf(x / sqrt(2)))                  Hendrycks and Gimpel 2016,
//             x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))     arXiv:1606.08415
//   logistic  1 / (1 + exp(-x))
//
// What operations compute is compared at places from -9 to 9. All of them are
// analytic functions, so that what agrees there agrees everywhere.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Quantized.h"
#include "dialects/weir/Rearrange.h"
#include "passes/raise/Passes.h"
#include <array>
#include <cmath>

namespace weir {
#define GEN_PASS_DEF_WEIRRAISEACTIVATIONSPASS
#include "passes/raise/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// The longest expression that is looked at, in operations.
constexpr size_t mostOperations = 24;

/// The values of a function at the places where functions are compared.
constexpr size_t places = 48;
using Curve = std::array<double, places>;

/// No place is zero, where every one of the functions has few digits.
Curve identity() {
  Curve x;
  for (size_t i = 0; i < places; ++i)
    x[i] = -9 + 18 * (double(i) + 0.3) / places;
  return x;
}

Curve apply(function_ref<double(double, double)> function, const Curve &a, const Curve &b) {
  Curve result;
  for (size_t i = 0; i < places; ++i)
    result[i] = function(a[i], b[i]);
  return result;
}

double logisticOf(double x) { return 1 / (1 + std::exp(-x)); }

/// What an operation makes of its operands' curves (of one operand twice); nothing where
/// expressions of activations have none of its kind.
std::optional<Curve> computed(Operation *op, const Curve &a, const Curve &b) {
  if (isa<AddOp>(op))
    return apply([](double x, double y) { return x + y; }, a, b);
  if (isa<SubOp>(op))
    return apply([](double x, double y) { return x - y; }, a, b);
  if (isa<MulOp>(op))
    return apply([](double x, double y) { return x * y; }, a, b);
  if (isa<DivOp>(op))
    return apply([](double x, double y) { return x / y; }, a, b);
  if (isa<PowOp>(op))
    return apply([](double x, double y) { return std::pow(x, y); }, a, b);
  if (isa<NegOp>(op))
    return apply([](double x, double) { return -x; }, a, b);
  if (isa<TanhOp>(op))
    return apply([](double x, double) { return std::tanh(x); }, a, b);
  if (isa<ErfOp>(op))
    return apply([](double x, double) { return std::erf(x); }, a, b);
  if (isa<ExpOp>(op))
    return apply([](double x, double) { return std::exp(x); }, a, b);
  return std::nullopt;
}

enum class Activation { Gelu, TanhGelu, Logistic };

double valueOf(Activation activation, double x) {
  switch (activation) {
  case Activation::Gelu:
    return x / 2 * (1 + std::erf(x / std::sqrt(2)));
  case Activation::TanhGelu:
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Activation::Logistic:
    return logisticOf(x);
  }
  return 0;
}

/// Whether the curve is the activation's, up to what its constants and results round.
bool isCurveOf(Activation activation, const Curve &x, const Curve &y, double epsilon) {
  for (size_t i = 0; i < places; ++i) {
    // Sums of 1 and a number up to 1 are rounded before they are multiplied by x.
    double scale = activation == Activation::Logistic ? 1 : std::fabs(x[i]);
    if (!(std::fabs(y[i] - valueOf(activation, x[i])) <= epsilon * scale))
      return false;
  }
  return true;
}

/// The operation that an activation's expression has exactly one of.
bool isCore(Operation *op) { return isa<TanhOp, ErfOp, ExpOp>(op); }

/// The activations that an expression around such an operation may be. Both forms of
/// GELU are closer to each other than f16 and bf16 tell: the core says which it is.
SmallVector<Activation> activationsAround(Operation *core) {
  if (isa<ErfOp>(core))
    return {Activation::Gelu};
  if (isa<TanhOp>(core))
    return {Activation::TanhGelu, Activation::Logistic};
  return {Activation::Logistic};
}

/// An expression of one value `x` around `core`, from `x` on.
class Expression {
public:
  Expression(Value x, Operation *core) : x(x), core(core), start(identity()) {}

  /// Replaces the expression by an activation, where it is one; null: it is none.
  Operation *raise() {
    auto type = dyn_cast<RankedTensorType>(x.getType());
    auto element = type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
    if (!element)
      return nullptr;
    // Values here have the digits of doubles, or a few bits less.
    double epsilon = std::max(2 * std::ldexp(1, -int(element.getFPMantissaWidth())), 4e-15);
    curves[x] = start;
    SmallVector<Value> pending{x};
    for (size_t i = 0; i < pending.size() && curves.size() <= mostOperations; ++i)
      for (Operation *user : pending[i].getUsers()) {
        std::optional<Curve> curve = curveOf(user);
        if (!curve)
          continue;
        curves[user->getResult(0)] = *curve;
        for (Activation activation : activationsAround(core))
          if (isCurveOf(activation, start, *curve, epsilon) && isWhole(user))
            return replace(user, activation);
        pending.push_back(user->getResult(0));
      }
    return nullptr;
  }

private:
  /// The curve of an operation whose operands are known; nothing where it is not to be
  /// looked at, or was.
  std::optional<Curve> curveOf(Operation *op) {
    if (op->getBlock() != core->getBlock() || op->getNumResults() != 1 ||
        op->getNumOperands() > 2 || op->getResult(0).getType() != x.getType() ||
        curves.contains(op->getResult(0)) ||
        op->getAttr("weir.device") != core->getAttr("weir.device"))
      return std::nullopt;
    auto a = curveOf(op->getOperand(0)), b = curveOf(op->getOperand(op->getNumOperands() - 1));
    return a && b ? computed(op, *a, *b) : std::nullopt;
  }
  std::optional<Curve> curveOf(Value value) {
    if (auto known = curves.find(value); known != curves.end())
      return known->second;
    std::optional<double> number = numberOf(value);
    if (!number)
      return std::nullopt;
    Curve flat;
    flat.fill(*number);
    return flat;
  }

  /// Whether nothing but `root` reads what is computed between `x` and it, the core
  /// among that. Notes what it is.
  bool isWhole(Operation *root) {
    inside.clear();
    inside.insert(root);
    for (size_t i = 0; i < inside.size(); ++i)
      for (Value operand : inside[i]->getOperands())
        if (operand != x && curves.contains(operand))
          inside.insert(operand.getDefiningOp());
    return inside.contains(core) && llvm::all_of(inside, [&](Operation *op) {
             return op == root || llvm::all_of(op->getUsers(), [&](Operation *user) {
                      return inside.contains(user);
                    });
           });
  }

  Operation *replace(Operation *root, Activation activation) {
    OpBuilder b(root);
    SmallVector<Location> locations{root->getLoc()};
    for (Operation *op : inside)
      locations.push_back(op->getLoc());
    Location loc = b.getFusedLoc(locations);
    Value made;
    if (activation == Activation::Logistic)
      made = LogisticOp::create(b, loc, x);
    else
      made = GeluOp::create(b, loc, x, b.getBoolAttr(activation == Activation::TanhGelu));
    copyDevice(root, made);
    root->replaceAllUsesWith(made.getDefiningOp());
    // Users come before what they read.
    SmallVector<Operation *> ordered = inBlockOrder();
    for (Operation *op : llvm::reverse(ordered))
      op->erase();
    return made.getDefiningOp();
  }
  SmallVector<Operation *> inBlockOrder() const {
    SmallVector<Operation *> all(inside.getArrayRef());
    llvm::sort(all, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return all;
  }

  Value x;
  Operation *core;
  const Curve start;
  llvm::MapVector<Value, Curve> curves;
  llvm::SetVector<Operation *> inside;
};

/// The values that an expression around `core` may be of, the nearest first.
SmallVector<Value> sourcesOf(Operation *core) {
  llvm::SetVector<Value> found;
  found.insert(core->getOperand(0));
  for (size_t i = 0; i < found.size() && found.size() <= mostOperations; ++i) {
    Operation *op = found[i].getDefiningOp();
    if (op && !isCore(op) && computed(op, identity(), identity()))
      for (Value operand : op->getOperands())
        if (operand.getType() == core->getOperand(0).getType() && !numberOf(operand))
          found.insert(operand);
  }
  return found.takeVector();
}

struct RaiseActivationsPass : weir::impl::WeirRaiseActivationsPassBase<RaiseActivationsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> cores;
    getOperation().walk([&](Operation *op) {
      if (isCore(op))
        cores.push_back(op);
    });
    for (Operation *core : cores)
      for (Value x : sourcesOf(core))
        if (Expression(x, core).raise())
          break;
  }
};

} // namespace
