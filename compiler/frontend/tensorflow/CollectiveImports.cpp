//===- CollectiveImports.cpp - what the devices of a graph compute together -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In one graph a collective is a value like others: all of its nodes compute the same
// from all of their inputs (joinCollectives), weir.all_reduce. Value numbering leaves
// one of them; where placement has put inputs and uses on as many accelerators, these
// reduce together. Elsewhere the order of sums is that of the graph.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// All inputs, combined by `reduction`, which TensorFlow spells in two ways.
static Value combine(NodeImport &n, std::string_view reduction) {
  SmallVector<Value> values = n.tensors(0, n.inputCount());
  if (values.empty())
    return {};
  StringRef kind = llvm::StringSwitch<StringRef>(reduction)
                       .Cases({"sum", "Add"}, "sum")
                       .Cases({"prod", "Mul"}, "prod")
                       .Cases({"min", "Min"}, "min")
                       .Cases({"max", "Max"}, "max")
                       .Default("");
  if (kind.empty()) {
    (void)n.invalid("found reduction \"" + Twine(StringRef(reduction)) +
                    "\"; possible: sum, prod, min, max");
    return {};
  }
  for (Value value : values)
    if (n.element(value) != n.element(values[0])) {
      (void)n.invalid("found inputs of several types among its group; possible: one");
      return {};
    }
  return values.size() == 1 ? values[0] : n.op<AllReduceOp>(values, n.text(kind));
}

/// Whether the graph has all nodes of the group; reports where it has not.
static bool isWhole(NodeImport &n, std::string_view size) {
  if (int64_t(n.inputCount()) == n.i(size))
    return true;
  (void)n.invalid("found " + Twine(n.inputCount()) + " of " + Twine(n.i(size)) +
                  " nodes of its group; possible: all of them, in one graph");
  return false;
}

static LogicalResult allReduce(NodeImport &n) {
  if (!isWhole(n, "num_devices"))
    return failure();
  return n.result(combine(n, n.s("reduction")));
}

static LogicalResult reduceTo(NodeImport &n) { return n.result(combine(n, n.s("reduction"))); }

static LogicalResult broadcast(NodeImport &n) { return n.result(n.in(0)); }

static LogicalResult collectiveReduce(NodeImport &n) {
  if (!isWhole(n, "group_size"))
    return failure();
  Value all = combine(n, n.s("merge_op"));
  std::string_view last = n.s("final_op");
  if (all && last == "Div")
    all = n.op<DivOp>(all, n.like(all, double(n.i("group_size"))));
  else if (last != "Id")
    return n.invalid("found final_op \"" + Twine(StringRef(last)) + "\"; possible: Id, Div");
  return n.result(all);
}

ArrayRef<OpImport> weir::tf::collectiveImports() {
  static const OpImport table[] = {
      {"NcclAllReduce", allReduce},
      {"NcclReduce", reduceTo},
      {"NcclBroadcast", broadcast},
      {"CollectiveReduce", collectiveReduce},
  };
  return table;
}
