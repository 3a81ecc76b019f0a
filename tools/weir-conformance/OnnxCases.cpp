//===- OnnxCases.cpp - ONNX models with TensorProto files -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Input files are numbered in the order of the graph's inputs. Older models
// list initializers among the inputs, too, and ship no file for them: where
// there are fewer files than inputs, initializers are skipped.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CaseOptions.h"
#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/Operators.h"
#include "tools/weir-conformance/Tolerances.h"

#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/ValueReader.h"
#include "tools/common/Files.h"

#include <filesystem>
#include <set>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

/// Sub-byte elements are packed in ONNX's files, one a byte in ours.
std::string unpack(const std::string &packed, unsigned bits, int64_t count, bool isSigned) {
  std::string out(count, '\0');
  for (int64_t i = 0; i < count; ++i) {
    size_t bit = static_cast<size_t>(i) * bits;
    unsigned value = (static_cast<uint8_t>(packed[bit / 8]) >> (bit % 8)) & ((1u << bits) - 1);
    if (isSigned && (value >> (bits - 1)))
      value |= ~0u << bits;
    out[i] = static_cast<char>(value);
  }
  return out;
}

std::string toHost(const onnx::Tensor &tensor, HostTensor &out) {
  out = HostTensor();
  out.dtype = static_cast<int32_t>(tensor.type);
  out.dims = tensor.dims;
  if (tensor.type == onnx::DataType::String) {
    std::vector<std::string_view> views;
    if (auto problem = onnx::readStrings(tensor, views))
      return problem->text;
    out.strings.assign(views.begin(), views.end());
    return "";
  }
  if (auto problem = onnx::decodeTensor(tensor, out.bytes))
    return problem->text;
  const onnx::DataTypeInfo *info = onnx::dataTypeInfo(tensor.type);
  if (!info || elementSize(out.dtype) == 0)
    return "element type " + std::string(onnx::dataTypeName(tensor.type));
  if (info->bits < 8)
    out.bytes = unpack(out.bytes, info->bits, tensor.count,
                       tensor.type == onnx::DataType::Int4 || tensor.type == onnx::DataType::Int2);
  return "";
}

/// A value as weir holds it: sequences and optionals as WEIR_TENSOR.
std::string toHost(const onnx::DataValue &value, HostTensor &out) {
  if (value.kind == onnx::DataValue::Kind::Tensor)
    return toHost(value.tensor, out);
  out = makeTensor(WEIR_TENSOR, {static_cast<int64_t>(value.elements.size())});
  for (const onnx::DataValue &element : value.elements)
    if (std::string problem = toHost(element, out.elements.emplace_back()); !problem.empty())
      return problem;
  return "";
}

/// Reads a value file. A reason where it holds nothing that a program could
/// take or give.
std::string readValueFile(const fs::path &path, const onnx::TypeInfo &type, HostTensor &out) {
  std::string bytes, error;
  if (!readFile(path.string(), bytes, error))
    return path.filename().string() + ": " + error;
  auto kind = onnx::DataValue::Kind::Tensor;
  if (type.kind == onnx::TypeInfo::Kind::Sequence)
    kind = onnx::DataValue::Kind::Sequence;
  else if (type.kind == onnx::TypeInfo::Kind::Optional)
    kind = onnx::DataValue::Kind::Optional;
  onnx::DataValue value;
  if (auto problem = onnx::readValue(bytes, kind, value))
    return path.filename().string() + ": " + problem->text;
  std::string problem = toHost(value, out);
  return problem.empty() ? "" : path.filename().string() + ": " + problem;
}

/// Older tests keep types that numpy lacks as unsigned integers of the same
/// bits; the model says what they are.
void takeTypeOf(const onnx::ValueInfo &value, HostTensor &tensor) {
  int32_t dtype = static_cast<int32_t>(value.type.elementType);
  bool unsignedBits = tensor.dtype == WEIR_U16 || tensor.dtype == WEIR_U8;
  if (value.type.kind == onnx::TypeInfo::Kind::Tensor && unsignedBits && isFloat(dtype) &&
      elementSize(dtype) == elementSize(tensor.dtype))
    tensor.dtype = dtype;
}

size_t countFiles(const fs::path &folder, const std::string &prefix) {
  size_t count = 0;
  while (fs::exists(folder / (prefix + std::to_string(count) + ".pb")))
    ++count;
  return count;
}

