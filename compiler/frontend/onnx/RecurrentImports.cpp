//===- RecurrentImports.cpp - RNN, GRU, LSTM ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop over time a direction. What the input gives to the gates is one
// product for all steps, before the loop; the loop holds the product with the
// state.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/Activations.h"
#include "compiler/frontend/onnx/NodeImport.h"
#include "compiler/frontend/onnx/Quantization.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;
using frontend::Values;
using frontend::writeEntry;

namespace {

/// Number of parameters that an activation takes from activation_alpha.
bool takesAlpha(StringRef name) {
  return llvm::is_contained(ArrayRef<StringRef>{"affine", "leakyrelu", "thresholdedrelu",
                                                "scaledtanh", "hardsigmoid", "elu"},
                            name);
}
bool takesBeta(StringRef name) {
  return llvm::is_contained(ArrayRef<StringRef>{"affine", "scaledtanh", "hardsigmoid"}, name);
}

/// One direction's weights: `gates` times the hidden size in rows.
struct Cell {
  int64_t direction;
  Value w, r;             ///< [gates·hidden, input], [gates·hidden, hidden]
  Value wb, rb;           ///< [gates·hidden], or null
  Value peepholes;        ///< [3·hidden], or null
  ArrayRef<Activation> f; ///< of this direction
};

class Recurrent {
public:
  Recurrent(NodeImport &n, int64_t gates, ArrayRef<const char *> defaults)
      : n(n), gates(gates), defaults(defaults) {}
  virtual ~Recurrent() = default;

  LogicalResult run();

protected:
  /// A step: `x` [batch, gates·hidden] is the input's share with its bias;
  /// states are [batch, hidden]. Returns the next states, the output first.
  virtual Values step(const Cell &cell, Value x, Values states) = 0;
  /// Whether what a sequence has computed past its end, or before its beginning, is
  /// seen by the others: where ranges are taken over the batch.
  virtual bool seesNeighbours() const { return false; }
  /// Rows [i·hidden, …) of a tensor's dimension.
  Value gate(Value v, int64_t axis, int64_t i) {
    return n.slice(v, axis, i * hidden, (i + 1) * hidden);
  }
  Value activate(const Activation &f, Value x) {
    double clip = n.f("clip");
    if (n.hasAttr("clip") && clip > 0)
      x = n.minimum(n.maximum(x, -clip), clip);
    return applyActivation(n, f, x);
  }
  /// state · rᵀ
  Value product(Value state, Value r) {
    return n.op<DotGeneralOp>(state, r, n.list({}), n.list({}), n.list({1}), n.list({1}),
                              n.typeAttr(n.element(state)));
  }
  /// What the input of all steps [time, batch, input] says to the gates.
  virtual Value shares(const Cell &cell, Value x) {
    return n.op<DotGeneralOp>(x, cell.w, n.list({}), n.list({}), n.list({2}), n.list({1}),
                              n.typeAttr(n.element(x)));
  }
  /// States that are carried, [batch, …], and are no results.
  virtual Values furtherStates(const Cell &cell, Value x) { return {}; }
  /// Whether the input's weights go with the input [time, batch, input]; reports.
  virtual bool fitsInput(Value w, Value x) {
    return n.isAsLarge(w, hiddenAxis(), x, 2, "input and its weights");
  }
  /// Which dimension of the recurrence weights is the hidden size.
  virtual int64_t hiddenAxis() const { return 2; }
  virtual bool hasLayout() const { return n.version >= 14; }
  Value wide(size_t input) { return n.widen(n.in(input)); }

  NodeImport &n;
  int64_t gates, hidden = 0;
  size_t stateCount = 1;

private:
  LogicalResult activations(int64_t directions);
  FailureOr<Values> direction(const Cell &cell, Value x, Value lengths, Values states,
                              bool reverse);

