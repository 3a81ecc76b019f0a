//===- convolution_graph.cpp - convolutions as cuDNN sees them ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/convolution_graph.h"
#include "cuda/products.h"

#include <stdlib.h>

namespace weir::rt::cuda {

ConvolutionShape shapeOf(const weir_cuda_convolution &desc, const int64_t *sizes) {
  ConvolutionShape shape = {};
  shape.batch = extentOf(desc.batch, sizes);
  shape.channels = extentOf(desc.channels, sizes);
  shape.outputs = extentOf(desc.outputs, sizes);
  for (int32_t i = 0; i < desc.spatial; ++i) {
    shape.sizes[i] = extentOf(desc.sizes[i], sizes);
    shape.window[i] = extentOf(desc.window[i], sizes);
    int64_t reach = desc.dilations[i] * (shape.window[i] - 1) + 1,
            room = shape.sizes[i] + desc.before[i] + desc.after[i] - reach;
    shape.result[i] = room < 0 ? 0 : room / desc.strides[i] + 1;
  }
  return shape;
}

namespace {

/// Descriptors that live together. What fails leaves all that follows undone.
class Descriptors {
public:
  explicit Descriptors(const Dnn &dnn) : dnn(dnn) {}
  ~Descriptors() {
    while (count > 0)
      dnn.forget(all[--count]);
  }
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;

  DnnDescriptor make(int kind) {
    DnnDescriptor made = nullptr;
    ok = ok && count < most && dnn.describe(kind, &made) == 0;
    if (ok)
      all[count++] = made;
    return made;
  }
  void set(DnnDescriptor target, int name, int type, const void *values, int64_t number = 1) {
    ok = ok && dnn.set(target, name, type, number, values) == 0;
  }
  void setNumber(DnnDescriptor target, int name, int type, int32_t value) {
    set(target, name, type, &value);
  }
  void setDescriptor(DnnDescriptor target, int name, DnnDescriptor value) {
    set(target, name, dnn::typeDescriptor, &value);
  }
  void finish(DnnDescriptor target) { ok = ok && dnn.finalize(target) == 0; }

  const Dnn &dnn;
  bool ok = true;

private:
  static constexpr int most = 64;
  DnnDescriptor all[most];
  int count = 0;
};

/// The sizes of a tensor in the library's order (N C S…), and its distances.
struct Layout {
  static constexpr int most = 5;
  int rank;
  int64_t sizes[most], strides[most];
};

int32_t typeOf(int32_t dtype) {
  return dtype == WEIR_F32 ? dnn::f32 : dtype == WEIR_BF16 ? dnn::bf16 : dnn::f16;
}

/// The library wants two spatial dimensions at least; the first is the one that
/// is made up.
int madeUp(const weir_cuda_convolution &desc) { return desc.spatial == 1 ? 1 : 0; }

Layout layoutOf(const weir_cuda_convolution &desc, int64_t first, int64_t second,
                const int64_t *spatial) {
  Layout layout;
  int more = madeUp(desc);
  layout.rank = 2 + more + desc.spatial;
  layout.sizes[0] = first;
  layout.sizes[1] = second;
  for (int i = 2; i < layout.rank; ++i)
    layout.sizes[i] = i - 2 < more ? 1 : spatial[i - 2 - more];
  int64_t next = 1;
  if (desc.channels_last) {
    layout.strides[1] = 1;
    next = second;
  }
  for (int i = layout.rank - 1; i >= 0; --i) {
    if (i == 1 && desc.channels_last)
      continue;
    layout.strides[i] = next;
    next *= layout.sizes[i];
  }
  return layout;
}

DnnDescriptor makeTensor(Descriptors &d, const Layout &layout, int32_t type, int64_t id) {
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
  d.finish(tensor);
  return tensor;
}

/// Describes what `desc` says. The library's own kernels know these operations in
/// this order: addend, bias, activation; what lies between is in f32.
class GraphBuilder {
public:
  GraphBuilder(Descriptors &d, const weir_cuda_convolution &desc, const ConvolutionShape &shape,
               DnnHandle handle)
      : d(d), desc(desc), shape(shape), handle(handle),
        result(layoutOf(desc, shape.batch, shape.outputs, shape.result)),
        left((desc.addend >= 0) + (desc.bias >= 0) + (desc.activation != 0)) {}

