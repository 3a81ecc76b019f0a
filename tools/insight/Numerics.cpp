//===- Numerics.cpp - what numbers a run computes, node by node -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/insight/Numerics.h"

#include "tools/common/Compare.h"
#include "tools/common/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Locale.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr int bins = 16;

/// The largest finite magnitude of a narrow type; infinity: it is not of interest.
double largestOf(int32_t dtype) {
  switch (dtype) {
  case WEIR_F16:
    return 65504;
  case WEIR_BF16:
    return 0x1.fep127;
  case WEIR_F8E4M3FN:
    return 448;
  case WEIR_F8E5M2:
    return 57344;
  case WEIR_I8:
    return 127;
  case WEIR_U8:
    return 255;
  case WEIR_I16:
    return 32767;
  default:
    return INFINITY;
  }
}

double smallestNormal(int32_t dtype) {
  switch (dtype) {
  case WEIR_F64:
    return 0x1p-1022;
  case WEIR_F16:
    return 0x1p-14;
  case WEIR_F32:
  case WEIR_BF16:
    return 0x1p-126;
  default:
    return 0;
  }
}

/// A value with what is known of it.
struct Row {
  std::string value, node, op;
  const HostTensor *tensor;
  Numbers numbers;
  std::optional<Distance> distance;
  std::optional<std::string> difference; ///< beyond the tolerance
};

/// The end of a long name, which tells it from others; all of it is in the file for programs.
std::string shortened(const std::string &name) {
  constexpr size_t most = 48;
  return name.size() <= most ? name : "…" + name.substr(name.size() - most + 1);
}

/// What a text takes on a terminal.
size_t columns(const std::string &text) {
  return size_t(std::max(0, llvm::sys::locale::columnWidth(text)));
}

void printRows(const std::vector<Row> &rows, const std::string &reference) {
  size_t width = 32;
  for (const Row &row : rows)
    width = std::max(width, columns(shortened(row.value)));
  std::printf("%-*s %-18s %-18s %11s %11s %11s %7s %7s %7s %10s\n", int(width), "node", "operation",
              "type", "least", "most", "mean", "NaN", "inf", "subn", ("err " + reference).c_str());
  for (const Row &row : rows) {
    std::string name = shortened(row.value);
    name.append(width - std::min(width, columns(name)), ' ');
    std::printf("%s %-18s %-18s ", name.c_str(), row.op.c_str(), row.tensor->typeName().c_str());
    const Numbers &n = row.numbers;
    std::printf("%11.4g %11.4g %11.4g %7lld %7lld %7lld ", n.least, n.most, n.mean,
                static_cast<long long>(n.nans), static_cast<long long>(n.infinities),
                static_cast<long long>(n.subnormals));
    if (row.distance)
      std::printf("%10.3g", row.distance->relative);
    else
      std::printf("%10s", "-");
    if (n.saturated)
      std::printf("  %lld at the largest number of the type", static_cast<long long>(n.saturated));
    std::printf("\n");
  }
}

std::string jsonText(const std::string &model, const std::string &reference,
                     const std::vector<Row> &rows, const std::vector<std::string> &skipped) {
  auto number = [](double value) -> llvm::json::Value {
    return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
  };
  llvm::json::Array values;
  for (const Row &row : rows) {
    const Numbers &n = row.numbers;
    llvm::json::Object object{{"value", row.value},
                              {"node", row.node},
                              {"operation", row.op},
                              {"type", row.tensor->typeName()},
                              {"elements", n.count},
                              {"least", number(n.least)},
                              {"most", number(n.most)},
                              {"mean", number(n.mean)},
                              {"nans", n.nans},
                              {"infinities", n.infinities},
                              {"subnormals", n.subnormals},
                              {"saturated", n.saturated},
                              {"histogram", llvm::json::Array(n.histogram)}};
    if (row.distance) {
      object["largest_error"] = number(row.distance->largest);
      object["relative_error"] = number(row.distance->relative);
    }
    values.push_back(std::move(object));
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}",
                                                  llvm::json::Value(llvm::json::Object{
                                                      {"model", model},
                                                      {"reference", reference},
                                                      {"values", std::move(values)},
                                                      {"skipped", llvm::json::Array(skipped)}}))
                                 << "\n";
  return text;
}

} // namespace

Numbers weir::tools::numbersOf(const HostTensor &tensor) {
  Numbers n;
  n.count = tensor.count();
  if (tensor.dtype == WEIR_STRING || tensor.dtype == WEIR_TENSOR || isComplex(tensor.dtype))
    return n;
  double tiny = smallestNormal(tensor.dtype), most = largestOf(tensor.dtype), sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < n.count; ++i) {
    double value = elementAsDouble(tensor, i);
    if (std::isnan(value)) {
      ++n.nans;
    } else if (std::isinf(value)) {
      ++n.infinities;
    } else {
      n.least = finite ? std::min(n.least, value) : value;
      n.most = finite ? std::max(n.most, value) : value;
      ++finite;
      sum += value;
      n.subnormals += value != 0 && std::abs(value) < tiny;
      n.saturated += std::abs(value) >= most;
    }
  }
  if (!finite)
    return n;
  n.mean = sum / double(finite);
  n.histogram.assign(bins, 0);
  double width = (n.most - n.least) / bins;
  for (int64_t i = 0; i < n.count; ++i)
    if (double value = elementAsDouble(tensor, i); std::isfinite(value))
      ++n.histogram[width > 0 ? std::min<int64_t>(bins - 1, int64_t((value - n.least) / width))
                              : 0];
  return n;
}

