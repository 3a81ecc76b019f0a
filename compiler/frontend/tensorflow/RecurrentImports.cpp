//===- RecurrentImports.cpp - cells and whole layers of LSTM and GRU ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Columns.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// What a step of an LSTM makes.
struct LstmStep {
  Value i, cs, f, o, ci, co, h;
};

/// What stays the same over all steps.
struct LstmWeights {
  Value w, wci, wcf, wco, b;
  double forgetBias = 0;
  std::optional<double> clip;
  bool peephole = false;
  bool inputForgetOrder = false; ///< i, ci, f, o in the product, else i, f, ci
  Value cells;                   ///< how many, tensor<1xi64>
};

/// How many cells a state [batch, cells] has, tensor<1xi64>: a bias of `gates` for each may say
/// it where the state's size is open.
static FailureOr<Value> cellsOf(NodeImport &n, Value state, Value bias, int64_t gates) {
  if (n.rank(state) != 2 || n.rank(bias) != 1)
    return n.invalid("expected a state of rank 2 and a bias of rank 1, got " +
                     Twine(n.rank(state)) + " and " + Twine(n.rank(bias)));
  int64_t cells = n.dim(state, 1), width = n.dim(bias, 0);
  if (ShapedType::isDynamic(cells) && !ShapedType::isDynamic(width))
    return n.ints({width / gates});
  return n.sizeOf(state, 1);
}

} // namespace

/// Gates from [x, h] w + b; with peepholes they look at the cell, too.
static LstmStep lstmStep(TensorBuilder &t, const LstmWeights &weights, Value x, Value cs, Value h) {
  Value gates = t.add(t.matmul(t.concat({x, h}, 1), weights.w), weights.b);
  LstmStep step;
  if (!gates || !cs)
    return step;
  auto part = [&](int64_t index) {
    return columns(t, gates, sizeTimes(t, weights.cells, index),
                   sizeTimes(t, weights.cells, index + 1));
  };
  Value in = part(0), candidate = part(weights.inputForgetOrder ? 1 : 2),
        forget = part(weights.inputForgetOrder ? 2 : 1), out = part(3);
  if (weights.peephole) {
    in = t.add(in, t.mul(cs, weights.wci));
    forget = t.add(forget, t.mul(cs, weights.wcf));
  }
  step.i = t.op<LogisticOp>(in);
  step.f = t.op<LogisticOp>(t.add(forget, weights.forgetBias));
  step.ci = t.op<TanhOp>(candidate);
  step.cs = t.add(t.mul(step.ci, step.i), t.mul(step.f, cs));
  if (weights.clip)
    step.cs = t.maximum(t.minimum(step.cs, *weights.clip), -*weights.clip);
  if (weights.peephole)
    out = t.add(out, t.mul(step.cs, weights.wco));
  step.o = t.op<LogisticOp>(out);
  step.co = t.op<TanhOp>(step.cs);
  step.h = t.mul(step.co, step.o);
  return step;
}

/// Weights from the state to each gate: one a cell, where the node reads them, and in a whole
/// sequence in any case.
static LogicalResult checkPeepholes(NodeImport &n, ArrayRef<Value> weights, Value cells,
                                    bool areRead) {
  for (Value v : weights) {
    if (n.rank(v) != 1)
      return n.invalid("expected peephole weights of rank 1, got " + Twine(n.rank(v)));
    if (areRead && failed(requireShape(n, v, cells, "peephole weights")))
      return failure();
  }
  return success();
}

/// States of as many cells for each row of x.
static LogicalResult checkStates(NodeImport &n, Value batch, ArrayRef<Value> states, Value cells) {
  for (Value v : states)
    if (!n.hasRank(v, 2) || failed(requireShape(n, v, n.concat({batch, cells}, 0), "states")))
      return failure();
  return success();
}

/// Weights of `inputs` numbers and a state's, and biases, for so many columns.
static LogicalResult checkWeights(NodeImport &n, Value inputs, Value h, Value weights, Value biases,
                                  Value columns) {
  if (!n.hasRank(h, 2) || !n.hasRank(weights, 2))
    return failure();
  Value rows = n.add(inputs, n.sizeOf(h, 1));
  return success(succeeded(requireShape(n, weights, n.concat({rows, columns}, 0), "weights")) &&
                 succeeded(requireShape(n, biases, columns, "biases")));
}

/// Operands of a cell: x and h [batch, …], weights of all inputs, biases; what would be broadcast
/// is none of it.
static LogicalResult checkCell(NodeImport &n, Value x, Value h, Value weights, Value biases,
                               Value columns) {
  if (!n.hasRank(x, 2) || !n.hasRank(h, 2) || failed(requireSame(n, x, h, "batches", 0, 1)))
    return failure();
  return checkWeights(n, n.sizeOf(x, 1), h, weights, biases, columns);
}