/// The graph's inputs that the files belong to.
std::vector<const onnx::ValueInfo *> fedInputs(const onnx::Graph &graph, size_t files) {
  std::set<std::string_view> initializers;
  for (const onnx::Tensor &tensor : graph.initializers)
    initializers.insert(tensor.name);
  for (const onnx::SparseTensor &tensor : graph.sparseInitializers)
    initializers.insert(tensor.values.name);
  std::vector<const onnx::ValueInfo *> inputs;
  bool all = files >= graph.inputs.size();
  for (const onnx::ValueInfo &input : graph.inputs)
    if (all || !initializers.count(input.name))
      inputs.push_back(&input);
  return inputs;
}

/// Whether a shape in the model contradicts the data, which then counts.
bool contradicts(const onnx::ValueInfo &value, const HostTensor &tensor) {
  if (value.type.kind != onnx::TypeInfo::Kind::Tensor || !value.type.hasShape)
    return false;
  const std::vector<onnx::Dim> &shape = value.type.shape;
  if (shape.size() != tensor.dims.size())
    return true;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d].size >= 0 && shape[d].size != tensor.dims[d])
      return true;
  return false;
}

/// Why a value cannot be fed or fetched by the C interface; "" where it can.
std::string refusedType(const onnx::ValueInfo &value) {
  switch (value.type.kind) {
  case onnx::TypeInfo::Kind::Map:
    return "\"" + std::string(value.name) + "\" is a map";
  default:
    return "";
  }
}

struct OpenModel {
  std::unique_ptr<MappedFile> file;
  std::unique_ptr<onnx::Model> model;
};

std::optional<Verdict> openModel(const std::string &path, OpenModel &open) {
  std::string error;
  open.file = MappedFile::open(path, error);
  if (!open.file)
    return Verdict::failed(error);
  DiagnosticSink sink;
  open.model = onnx::readModel(open.file->bytes(), path, sink);
  if (!open.model)
    return verdictOfRefusal(sink);
  return std::nullopt;
}

/// Whether the compiler's word on a model tells what of a node is wrong: neither that weir lacks
/// something, nor that it failed itself (W0199).
bool tellsWhatIsWrong(const Verdict &verdict) {
  return verdict.outcome == Outcome::Failed &&
         verdict.reason.find("node \"") != std::string::npos &&
         verdict.reason.find("W0199") == std::string::npos;
}

/// The verdict on a run that is to end with `code`: null where it does.
std::optional<Verdict> runToError(CompiledCase &compiled, NamedTensors &given,
                                  const std::string &code) {
  std::vector<HostTensor> feeds;
  if (auto verdict = collectFeeds(compiled.session->entries()[0], given, feeds))
    return verdict;
  NamedTensors got;
  RunStatus status = compiled.session->run(0, feeds, got);
  if (status.ok())
    return Verdict::failed("succeeds; expected " + code);
  if (status.code == WEIR_UNIMPLEMENTED)
    return verdictOfRun(status);
  if (weir_code_name(status.code) != code)
    return Verdict::failed("found " + status.text() + "; expected " + code);
  return std::nullopt;
}

