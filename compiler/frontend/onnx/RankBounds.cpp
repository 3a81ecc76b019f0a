//===- RankBounds.cpp - ranks that a graph's declarations allow -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/RankBounds.h"

#include <algorithm>
#include <unordered_set>

using namespace weir::onnx;

/// Operators whose result has as many dimensions as their first operand.
static bool keepsRank(std::string_view op) {
  static const std::unordered_set<std::string_view> ops = {
      "Abs",       "Acos",        "Acosh",
      "Asin",      "Asinh",       "Atan",
      "Atanh",     "Cast",        "CastLike",
      "Ceil",      "Celu",        "Clip",
      "Cos",       "Cosh",        "CumSum",
      "Dropout",   "Elu",         "Erf",
      "Exp",       "Floor",       "Gelu",
      "Hardmax",   "HardSigmoid", "HardSwish",
      "Identity",  "IsInf",       "IsNaN",
      "LeakyRelu", "Log",         "LogSoftmax",
      "Mish",      "Neg",         "Not",
      "Pad",       "Reciprocal",  "Relu",
      "Round",     "Selu",        "Sigmoid",
      "Sign",      "Sin",         "Sinh",
      "Slice",     "Softmax",     "Softplus",
      "Softsign",  "Sqrt",        "Swish",
      "Tan",       "Tanh",        "ThresholdedRelu",
      "Tile",      "Transpose",   "Trilu"};
  return ops.count(op) > 0;
}

/// Operators whose result has at least as many dimensions as any operand.
static bool widens(std::string_view op) {
  static const std::unordered_set<std::string_view> ops = {
      "Add",    "And",         "BitwiseAnd", "BitwiseOr", "BitwiseXor",
      "Concat", "Div",         "Equal",      "Greater",   "GreaterOrEqual",
      "Less",   "LessOrEqual", "Max",        "Mean",      "Min",
      "Mod",    "Mul",         "Or",         "Pow",       "PRelu",
      "Sub",    "Sum",         "Where",      "Xor"};
  return ops.count(op) > 0;
}

std::unordered_map<std::string_view, int64_t> weir::onnx::rankBounds(const Graph &graph) {
  std::unordered_map<std::string_view, int64_t> bounds;
  auto bound = [&](std::string_view name, int64_t rank) {
    if (name.empty())
      return;
    auto [it, isNew] = bounds.emplace(name, rank);
    if (!isNew)
      it->second = std::min(it->second, rank);
  };
  for (const auto *list : {&graph.values, &graph.outputs})
    for (const ValueInfo &value : *list)
      if (value.type.kind == TypeInfo::Kind::Tensor && value.type.hasShape)
        bound(value.name, static_cast<int64_t>(value.type.shape.size()));
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (node->outputs.empty() || !node->domain.empty())
      continue;
    auto result = bounds.find(node->outputs[0]);
    if (result == bounds.end())
      continue;
    int64_t rank = result->second;
    if (keepsRank(node->op) && !node->inputs.empty())
      bound(node->inputs[0], rank);
    else if (widens(node->op))
      for (std::string_view input : node->inputs)
        bound(input, rank);
  }
  return bounds;
}
