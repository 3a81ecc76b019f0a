//===- ControlSteps.cpp - steps that hold graphs --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphBuilder.h"

#include <algorithm>
#include <cmath>

using namespace weir;
using namespace weir::fuzz;

/// A scalar that is exact, from a feed, a constant or a comparison.
static Value condition(GraphBuilder &g) {
  auto x = g.find([](const Value &v) {
    return v.isExact() && (v.type == WEIR_I32 || v.type == WEIR_I64 || v.type == WEIR_F32);
  });
  if (!x || g.oneIn(3))
    return g.data(WEIR_BOOL, {}, 0, 1);
  Value most = *x;
  if (x->rank() > 0)
    most =
        g.make("ReduceMax", {*x}, x->type, {}, x->bound, 0, {g.attribute("keepdims", int64_t(0))});
  return g.make(g.pick({"Less", "GreaterOrEqual"}),
                {most, g.data(x->type, {}, 0, std::min(x->bound, 50.0))}, WEIR_BOOL, {}, 1, 0);
}

/// A value of the innermost graph with the type and shape of `like`, that depends
/// on what the graph has made.
static Value closing(GraphBuilder &g, const Value &like) {
  auto same = g.find([&](const Value &v) {
    return v.type == like.type && v.dims == like.dims && v.name != like.name && g.isInner(v);
  });
  if (same)
    return g.make("Identity", {*same}, same->type, same->dims, same->bound, same->error);
  auto other = g.find([&](const Value &v) {
    return g.isInner(v) && v.rank() > 0 && v.isFloat() && like.isFloat() && v.bound < 1e3;
  });
  if (!other)
    return g.make("Identity", {like}, like.type, like.dims, like.bound, like.error);
  Value mean =
      g.make("ReduceMean", {*other}, other->type, {}, other->bound,
             other->error + 4 * std::sqrt(double(other->count())) * other->epsilon() * other->bound,
             {g.attribute("keepdims", int64_t(0))});
  Value cast = g.make("CastLike", {mean, like}, like.type, {}, mean.bound,
                      mean.error + 2 * like.epsilon() * mean.bound);
  double bound = like.bound + cast.bound;
  return g.make("Add", {like, cast}, like.type, like.dims, bound,
                like.error + cast.error + 2 * like.epsilon() * bound);
}

static void innerSteps(GraphBuilder &g) {
  for (uint32_t i = 0, n = 1 + g.below(3), tries = 0; i < n && tries < 30; ++tries)
    i += anyStep(g);
}

bool weir::fuzz::branchStep(GraphBuilder &g) {
  auto like = g.find([](const Value &) { return true; });
  if (!like || g.depth() > 1)
    return false;
  Value when = condition(g), result = *like;
  std::vector<Proto> attributes;
  for (const char *name : {"then_branch", "else_branch"}) {
    g.beginGraph({});
    innerSteps(g);
    Value end = closing(g, *like);
    result.bound = std::max(result.bound, end.bound);
    result.error = std::max(result.error, end.error);
    attributes.push_back(g.attribute(name, g.endGraph({}, {end})));
  }
  result.name = g.node("If", {when.name}, attributes)[0];
  return g.add(result);
}

/// What a loop carries, to begin with: floats are squashed, so that they stay
/// small whatever the body makes of them.
static Value firstState(GraphBuilder &g, const Value &start) {
  if (!start.isFloat())
    return start;
  return g.make("Tanh", {start}, start.type, start.dims, 1,
                std::max(start.error, 64 * start.epsilon()) + 8 * start.epsilon());
}

/// The same inside of the body: what that makes of an integer may be any.
static Value innerState(Value state, const std::string &name) {
  state.name = name;
  if (state.isInteger())
    state.bound = std::ldexp(1.0, int(tools::elementSize(state.type)) * 8);
  return state;
}

/// The body's next state.
static Value nextState(GraphBuilder &g, const Value &state) {
  Value next = closing(g, state);
  if (next.isFloat())
    next = g.make("Tanh", {next}, next.type, next.dims, 1, next.error + 8 * next.epsilon());
  return next;
}

