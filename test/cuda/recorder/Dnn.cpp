//===- Dnn.cpp - a cuDNN that computes on the host ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcudnn.so.9 beside the recording driver: $WEIR_CUDNN names it.
// Convolutions are computed in double precision, in their stream, from operands
// rounded as the engine says; every tensor is a read or a write that the driver
// checks. Descriptors take what the real library's take. Graphs are those that
// its own kernels know without a compiler at run time: a convolution, alone or
// with an addend, a bias, ReLU, in this order, of which the bias must be there.
// It proposes engines that must be passed over, too.
//
// $WEIR_RECORDER_NO_CHOICE: it knows no way for anything.
// $WEIR_RECORDER_CUDNN: its version.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/cudnn_api.h"
#include "test/cuda/recorder/Numbers.h"
#include "test/cuda/recorder/Recorder.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>

using namespace recorder;

namespace weir::rt::cuda {
struct DnnHandleTag {
  Stream stream = nullptr;
};
} // namespace weir::rt::cuda

namespace {

// cudnnStatus_t
constexpr int32_t invalid = 2000, nullPointer = 2002, notFinal = 2004, badType = 2010,
                  misaligned = 2003, serializationVersion = 1003, notSupported = 3000,
                  archMismatch = 3007, failedToRun = 5000;
constexpr int64_t workspaceBytes = 1000;
// The driver's GPU.
constexpr int64_t driverDevice = 900, driverProcessors = 132;

size_t version() {
  const char *text = std::getenv("WEIR_RECORDER_CUDNN");
  return text ? size_t(std::atoll(text)) : 91900;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

using Numbers = std::vector<int64_t>;

struct Tensor {
  int64_t id = 0, type = 0, isVirtual = 0;
  Numbers sizes, strides;
};
struct Step {
  bool isConvolution = false;
  int64_t mode = 0, x = 0, other = -1, y = 0; ///< tensors by id; `other`: filter, addend
  Numbers before, after, strides, dilations;
};
struct Graph {
  std::map<int64_t, Tensor> tensors;
  std::vector<Step> steps;
};
struct Plan {
  int64_t engine = 0, workspace = 0;
  int64_t deviceVersion = 0, processors = 0;
  Graph graph;
};

Form formOf(int64_t type) {
  return type == dnn::f32 ? Form::F32 : type == dnn::f16 ? Form::F16 : Form::Bf16;
}

bool isDense(const Tensor &tensor, bool last) {
  int64_t next = last ? tensor.sizes[1] : 1;
  if (last && tensor.strides[1] != 1)
    return false;
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    if (last && i == 1)
      continue;
    if (tensor.strides[i] != next)
      return false;
    next *= tensor.sizes[i];
  }
  return true;
}

/// Whether kernels that need no compiler know the graph.
bool isKnown(const Graph &graph) {
  if (graph.steps.empty() || !graph.steps[0].isConvolution || graph.steps.size() > 4)
    return false;
  const Step &conv = graph.steps[0];
  const Tensor &x = graph.tensors.at(conv.x), &w = graph.tensors.at(conv.other),
               &y = graph.tensors.at(conv.y);
  size_t rank = x.sizes.size();
  if (rank < 4 || rank > 5 || w.sizes.size() != rank || y.sizes.size() != rank ||
      x.type != w.type || w.sizes[1] == 0 || x.sizes[1] % w.sizes[1] != 0 ||
      w.sizes[0] % (x.sizes[1] / w.sizes[1]) != 0 || y.sizes[0] != x.sizes[0] ||
      y.sizes[1] != w.sizes[0])
    return false;
  for (size_t i = 2; i < rank; ++i) {
    int64_t reach = conv.dilations[i - 2] * (w.sizes[i] - 1) + 1;
    if (y.sizes[i] != (x.sizes[i] + conv.before[i - 2] + conv.after[i - 2] - reach) /
                              conv.strides[i - 2] + 1)
      return false;
  }
  bool last = x.strides[1] == 1 && x.strides[rank - 1] == x.sizes[1];
  if (!isDense(x, last) || !isDense(w, last) || !isDense(y, last))
    return false;
  // Addend, bias, activation: what comes must be further down the list.
  int64_t current = conv.y;
  int at = 0;
  bool hasBias = false;
  for (size_t i = 1; i < graph.steps.size(); ++i) {
    const Step &step = graph.steps[i];
    const Tensor &target = graph.tensors.at(step.y);
    if (step.isConvolution || step.x != current || !graph.tensors.at(current).isVirtual ||
        graph.tensors.at(current).type != dnn::f32 || target.sizes != y.sizes ||
        target.strides != y.strides)
      return false;
    int kind = 3;
    if (step.mode == dnn::pointwiseAdd) {
      const Tensor &other = graph.tensors.at(step.other);
      Numbers bias(rank, 1);
      bias[1] = y.sizes[1];
      if (other.isVirtual)
        return false;
      kind = other.sizes == y.sizes && other.strides == y.strides ? 1 : 2;
      if (kind == 2 && other.sizes != bias)
        return false;
    } else if (step.mode != dnn::pointwiseRelu) {
      return false;
    }
    if (kind <= at)
      return false;
    at = kind;
    hasBias |= kind == 2;
    current = step.y;
  }
  const Tensor &end = graph.tensors.at(current);
  return !end.isVirtual && (end.type == x.type || end.type == dnn::f32) &&
         (hasBias || graph.steps.size() == 1);
}

//===----------------------------------------------------------------------===//
// Plans as text
//===----------------------------------------------------------------------===//

void write(std::ostream &os, const Numbers &numbers) {
  os << ' ' << numbers.size();
  for (int64_t number : numbers)
    os << ' ' << number;
}
bool read(std::istream &is, Numbers &numbers) {
  size_t count = 0;
  if (!(is >> count) || count > 8)
    return false;
  numbers.resize(count);
  for (int64_t &number : numbers)
    is >> number;
  return bool(is);
}

std::string toText(const Plan &plan) {
  std::ostringstream os;
  os << "{\"recorder\":\"" << version() << ' ' << plan.deviceVersion << ' ' << plan.processors
     << ' ' << plan.engine << ' ' << plan.workspace << ' ' << plan.graph.tensors.size() << ' '
     << plan.graph.steps.size();
  for (const auto &[id, tensor] : plan.graph.tensors) {
    os << ' ' << id << ' ' << tensor.type << ' ' << tensor.isVirtual;
    write(os, tensor.sizes);
    write(os, tensor.strides);
  }
  for (const Step &step : plan.graph.steps) {
    os << ' ' << step.isConvolution << ' ' << step.mode << ' ' << step.x << ' ' << step.other << ' '
       << step.y;
    for (const Numbers *numbers : {&step.before, &step.after, &step.strides, &step.dilations})
      write(os, *numbers);
  }
  os << "\"}";
  return os.str();
}

int32_t fromText(const std::string &text, Plan &plan) {
  constexpr char begin[] = "{\"recorder\":\"";
  if (text.rfind(begin, 0) != 0)
    return invalid;
  std::istringstream is(text.substr(sizeof(begin) - 1));
  size_t made = 0, tensors = 0, steps = 0;
  is >> made >> plan.deviceVersion >> plan.processors >> plan.engine >> plan.workspace >>
      tensors >> steps;
  if (!is)
    return invalid;
  if (made != version())
    return serializationVersion;
  for (size_t i = 0; i < tensors; ++i) {
    Tensor tensor;
    is >> tensor.id >> tensor.type >> tensor.isVirtual;
    if (!read(is, tensor.sizes) || !read(is, tensor.strides))
      return invalid;
    plan.graph.tensors[tensor.id] = tensor;
  }
  for (size_t i = 0; i < steps; ++i) {
    Step step;
    is >> step.isConvolution >> step.mode >> step.x >> step.other >> step.y;
    for (Numbers *numbers : {&step.before, &step.after, &step.strides, &step.dilations})
      if (!read(is, *numbers))
        return invalid;
    plan.graph.steps.push_back(step);
  }
  return 0;
}

/// The number behind "name": in a JSON text, 0: it is missing.
int64_t numberIn(const std::string &json, const std::string &name) {
  size_t at = json.find('"' + name + "\":");
  return at == std::string::npos ? 0 : std::atoll(json.c_str() + at + name.size() + 3);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

struct Attribute {
  int type = 0;
  int64_t count = 0;
  std::vector<uint8_t> bytes;
};

struct Descriptor {
  int kind = 0;
  bool isFinal = false;
  std::map<int, Attribute> attributes;
  std::shared_ptr<Graph> graph;             ///< of graphs, heuristics, configurations
  int64_t engine = -1;                      ///< of engines and configurations
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
  case dnn::typeChar: return 1;
  case dnn::typeInt64:
  case dnn::typeHandle:
  case dnn::typePointer:
  case dnn::typeDescriptor: return 8;
  default: return 4;
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
  return {d.get<int64_t>(dnn::tensorId), d.get<int32_t>(dnn::tensorType),
          int64_t(d.get<bool>(dnn::tensorIsVirtual)), d.numbers(dnn::tensorSizes),
          d.numbers(dnn::tensorStrides)};
}

int32_t finalizeGraph(Descriptor &d) {
  auto graph = std::make_shared<Graph>();
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
    step.isConvolution = operation->kind == dnn::operationConvolution;
    if (step.isConvolution) {
      const Descriptor &conv = *operation->child(dnn::forwardConvolution);
      step.x = use(dnn::forwardInput);
      step.other = use(dnn::forwardFilter);
      step.y = use(dnn::forwardResult);
      step.before = conv.numbers(dnn::convolutionBefore);
      step.after = conv.numbers(dnn::convolutionAfter);
      step.strides = conv.numbers(dnn::convolutionStrides);
      step.dilations = conv.numbers(dnn::convolutionDilations);
    } else {
      step.mode = operation->child(dnn::applyPointwise)->get<int32_t>(dnn::pointwiseMode);
      step.x = use(dnn::applyInput);
      step.y = use(dnn::applyResult);
      if (operation->child(dnn::applyOther))
        step.other = use(dnn::applyOther);
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
    d.plan = {config.engine, config.engine == 1 ? int64_t(1) << 40 : workspaceBytes,
              deviceVersion, processors, *config.graph};
    return 0;
  }
  const Attribute &json = d.attributes.at(dnn::planJson);
  int32_t error = fromText({json.bytes.begin(), json.bytes.end()}, d.plan);
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
  case dnn::operationConvolution:
    return d.has({dnn::forwardInput, dnn::forwardFilter, dnn::forwardResult,
                  dnn::forwardConvolution}) &&
                   d.get<float>(dnn::forwardAlpha) == 1 && d.get<float>(dnn::forwardBeta, 1) == 0
               ? 0
               : invalid;
  case dnn::operationPointwise:
    return d.has({dnn::applyPointwise, dnn::applyInput, dnn::applyResult}) ? 0 : invalid;
  case dnn::operationGraph: return finalizeGraph(d);
  case dnn::engineHeuristics: {
    if (!d.has({dnn::heuristicsGraph, dnn::heuristicsMode}))
      return invalid;
    d.graph = d.child(dnn::heuristicsGraph)->graph;
    // Without a GPU at hand, it must be told of one.
    return d.child(dnn::heuristicsGraph)->has({dnn::graphHandle}) ||
                   d.has({dnn::heuristicsDevice})
               ? 0
               : invalid;
  }
  case dnn::executionPlan: return finalizePlan(d);
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
  default: return invalid;
  }
}

/// What a way's engine notes of itself.
std::vector<int32_t> notesOf(int64_t engine) {
  switch (engine) {
  case 2: return {dnn::noteTensorCore, dnn::noteNondeterministic};
  case 3: return {dnn::noteTensorCore};
  case 4: return {dnn::noteWinograd};
  default: return {};
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

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

struct Call {
  Plan plan;
  std::map<int64_t, uint64_t> pointers;
  uint64_t workspace;
};

int64_t countOf(const Tensor &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.sizes)
    count *= size;
  return count;
}

/// Calls `each` with every index of sizes.
template <typename F> void forAll(const Numbers &sizes, F each) {
  Numbers at(sizes.size(), 0);
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    each(at);
    for (size_t d = sizes.size(); d-- > 0 && ++at[d] == sizes[d];)
      at[d] = 0;
  }
}

int64_t offsetOf(const Tensor &tensor, const Numbers &at) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i)
    offset += (tensor.sizes[i] == 1 ? 0 : at[i]) * tensor.strides[i];
  return offset;
}