  DnnDescriptor build() {
    DnnDescriptor last = addConvolution();
    if (desc.addend >= 0)
      last = addPointwise(dnn::pointwiseAdd, last,
                          makeTensor(d, result, typeOf(desc.result_dtype), addendId));
    if (desc.bias >= 0) {
      int64_t ones[3] = {1, 1, 1};
      Layout bias = layoutOf(desc, 1, shape.outputs, ones);
      last = addPointwise(dnn::pointwiseAdd, last,
                          makeTensor(d, bias, typeOf(desc.result_dtype), biasId));
    }
    if (desc.activation == WEIR_CUDA_RELU)
      addPointwise(dnn::pointwiseRelu, last, nullptr);
    DnnDescriptor graph = d.make(dnn::operationGraph);
    if (handle)
      d.set(graph, dnn::graphHandle, dnn::typeHandle, &handle);
    d.set(graph, dnn::graphOperations, dnn::typeDescriptor, operations, count);
    d.finish(graph);
    return graph;
  }

private:
  /// What the next operation writes: the result, if none follows.
  DnnDescriptor nextResult() {
    return left-- == 0 ? makeTensor(d, result, typeOf(desc.result_dtype), resultId)
                       : makeTensor(d, result, dnn::f32, virtualId + left);
  }

  DnnDescriptor addConvolution() {
    int64_t more = madeUp(desc), spatial = more + desc.spatial;
    auto setAll = [&](DnnDescriptor target, int name, const int64_t *values, int64_t neutral) {
      int64_t lifted[3] = {neutral, neutral, neutral};
      for (int64_t i = 0; i < desc.spatial; ++i)
        lifted[more + i] = values[i];
      d.set(target, name, dnn::typeInt64, lifted, spatial);
    };
    DnnDescriptor convolution = d.make(dnn::convolution);
    d.setNumber(convolution, dnn::convolutionType, dnn::typeData, dnn::f32);
    d.setNumber(convolution, dnn::convolutionMode, dnn::typeConvolutionMode, dnn::crossCorrelation);
    d.set(convolution, dnn::convolutionSpatial, dnn::typeInt64, &spatial);
    setAll(convolution, dnn::convolutionBefore, desc.before, 0);
    setAll(convolution, dnn::convolutionAfter, desc.after, 0);
    setAll(convolution, dnn::convolutionStrides, desc.strides, 1);
    setAll(convolution, dnn::convolutionDilations, desc.dilations, 1);
    d.finish(convolution);
    int32_t type = typeOf(desc.dtype);
    Layout filter = layoutOf(desc, shape.outputs, shape.channels / desc.groups, shape.window),
           input = layoutOf(desc, shape.batch, shape.channels, shape.sizes);
    DnnDescriptor operation = d.make(dnn::operationConvolution), target = nextResult();
    d.setDescriptor(operation, dnn::forwardInput, makeTensor(d, input, type, inputId));
    d.setDescriptor(operation, dnn::forwardFilter, makeTensor(d, filter, type, filterId));
    d.setDescriptor(operation, dnn::forwardResult, target);
    d.setDescriptor(operation, dnn::forwardConvolution, convolution);
    float one = 1, zero = 0;
    d.set(operation, dnn::forwardAlpha, dnn::typeFloat, &one);
    d.set(operation, dnn::forwardBeta, dnn::typeFloat, &zero);
    d.finish(operation);
    operations[count++] = operation;
    return target;
  }

