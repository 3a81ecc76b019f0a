//===- FrozenCases.cpp - frozen graphs with decimal text ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// frozen_model.pb; feeds NAME.placeholder.csv and .shape; results
// NAME.prediction.csv, or NAME.k.prediction.csv for output k. A '/' in a node's
// name is a folder; `dtypes` lists `NAME.k type`, with `____` for '/'. Consts
// named in_N are fed with their own value: folded away they would test nothing
// but the folder.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/Operators.h"
#include "tools/weir-conformance/TensorFlowGraph.h"
#include "tools/weir-conformance/Tolerances.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"

#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

/// A recorded value: its name (path from the case's folder) and its two files.
struct TextTensor {
  std::string name;
  fs::path values, shape;
};

std::vector<TextTensor> findTexts(const fs::path &folder, std::string_view suffix) {
  std::vector<TextTensor> texts;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder)) {
    std::string name = entry.path().lexically_relative(folder).string();
    std::string ending = std::string(suffix) + ".csv";
    if (!name.ends_with(ending))
      continue;
    fs::path shape = entry.path();
    texts.push_back({name.substr(0, name.size() - ending.size()), entry.path(),
                     shape.replace_extension(".shape")});
  }
  std::sort(texts.begin(), texts.end(),
            [](const TextTensor &a, const TextTensor &b) { return a.name < b.name; });
  return texts;
}

/// Reads a value as elements of `dtype`. A shape of "0" beside one value is a
/// scalar's.
std::string readText(const TextTensor &text, int32_t dtype, HostTensor &out) {
  std::string values, shape, error;
  if (!readFile(text.values.string(), values, error) ||
      !readFile(text.shape.string(), shape, error))
    return text.name + ": " + error;
  std::vector<std::string_view> lines = splitLines(values);
  std::vector<int64_t> dims;
  for (std::string_view line : splitLines(shape)) {
    int64_t dim;
    if (line.empty())
      continue;
    if (!parseInteger(line, 0, int64_t(1) << 40, dim))
      return text.name + ": shape \"" + std::string(line) + "\"";
    dims.push_back(dim);
  }
  std::erase_if(lines, [](std::string_view line) { return line.empty(); });
  int64_t count = static_cast<int64_t>(lines.size());
  if (dims == std::vector<int64_t>{0} && count == 1)
    dims.clear();
  if (productOf(dims) != count)
    return text.name + ": " + std::to_string(count) + " values for shape " + shapeName(dims);
  out = makeTensor(dtype, dims);
  for (int64_t i = 0; i < count; ++i)
    if (!setElementFromText(out, i, lines[i]))
      return text.name + ": \"" + std::string(lines[i]) + "\" is no " +
             std::string(tools::dtypeName(dtype));
  return "";
}

/// The type that `dtypes` gives for output `port` of a node, WEIR_INVALID where
/// it gives none.
int32_t recordedType(const std::string &dtypes, const std::string &node, int port) {
  std::string key;
  for (char c : node)
    key += c == '/' ? std::string("____") : std::string(1, c);
  key += "." + std::to_string(port);
  for (std::string_view line : splitLines(dtypes)) {
    size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(0, space) == key)
      return dtypeOfName(line.substr(space + 1));
  }
  return WEIR_INVALID;
}