static LogicalResult lstmCell(NodeImport &n) {
  SmallVector<Value> v = n.tensors(0, 8);
  if (v.empty())
    return failure();
  auto cells = cellsOf(n, v[1], v[7], 4);
  if (failed(cells) || failed(requireElements(n, v[1], "states")) ||
      failed(checkCell(n, v[0], v[2], v[3], v[7], sizeTimes(n, *cells, 4))) ||
      failed(checkStates(n, n.sizeOf(v[0], 0), {v[1], v[2]}, *cells)) ||
      failed(checkPeepholes(n, ArrayRef(v).slice(4, 3), *cells, n.isSet("use_peephole"))))
    return failure();
  LstmWeights weights{
      v[3], v[4], v[5], v[6], v[7], n.f("forget_bias"), {}, n.isSet("use_peephole"), true, *cells};
  if (n.f("cell_clip") > 0)
    weights.clip = n.f("cell_clip");
  LstmStep s = lstmStep(n, weights, v[0], v[1], v[2]);
  return n.results({s.i, s.cs, s.f, s.o, s.ci, s.co, s.h});
}

/// A whole sequence [time, batch, inputs]; steps past the length give zeros.
static LogicalResult lstmBlock(NodeImport &n) {
  SmallVector<Value> v = n.tensors(0, 9);
  if (v.empty())
    return failure();
  auto cells = cellsOf(n, v[2], v[8], 4);
  if (failed(cells) || !n.hasRank(v[1], 3) ||
      failed(checkStates(n, n.sizeOf(v[1], 1), {v[2], v[3]}, *cells)) ||
      failed(checkWeights(n, n.sizeOf(v[1], 2), v[3], v[4], v[8], sizeTimes(n, *cells, 4))) ||
      failed(checkPeepholes(n, ArrayRef(v).slice(5, 3), *cells, /*areRead=*/true)))
    return failure();
  bool isV2 = n.node.op == "BlockLSTMV2";
  LstmWeights weights{
      v[4],  v[5],  v[6], v[7], v[8], isV2 ? 0.0 : n.f("forget_bias"), {}, n.isSet("use_peephole"),
      !isV2, *cells};
  double clip = n.f("cell_clip");
  if (clip > 0)
    weights.clip = clip;
  Value x = v[1], cs = v[2], h = v[3];
  Value steps = n.toScalar(n.toI64(v[0]));
  Value shape = n.concat({n.sizeOf(x, 0), n.shapeOf(cs)}, 0);
  std::vector<Imported> inits = {Imported(n.intScalar(0)), Imported(cs), Imported(h)};
  for (int i = 0; i < 7; ++i)
    inits.emplace_back(n.expandTo(n.like(x, 0), shape));
  if (n.dim(x, 0) == 0) { // no step to read
    n.made.assign(inits.begin() + 3, inits.end());
    return success();
  }
  auto values = n.g.buildWhile(
      inits,
      [&](std::vector<Imported> s, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        return std::vector<Imported>{Imported(t.compare("lt", s[0].value, steps))};
      },
      [&](std::vector<Imported> s, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        Value now = s[0].value;
        Value in = t.gather(x, now, 0);
        LstmStep step = lstmStep(t, weights, in, s[1].value, s[2].value);
        std::vector<Imported> next = {Imported(t.add(now, 1.0)), Imported(step.cs),
                                      Imported(step.h)};
        Value parts[] = {step.i, step.cs, step.f, step.o, step.ci, step.co, step.h};
        for (int i = 0; i < 7; ++i) {
          Value row = t.unsqueeze(parts[i], {0});
          next.emplace_back(t.op<ScatterNdOp>(s[3 + i].value, t.reshape(now, {1, 1}), row,
                                              t.text("none"), t.flag(false), t.flag(false)));
        }
        if (!Imported::allGiven(next))
          return failure();
        return next;
      },
      n.node, n.b, n.loc);
  if (failed(values))
    return failure();
  n.made.assign(values->begin() + 3, values->end());
  return success();
}

/// Cho et al., gates r and u from [x, h], the candidate from [x, r·h].
static LogicalResult gruCell(NodeImport &n) {
  SmallVector<Value> v = n.tensors(0, 6);
  if (v.empty())
    return failure();
  Value x = v[0], h = v[1];
  auto known = cellsOf(n, h, v[5], 1);
  if (failed(known))
    return failure();
  Value cells = *known, none = n.ints({0}), both = sizeTimes(n, cells, 2);
  if (failed(checkCell(n, x, h, v[2], v[4], both)) || failed(checkCell(n, x, h, v[3], v[5], cells)))
    return failure();
  Value gates = n.op<LogisticOp>(n.add(n.matmul(n.concat({x, h}, 1), v[2]), v[4]));
  Value r = columns(n, gates, none, cells), u = columns(n, gates, cells, both);
  Value mixed = n.mul(r, h);
  if (!mixed)
    return failure();
  Value c = n.op<TanhOp>(n.add(n.matmul(n.concat({x, mixed}, 1), v[3]), v[5]));
  Value next = n.add(n.mul(u, h), n.mul(n.sub(n.like(u, 1), u), c));
  return n.results({r, u, c, next});
}

ArrayRef<OpImport> weir::tf::recurrentImports() {
  static const OpImport rows[] = {
      {"LSTMBlockCell", lstmCell},
      {"BlockLSTM", lstmBlock},
      {"BlockLSTMV2", lstmBlock},
      {"GRUBlockCell", gruCell},
  };
  return rows;
}
