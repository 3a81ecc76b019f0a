//===- Gradients.cpp - gradients that a file or an entry asks for ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "dialects/weir/NodeName.h"
#include "passes/gradient/Gradient.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// What holds the value of an x where results were made: a tensor, or each read
/// of a variable.
static SmallVector<Value> valuesOf(const Imported &x, Block *block) {
  SmallVector<Value> values;
  if (x.kind == Imported::Kind::Tensor)
    values.push_back(x.value);
  auto variable = x.kind == Imported::Kind::Resource && x.value
                      ? x.value.getDefiningOp<VariableOp>()
                      : VariableOp();
  if (!variable)
    return values;
  for (VariableReadOp read : block->getOps<VariableReadOp>()) {
    auto other = read.getResource().getDefiningOp<VariableOp>();
    if (other && other.getName() == variable.getName() &&
        other.getContainer() == variable.getContainer())
      values.push_back(read.getResult());
  }
  return values;
}

FailureOr<SmallVector<Value>> weir::tf::buildGradients(ArrayRef<Value> ys, ArrayRef<Value> seeds,
                                                       ArrayRef<Imported> xs, NodeImport &n) {
  SmallVector<Value> from, weights, by;
  for (auto [y, seed] : llvm::zip(ys, seeds)) {
    if (!n.isFloat(y) && !isa<ComplexType>(n.element(y)))
      continue;
    from.push_back(y);
    weights.push_back(seed ? seed : n.expandTo(n.like(y, 1), n.shapeOf(y)));
  }
  SmallVector<size_t> counts;
  for (const Imported &x : xs) {
    SmallVector<Value> values = valuesOf(x, n.b.getInsertionBlock());
    if (values.empty() && x.kind != Imported::Kind::Resource) {
      (void)n.unsupported("found a gradient by something that is no tensor and "
                          "no variable");
      return failure();
    }
    counts.push_back(values.size());
    by.append(values);
  }
  std::string why;
  FailureOr<SmallVector<Value>> gradients = failure();
  {
    ScopedDiagnosticHandler handler(n.b.getContext(), [&](mlir::Diagnostic &diagnostic) {
      why = "node \"" + nodeName(diagnostic.getLocation()).str() + "\" " + diagnostic.str();
      return success();
    });
    gradients = differentiate(from, weights, by, n.b);
  }
  if (failed(gradients)) {
    (void)n.unsupported("found what is not differentiated: " + Twine(why));
    return failure();
  }
  SmallVector<Value> sums;
  size_t next = 0;
  for (auto [x, count] : llvm::zip(xs, counts)) {
    Value sum;
    for (size_t i = 0; i < count; ++i)
      if (Value one = (*gradients)[next + i])
        sum = sum ? n.add(sum, one) : one;
    if (!sum) {
      NodeImport reader(n.g, n.node, {x}, n.b, n.loc);
      Value like =
          count ? by[next]
          : x.kind == Imported::Kind::Resource && x.type
              ? VariableReadOp::create(n.b, n.loc, x.type, x.value, ValueRange()).getResult()
              : reader.in(0);
      sum = n.expandTo(n.like(like, 0), n.shapeOf(like));
    }
    if (!sum)
      return failure();
    sums.push_back(sum);
    next += count;
  }
  return sums;
}
