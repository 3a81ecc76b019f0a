//===- IfImports.cpp - If --------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Sequences.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Whether a branch only drops dimensions of size 1.
bool isSqueeze(const Graph &graph) {
  return llvm::all_of(
      graph.nodes, [](const Node &node) { return node.op == "Squeeze" || node.op == "Constant"; });
}

/// Whether a branch only gives constants, or what it was given.
bool isTrivial(const Graph &graph) {
  return llvm::all_of(
      graph.nodes, [](const Node &node) { return node.op == "Identity" || node.op == "Constant"; });
}

/// No value has two ranks. Where branches differ in it, one is taken, and a run
/// in which the other would be ends with a status: exporters write "squeeze if
/// the size is 1", of which the squeeze is meant, and functions "a constant if
/// the size is 1", of which the computation is.
LogicalResult takeOneRank(NodeImport &n, Value condition, bool ranksDiffer) {
  if (!ranksDiffer)
    return failure();
  const Graph &onTrue = n.graphAttr("then_branch"), &onFalse = n.graphAttr("else_branch");
  bool first;
  if (isSqueeze(onTrue) || isSqueeze(onFalse))
    first = isSqueeze(onTrue);
  else if (isTrivial(onTrue) != isTrivial(onFalse))
    first = isTrivial(onFalse);
  else
    return n.unsupported("expected branches that give equal ranks, or a condition that --shape "
                         "decides, got different ranks");
  FailureOr<std::vector<Imported>> taken = n.graph.subgraph(first ? onTrue : onFalse, {}, n.b);
  if (failed(taken))
    return failure();
  n.require(first ? condition : n.logicalNot(condition),
            std::string("the program was compiled for the ") + (first ? "then" : "else") +
                " branch, whose rank is another; give the sizes that decide "
                "with --shape",
            unimplemented);
  n.set(0, (*taken)[0]);
  return success();
}

/// The ranks for values of one element that branches give with different ranks, where both declare
/// one. Other values stay as they are, which is -1.
SmallVector<int64_t> ranksOfOnes(NodeImport &n, ArrayRef<RankedTensorType> onTrue,
                                 ArrayRef<RankedTensorType> onFalse) {
  SmallVector<int64_t> ranks;
  if (onTrue.size() != onFalse.size())
    return ranks;
  const Graph &first = n.graphAttr("then_branch"), &second = n.graphAttr("else_branch");
  for (auto [i, x, y] : llvm::enumerate(onTrue, onFalse)) {
    if (!x || !y || x.getRank() == y.getRank() || !frontend::haveOneElement(x, y)) {
      ranks.push_back(-1);
      continue;
    }
    const TypeInfo &a = first.outputs[i].type, &b = second.outputs[i].type;
    bool declared = a.hasShape && b.hasShape && a.shape.size() == b.shape.size();
    ranks.push_back(declared ? a.shape.size() : -1);
  }
  return ranks;
}

LogicalResult ifNode(NodeImport &n) {
  Value condition = n.toScalar(n.in(0));
  if (!condition)
    return failure();
  std::optional<SmallVector<int64_t>> known = constantIntegers(condition);
  if (known) {
    FailureOr<std::vector<Imported>> taken =
        n.graph.subgraph(n.graphAttr((*known)[0] ? "then_branch" : "else_branch"), {}, n.b);
    if (failed(taken))
      return failure();
    for (auto [i, value] : llvm::enumerate(*taken))
      n.set(i, std::move(value));
    return success();
  }
  std::vector<Imported> shapes[2];
  SmallVector<RankedTensorType> types[2]; ///< of the tensors among them, else null
  SmallVector<int64_t> alike;             ///< ranks that both shall give, -1: as they are
  // Sequences and optionals that differ in the two branches become values of
  // the program; where they are alike, their parts do.
  bool boxes = false, differ = false;
  auto branch = [&](int which) -> FailureOr<Values> {
    FailureOr<std::vector<Imported>> made =
        n.graph.subgraph(n.graphAttr(which ? "else_branch" : "then_branch"), {}, n.b);
    if (failed(made))
      return failure();
    if (boxes)
      for (Imported &value : *made)
        value = boxed(n, value);
    for (auto [value, rank] : llvm::zip(*made, alike))
      if (rank >= 0)
        value.tensor = n.reshape(value.tensor, SmallVector<int64_t>(rank, 1));
    shapes[which] = *made;
    types[which].clear();
    for (const Imported &value : *made)
      types[which].push_back(value.kind == Imported::Kind::Tensor ? n.type(value.tensor)
                                                                  : RankedTensorType());
    Values tensors;
    for (const Imported &value : *made)
      flatten(value, tensors);
    if (which)
      for (auto [x, y] : llvm::zip(shapes[0], shapes[1]))
        differ |= !sameStructure(x, y);
    return differ ? FailureOr<Values>(failure()) : tensors;
  };
  auto build = [&] {
    return buildIf(n, condition, [&] { return branch(0); }, [&] { return branch(1); });
  };
  FailureOr<Values> made = build();
  if (failed(made) && differ) {
    boxes = true;
    differ = false;
    made = build();
    if (failed(made) && differ)
      return n.invalid("found branches that give values of different kinds: "
                       "tensors, sequences or optionals");
  }
  if (failed(made) && !differ) {
    alike = ranksOfOnes(n, types[0], types[1]);
    if (llvm::any_of(alike, [](int64_t rank) { return rank >= 0; }))
      made = build();
  }
  if (failed(made))
    return takeOneRank(n, condition,
                       types[0].size() == 1 && types[1].size() == 1 && types[0][0] && types[1][0] &&
                           types[0][0].getRank() != types[1][0].getRank());
  ArrayRef<Value> tensors = *made;
  for (auto [i, shape] : llvm::enumerate(shapes[0])) {
    (void)widenTo(shape, shapes[1][i]);
    n.set(i, rebuild(shape, tensors));
  }
  return success();
}

constexpr OperatorImport table[] = {
    {"", "If", 1, 0, ifNode},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::ifImports() { return table; }