bool weir::fuzz::loopStep(GraphBuilder &g) {
  auto start = g.find([](const Value &v) { return v.isNumber() || v.type == WEIR_BOOL; });
  if (!start || g.depth() > 1)
    return false;
  Value carried = firstState(g, *start);
  double before = carried.error;
  std::string prefix = carried.name;
  Value step{prefix + "i", WEIR_I64, {}, 8, 0}, go{prefix + "c", WEIR_BOOL, {}, 1, 0};
  Value state = innerState(carried, prefix + "s");
  std::vector<Value> parameters{step, go, state};
  g.beginGraph(parameters);
  innerSteps(g);
  Value next = nextState(g, state);
  bool early = g.oneIn(3);
  int64_t last = g.below(4);
  Value goOn = early ? g.make("Less", {step, g.integer(last, Role::Run)}, WEIR_BOOL, {}, 1, 0)
                     : g.make("Identity", {go}, WEIR_BOOL, {}, 1, 0);
  std::vector<Value> outputs{goOn, next};
  auto scanned = g.find([&](const Value &v) { return g.isInner(v) && v.count() * 5 <= g.most(); });
  bool scans = scanned && scanned->name != go.name && g.oneIn(2);
  if (scans)
    outputs.push_back(g.make("Identity", {*scanned}, scanned->type, scanned->dims, scanned->bound,
                             scanned->error));
  Proto body = g.endGraph(parameters, outputs);

  // An error grows from one iteration to the next as it did in the one seen.
  double growth = before > 0 ? std::max(1.0, next.error / before) : 1;
  int64_t trips = scans + g.below(4);
  while (trips > 1 && before * std::pow(growth, double(trips)) > 0.01)
    --trips;
  int64_t iterations = early ? std::min(trips, last + 1) : trips;
  double factor = std::pow(growth, double(iterations));
  Value count = g.integer(trips, Role::Run);
  Value yes = g.number(WEIR_BOOL, 1);
  auto names = g.node("Loop", {count.name, yes.name, carried.name}, {g.attribute("body", body)},
                      outputs.size() - 1);
  if (carried.isInteger() && iterations > 0)
    carried.bound = state.bound;
  carried.name = names[0];
  carried.error = std::max(before, next.error) * factor;
  g.add(carried);
  if (scans) {
    Value all = outputs[2];
    all.name = names[1];
    all.dims.insert(all.dims.begin(), iterations);
    all.error *= factor;
    g.add(all);
  }
  return true;
}

bool weir::fuzz::scanStep(GraphBuilder &g) {
  auto start = g.find([](const Value &v) { return v.isNumber() || v.type == WEIR_BOOL; });
  auto over = g.find([](const Value &v) {
    return v.rank() > 0 && v.rank() < 5 && v.dims[0] > 0 && v.dims[0] <= 8;
  });
  if (!start || !over || g.depth() > 1)
    return false;
  int64_t trips = over->dims[0];
  Value carried = firstState(g, *start);
  double before = carried.error;
  Value state = innerState(carried, carried.name + "s"), entry = *over;
  entry.name = carried.name + "e";
  entry.dims.erase(entry.dims.begin());
  std::vector<Value> parameters{state, entry};
  g.beginGraph(parameters);
  innerSteps(g);
  Value next = nextState(g, state);
  std::vector<Value> outputs{next};
  auto shown =
      g.find([&](const Value &v) { return g.isInner(v) && v.count() * trips <= g.most(); });
  if (shown)
    outputs.push_back(
        g.make("Identity", {*shown}, shown->type, shown->dims, shown->bound, shown->error));
  Proto body = g.endGraph(parameters, outputs);
  double growth = before > 0 ? std::max(1.0, next.error / before) : 1;
  double factor = std::pow(growth, double(trips));
  std::vector<Proto> attributes{g.attribute("body", body),
                                g.attribute("num_scan_inputs", int64_t(1)),
                                g.attribute("scan_input_directions", Dims{int64_t(g.below(2))})};
  if (shown)
    attributes.push_back(g.attribute("scan_output_directions", Dims{int64_t(g.below(2))}));
  auto names = g.node("Scan", {carried.name, over->name}, attributes, outputs.size());
  if (carried.isInteger())
    carried.bound = state.bound;
  carried.name = names[0];
  carried.error = std::max(before, next.error) * factor;
  g.add(carried);
  if (shown) {
    Value all = outputs[1];
    all.name = names[1];
    all.dims.insert(all.dims.begin(), trips);
    all.error *= factor;
    g.add(all);
  }
  return true;
}

bool weir::fuzz::anyStep(GraphBuilder &g) {
  struct Choice {
    Step step;
    uint32_t weight;
  };
  static constexpr Choice choices[] = {
      {elementwiseStep, 8}, {movementStep, 6}, {reductionStep, 4},     {productStep, 3},
      {windowStep, 2},      {indexingStep, 3}, {integerStep, 3},       {logicStep, 2},
      {castStep, 2},        {shapeStep, 2},    {normalizationStep, 2}, {branchStep, 1},
      {loopStep, 1},        {scanStep, 1},     {emptyStep, 1},         {sequenceStep, 1},
      {stringStep, 1}};
  uint32_t total = 0;
  for (const Choice &choice : choices)
    total += choice.weight;
  uint32_t at = g.below(total);
  for (const Choice &choice : choices) {
    if (at < choice.weight)
      return choice.step(g);
    at -= choice.weight;
  }
  return false;
}