void compute(const Call &call) {
  const Graph &graph = call.plan.graph;
  const Step &conv = graph.steps[0];
  const Tensor &x = graph.tensors.at(conv.x), &w = graph.tensors.at(conv.other);
  const Tensor &y = graph.tensors.at(graph.steps.back().y);
  for (const auto &[id, tensor] : graph.tensors)
    if (!tensor.isVirtual)
      recorder::recorder().touch(call.pointers.at(id),
                                 uint64_t(countOf(tensor) * bytesOf(formOf(tensor.type))),
                                 id == y.id);
  if (call.plan.workspace)
    recorder::recorder().touch(call.workspace, uint64_t(call.plan.workspace), true);
  bool tf32 = x.type == dnn::f32 && call.plan.engine == 3;
  auto round = [&](double value) { return tf32 ? toTf32(value) : value; };
  int64_t perGroup = w.sizes[0] / (x.sizes[1] / w.sizes[1]);
  auto at = [&](const Tensor &tensor, const Numbers &index) {
    return load(formOf(tensor.type), call.pointers.at(tensor.id), offsetOf(tensor, index));
  };
  Numbers window(w.sizes.begin() + 1, w.sizes.end());
  Numbers from(x.sizes.size()), weight(x.sizes.size());
  forAll(y.sizes, [&](const Numbers &index) {
    double value = 0;
    forAll(window, [&](const Numbers &inner) {
      from[0] = index[0];
      from[1] = index[1] / perGroup * w.sizes[1] + inner[0];
      weight[0] = index[1];
      weight[1] = inner[0];
      for (size_t i = 2; i < from.size(); ++i) {
        weight[i] = inner[i - 1];
        from[i] = index[i] * conv.strides[i - 2] - conv.before[i - 2] +
                  inner[i - 1] * conv.dilations[i - 2];
        if (from[i] < 0 || from[i] >= x.sizes[i])
          return;
      }
      value += round(at(x, from)) * round(at(w, weight));
    });
    for (size_t i = 1; i < graph.steps.size(); ++i) {
      const Step &step = graph.steps[i];
      if (step.mode == dnn::pointwiseAdd)
        value += at(graph.tensors.at(step.other), index);
      else
        value = value > 0 ? value : 0;
    }
    store(formOf(y.type), call.pointers.at(y.id), offsetOf(y, index), value);
  });
}

} // namespace

#define ENTER_LIBRARY(name)                                                    \
  if (recorder::recorder().failsLibrary(name))                                 \
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
    *count = isKnown(*d->graph) && !std::getenv("WEIR_RECORDER_NO_CHOICE") ? engines : 0;
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
    std::string text = toText(d->plan);
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
  Call call = {p->plan, {}, v->get<uint64_t>(dnn::packWorkspace)};
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
    if (call.pointers[id] % 16)
      return misaligned;
  }
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.put(handle->stream, "cudnnBackendExecute", [call](Operation &) { compute(call); });
  return 0;
}

} // extern "C"