  ArrayRef<const char *> defaults;
  SmallVector<Activation> functions;
};

LogicalResult Recurrent::activations(int64_t directions) {
  std::vector<std::string_view> names = n.ss("activations");
  SmallVector<double> alphas = n.fs("activation_alpha").value_or(SmallVector<double>());
  SmallVector<double> betas = n.fs("activation_beta").value_or(SmallVector<double>());
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < defaults.size() * directions; ++i) {
    StringRef given = i < names.size() ? StringRef(names[i].data(), names[i].size())
                                       : StringRef(defaults[i % defaults.size()]);
    std::string name = given.lower();
    if (!isActivation(name))
      return n.unsupported("found activation \"" + given + "\"");
    Activation f = activationOf(name);
    if (takesAlpha(name) && alpha < alphas.size())
      f.alpha = alphas[alpha++];
    if (takesBeta(name) && beta < betas.size())
      f.beta = betas[beta++];
    functions.push_back(f);
  }
  return success();
}

/// Runs one direction; the outputs of all steps and the last states.
FailureOr<Values> Recurrent::direction(const Cell &cell, Value x, Value lengths, Values states,
                                       bool reverse) {
  if (n.dim(x, 0) == 0) { // no steps, no outputs, and states of zeros, as below
    for (Value &state : states)
      state = state ? n.expandTo(n.like(x, 0), n.shapeOf(state)) : Value();
    states.push_back(
        n.expandTo(n.like(x, 0), n.concat({n.shapeSlice(x, 0, 2), n.ints({hidden})}, 0)));
    return states;
  }
  // Sequences that are read backwards begin at their own ends.
  bool turned = reverse && lengths && seesNeighbours();
  if (turned) {
    x = reversedSequences(n, x, lengths);
    reverse = false;
  }
  if (lengths && seesNeighbours()) {
    Value time = n.op<IotaOp>(n.shapeOf(x), n.number(0), n.typeAttr(n.b.getI64Type()));
    x = n.select(n.compare("lt", time, n.reduce(lengths, "max", {0}, false)), x, n.like(x, 0));
  }
  // All steps at once: [time, batch, input] · wᵀ.
  Value shares = this->shares(cell, x);
  if (cell.wb)
    shares = n.add(shares, cell.wb);
  Value count1 = n.sizeOf(x, 0), count = n.toScalar(count1);
  if (!shares || !count || llvm::any_of(states, [](Value v) { return !v; }))
    return failure();
  Value outputs = n.expandTo(n.like(x, 0), n.concat({count1, n.sizeOf(x, 1), n.ints({hidden})}, 0));
  Values inits = states;
  inits.push_back(outputs);
  auto body = [&](Value index, Values args) -> FailureOr<Values> {
    Value at = reverse ? n.sub(n.sub(count, 1.0), index) : index;
    Value collected = args.pop_back_val();
    Values before = args;
    if (lengths && seesNeighbours()) // a sequence that has ended says nothing more
      before[0] =
          n.select(n.unsqueeze(n.compare("le", at, lengths), {1}), before[0], n.like(before[0], 0));
    Values next = step(cell, n.gather(shares, at, 0), before);
    Value output = next[0];
    if (lengths) {
      // Past a sequence's end its state stays, and its output is zero.
      Value inside = n.unsqueeze(n.compare("lt", at, lengths), {1});
      for (auto [state, old] : llvm::zip(next, args))
        state = n.select(inside, state, old);
      output = n.select(inside, output, n.like(output, 0));
    }
    next.push_back(writeEntry(n, collected, at, output));
    return next;
  };
  FailureOr<Values> made = buildLoop(n, count, {}, inits, body);
  if (failed(made) || !lengths)
    return made;
  // Sequences of no steps end in zeros, as ONNX Runtime has it.
  Value any = n.unsqueeze(n.compare("gt", lengths, 0.0), {1});
  for (Value &state : MutableArrayRef(*made).drop_back())
    state = n.select(any, state, n.like(state, 0));
  if (turned)
    made->back() = reversedSequences(n, made->back(), lengths);
  return made;
}