Verdict runTest(const Case &test, const OpenModel &open) {
  fs::path folder = test.path;
  const onnx::Graph &graph = open.model->graph;
  fs::path first = folder / "test_data_set_0";
  std::vector<const onnx::ValueInfo *> inputs = fedInputs(graph, countFiles(first, "input_"));

  driver::Options options;
  options.input = (folder / "model.onnx").string();
  options.name = "model";
  CaseOptions own;
  if (std::string problem = own.read(folder.string()); !problem.empty())
    return Verdict::failed(problem);
  own.apply(options);
  // Where an initializer is fed, too, the entry is spelled out.
  if (inputs.size() == graph.inputs.size() && !graph.initializers.empty()) {
    EntrySpec entry;
    entry.name = "main";
    for (const onnx::ValueInfo *input : inputs)
      entry.feeds.push_back({std::string(input->name), std::string(input->name)});
    for (const onnx::ValueInfo &output : graph.outputs)
      entry.fetches.push_back({std::string(output.name), std::string(output.name)});
    options.entries.push_back(std::move(entry));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    HostTensor tensor;
    if (readValueFile(first / ("input_" + std::to_string(i) + ".pb"), inputs[i]->type, tensor)
            .empty() &&
        contradicts(*inputs[i], tensor))
      options.shapes.emplace(inputs[i]->name, tensor.dims);
  }
  CompiledCase compiled;
  if (auto verdict = compileCase(options, compiled)) {
    // What the compiler finds wrong need not wait for a run.
    return own.error.empty() || !tellsWhatIsWrong(*verdict) ? *verdict : Verdict();
  }
  if (auto verdict = openSession(compiled))
    return *verdict;

  for (size_t set = 0;; ++set) {
    fs::path data = folder / ("test_data_set_" + std::to_string(set));
    if (!fs::exists(data))
      break;
    NamedTensors given, wanted;
    for (size_t i = 0, n = countFiles(data, "input_"); i < n; ++i) {
      if (i >= inputs.size())
        return Verdict::failed("more input files than inputs");
      if (std::string refused = refusedType(*inputs[i]); !refused.empty())
        return Verdict::unsupported(refused);
      HostTensor tensor;
      std::string problem =
          readValueFile(data / ("input_" + std::to_string(i) + ".pb"), inputs[i]->type, tensor);
      if (!problem.empty())
        return Verdict::failed(problem);
      takeTypeOf(*inputs[i], tensor);
      given.emplace_back(inputs[i]->name, std::move(tensor));
    }
    if (!own.error.empty()) {
      if (auto verdict = runToError(compiled, given, own.error))
        return *verdict;
      continue;
    }
    for (size_t i = 0, n = countFiles(data, "output_"); i < n; ++i) {
      if (i >= graph.outputs.size())
        return Verdict::failed("more output files than outputs");
      if (std::string refused = refusedType(graph.outputs[i]); !refused.empty())
        return Verdict::unsupported(refused);
      HostTensor tensor;
      std::string problem = readValueFile(data / ("output_" + std::to_string(i) + ".pb"),
                                          graph.outputs[i].type, tensor);
      if (!problem.empty())
        return Verdict::failed(problem);
      takeTypeOf(graph.outputs[i], tensor);
      wanted.emplace_back(graph.outputs[i].name, std::move(tensor));
    }
    for (size_t i = 0; i < wanted.size(); ++i)
      if (auto verdict =
              runAndCompare(compiled, 0, given, {wanted[i]},
                            own.toleranceFor(wanted[i].second.dtype,
                                             onnxTolerance(test.suite, wanted[i].second.dtype))))
        return *verdict;
  }
  return {};
}

} // namespace

Verdict weir::conformance::runOnnxTest(const Case &test) {
  OpenModel open;
  if (auto verdict = openModel(test.path + "/model.onnx", open))
    return *verdict;
  Verdict verdict = runTest(test, open);
  verdict.operators = operatorsOf(*open.model);
  return verdict;
}

Verdict weir::conformance::runOnnxLight(const Case &test) {
  OpenModel open;
  if (auto verdict = openModel(test.path, open))
    return *verdict;
  driver::Options options;
  options.input = test.path;
  options.name = "model";
  CompiledCase compiled;
  if (auto verdict = compileCase(options, compiled))
    return *verdict;
  if (auto verdict = openSession(compiled))
    return *verdict;

  NamedTensors given, wanted;
  for (const LoadedTensor &feed : compiled.session->entries()[0].feeds) {
    std::vector<int64_t> dims = feed.dims;
    for (int64_t &dim : dims)
      dim = std::max<int64_t>(dim, 1);
    HostTensor tensor = makeTensor(feed.dtype, dims);
    for (int64_t i = 0, n = tensor.count(); i < n; ++i)
      setElement(tensor, i, static_cast<float>(i) / static_cast<float>(n));
    given.emplace_back(feed.name, std::move(tensor));
  }
  const onnx::Graph &graph = open.model->graph;
  std::string stem = test.path.substr(0, test.path.rfind('.')) + "_output_";
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    std::string file = stem + std::to_string(i) + ".pb";
    if (!fs::exists(file))
      break;
    HostTensor tensor;
    std::string problem = readValueFile(file, graph.outputs[i].type, tensor);
    if (!problem.empty())
      return Verdict::failed(problem);
    wanted.emplace_back(graph.outputs[i].name, std::move(tensor));
  }
  Verdict result;
  if (auto verdict = runAndCompare(compiled, 0, given, wanted, onnxTolerance(test.suite, WEIR_F32)))
    result = *verdict;
  result.operators = operatorsOf(*open.model);
  return result;
}
