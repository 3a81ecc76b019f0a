//===- dnn_graph.cpp - graphs of operations for cuDNN ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/dnn_graph.h"
#include "cuda/trials.h"

#include <stdlib.h>

namespace weir::rt::cuda {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int32_t dnnTypeOf(int32_t dtype) {
  return dtype == WEIR_F32 ? dnn::f32 : dtype == WEIR_BF16 ? dnn::bf16 : dnn::f16;
}

/// The spatial dimensions that are made up; they come first.
static int madeUp(int32_t spatial) { return spatial == 1 ? 1 : 0; }

int64_t liftSpatial(int32_t spatial, const int64_t *values, int64_t neutral, int64_t (&lifted)[3]) {
  int more = madeUp(spatial);
  for (int i = 0; i < 3; ++i)
    lifted[i] = i < more || i - more >= spatial ? neutral : values[i - more];
  return more + spatial;
}

Layout imageLayout(int32_t spatial, bool channelsLast, int64_t first, int64_t second,
                   const int64_t *sizes) {
  Layout layout;
  int64_t lifted[3];
  layout.rank = 2 + int(liftSpatial(spatial, sizes, 1, lifted));
  layout.sizes[0] = first;
  layout.sizes[1] = second;
  for (int i = 2; i < layout.rank; ++i)
    layout.sizes[i] = lifted[i - 2];
  int64_t next = 1;
  if (channelsLast) {
    layout.strides[1] = 1;
    next = second;
  }
  for (int i = layout.rank - 1; i >= 0; --i) {
    if (i == 1 && channelsLast)
      continue;
    layout.strides[i] = next;
    next *= layout.sizes[i];
  }
  return layout;
}

static DnnDescriptor describeTensor(Descriptors &d, const Layout &layout, int32_t type, int64_t id,
                                    bool isByValue) {
  DnnDescriptor tensor = d.make(dnn::tensor);
  // Buffers begin at multiples of 16 at least.
  int64_t alignment = 16;
  bool isVirtual = id >= virtualId;
  d.setNumber(tensor, dnn::tensorType, dnn::typeData, type);
  d.set(tensor, dnn::tensorSizes, dnn::typeInt64, layout.sizes, layout.rank);
  d.set(tensor, dnn::tensorStrides, dnn::typeInt64, layout.strides, layout.rank);
  d.set(tensor, dnn::tensorId, dnn::typeInt64, &id);
  d.set(tensor, dnn::tensorAlignment, dnn::typeInt64, &alignment);
  d.set(tensor, dnn::tensorIsVirtual, dnn::typeBoolean, &isVirtual);
  if (isByValue)
    d.set(tensor, dnn::tensorIsByValue, dnn::typeBoolean, &isByValue);
  d.finish(tensor);
  return tensor;
}

DnnDescriptor makeTensor(Descriptors &d, const Layout &layout, int32_t type, int64_t id) {
  return describeTensor(d, layout, type, id, false);
}

DnnDescriptor makeNumber(Descriptors &d, int rank, int64_t id) {
  Layout layout = {rank, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
  return describeTensor(d, layout, dnn::f32, id, true);
}

DnnDescriptor makePointwise(Descriptors &d, const Pointwise &what, DnnDescriptor from,
                            DnnDescriptor other, DnnDescriptor condition, DnnDescriptor target) {
  DnnDescriptor pointwise = d.make(dnn::pointwise);
  d.setNumber(pointwise, dnn::pointwiseMode, dnn::typePointwiseMode, what.mode);
  d.setNumber(pointwise, dnn::pointwisePrecision, dnn::typeData, what.precision);
  if (what.axis >= 0)
    d.set(pointwise, dnn::pointwiseAxis, dnn::typeInt64, &what.axis);
  d.finish(pointwise);
  DnnDescriptor operation = d.make(dnn::operationPointwise);
  d.setDescriptor(operation, dnn::applyPointwise, pointwise);
  d.setDescriptor(operation, dnn::applyInput, from);
  if (other)
    d.setDescriptor(operation, dnn::applyOther, other);
  if (condition)
    d.setDescriptor(operation, dnn::applyCondition, condition);
  d.setDescriptor(operation, dnn::applyResult, target);
  d.finish(operation);
  return operation;
}

DnnDescriptor makeGraph(Descriptors &d, const DnnDescriptor *operations, int64_t count,
                        DnnHandle handle) {
  DnnDescriptor graph = d.make(dnn::operationGraph);
  if (handle)
    d.set(graph, dnn::graphHandle, dnn::typeHandle, &handle);
  d.set(graph, dnn::graphOperations, dnn::typeDescriptor, operations, count);
  d.finish(graph);
  return graph;
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

/// Whether an engine multiplies the operands as they are (or, allowed to, as
/// TF32) and adds the products in f32, each run in the same order.
static bool isAllowed(const Dnn &dnn, DnnDescriptor engine, const WayRules &rules) {
  int32_t notes[dnn::noteCount];
  int64_t count = 0;
  if (dnn.get(engine, dnn::engineNotes, dnn::typeNote, dnn::noteCount, &count, notes) != 0 ||
      count > dnn::noteCount)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    bool allowed =
        notes[i] == dnn::noteStrictNan || (rules.mayUseCores && notes[i] == dnn::noteTensorCore);
    if (!allowed)
      return false;
  }
  return true;
}

static void setPlace(Descriptors &d, DnnDescriptor plan, const DnnPlace &place) {
  if (place.handle)
    d.set(plan, dnn::planHandle, dnn::typeHandle, &place.handle);
  else
    d.setDescriptor(plan, dnn::planDevice, place.device);
}

/// The plan of one way, as text; null data: it is not to be had. `time`: in a trial.
static PlanText tryWay(const Dnn &dnn, const DnnPlace &place, const WayRules &rules,
                       DnnDescriptor config, float *time) {
  Descriptors d(dnn);
  DnnDescriptor engine = d.make(dnn::engine);
  int64_t count = 0;
  if (!d.ok || dnn.get(config, dnn::configEngine, dnn::typeDescriptor, 1, &count, &engine) != 0 ||
      !isAllowed(dnn, engine, rules))
    return {};
  DnnDescriptor plan = d.make(dnn::executionPlan);
  setPlace(d, plan, place);
  d.setDescriptor(plan, dnn::planConfig, config);
  d.finish(plan);
  int64_t workspace = 0, bytes = 0;
  if (!d.ok || dnn.get(plan, dnn::planWorkspace, dnn::typeInt64, 1, &count, &workspace) != 0 ||
      workspace > planWorkspace ||
      dnn.get(plan, dnn::planJson, dnn::typeChar, 0, &bytes, nullptr) != 0 || bytes <= 0)
    return {};
  if (place.trial && (*time = timePlan(*place.trial, plan)) < 0)
    return {};
  auto *text = static_cast<char *>(malloc(size_t(bytes)));
  if (text && dnn.get(plan, dnn::planJson, dnn::typeChar, bytes, &bytes, text) == 0)
    return {text, bytes};
  free(text);
  return {};
}

/// The first way of those that one kind of heuristics proposes, or the fastest.
static PlanText askHeuristics(Descriptors &d, const DnnPlace &place, DnnDescriptor graph,
                              const WayRules &rules, int32_t mode) {
  const Dnn &dnn = d.dnn;
  DnnDescriptor heuristics = d.make(dnn::engineHeuristics);
  d.setDescriptor(heuristics, dnn::heuristicsGraph, graph);
  d.setNumber(heuristics, dnn::heuristicsMode, dnn::typeHeuristicsMode, mode);
  if (!place.handle)
    d.setDescriptor(heuristics, dnn::heuristicsDevice, place.device);
  d.finish(heuristics);
  // The likeliest come first; those far behind are seldom better than a kernel.
  constexpr int64_t most = 40;
  DnnDescriptor ways[most];
  Descriptors wayOwner(dnn);
  for (DnnDescriptor &way : ways)
    way = wayOwner.make(dnn::engineConfig);
  int64_t count = 0;
  if (!d.ok || !wayOwner.ok ||
      dnn.get(heuristics, dnn::heuristicsResults, dnn::typeDescriptor, most, &count, ways) != 0)
    return {};
  int32_t toTime = place.trial ? mostTimed(*place.trial) : 1;
  PlanText chosen = {};
  float best = -1;
  for (int64_t i = 0; i < count && i < most && toTime > 0; ++i) {
    float time = 0;
    PlanText text = tryWay(dnn, place, rules, ways[i], &time);
    if (!text.data)
      continue;
    --toTime;
    bool isBetter = !chosen.data || Trials::isFaster(time, best);
    free(isBetter ? chosen.data : text.data);
    if (!isBetter)
      continue;
    chosen = text;
    best = time;
  }
  return chosen;
}

PlanText chooseWay(Descriptors &d, const DnnPlace &place, DnnDescriptor graph,
                   const WayRules &rules) {
  PlanText text = askHeuristics(d, place, graph, rules, dnn::heuristicsA);
  if (!text.data && rules.mayBeOtherwise)
    text = askHeuristics(d, place, graph, rules, dnn::heuristicsFallback);
  return text;
}

DnnDescriptor loadPlan(const Dnn &dnn, const DnnPlace &place, const char *text, int64_t bytes,
                       int64_t *workspace) {
  DnnDescriptor plan = nullptr;
  if (dnn.describe(dnn::executionPlan, &plan) != 0)
    return nullptr;
  int64_t count = 0;
  Descriptors d(dnn);
  setPlace(d, plan, place);
  d.set(plan, dnn::planJson, dnn::typeChar, text, bytes);
  d.finish(plan);
  if (d.ok && dnn.get(plan, dnn::planWorkspace, dnn::typeInt64, 1, &count, workspace) == 0 &&
      *workspace <= planWorkspace)
    return plan;
  dnn.forget(plan);
  return nullptr;
}

} // namespace weir::rt::cuda
