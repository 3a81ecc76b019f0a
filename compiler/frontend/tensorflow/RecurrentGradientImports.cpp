//===- RecurrentGradientImports.cpp - gradients of LSTM and GRU -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Columns.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// What a step of an LSTM went through, and the gradients of its results.
struct LstmState {
  Value csPrev, i, cs, f, o, ci, co;
  Value csGrad, hGrad;
};

struct LstmPeepholes {
  Value wci, wcf, wco;
  bool used = false;
  bool forgetFirst = false; ///< gates i, f, ci, o, else i, ci, f, o
};

struct LstmGradients {
  Value csPrev, gates, wci, wcf, wco;
};

} // namespace

static Value rest(TensorBuilder &t, Value v) { return v ? t.sub(t.like(v, 1), v) : v; }

/// Of a logistic function's result y: y (1 - y).
static Value logisticSlope(TensorBuilder &t, Value y) { return t.mul(y, rest(t, y)); }

/// Of tanh's result: 1 - y².
static Value tanhSlope(TensorBuilder &t, Value y) { return rest(t, t.mul(y, y)); }

static LstmGradients lstmGradients(TensorBuilder &t, const LstmPeepholes &peep,
                                   const LstmState &s) {
  Value dOut = t.mul(t.mul(logisticSlope(t, s.o), s.hGrad), s.co);
  Value dCell = t.add(t.mul(t.mul(tanhSlope(t, s.co), s.hGrad), s.o), s.csGrad);
  if (peep.used)
    dCell = t.add(dCell, t.mul(dOut, peep.wco));
  Value dCandidate = t.mul(t.mul(tanhSlope(t, s.ci), dCell), s.i);
  Value dForget = t.mul(t.mul(logisticSlope(t, s.f), dCell), s.csPrev);
  Value dIn = t.mul(t.mul(logisticSlope(t, s.i), dCell), s.ci);
  LstmGradients g;
  g.gates = peep.forgetFirst ? t.concat({dIn, dForget, dCandidate, dOut}, 1)
                             : t.concat({dIn, dCandidate, dForget, dOut}, 1);
  g.csPrev = t.mul(dCell, s.f);
  if (peep.used)
    g.csPrev = t.add(g.csPrev, t.add(t.mul(dIn, peep.wci), t.mul(dForget, peep.wcf)));
  auto sum = [&](Value gate, Value cell) -> Value {
    if (!peep.used)
      return gate ? t.expandTo(t.like(gate, 0), t.sizeOf(gate, 1)) : gate;
    return t.reduce(t.mul(gate, cell), "sum", {0}, false);
  };
  g.wci = sum(dIn, s.csPrev);
  g.wcf = sum(dForget, s.csPrev);
  g.wco = sum(dOut, s.cs);
  return g;
}

static LogicalResult lstmCellGrad(NodeImport &n) {
  SmallVector<Value> v = n.tensors(0, 16);
  if (v.empty())
    return failure();
  LstmPeepholes peep{v[4], v[5], v[6], n.isSet("use_peephole"), false};
  LstmGradients g =
      lstmGradients(n, peep, {v[1], v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]});
  return n.results({g.csPrev, g.gates, g.wci, g.wcf, g.wco});
}