LogicalResult Recurrent::run() {
  // Narrow floats are computed with as f32: what is rounded in each step adds up.
  Value x = wide(0), w = wide(1), r = wide(2);
  if (!x || !w || !r)
    return failure();
  Type type = n.element(n.in(0));
  if (n.rank(x) != 3 || n.rank(w) != 3 || n.rank(r) != 3)
    return n.invalid("found operands that are not of rank 3");
  hidden = n.dim(r, hiddenAxis());
  std::string_view name = n.s("direction");
  int64_t directions = name == "bidirectional" ? 2 : 1, given = n.dim(r, 0);
  if (!ShapedType::isDynamic(given) && given != directions)
    return n.invalid("found weights of " + Twine(given) + " directions for direction \"" +
                     Twine(name) + "\"");
  if (ShapedType::isDynamic(hidden))
    hidden = n.i("hidden_size");
  if (!n.isStep(hidden))
    return n.unsupported("expected recurrence weights of known size, or hidden_size, got neither");
  if (n.hasAttr("hidden_size") && n.i("hidden_size") != hidden)
    return n.invalid("found hidden_size " + Twine(n.i("hidden_size")) + ", and weights for " +
                     Twine(hidden));
  // What is computed or fed may have open sizes: the run sees that they fit.
  auto sized = [&](Value value, ArrayRef<int64_t> shape) {
    if (!n.hasRank(value, shape.size(), "operands"))
      return Value();
    for (auto [axis, size] : llvm::enumerate(shape))
      if (size >= 0 && !n.hasSize(value, axis, size, "operands"))
        return Value();
    return n.isStatic(value) ? value : n.reshape(value, shape);
  };
  SmallVector<int64_t> shapes[] = {{directions, gates * hidden, -1},
                                   {directions, gates * hidden, hidden}};
  for (auto [weights, shape] : {std::pair(&w, &shapes[0]), std::pair(&r, &shapes[1])}) {
    if (hiddenAxis() == 1)
      std::swap((*shape)[1], (*shape)[2]);
    *weights = sized(*weights, *shape);
  }
  if (!w || !r)
    return failure();
  if (failed(activations(directions)))
    return failure();
  bool batchFirst = hasLayout() && n.i("layout") != 0;
  if (batchFirst)
    x = n.transpose(x, {1, 0, 2});
  if (!fitsInput(w, x))
    return failure();
  Value lengths = n.has(4) ? n.cast(n.in(4), n.b.getI64Type()) : Value();
  if (lengths) {
    if (n.rank(lengths) != 1)
      return n.invalid("found lengths of sequences that are no vector");
    if (!n.isAsLarge(lengths, 0, x, 1, "batches"))
      return failure();
    Value fits = n.op<AndOp>(n.compare("ge", lengths, 0.0),
                             n.compare("le", lengths, n.toScalar(n.sizeOf(x, 0))));
    n.require(n.reduce(fits, "all", {0}, false),
              "a sequence is longer than there are steps, or negative");
  }
  for (size_t s = 0; s < stateCount; ++s) {
    Value state = n.has(5 + s) ? n.in(5 + s) : Value();
    if (!state)
      continue;
    if (n.rank(state) != 3)
      return n.invalid("found states that are not of rank 3");
    if (!n.isAsLarge(state, batchFirst ? 0 : 1, x, 1, "batches"))
      return failure();
  }
  Value stateShape = n.concat({n.sizeOf(x, 1), n.ints({hidden})}, 0);
  SmallVector<Values> perState(stateCount);
  Values outputs;
  for (int64_t d = 0; d < directions; ++d) {
    Cell cell{d,
              n.pick(w, 0, d),
              n.pick(r, 0, d),
              {},
              {},
              {},
              ArrayRef(functions).slice(d * defaults.size(), defaults.size())};
    if (n.has(3)) {
      Value biases = n.pick(sized(wide(3), {directions, 2 * gates * hidden}), 0, d);
      cell.wb = n.slice(biases, 0, 0, gates * hidden);
      cell.rb = n.slice(biases, 0, gates * hidden, 2 * gates * hidden);
    }
    if (n.has(7))
      cell.peepholes = n.pick(sized(wide(7), {directions, 3 * hidden}), 0, d);
    Values states;
    for (size_t s = 0; s < stateCount; ++s)
      states.push_back(
          n.has(5 + s)
              ? n.pick(sized(wide(5 + s), batchFirst ? ArrayRef<int64_t>{-1, directions, hidden}
                                                     : ArrayRef<int64_t>{directions, -1, hidden}),
                       batchFirst ? 1 : 0, d)
              : n.expandTo(n.like(x, 0), stateShape));
    states.append(furtherStates(cell, x));
    FailureOr<Values> made = direction(cell, x, lengths, states, name == "reverse" || d == 1);
    if (failed(made))
      return failure();
    for (size_t s = 0; s < stateCount; ++s)
      perState[s].push_back(n.unsqueeze((*made)[s], {batchFirst ? 1 : 0}));
    // [time, batch, hidden]: the direction goes between, or behind both.
    Value y = made->back();
    if (batchFirst)
      y = n.transpose(y, {1, 0, 2});
    outputs.push_back(n.unsqueeze(y, {batchFirst ? 2 : 1}));
  }
  Values results = {n.concat(outputs, batchFirst ? 2 : 1)};
  for (Values &states : perState)
    results.push_back(n.concat(states, batchFirst ? 1 : 0));
  for (Value &result : results)
    result = n.cast(result, type);
  return n.results(results);
}