  DnnDescriptor addPointwise(int32_t mode, DnnDescriptor from, DnnDescriptor other) {
    DnnDescriptor pointwise = d.make(dnn::pointwise);
    d.setNumber(pointwise, dnn::pointwiseMode, dnn::typePointwiseMode, mode);
    d.setNumber(pointwise, dnn::pointwisePrecision, dnn::typeData, dnn::f32);
    d.finish(pointwise);
    DnnDescriptor operation = d.make(dnn::operationPointwise), target = nextResult();
    d.setDescriptor(operation, dnn::applyPointwise, pointwise);
    d.setDescriptor(operation, dnn::applyInput, from);
    if (other)
      d.setDescriptor(operation, dnn::applyOther, other);
    d.setDescriptor(operation, dnn::applyResult, target);
    d.finish(operation);
    operations[count++] = operation;
    return target;
  }

  Descriptors &d;
  const weir_cuda_convolution &desc;
  const ConvolutionShape &shape;
  DnnHandle handle;
  Layout result;
  int left; ///< operations that are still to come
  DnnDescriptor operations[4];
  int64_t count = 0;
};

/// Whether an engine multiplies the operands as they are (or, allowed to, as
/// TF32) and adds the products in f32, each run in the same order.
bool isAllowed(const Dnn &dnn, DnnDescriptor engine, const weir_cuda_convolution &desc) {
  int32_t notes[dnn::noteCount];
  int64_t count = 0;
  if (dnn.get(engine, dnn::engineNotes, dnn::typeNote, dnn::noteCount, &count, notes) != 0 ||
      count > dnn::noteCount)
    return false;
  bool mayUseCores = desc.dtype != WEIR_F32 || (desc.flags & WEIR_CUDA_TF32);
  for (int64_t i = 0; i < count; ++i) {
    bool allowed = notes[i] == dnn::noteStrictNan ||
                   (mayUseCores && notes[i] == dnn::noteTensorCore);
    if (!allowed)
      return false;
  }
  return true;
}

void setPlace(Descriptors &d, DnnDescriptor plan, const DnnPlace &place) {
  if (place.handle)
    d.set(plan, dnn::planHandle, dnn::typeHandle, &place.handle);
  else
    d.setDescriptor(plan, dnn::planDevice, place.device);
}

/// The plan of one way, as text; null data: it is not to be had.
PlanText tryWay(const Dnn &dnn, const DnnPlace &place, const weir_cuda_convolution &desc,
                DnnDescriptor config) {
  Descriptors d(dnn);
  DnnDescriptor engine = d.make(dnn::engine);
  int64_t count = 0;
  if (!d.ok ||
      dnn.get(config, dnn::configEngine, dnn::typeDescriptor, 1, &count, &engine) != 0 ||
      !isAllowed(dnn, engine, desc))
    return {};
  DnnDescriptor plan = d.make(dnn::executionPlan);
  setPlace(d, plan, place);
  d.setDescriptor(plan, dnn::planConfig, config);
  d.finish(plan);
  int64_t workspace = 0, bytes = 0;
  if (!d.ok ||
      dnn.get(plan, dnn::planWorkspace, dnn::typeInt64, 1, &count, &workspace) != 0 ||
      workspace > convolutionWorkspace ||
      dnn.get(plan, dnn::planJson, dnn::typeChar, 0, &bytes, nullptr) != 0 || bytes <= 0)
    return {};
  auto *text = static_cast<char *>(malloc(size_t(bytes)));
  if (text && dnn.get(plan, dnn::planJson, dnn::typeChar, bytes, &bytes, text) == 0)
    return {text, bytes};
  free(text);
  return {};
}

} // namespace

PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_convolution &desc,
                    const ConvolutionShape &shape) {
  Descriptors d(dnn);
  DnnDescriptor graph = GraphBuilder(d, desc, shape, place.handle).build();
  DnnDescriptor heuristics = d.make(dnn::engineHeuristics);
  d.setDescriptor(heuristics, dnn::heuristicsGraph, graph);
  d.setNumber(heuristics, dnn::heuristicsMode, dnn::typeHeuristicsMode, dnn::heuristicsA);
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
  for (int64_t i = 0; i < count && i < most; ++i)
    if (PlanText text = tryWay(dnn, place, desc, ways[i]); text.data)
      return text;
  return {};
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
      *workspace <= convolutionWorkspace)
    return plan;
  dnn.forget(plan);
  return nullptr;
}

} // namespace weir::rt::cuda