/// From the last step to the first; steps past the length have no gradient.
static LogicalResult lstmBlockGrad(NodeImport &n) {
  SmallVector<Value> v = n.tensors(0, 18);
  if (v.empty())
    return failure();
  Value x = v[1], csPrev = v[2], hPrev = v[3], w = v[4];
  if (n.rank(x) != 3 || n.rank(w) != 2)
    return n.invalid("found an input that is not [time, batch, size]");
  LstmPeepholes peep{v[5], v[6], v[7], n.isSet("use_peephole"), n.node.op == "BlockLSTMGradV2"};
  Value inputs = n.sizeOf(x, 2);
  Value steps = n.toScalar(n.toI64(v[0]));
  auto zeros = [&](Value like) { return n.expandTo(n.like(like, 0), n.shapeOf(like)); };
  Value turned = n.transpose(w, {1, 0});
  std::vector<Imported> inits = {Imported(n.sub(steps, n.intScalar(1))),
                                 Imported(zeros(x)),
                                 Imported(zeros(csPrev)),
                                 Imported(zeros(hPrev)),
                                 Imported(zeros(w)),
                                 Imported(zeros(v[5])),
                                 Imported(zeros(v[6])),
                                 Imported(zeros(v[7])),
                                 Imported(zeros(v[8]))};
  if (!Imported::allGiven(inits))
    return failure();
  if (n.dim(x, 0) == 0) { // no step to read
    n.made.assign(inits.begin() + 1, inits.end());
    return success();
  }
  auto values = n.g.buildWhile(
      inits,
      [&](std::vector<Imported> s, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        return std::vector<Imported>{Imported(t.compare("ge", s[0].value, 0))};
      },
      [&](std::vector<Imported> s, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        Value now = s[0].value;
        Value isFirst = t.compare("eq", now, 0);
        Value before = t.maximum(t.sub(now, 1.0), 0.0);
        auto at = [&](Value all) { return t.gather(all, now, 0); };
        auto previous = [&](Value all, Value initial) {
          return t.select(isFirst, initial, t.gather(all, before, 0));
        };
        LstmState state{previous(v[10], csPrev),
                        at(v[9]),
                        at(v[10]),
                        at(v[11]),
                        at(v[12]),
                        at(v[13]),
                        at(v[14]),
                        t.add(at(v[16]), s[2].value),
                        t.add(at(v[17]), s[3].value)};
        LstmGradients g = lstmGradients(t, peep, state);
        Value both = t.matmul(g.gates, turned);
        if (!both)
          return failure();
        int64_t all = t.dim(both, 1);
        Value dx = columns(t, both, t.ints({0}), inputs);
        Value dh = columns(t, both, inputs,
                           ShapedType::isDynamic(all) ? t.sizeOf(both, 1) : t.ints({all}));
        Value xh = t.concat({at(x), previous(v[15], hPrev)}, 1);
        Value dw = t.matmul(t.transpose(xh, {1, 0}), g.gates);
        Value row = t.op<ScatterNdOp>(s[1].value, t.reshape(now, {1, 1}), t.unsqueeze(dx, {0}),
                                      t.text("none"), t.flag(false), t.flag(false));
        std::vector<Imported> next = {
            Imported(t.sub(now, 1.0)),
            Imported(row),
            Imported(g.csPrev),
            Imported(dh),
            Imported(t.add(s[4].value, dw)),
            Imported(t.add(s[5].value, g.wci)),
            Imported(t.add(s[6].value, g.wcf)),
            Imported(t.add(s[7].value, g.wco)),
            Imported(t.add(s[8].value, t.reduce(g.gates, "sum", {0}, false)))};
        if (!Imported::allGiven(next))
          return failure();
        return next;
      },
      n.node, n.b, n.loc);
  if (failed(values))
    return failure();
  n.made.assign(values->begin() + 1, values->end());
  return success();
}

static LogicalResult gruCellGrad(NodeImport &n) {
  SmallVector<Value> v = n.tensors(0, 10);
  if (v.empty())
    return failure();
  Value x = v[0], h = v[1], r = v[6], u = v[7], c = v[8], dh = v[9];
  if (!n.hasRank(x, 2) || !n.hasRank(h, 2))
    return failure();
  int64_t inputCount = n.dim(x, 1), cellCount = n.dim(h, 1);
  bool isOpen = ShapedType::isDynamic(inputCount) || ShapedType::isDynamic(cellCount);
  Value none = n.ints({0}), inputs = n.sizeOf(x, 1);
  Value all = isOpen ? n.add(inputs, n.sizeOf(h, 1)) : n.ints({inputCount + cellCount});
  Value dCandidate = n.mul(n.mul(dh, rest(n, u)), tanhSlope(n, c));
  Value dUpdate = n.mul(n.mul(dh, n.sub(h, c)), logisticSlope(n, u));
  Value second = n.matmul(dCandidate, n.transpose(v[3], {1, 0}));
  Value dMixed = columns(n, second, inputs, all);
  Value dReset = n.mul(n.mul(dMixed, h), logisticSlope(n, r));
  Value gates = n.concat({dReset, dUpdate}, 1);
  Value first = n.matmul(gates, n.transpose(v[2], {1, 0}));
  Value dx = n.add(columns(n, first, none, inputs), columns(n, second, none, inputs));
  Value dPrevious = n.add(n.add(columns(n, first, inputs, all), n.mul(dMixed, r)), n.mul(dh, u));
  return n.results({dx, dPrevious, dCandidate, gates});
}

ArrayRef<OpImport> weir::tf::recurrentGradientImports() {
  static const OpImport rows[] = {
      {"LSTMBlockCellGrad", lstmCellGrad},
      {"BlockLSTMGrad", lstmBlockGrad},
      {"BlockLSTMGradV2", lstmBlockGrad},
      {"GRUBlockCellGrad", gruCellGrad},
  };
  return rows;
}