/// Whether a node is one of the inputs that were written as constants.
bool isInput(const tf::NodeDef &node) {
  std::string_view name = node.name.substr(node.name.rfind('/') + 1);
  return node.op == "Const" && name.starts_with("in_") && name.size() > 3 &&
         name.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

int32_t placeholderType(const tf::NodeDef *node) {
  const tf::AttrValue *type = node ? tf::findAttr(node->attrs, "dtype") : nullptr;
  return type ? dtypeOfName(tf::typeName(type->type())) : WEIR_INVALID;
}

/// Text of 64-bit integers went through a double when it was written: beyond
/// 2^53 a result that is the same double counts as the recorded one.
void takeDoubles(const HostTensor &got, HostTensor &want) {
  if (want.dtype != WEIR_I64 || got.dtype != WEIR_I64 || got.dims != want.dims)
    return;
  for (int64_t i = 0, n = want.count(); i < n; ++i) {
    int64_t recorded = elementAsInteger(want, i), ours = elementAsInteger(got, i);
    constexpr int64_t exact = int64_t(1) << 53;
    if ((recorded > exact || recorded < -exact) &&
        static_cast<double>(recorded) == static_cast<double>(ours))
      setElementFromText(want, i, std::to_string(ours));
  }
}

/// A graph that computes in single precision somewhere gives no more of it,
/// whatever type its results have.
Tolerance toleranceFor(int32_t dtype, const std::string &dtypes) {
  bool single = dtypes.find(" float32") != std::string::npos;
  return frozenTolerance(dtype == WEIR_F64 && single ? int32_t(WEIR_F32) : dtype);
}

struct Wanted {
  TextTensor text;
  std::string fetch; ///< node:port
  int32_t dtype;
};

/// NAME, or NAME.k where NAME alone is a node.
Wanted resolve(const TextTensor &text, const TensorFlowGraph &graph, const std::string &dtypes) {
  std::string node = text.name;
  int64_t port = 0;
  size_t dot = node.rfind('.');
  if (!graph.find(node) && dot != std::string::npos &&
      parseInteger(std::string_view(node).substr(dot + 1), 0, 1 << 20, port))
    node.resize(dot);
  return {text, node + ":" + std::to_string(port),
          recordedType(dtypes, node, static_cast<int>(port))};
}

Verdict runGraph(const Case &test, const TensorFlowGraph &graph) {
  fs::path folder = test.path;
  std::string dtypes, error;
  readFile((folder / "dtypes").string(), dtypes, error);

  driver::Options options;
  options.input = (folder / "frozen_model.pb").string();
  options.name = "model";
  EntrySpec entry;
  entry.name = "main";
  NamedTensors given;
  for (const TextTensor &text : findTexts(folder, ".placeholder")) {
    HostTensor tensor;
    int32_t dtype = placeholderType(graph.find(text.name));
    if (dtype == WEIR_INVALID)
      dtype = recordedType(dtypes, text.name, 0);
    if (dtype == WEIR_INVALID)
      return Verdict::failed("the case gives no type for feed \"" + text.name + "\"");
    if (std::string problem = readText(text, dtype, tensor); !problem.empty())
      return Verdict::failed(problem);
    given.emplace_back(text.name, std::move(tensor));
  }
  for (const tf::NodeDef &node : graph.graph.nodes) {
    HostTensor tensor;
    if (isInput(node) && constantValue(node, tensor))
      given.emplace_back(node.name, std::move(tensor));
  }
  for (auto &[name, tensor] : given)
    entry.feeds.push_back(feedOf(graph, name + ":0", name, tensor));

  std::vector<Wanted> wanted;
  for (const TextTensor &text : findTexts(folder, ".prediction")) {
    wanted.push_back(resolve(text, graph, dtypes));
    entry.fetches.push_back({wanted.back().fetch, text.name});
  }
  if (wanted.empty())
    return Verdict::failed("the case has no recorded results");
  options.entries.push_back(std::move(entry));

  CompiledCase compiled;
  if (auto verdict = compileCase(options, compiled))
    return *verdict;
  if (auto verdict = openSession(compiled))
    return *verdict;
  std::vector<HostTensor> feeds;
  const LoadedEntry &program = compiled.session->entries()[0];
  if (auto verdict = collectFeeds(program, given, feeds))
    return *verdict;
  NamedTensors got;
  if (auto verdict = runEntry(compiled, 0, feeds, got))
    return *verdict;
  for (const Wanted &want : wanted) {
    HostTensor *result = findTensor(got, want.text.name);
    if (!result)
      return Verdict::failed("the program has no fetch \"" + want.text.name + "\"");
    HostTensor expected;
    // Where the case does not say the type, the program does.
    int32_t dtype = want.dtype != WEIR_INVALID ? want.dtype : result->dtype;
    std::string problem = readText(want.text, dtype, expected);
    if (!problem.empty())
      return Verdict::failed(problem);
    takeDoubles(*result, expected);
    if (auto verdict = compareAll(got, {{want.text.name, expected}}, toleranceFor(dtype, dtypes)))
      return *verdict;
  }
  return {};
}

} // namespace

Verdict weir::conformance::runFrozen(const Case &test) {
  TensorFlowGraph graph;
  std::string error;
  if (!graph.open(test.path + "/frozen_model.pb", error))
    return Verdict::failed(error);
  Verdict verdict = runGraph(test, graph);
  verdict.operators = operatorsOf(graph.graph);
  return verdict;
}
