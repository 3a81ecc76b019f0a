//===- ReductionImports.cpp - reductions and matrix products --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/RuntimeAxes.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::generalProduct(NodeImport &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return {};
  if (n.rank(a) != 2 || n.rank(b) != 2) {
    (void)n.invalid("expected matrices, got operands of rank " + Twine(n.rank(a)) + " and " +
                    Twine(n.rank(b)));
    return {};
  }
  int64_t aContract = n.i("transA") ? 0 : 1, bContract = n.i("transB") ? 1 : 0;
  Value product = n.op<DotGeneralOp>(a, b, n.list({}), n.list({}), n.list({aContract}),
                                     n.list({bContract}), n.typeAttr(n.element(a)));
  if (n.f("alpha") != 1)
    product = n.mul(product, n.f("alpha"));
  if (n.has(2)) {
    // As in BLAS, a factor of 0 leaves the summand out, whatever it holds.
    Value c = n.in(2);
    if (!n.stretchesTo(c, product, "summand"))
      return {};
    if (double beta = n.f("beta"); beta != 0)
      product = n.add(product, beta == 1 ? c : n.mul(c, beta));
  }
  return product;
}

namespace {

/// Which axes a reduction takes, and the operand; `noop`: none, by the
/// attribute that says so.
struct Reduction {
  Value x;
  SmallVector<int64_t> axes;
  bool keep, noop = false;
  Value computed; ///< axes that only the run knows

