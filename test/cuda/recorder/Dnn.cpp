//===- Dnn.cpp - a cuDNN that computes on the host ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcudnn.so.9 beside the recording driver: $WEIR_CUDNN names it.
// Graphs are computed in double precision, in their stream, convolutions from operands
// rounded as the engine says; every tensor is a read or a write that the driver
// checks. Descriptors take what the real library's take. Graphs are those that
// its own kernels know without a compiler at run time: a convolution, alone or
// with an addend, a bias, ReLU, in this order, of which the bias must be there;
// a pooling; and attention in f16 and bf16, which has a softmax's statistics, too. It
// proposes engines that must be passed over, too.
//
// $WEIR_RECORDER_NO_CHOICE: it knows no way for anything.
// $WEIR_RECORDER_CUDNN: its version.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/DnnGraph.h"
#include "test/cuda/recorder/Recorder.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace recorder;

namespace weir::rt::cuda {
struct DnnHandleTag {
  Stream stream = nullptr;
};
} // namespace weir::rt::cuda

namespace {

// cudnnStatus_t
constexpr int32_t invalid = 2000, nullPointer = 2002, notFinal = 2004, badType = 2010,
                  misaligned = 2003, notSupported = 3000, archMismatch = 3007, failedToRun = 5000;
constexpr int64_t workspaceBytes = 1000;
// The driver's GPU.
constexpr int64_t driverDevice = 900, driverProcessors = 132;

size_t version() {
  const char *text = std::getenv("WEIR_RECORDER_CUDNN");
  return text ? size_t(std::atoll(text)) : 91900;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// The number behind "name": in a JSON text, 0: it is missing.
int64_t numberIn(const std::string &json, const std::string &name) {
  size_t at = json.find('"' + name + "\":");
  return at == std::string::npos ? 0 : std::atoll(json.c_str() + at + name.size() + 3);
}

struct Attribute {
  int type = 0;
  int64_t count = 0;
  std::vector<uint8_t> bytes;
};

struct Descriptor {
  int kind = 0;
  bool isFinal = false;
  std::map<int, Attribute> attributes;
  std::shared_ptr<DnnGraph> graph;           ///< of graphs, heuristics, configurations
  int64_t engine = -1;                       ///< of engines and configurations
  int64_t deviceVersion = 0, processors = 0; ///< of devices, heuristics, configurations
  Plan plan;

  template <typename T> T get(int name, T otherwise = {}) const {
    auto it = attributes.find(name);
    T value = otherwise;
    if (it != attributes.end())
      std::memcpy(&value, it->second.bytes.data(), sizeof(T));
    return value;
  }
  Numbers numbers(int name) const {
    auto it = attributes.find(name);
    if (it == attributes.end())
      return {};
    Numbers values(size_t(it->second.count));
    std::memcpy(values.data(), it->second.bytes.data(), it->second.bytes.size());
    return values;
  }
  Descriptor *child(int name) const { return get<Descriptor *>(name, nullptr); }
  bool has(std::initializer_list<int> names) const {
    return std::all_of(names.begin(), names.end(),
                       [&](int name) { return attributes.count(name) != 0; });
  }
};

int alive = 0, handles = 0; ///< under the recorder's mutex

int64_t sizeOf(int type) {
  switch (type) {
  case dnn::typeBoolean:
  case dnn::typeChar:
    return 1;
  case dnn::typeInt64:
  case dnn::typeHandle:
  case dnn::typePointer:
  case dnn::typeDescriptor:
    return 8;
  default:
    return 4;
  }
}

/// What each kind of descriptor takes: attribute, type, how many at most.
struct Taken {
  int kind, name, type;
  int64_t most;
};
constexpr Taken table[] = {
    {dnn::pointwise, dnn::pointwiseMode, dnn::typePointwiseMode, 1},
    {dnn::pointwise, dnn::pointwisePrecision, dnn::typeData, 1},
    {dnn::convolution, dnn::convolutionType, dnn::typeData, 1},
    {dnn::convolution, dnn::convolutionMode, dnn::typeConvolutionMode, 1},
    {dnn::convolution, dnn::convolutionSpatial, dnn::typeInt64, 1},
    {dnn::convolution, dnn::convolutionDilations, dnn::typeInt64, 3},
    {dnn::convolution, dnn::convolutionStrides, dnn::typeInt64, 3},
    {dnn::convolution, dnn::convolutionBefore, dnn::typeInt64, 3},
    {dnn::convolution, dnn::convolutionAfter, dnn::typeInt64, 3},
    {dnn::pointwise, dnn::pointwiseAxis, dnn::typeInt64, 1},
    {dnn::operationPointwise, dnn::applyCondition, dnn::typeDescriptor, 1},
    {dnn::matmul, dnn::matmulType, dnn::typeData, 1},
    {dnn::operationMatmul, dnn::matmulOf, dnn::typeDescriptor, 1},
    {dnn::operationMatmul, dnn::matmulLeft, dnn::typeDescriptor, 1},
    {dnn::operationMatmul, dnn::matmulRight, dnn::typeDescriptor, 1},
    {dnn::operationMatmul, dnn::matmulResult, dnn::typeDescriptor, 1},
    {dnn::reduction, dnn::reductionOperator, dnn::typeReduction, 1},
    {dnn::reduction, dnn::reductionType, dnn::typeData, 1},
    {dnn::operationReduction, dnn::reductionOf, dnn::typeDescriptor, 1},
    {dnn::operationReduction, dnn::reductionInput, dnn::typeDescriptor, 1},
    {dnn::operationReduction, dnn::reductionResult, dnn::typeDescriptor, 1},
    {dnn::tensor, dnn::tensorIsByValue, dnn::typeBoolean, 1},
    {dnn::resample, dnn::resampleMode, dnn::typeResampleMode, 1},
    {dnn::resample, dnn::resampleType, dnn::typeData, 1},
    {dnn::resample, dnn::resampleNan, dnn::typeNan, 1},
    {dnn::resample, dnn::resamplePadding, dnn::typePadding, 1},
    {dnn::resample, dnn::resampleSpatial, dnn::typeInt64, 1},
    {dnn::resample, dnn::resampleWindow, dnn::typeInt64, 3},
    {dnn::resample, dnn::resampleStrides, dnn::typeInt64, 3},
    {dnn::resample, dnn::resampleBefore, dnn::typeInt64, 3},
    {dnn::resample, dnn::resampleAfter, dnn::typeInt64, 3},
    {dnn::operationResample, dnn::resampleOf, dnn::typeDescriptor, 1},
    {dnn::operationResample, dnn::resampleInput, dnn::typeDescriptor, 1},
    {dnn::operationResample, dnn::resampleResult, dnn::typeDescriptor, 1},
    {dnn::engineHeuristics, dnn::heuristicsMode, dnn::typeHeuristicsMode, 1},
    {dnn::engineHeuristics, dnn::heuristicsGraph, dnn::typeDescriptor, 1},
    {dnn::engineHeuristics, dnn::heuristicsDevice, dnn::typeDescriptor, 1},
    {dnn::executionPlan, dnn::planHandle, dnn::typeHandle, 1},
    {dnn::executionPlan, dnn::planConfig, dnn::typeDescriptor, 1},
    {dnn::executionPlan, dnn::planJson, dnn::typeChar, 1 << 20},
    {dnn::executionPlan, dnn::planDevice, dnn::typeDescriptor, 1},
    {dnn::operationConvolution, dnn::forwardAlpha, dnn::typeFloat, 1},
    {dnn::operationConvolution, dnn::forwardBeta, dnn::typeFloat, 1},
    {dnn::operationConvolution, dnn::forwardConvolution, dnn::typeDescriptor, 1},
    {dnn::operationConvolution, dnn::forwardFilter, dnn::typeDescriptor, 1},
    {dnn::operationConvolution, dnn::forwardInput, dnn::typeDescriptor, 1},
    {dnn::operationConvolution, dnn::forwardResult, dnn::typeDescriptor, 1},
    {dnn::operationPointwise, dnn::applyPointwise, dnn::typeDescriptor, 1},
    {dnn::operationPointwise, dnn::applyInput, dnn::typeDescriptor, 1},
    {dnn::operationPointwise, dnn::applyOther, dnn::typeDescriptor, 1},
    {dnn::operationPointwise, dnn::applyResult, dnn::typeDescriptor, 1},
    {dnn::operationGraph, dnn::graphHandle, dnn::typeHandle, 1},
    {dnn::operationGraph, dnn::graphOperations, dnn::typeDescriptor, 50},
    {dnn::tensor, dnn::tensorAlignment, dnn::typeInt64, 1},
    {dnn::tensor, dnn::tensorType, dnn::typeData, 1},
    {dnn::tensor, dnn::tensorSizes, dnn::typeInt64, 8},
    {dnn::tensor, dnn::tensorStrides, dnn::typeInt64, 8},
    {dnn::tensor, dnn::tensorId, dnn::typeInt64, 1},
    {dnn::tensor, dnn::tensorIsVirtual, dnn::typeBoolean, 1},
    {dnn::variantPack, dnn::packIds, dnn::typeInt64, 16},
    {dnn::variantPack, dnn::packPointers, dnn::typePointer, 16},
    {dnn::variantPack, dnn::packWorkspace, dnn::typePointer, 1},
    {dnn::deviceProperties, dnn::deviceHandle, dnn::typeHandle, 1},
    {dnn::deviceProperties, dnn::deviceJson, dnn::typeChar, 1 << 16},
};

Tensor tensorOf(const Descriptor &d) {
  return {d.get<int64_t>(dnn::tensorId),
          d.get<int32_t>(dnn::tensorType),
          int64_t(d.get<bool>(dnn::tensorIsVirtual)),
          int64_t(d.get<bool>(dnn::tensorIsByValue)),
          d.numbers(dnn::tensorSizes),
          d.numbers(dnn::tensorStrides)};
}

int32_t finalizeGraph(Descriptor &d) {
  auto graph = std::make_shared<DnnGraph>();
  for (int64_t number : d.numbers(dnn::graphOperations)) {
    auto *operation = reinterpret_cast<Descriptor *>(number);
    if (!operation->isFinal)
      return notFinal;
    auto use = [&](int name) {
      Tensor tensor = tensorOf(*operation->child(name));
      graph->tensors[tensor.id] = tensor;
      return tensor.id;
    };
    Step step;
    step.kind = operation->kind;
    if (step.kind == dnn::operationConvolution) {
      const Descriptor &conv = *operation->child(dnn::forwardConvolution);
      step.x = use(dnn::forwardInput);
      step.other = use(dnn::forwardFilter);
      step.y = use(dnn::forwardResult);
      step.before = conv.numbers(dnn::convolutionBefore);
      step.after = conv.numbers(dnn::convolutionAfter);
      step.strides = conv.numbers(dnn::convolutionStrides);
      step.dilations = conv.numbers(dnn::convolutionDilations);
    } else if (step.kind == dnn::operationMatmul) {
      step.x = use(dnn::matmulLeft);
      step.other = use(dnn::matmulRight);
      step.y = use(dnn::matmulResult);
    } else if (step.kind == dnn::operationReduction) {
      step.mode = operation->child(dnn::reductionOf)->get<int32_t>(dnn::reductionOperator);
      step.x = use(dnn::reductionInput);
      step.y = use(dnn::reductionResult);
    } else if (step.kind == dnn::operationResample) {
      const Descriptor &resample = *operation->child(dnn::resampleOf);
      step.mode = resample.get<int32_t>(dnn::resampleMode);
      step.x = use(dnn::resampleInput);
      step.y = use(dnn::resampleResult);
      step.before = resample.numbers(dnn::resampleBefore);
      step.after = resample.numbers(dnn::resampleAfter);
      step.strides = resample.numbers(dnn::resampleStrides);
      step.window = resample.numbers(dnn::resampleWindow);
    } else {
      const Descriptor &pointwise = *operation->child(dnn::applyPointwise);
      step.mode = pointwise.get<int32_t>(dnn::pointwiseMode);
      step.axis = pointwise.get<int64_t>(dnn::pointwiseAxis, -1);
      step.x = use(dnn::applyInput);
      step.y = use(dnn::applyResult);
      if (operation->child(dnn::applyOther))
        step.other = use(dnn::applyOther);
      if (operation->child(dnn::applyCondition))
        step.condition = use(dnn::applyCondition);
    }
    graph->steps.push_back(step);
  }
  d.graph = graph;
  return 0;
}

int32_t finalizePlan(Descriptor &d) {
  bool fromConfig = d.has({dnn::planConfig});
  if (fromConfig == d.has({dnn::planJson}) || d.has({dnn::planHandle}) == d.has({dnn::planDevice}))
    return invalid;
  int64_t deviceVersion = driverDevice, processors = driverProcessors;
  if (Descriptor *device = d.child(dnn::planDevice)) {
    deviceVersion = device->deviceVersion;
    processors = device->processors;
  }
  if (fromConfig) {
    const Descriptor &config = *d.child(dnn::planConfig);
    if (!config.isFinal)
      return notFinal;
    // The first is no more than a proposal.
    if (config.engine == 0)
      return notSupported;
    d.plan = {config.engine, config.engine == 1 ? int64_t(1) << 40 : workspaceBytes, deviceVersion,
              processors, *config.graph};
    return 0;
  }
  const Attribute &json = d.attributes.at(dnn::planJson);
  int32_t error = fromText({json.bytes.begin(), json.bytes.end()}, version(), d.plan);
  if (!error && (d.plan.deviceVersion != deviceVersion || d.plan.processors != processors))
    error = archMismatch;
  return error;
}

int32_t finalize(Descriptor &d) {
  for (auto &[name, attribute] : d.attributes)
    if (attribute.type == dnn::typeDescriptor)
      for (int64_t child : d.numbers(name))
        if (!child || !reinterpret_cast<Descriptor *>(child)->isFinal)
          return notFinal;
  switch (d.kind) {
  case dnn::tensor:
    if (!d.has({dnn::tensorType, dnn::tensorSizes, dnn::tensorStrides, dnn::tensorId,
                dnn::tensorAlignment}) ||
        d.numbers(dnn::tensorSizes).size() != d.numbers(dnn::tensorStrides).size())
      return invalid;
    for (int name : {dnn::tensorSizes, dnn::tensorStrides})
      for (int64_t number : d.numbers(name))
        if (number <= 0)
          return invalid;
    return 0;
  case dnn::pointwise:
    return d.has({dnn::pointwiseMode, dnn::pointwisePrecision}) ? 0 : invalid;
  case dnn::convolution: {
    auto spatial = size_t(d.get<int64_t>(dnn::convolutionSpatial));
    for (int name : {dnn::convolutionBefore, dnn::convolutionAfter, dnn::convolutionStrides,
                     dnn::convolutionDilations})
      if (d.numbers(name).size() != spatial)
        return invalid;
    return d.get<int32_t>(dnn::convolutionType) == dnn::f32 &&
                   d.get<int32_t>(dnn::convolutionMode) == dnn::crossCorrelation
               ? 0
               : invalid;
  }
  case dnn::resample: {
    auto spatial = size_t(d.get<int64_t>(dnn::resampleSpatial));
    for (int name :
         {dnn::resampleWindow, dnn::resampleStrides, dnn::resampleBefore, dnn::resampleAfter})
      if (d.numbers(name).size() != spatial)
        return invalid;
    // A maximum of what is padded with zeros would not be the input's.
    bool isMax = d.get<int32_t>(dnn::resampleMode) == dnn::resampleMax;
    return d.get<int32_t>(dnn::resampleType) == dnn::f32 &&
                   d.get<int32_t>(dnn::resampleNan) == dnn::propagateNan &&
                   d.get<int32_t>(dnn::resamplePadding) ==
                       (isMax ? dnn::paddingLowest : dnn::paddingZero)
               ? 0
               : invalid;
  }
  case dnn::matmul:
    return d.get<int32_t>(dnn::matmulType, -1) == dnn::f32 ? 0 : invalid;
  case dnn::operationMatmul:
    return d.has({dnn::matmulOf, dnn::matmulLeft, dnn::matmulRight, dnn::matmulResult}) ? 0
                                                                                        : invalid;
  case dnn::reduction:
    return d.has({dnn::reductionOperator}) && d.get<int32_t>(dnn::reductionType, -1) == dnn::f32
               ? 0
               : invalid;
  case dnn::operationReduction:
    return d.has({dnn::reductionOf, dnn::reductionInput, dnn::reductionResult}) ? 0 : invalid;
  case dnn::operationResample:
    return d.has({dnn::resampleOf, dnn::resampleInput, dnn::resampleResult}) ? 0 : invalid;
  case dnn::operationConvolution:
    return d.has({dnn::forwardInput, dnn::forwardFilter, dnn::forwardResult,
                  dnn::forwardConvolution}) &&
                   d.get<float>(dnn::forwardAlpha) == 1 && d.get<float>(dnn::forwardBeta, 1) == 0
               ? 0
               : invalid;
  case dnn::operationPointwise:
    return d.has({dnn::applyPointwise, dnn::applyInput, dnn::applyResult}) ? 0 : invalid;
  case dnn::operationGraph:
    return finalizeGraph(d);
  case dnn::engineHeuristics: {
    if (!d.has({dnn::heuristicsGraph, dnn::heuristicsMode}))
      return invalid;
    d.graph = d.child(dnn::heuristicsGraph)->graph;
    // Without a GPU at hand, it must be told of one.
    return d.child(dnn::heuristicsGraph)->has({dnn::graphHandle}) || d.has({dnn::heuristicsDevice})
               ? 0
               : invalid;
  }
  case dnn::executionPlan:
    return finalizePlan(d);
  case dnn::variantPack:
    return d.has({dnn::packIds, dnn::packPointers, dnn::packWorkspace}) &&
                   d.numbers(dnn::packIds).size() == d.numbers(dnn::packPointers).size()
               ? 0
               : invalid;
  case dnn::deviceProperties: {
    if (d.has({dnn::deviceHandle}) == d.has({dnn::deviceJson}))
      return invalid;
    if (d.has({dnn::deviceHandle})) {
      d.deviceVersion = driverDevice;
      d.processors = driverProcessors;
      return 0;
    }
    const Attribute &json = d.attributes.at(dnn::deviceJson);
    std::string text(json.bytes.begin(), json.bytes.end());
    d.deviceVersion = numberIn(text, "deviceVer");
    d.processors = numberIn(text, "multiProcessorCount");
    return d.deviceVersion && d.processors ? 0 : invalid;
  }
  default:
    return invalid;
  }
}

/// What a way's engine notes of itself.
std::vector<int32_t> notesOf(int64_t engine) {
  switch (engine) {
  case 2:
    return {dnn::noteTensorCore, dnn::noteNondeterministic};
  case 3:
    return {dnn::noteTensorCore};
  case 4:
    return {dnn::noteWinograd};
  default:
    return {};
  }
}
constexpr int64_t engines = 6;

template <typename T>
int32_t give(const T *values, int64_t available, int64_t asked, int64_t *count, void *out) {
  *count = available;
  if (asked > 0)
    std::memcpy(out, values, sizeof(T) * size_t(std::min(asked, available)));
  return 0;
}

} // namespace

#define ENTER_LIBRARY(name)                                                                        \
  if (recorder::recorder().failsLibrary(name))                                                     \
    return failedToRun;

extern "C" {

size_t cudnnGetVersion() { return version(); }
int32_t cudnnCreate(DnnHandle *handle) {
  ENTER_LIBRARY("cudnnCreate")
  std::lock_guard<std::mutex> lock(recorder::recorder().mutex);
  ++handles;
  *handle = new DnnHandleTag();
  return 0;
}
int32_t cudnnDestroy(DnnHandle handle) {
  delete handle;
  std::lock_guard<std::mutex> lock(recorder::recorder().mutex);
  if (--handles == 0 && alive != 0)
    recorder::recorder().problem("descriptors of cuDNN that were not destroyed");
  return 0;
}
int32_t cudnnSetStream(DnnHandle handle, Stream stream) {
  ENTER_LIBRARY("cudnnSetStream")
  handle->stream = stream;
  return 0;
}
int32_t cudnnBackendCreateDescriptor(int kind, DnnDescriptor *descriptor) {
  ENTER_LIBRARY("cudnnBackendCreateDescriptor")
  auto *made = new Descriptor();
  made->kind = kind;
  *descriptor = made;
  std::lock_guard<std::mutex> lock(recorder::recorder().mutex);
  ++alive;
  return 0;
}
int32_t cudnnBackendDestroyDescriptor(DnnDescriptor descriptor) {
  delete static_cast<Descriptor *>(descriptor);
  std::lock_guard<std::mutex> lock(recorder::recorder().mutex);
  --alive;
  return 0;
}
int32_t cudnnBackendSetAttribute(DnnDescriptor descriptor, int name, int type, int64_t count,
                                 const void *values) {
  ENTER_LIBRARY("cudnnBackendSetAttribute")
  auto *d = static_cast<Descriptor *>(descriptor);
  if (!d || !values)
    return nullPointer;
  auto *taken = std::find_if(std::begin(table), std::end(table), [&](const Taken &each) {
    return each.kind == d->kind && each.name == name;
  });
  if (d->isFinal || taken == std::end(table) || count < 1 || count > taken->most)
    return invalid;
  if (taken->type != type)
    return badType;
  auto *begin = static_cast<const uint8_t *>(values);
  d->attributes[name] = {type, count, {begin, begin + count * sizeOf(type)}};
  return 0;
}
int32_t cudnnBackendFinalize(DnnDescriptor descriptor) {
  ENTER_LIBRARY("cudnnBackendFinalize")
  auto *d = static_cast<Descriptor *>(descriptor);
  int32_t error = d ? finalize(*d) : nullPointer;
  if (error)
    return error;
  d->isFinal = true;
  if (d->has({dnn::planJson}))
    ENTER_LIBRARY("loading a plan of cuDNN")
  return 0;
}
int32_t cudnnBackendGetAttribute(DnnDescriptor descriptor, int name, int type, int64_t asked,
                                 int64_t *count, void *out) {
  ENTER_LIBRARY("cudnnBackendGetAttribute")
  auto *d = static_cast<Descriptor *>(descriptor);
  if (!d || !count)
    return nullPointer;
  if (!d->isFinal)
    return notFinal;
  if (d->kind == dnn::engineHeuristics && name == dnn::heuristicsResults) {
    ENTER_LIBRARY("heuristics of cuDNN")
    bool known = isKnown(*d->graph, d->get<int32_t>(dnn::heuristicsMode));
    *count = known && !std::getenv("WEIR_RECORDER_NO_CHOICE") ? engines : 0;
    for (int64_t i = 0; i < std::min(asked, *count); ++i) {
      auto *config = static_cast<Descriptor **>(out)[i];
      config->isFinal = true;
      config->engine = i;
      config->graph = d->graph;
    }
    return 0;
  }
  if (d->kind == dnn::engineConfig && name == dnn::configEngine && asked == 1) {
    auto *engine = *static_cast<Descriptor **>(out);
    engine->isFinal = true;
    engine->engine = d->engine;
    *count = 1;
    return 0;
  }
  if (d->kind == dnn::engine && name == dnn::engineNotes && type == dnn::typeNote) {
    std::vector<int32_t> notes = notesOf(d->engine);
    return give(notes.data(), int64_t(notes.size()), asked, count, out);
  }
  if (d->kind == dnn::executionPlan && name == dnn::planWorkspace && type == dnn::typeInt64)
    return give(&d->plan.workspace, 1, asked, count, out);
  if (d->kind == dnn::executionPlan && name == dnn::planJson && type == dnn::typeChar) {
    std::string text = toText(d->plan, version());
    return give(text.c_str(), int64_t(text.size()) + 1, asked, count, out);
  }
  if (d->kind == dnn::deviceProperties && name == dnn::deviceJson && type == dnn::typeChar) {
    std::string text = "{\"deviceVer\":" + std::to_string(d->deviceVersion) +
                       ",\"multiProcessorCount\":" + std::to_string(d->processors) + "}";
    return give(text.c_str(), int64_t(text.size()) + 1, asked, count, out);
  }
  return invalid;
}
int32_t cudnnBackendExecute(DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack) {
  ENTER_LIBRARY("cudnnBackendExecute")
  auto *p = static_cast<Descriptor *>(plan), *v = static_cast<Descriptor *>(pack);
  if (!handle || !handle->stream || !p || !v)
    return nullPointer;
  if (!p->isFinal || !v->isFinal)
    return notFinal;
  Call call = {p->plan, {}, {}, v->get<uint64_t>(dnn::packWorkspace)};
  Numbers ids = v->numbers(dnn::packIds), pointers = v->numbers(dnn::packPointers);
  for (size_t i = 0; i < ids.size(); ++i)
    call.pointers[ids[i]] = uint64_t(pointers[i]);
  if (call.pointers.size() != ids.size() || (p->plan.workspace && !call.workspace))
    return invalid;
  for (const auto &[id, tensor] : p->plan.graph.tensors) {
    if (tensor.isVirtual)
      continue;
    if (!call.pointers[id])
      return nullPointer;
    if (tensor.isByValue)
      call.numbers[id] = *reinterpret_cast<const float *>(call.pointers[id]);
    else if (call.pointers[id] % 16)
      return misaligned;
  }
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.put(handle->stream, "cudnnBackendExecute", [call](Operation &) { compute(call); });
  return 0;
}

} // extern "C"