class Rnn : public Recurrent {
public:
  explicit Rnn(NodeImport &n) : Recurrent(n, 1, names) {}

private:
  static constexpr const char *names[] = {"Tanh"};
  Values step(const Cell &cell, Value x, Values states) override {
    Value sum = n.add(x, product(states[0], cell.r));
    if (cell.rb)
      sum = n.add(sum, cell.rb);
    return {activate(cell.f[0], sum)};
  }
};

class Gru : public Recurrent {
public:
  explicit Gru(NodeImport &n) : Recurrent(n, 3, names) {}

private:
  static constexpr const char *names[] = {"Sigmoid", "Tanh"};
  /// Gates: update z, reset r, hidden h.
  Values step(const Cell &cell, Value x, Values states) override {
    Value h = states[0];
    Value zr = product(h, n.slice(cell.r, 0, 0, 2 * hidden));
    zr = n.add(zr, n.slice(x, 1, 0, 2 * hidden));
    if (cell.rb)
      zr = n.add(zr, n.slice(cell.rb, 0, 0, 2 * hidden));
    Value z = activate(cell.f[0], gate(zr, 1, 0));
    Value r = activate(cell.f[0], gate(zr, 1, 1));
    Value rh = gate(cell.r, 0, 2);
    Value bias = cell.rb ? gate(cell.rb, 0, 2) : Value();
    Value inner;
    if (n.version >= 3 && n.i("linear_before_reset")) {
      inner = product(h, rh);
      if (bias)
        inner = n.add(inner, bias);
      inner = n.mul(r, inner);
    } else {
      inner = product(n.mul(r, h), rh);
      if (bias)
        inner = n.add(inner, bias);
    }
    Value candidate = activate(cell.f[1], n.add(gate(x, 1, 2), inner));
    Value kept = n.mul(z, h);
    return {n.add(n.mul(n.sub(n.like(z, 1), z), candidate), kept)};
  }
};

class Lstm : public Recurrent {
public:
  explicit Lstm(NodeImport &n) : Recurrent(n, 4, names) { stateCount = 2; }

private:
  static constexpr const char *names[] = {"Sigmoid", "Tanh", "Tanh"};

protected:
  /// Gates: input i, output o, forget f, cell c.
  Values step(const Cell &cell, Value x, Values states) override {
    Value h = states[0], c = states[1];
    Value sum = n.add(x, recurrence(cell, h));
    if (cell.rb)
      sum = n.add(sum, cell.rb);
    auto peep = [&](Value v, int64_t which, Value state) {
      return cell.peepholes ? n.add(v, n.mul(gate(cell.peepholes, 0, which), state)) : v;
    };
    Value i = activate(cell.f[0], peep(gate(sum, 1, 0), 0, c));
    Value f = n.i("input_forget") ? n.sub(n.like(i, 1), i)
                                  : activate(cell.f[0], peep(gate(sum, 1, 2), 2, c));
    Value fresh = activate(cell.f[1], gate(sum, 1, 3));
    Value next = n.add(n.mul(f, c), n.mul(i, fresh));
    Value o = activate(cell.f[0], peep(gate(sum, 1, 1), 1, next));
    return {n.mul(o, applyActivation(n, cell.f[2], next)), next};
  }
  virtual Value recurrence(const Cell &cell, Value h) { return product(h, cell.r); }
};

