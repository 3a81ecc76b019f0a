//===- GradientImports.cpp - ai.onnx.preview.training.Gradient ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operator differentiates what the graph around it computes: its attributes
// name a tensor and those that it is differentiated by.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "passes/gradient/Gradient.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Outputs: the gradient of the sum of y by each of xs. The operator's inputs
/// are the values of xs and zs at which it is taken; here those that the graph
/// has under these names.
LogicalResult gradient(NodeImport &n) {
  std::vector<std::string_view> names = n.ss("xs");
  size_t count = names.size();
  for (std::string_view other : n.ss("zs"))
    names.push_back(other);
  if (count == 0 || names.size() != n.inputCount())
    return n.invalid("found " + Twine(n.inputCount()) + " inputs for " + Twine(names.size()) +
                     " names in xs and zs");
  SmallVector<Value> xs;
  for (size_t i = 0; i < count; ++i) {
    Value x = n.in(i);
    if (!x)
      return failure();
    xs.push_back(x);
  }
  for (auto [given, name] : llvm::zip(n.node.inputs, names))
    if (given != name)
      return n.unsupported("expected a tensor that xs or zs names, got input \"" + Twine(given) +
                           "\" for \"" + Twine(name) + "\"");
  Value y = n.graph.visible(n.s("y")).tensor;
  if (!y || !n.isFloat(y))
    return n.invalid("found no tensor of floats \"" + Twine(n.s("y")) + "\"");
  Value seed = n.expandTo(n.like(y, 1), n.shapeOf(y));
  if (!seed)
    return failure();
  FailureOr<SmallVector<Value>> made = differentiate({y}, {seed}, xs, n.b);
  if (failed(made))
    return n.unsupported("found no gradient of an operation between \"" + Twine(n.s("y")) +
                         "\" and xs");
  for (auto [x, value] : llvm::zip(xs, *made))
    if (!value)
      value = n.expandTo(n.like(x, 0), n.shapeOf(x));
  return n.results(*made);
}

constexpr OperatorImport table[] = {
    {"ai.onnx.preview.training", "Gradient", 1, 0, gradient},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::gradientImports() { return table; }