std::optional<Distance> weir::tools::distanceOf(const HostTensor &got, const HostTensor &want) {
  if (!isFloat(got.dtype) || got.dims != want.dims || want.dtype == WEIR_STRING ||
      want.dtype == WEIR_TENSOR)
    return std::nullopt;
  Distance distance;
  double error = 0, energy = 0;
  for (int64_t i = 0; i < got.count(); ++i) {
    double value = elementAsDouble(want, i), difference = elementAsDouble(got, i) - value;
    if (!std::isfinite(difference))
      continue;
    distance.largest = std::max(distance.largest, std::abs(difference));
    error += difference * difference;
    energy += value * value;
  }
  distance.relative = energy > 0 ? std::sqrt(error / energy) : error > 0 ? INFINITY : 0;
  return distance;
}

/// The first value with a NaN that no value before it, which it is made of, has.
static const Row *firstNan(const std::vector<Row> &rows, const insight::ModelGraph &graph) {
  std::set<std::string> bad;
  for (const Row &row : rows) {
    if (!row.numbers.nans)
      continue;
    bool isMade = true;
    if (int64_t at = graph.producer(row.value); at >= 0)
      for (const std::string &input : graph.nodes[at].inputs)
        isMade &= !bad.count(input);
    if (isMade)
      return &row;
    bad.insert(row.value);
  }
  return nullptr;
}

bool weir::tools::printNumerics(const driver::Options &options, const NumericsOptions &numerics,
                                DiagnosticSink &sink) {
  std::optional<insight::ModelGraph> graph = insight::readModelGraph(
      options.input, options.frontendFlags, sink, insight::Calls::AreInlined);
  if (!graph)
    return false;
  NodeRuns runs(options, *graph);
  std::vector<std::string> skipped;
  if (!runs.addInputs(numerics.inputs, sink))
    return false;
  std::vector<std::string> values = runs.fetchable(skipped, sink);
  if (values.empty()) {
    sink.report({"W0723",
                 options.input,
                 "",
                 "",
                 "found no value that a run can fetch before " +
                     llvm::join(runs.ownFetches(), ", ") +
                     "; expected an entry that computes tensors of what it is fed",
                 {}});
    return false;
  }
  NamedTensors got, want;
  if (!runs.run({}, values, got, sink))
    return false;
  Reference reference = numerics.reference.value_or(Reference{});
  DiagnosticSink unheard;
  if (!reference.values(runs, values, want, numerics.reference ? sink : unheard)) {
    if (numerics.reference)
      return false;
    reference.kind = Reference::Kind::Unoptimised;
    if (!reference.values(runs, values, want, sink))
      return false;
  }
  Tolerance tolerance;
  tolerance.relative = numerics.tolerance;
  tolerance.absolute = 1e-7;
  std::vector<Row> rows;
  for (const auto &[name, tensor] : got) {
    Row row{name, "", "", &tensor, numbersOf(tensor), std::nullopt, std::nullopt};
    if (int64_t at = graph->producer(name); at >= 0) {
      row.node = graph->nodes[at].name;
      row.op = graph->nodes[at].op;
    }
    if (const HostTensor *other = findTensor(want, name)) {
      row.distance = distanceOf(tensor, *other);
      row.difference = compareTensors(tensor, converted(*other, tensor.dtype), tolerance);
    }
    rows.push_back(std::move(row));
  }
  printRows(rows, reference.name());
  if (!skipped.empty())
    std::printf("%zu values cannot be fetched: %s%s\n", skipped.size(), skipped[0].c_str(),
                skipped.size() > 1 ? ", …" : "");
  std::string error;
  if (!numerics.json.empty() &&
      !writeFile(numerics.json, jsonText(options.input, reference.name(), rows, skipped), error)) {
    sink.report({"W0707", numerics.json, "", "", "cannot be written: " + error, {}});
    return false;
  }
  if (const Row *nan = numerics.stopAtNan ? firstNan(rows, *graph) : nullptr) {
    sink.report({"W0721",
                 options.input,
                 nan->node,
                 nan->op,
                 "found " + std::to_string(nan->numbers.nans) + " NaNs of " +
                     std::to_string(nan->numbers.count) + " elements in \"" + nan->value +
                     "\", and none in what it is made of",
                 {}});
    return false;
  }
  if (!numerics.compareOnly)
    return true;
  for (const Row &row : rows)
    if (row.difference) {
      sink.report({"W0722",
                   options.input,
                   row.node,
                   row.op,
                   "\"" + row.value + "\" is the first value that is not as " + reference.name() +
                       " has it: " + *row.difference,
                   {}});
      return false;
    }
  return true;
}