  /// What `over` makes of them; of none all dimensions, unless the node says otherwise.
  Value choose(NodeImport &n, function_ref<Value(Ints)> over) const {
    SmallVector<int64_t> all =
        n.i("noop_with_empty_axes") ? SmallVector<int64_t>() : axesFrom(0, n.rank(x));
    std::optional<int64_t> left = keep ? std::nullopt : n.declaredRank();
    auto isPossible = [&](Ints axes) {
      int64_t reduced = axes.empty() ? all.size() : axes.size();
      return keep || n.rank(x) - reduced == *left;
    };
    return chooseAxes(
        n, computed, n.rank(x), [&](Ints axes) { return over(axes.empty() ? Ints(all) : axes); },
        keep || left ? function_ref<bool(Ints)>(isPossible) : nullptr);
  }
};

/// `sinceInput`: the version from which axes are an input.
std::optional<Reduction> reduction(NodeImport &n, int64_t sinceInput) {
  Reduction r;
  r.x = n.in(0);
  if (!r.x)
    return std::nullopt;
  r.keep = n.i("keepdims") != 0;
  std::optional<SmallVector<int64_t>> given;
  if (n.version < sinceInput) {
    given = n.is("axes");
  } else {
    // A scalar is a vector of one.
    if (n.has(1) && n.rank(n.in(1)) > 1 && !n.hasRank(n.in(1), 1, "axes"))
      return std::nullopt;
    if (n.has(1) && !(given = n.knownInts(1))) {
      r.computed = n.in(1);
      return r.computed ? std::optional(r) : std::nullopt;
    }
    if (!given || given->empty()) {
      r.noop = n.i("noop_with_empty_axes") != 0;
      given = std::nullopt;
    }
  }
  // The same leniency towards scalars as ArgMax has.
  if (n.rank(r.x) == 0 && given &&
      llvm::all_of(*given, [](int64_t axis) { return axis == 0 || axis == -1; })) {
    r.x = n.reshape(r.x, {1});
    given = {0};
    r.keep = false;
  }
  std::optional<SmallVector<int64_t>> axes = n.axes(given, n.rank(r.x));
  if (!axes)
    return std::nullopt;
  r.axes = *axes;
  return r;
}

/// Reductions that are one of weir's, of an operand that `before` prepares,
/// with a result that `after` finishes; both also where no axis is reduced.
LogicalResult reduce(NodeImport &n, int64_t sinceInput, StringRef kind,
                     function_ref<Value(Value)> before, function_ref<Value(Value)> after) {
  std::optional<Reduction> r = reduction(n, sinceInput);
  if (!r)
    return failure();
  Value x = before(r->x);
  if (r->computed)
    x = r->choose(n, [&](Ints axes) { return n.reduce(x, kind, axes, r->keep); });
  else if (!r->noop)
    x = n.reduce(x, kind, r->axes, r->keep);
  return n.result(x ? after(x) : x);
}

Value same(Value x) { return x; }
Value squared(NodeImport &n, Value x) { return n.mul(x, x); }

LogicalResult reduceSum(NodeImport &n) { return reduce(n, 13, "sum", same, same); }
/// Of integers in doubles, as ONNX Runtime and the reference evaluator have it: their sum may lie
/// beyond their type.
LogicalResult reduceMean(NodeImport &n) {
  Value x = n.in(0);
  if (!x || !isa<IntegerType>(n.element(x)))
    return reduce(n, 18, "mean", same, same);
  return reduce(
      n, 18, "mean", [&](Value v) { return n.cast(v, n.b.getF64Type()); },
      [&](Value v) { return n.cast(v, n.element(x)); });
}
LogicalResult reduceProd(NodeImport &n) { return reduce(n, 18, "prod", same, same); }
LogicalResult reduceMax(NodeImport &n) {
  Value x = n.in(0);
  return reduce(n, 18, x && n.isBool(x) ? "any" : "max", same, same);
}
LogicalResult reduceMin(NodeImport &n) {
  Value x = n.in(0);
  return reduce(n, 18, x && n.isBool(x) ? "all" : "min", same, same);
}
LogicalResult reduceL1(NodeImport &n) {
  return reduce(n, 18, "sum", [&](Value x) { return n.op<AbsOp>(x); }, same);
}
LogicalResult reduceSumSquare(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  return reduce(
      n, 18, "sum", [&](Value v) { return squared(n, n.widen(v)); },
      [&](Value v) { return n.cast(v, n.element(x)); });
}
/// Roots and logarithms of integers are made in floats and truncated, and those of narrow
/// floats in f32, where squares and exponentials do not overflow.
Value inFloat(NodeImport &n, Value x) {
  return x && !n.isFloat(x) ? n.cast(x, n.b.getF64Type()) : n.widen(x);
}
LogicalResult reduceL2(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  return reduce(
      n, 18, "sum", [&](Value v) { return squared(n, inFloat(n, v)); },
      [&](Value v) { return n.cast(n.sqrt(v), n.element(x)); });
}
LogicalResult reduceLogSum(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  return reduce(
      n, 18, "sum", [&](Value v) { return inFloat(n, v); },
      [&](Value v) { return n.cast(n.op<LogOp>(v), n.element(x)); });
}
LogicalResult reduceLogSumExp(NodeImport &n) {
  std::optional<Reduction> r = reduction(n, 18);
  if (!r)
    return failure();
  if (r->noop)
    return n.result(r->x);
  Value x = inFloat(n, r->x);
  auto over = [&](Ints axes) {
    // Shifted by the maximum, or exponentials overflow.
    Value most = n.reduce(x, "max", axes, true);
    most = n.select(n.op<IsFiniteOp>(most), most, n.like(most, 0));
    Value sum = n.reduce(n.exp(n.sub(x, most)), "sum", axes, true);
    Value result = n.add(n.op<LogOp>(sum), most);
    return r->keep ? result : n.squeeze(result, axes);
  };
  Value result = r->computed ? r->choose(n, over) : over(r->axes);
  return n.result(n.cast(result, n.element(r->x)));
}

LogicalResult cumulative(NodeImport &n, StringRef kind) {
  Value x = n.in(0), at = n.in(1);
  if (!x || !at)
    return failure();
  auto along = [&](int64_t axis) {
    return n.op<CumulativeOp>(x, n.text(kind), n.number(axis), n.flag(n.i("exclusive") != 0),
                              n.flag(n.i("reverse") != 0));
  };
  std::optional<SmallVector<int64_t>> given = n.knownInts(1);
  if (!given)
    return n.result(chooseAxes(n, n.reshape(at, {1}), n.rank(x),
                               [&](Ints axes) { return axes.empty() ? Value() : along(axes[0]); }));
  if (given->size() != 1)
    return n.invalid("expected one axis, got " + Twine(given->size()));
  std::optional<int64_t> axis = n.axis((*given)[0], n.rank(x));
  return axis ? n.result(along(*axis)) : failure();
}
LogicalResult cumSum(NodeImport &n) { return cumulative(n, "sum"); }
LogicalResult cumProd(NodeImport &n) { return cumulative(n, "prod"); }

LogicalResult matMul(NodeImport &n) { return n.result(n.matmul(n.in(0), n.in(1))); }

LogicalResult gemm(NodeImport &n) { return n.result(generalProduct(n)); }

constexpr OperatorImport table[] = {
    {"", "CumProd", 26, 0, cumProd},
    {"", "CumSum", 11, 0, cumSum},
    {"", "Gemm", 1, 0, gemm},
    {"", "MatMul", 1, 0, matMul},
    {"", "ReduceL1", 1, 0, reduceL1},
    {"", "ReduceL2", 1, 0, reduceL2},
    {"", "ReduceLogSum", 1, 0, reduceLogSum},
    {"", "ReduceLogSumExp", 1, 0, reduceLogSumExp},
    {"", "ReduceMax", 1, 0, reduceMax},
    {"", "ReduceMean", 1, 0, reduceMean},
    {"", "ReduceMin", 1, 0, reduceMin},
    {"", "ReduceProd", 1, 0, reduceProd},
    {"", "ReduceSum", 1, 0, reduceSum},
    {"", "ReduceSumSquare", 1, 0, reduceSumSquare},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::reductionImports() { return table; }