/// com.microsoft: weights are bytes [input, gates·hidden]; operands are quantised
/// by their range, the input for all steps at once, states in each.
class DynamicQuantizedLstm : public Lstm {
public:
  using Lstm::Lstm;

private:
  int64_t hiddenAxis() const override { return 1; }
  bool hasLayout() const override { return false; }
  bool seesNeighbours() const override { return true; }
  Value shares(const Cell &cell, Value x) override { return multiplied(x, cell.w, 8, cell); }
  Value recurrence(const Cell &cell, Value h) override { return multiplied(h, cell.r, 10, cell); }

  /// x · w, where inputs `i` and `i + 1` are the scale and zero point of w, one
  /// number or one a column.
  Value multiplied(Value x, Value w, size_t i, const Cell &cell) {
    Type i32 = n.b.getI32Type();
    auto own = [&](size_t input) -> Value {
      Value v = n.in(input);
      if (!v || n.rank(v) == 0)
        return v;
      int64_t directions = n.s("direction") == "bidirectional" ? 2 : 1;
      if (n.rank(v) == 2 && !n.isAsLarge(v, 1, n.in(1), 2, "weights' scales and columns"))
        return {};
      return n.hasSize(v, 0, directions, "weights' scales and zero points")
                 ? n.pick(v, 0, cell.direction)
                 : Value();
    };
    if (!n.isSameShape(n.in(i + 1), n.in(i), "weights' zero points and scales"))
      return {};
    Quantized q = quantizeByRange(n, x);
    Value scale = own(i), zero = own(i + 1);
    if (!q.values || !scale || !zero)
      return {};
    Value left = n.sub(n.cast(q.values, i32), n.cast(q.zero, i32));
    Value right = n.sub(n.cast(w, i32), n.cast(zero, i32));
    Value sum = n.cast(n.matmul(left, right, i32), n.element(x));
    return n.mul(sum, n.mul(q.scale, scale));
  }
};

/// com.microsoft: beside its input a step gets what it last saw in a memory [batch, steps, depth]
/// (Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
/// translate", 2015). Inputs: 8 weights of the query, 9 of the memory, 10 the vector that makes
/// scores, 11 the memory, 12 its lengths, 13 weights of what is seen with the state, each but the
/// memory and its lengths one a direction.
class AttentiveLstm : public Lstm {
public:
  using Lstm::Lstm;

private:
  bool hasLayout() const override { return false; }
  bool fitsInput(Value w, Value x) override;
  Values furtherStates(const Cell &cell, Value x) override;
  Value shares(const Cell &cell, Value x) override;
  Values step(const Cell &cell, Value x, Values states) override;
  Value own(const Cell &cell, size_t input) { return n.pick(wide(input), 0, cell.direction); }

  int64_t width = 0;          ///< of the input alone
  Value memory, keys, scores; ///< of the direction; what is added to scores [batch, steps], or null
};

bool AttentiveLstm::fitsInput(Value w, Value x) {
  for (size_t i : {8, 9, 10, 11})
    if (!n.has(i)) {
      (void)n.invalid("expected the inputs QW, MW, V and M, got one of them left out");
      return false;
    }
  for (auto [input, rank] :
       {std::pair<size_t, int64_t>(8, 3), {9, 3}, {10, 2}, {11, 3}, {12, 1}, {13, 3}})
    if (n.has(input) && !n.hasRank(n.in(input), rank, n.spec->inputName(input)))
      return false;
  width = n.dim(x, 2);
  Value ofSeen = n.has(13) ? n.in(13) : n.in(11);
  int64_t seen = n.dim(ofSeen, 2), both = n.dim(w, 2);
  if (ShapedType::isDynamic(width) && !ShapedType::isDynamic(seen) && !ShapedType::isDynamic(both))
    width = std::max<int64_t>(both - seen, 0);
  if (ShapedType::isDynamic(width)) {
    (void)n.unsupported("expected a known size of the input, or of its weights and of what is seen "
                        "of the memory, got open ones");
    return false;
  }
  for (size_t i : {8, 9, 10, 13})
    if (n.has(i) && !n.isAsLarge(n.in(i), 0, w, 0, "directions"))
      return false;
  // A size of 1 would be stretched to that of the others.
  Value query = n.in(8), ofMemory = n.in(9), given = n.in(11);
  if (!n.hasSize(query, 1, hidden, "QW") || !n.isAsLarge(ofMemory, 1, given, 2, "MW and M") ||
      !n.isAsLarge(ofMemory, 2, query, 2, "MW and QW") ||
      !n.isAsLarge(n.in(10), 1, query, 2, "V and QW") ||
      (n.has(13) && !n.hasSize(n.in(13), 1, n.add(n.sizeOf(given, 2), double(hidden)), "AW")))
    return false;
  if (n.has(12)) {
    Value lengths = n.cast(n.in(12), n.b.getI64Type());
    if (!n.isAsLarge(lengths, 0, x, 1, "batches"))
      return false;
    Value fits = n.op<AndOp>(n.compare("ge", lengths, 1.0),
                             n.compare("le", lengths, n.toScalar(n.sizeOf(given, 1))));
    n.require(n.reduce(fits, "all", {0}, false),
              "memory_seq_lens are not from 1 to the number of the memory's steps");
  }
  return n.isAsLarge(given, 0, x, 1, "batches") && n.hasSize(x, 2, width, "the input") &&
         n.hasSize(w, 2, n.settled(n.add(n.sizeOf(ofSeen, 2), double(width))), "input's weights");
}

Value AttentiveLstm::shares(const Cell &cell, Value x) {
  return n.op<DotGeneralOp>(x, n.slice(cell.w, 1, 0, width), n.list({}), n.list({}), n.list({2}),
                            n.list({1}), n.typeAttr(n.element(x)));
}

Values AttentiveLstm::furtherStates(const Cell &cell, Value x) {
  memory = wide(11), scores = {};
  if (n.has(12)) { // what lies behind the memory's end is not there
    Value place = n.op<IotaOp>(n.sizeOf(memory, 1), n.number(0), n.typeAttr(n.b.getI64Type()));
    Value ends = n.unsqueeze(n.cast(n.in(12), n.b.getI64Type()), {1});
    Value inside = n.compare("lt", n.unsqueeze(place, {0}), ends);
    memory = n.select(n.unsqueeze(inside, {2}), memory, n.like(memory, 0));
    scores = n.select(inside, n.like(memory, 0),
                      n.like(memory, -std::numeric_limits<double>::infinity()));
  }
  keys = n.matmul(memory, own(cell, 9));
  Value seen = n.sub(n.sizeOf(cell.w, 1), double(width));
  return {n.expandTo(n.like(x, 0), n.concat({n.sizeOf(x, 1), seen}, 0))};
}

Values AttentiveLstm::step(const Cell &cell, Value x, Values states) {
  Value columns = n.slice(cell.w, 1, width, std::numeric_limits<int64_t>::max());
  Values next = Lstm::step(cell, n.add(x, product(states[2], columns)), {states[0], states[1]});
  Value query = n.unsqueeze(n.matmul(next[0], own(cell, 8)), {1});
  Value alike = n.op<TanhOp>(n.add(keys, query));
  Value score = n.reduce(n.mul(alike, own(cell, 10)), "sum", {2}, false);
  Value weights = n.unsqueeze(n.softmax(scores ? n.add(score, scores) : score, 1), {1});
  Value seen = n.squeeze(n.matmul(weights, memory), {1});
  next.push_back(n.has(13) ? n.matmul(n.concat({next[0], seen}, 1), own(cell, 13)) : seen);
  return next;
}

LogicalResult rnn(NodeImport &n) { return Rnn(n).run(); }
LogicalResult gru(NodeImport &n) { return Gru(n).run(); }
LogicalResult lstm(NodeImport &n) { return Lstm(n).run(); }
LogicalResult attentiveLstm(NodeImport &n) { return AttentiveLstm(n).run(); }
LogicalResult dynamicQuantizedLstm(NodeImport &n) { return DynamicQuantizedLstm(n).run(); }

constexpr OperatorImport table[] = {
    {"", "GRU", 1, 0, gru},
    {"", "LSTM", 1, 0, lstm},
    {"", "RNN", 1, 0, rnn},
    {"com.microsoft", "AttnLSTM", 1, 0, attentiveLstm},
    {"com.microsoft", "DynamicQuantizeLSTM", 1, 0, dynamicQuantizedLstm},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::recurrentImports() { return table; }
