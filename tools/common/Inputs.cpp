//===- Inputs.cpp - what --input and --output name ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Inputs.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::tools;

namespace {

constexpr std::string_view randomPrefix = "random:";
constexpr std::string_view emptySequence = "[]";

void report(DiagnosticSink &sink, const char *code, const std::string &file, std::string message,
            std::vector<std::string> notes = {}) {
  sink.report({code, file, "", "", std::move(message), std::move(notes)});
}

/// Sizes for a feed that nobody gave: what of `dims` is open takes its lower bound, or 1.
std::vector<int64_t> randomShape(const LoadedTensor &feed, std::vector<int64_t> dims) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] < 0)
      dims[d] = d < feed.lower.size() ? std::max<int64_t>(feed.lower[d], 1) : 1;
  return dims;
}

/// Bytes of memory that the system can still give, as it estimates.
int64_t availableMemory() {
  std::string text, error;
  constexpr std::string_view key = "MemAvailable:";
  size_t at = readFile("/proc/meminfo", text, error) ? text.find(key) : std::string::npos;
  if (at == std::string::npos)
    return INT64_MAX;
  return std::strtoll(text.c_str() + at + key.size(), nullptr, 10) * 1024;
}

/// Reports that no feed is named `name`; expected is one of `names`.
void reportUnknown(DiagnosticSink &sink, const std::string &model, const std::string &what,
                   const std::string &name, const std::vector<std::string> &names) {
  std::string all, nearest = nearestTo(name, names);
  for (const std::string &feed : names)
    all += (all.empty() ? "" : ", ") + ("\"" + feed + "\"");
  report(sink, "W0703", model, what + " does not have; possible: " + (all.empty() ? "none" : all),
         nearest.empty() ? std::vector<std::string>{}
                         : std::vector<std::string>{"did you mean \"" + nearest + "\"?"});
}

std::string elementText(const HostTensor &tensor, int64_t i) {
  if (tensor.dtype == WEIR_STRING)
    return "\"" + tensor.strings[i] + "\"";
  if (isComplex(tensor.dtype)) {
    HostTensor parts = tensor;
    parts.dtype = tensor.dtype == WEIR_C64 ? WEIR_F32 : WEIR_F64;
    char text[64];
    std::snprintf(text, sizeof(text), "(%.6g%+.6gj)", elementAsDouble(parts, 2 * i),
                  elementAsDouble(parts, 2 * i + 1));
    return text;
  }
  if (!isFloat(tensor.dtype))
    return std::to_string(elementAsInteger(tensor, i));
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", elementAsDouble(tensor, i));
  return text;
}

} // namespace

bool InputSet::add(const std::string &flag, DiagnosticSink &sink) {
  std::string error;
  if (flag.starts_with(randomPrefix)) {
    int64_t number;
    if (!parseInteger(std::string_view(flag).substr(randomPrefix.size()), 0, INT64_MAX, number)) {
      report(sink, "W0702", "", "--input=" + flag + ": found no seed; possible: random:1");
      return false;
    }
    random = true;
    seed = static_cast<uint64_t>(number);
    return true;
  }
  if (flag.ends_with(".npz") && flag.find('=') == std::string::npos) {
    if (readNpzFile(flag, tensors, error))
      return true;
    report(sink, "W0702", flag, error);
    return false;
  }
  // The last '=': a feed's name may hold one, a file's rarely does.
  size_t equals = flag.rfind('=');
  if (equals != std::string::npos && flag.substr(equals + 1) == emptySequence) {
    tensors.emplace_back(flag.substr(0, equals), makeTensor(WEIR_TENSOR, {0}));
    return true;
  }
  if (equals != std::string::npos && (flag.ends_with(".raw") || flag.ends_with(".bin"))) {
    rawFiles[flag.substr(0, equals)] = flag.substr(equals + 1);
    return true;
  }
  if (equals == std::string::npos || !flag.ends_with(".npy")) {
    report(sink, "W0702", "",
           "--input=" + flag +
               ": found neither file nor seed; expected name=x.npy, name=x.raw, all.npz or "
               "random:SEED");
    return false;
  }
  HostTensor tensor;
  std::string path = flag.substr(equals + 1);
  if (!readNpyFile(path, tensor, error)) {
    report(sink, "W0702", path, error);
    return false;
  }
  tensors.emplace_back(flag.substr(0, equals), std::move(tensor));
  return true;
}

bool InputSet::setShapes(const std::string &model, const std::vector<LoadedEntry> &entries,
                         const std::map<std::string, std::vector<int64_t>> &given,
                         DiagnosticSink &sink) {
  std::vector<std::string> names;
  for (const LoadedEntry &entry : entries)
    for (const LoadedTensor &feed : entry.feeds)
      names.push_back(feed.name);
  for (const auto &[name, dims] : given)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      reportUnknown(sink, model, "found --shape=" + name + ", an input that the program", name,
                    names);
      return false;
    }
  shapes = given;
  return true;
}

bool InputSet::checkNames(const std::string &model, const std::vector<LoadedEntry> &entries,
                          const std::vector<std::string> &run, DiagnosticSink &sink) {
  std::vector<std::string> names;
  std::string what;
  auto isFeed = [&](std::string_view name) {
    for (const LoadedEntry &entry : entries) {
      if (std::find(run.begin(), run.end(), entry.name) == run.end())
        continue;
      for (const LoadedTensor &feed : entry.feeds)
        for (const std::string &one : {feed.name, entry.name + "/" + feed.name})
          if (name == one || (feed.dtype == WEIR_TENSOR && name.starts_with(one + "[")))
            return true;
    }
    return false;
  };
  for (const LoadedEntry &entry : entries)
    if (std::find(run.begin(), run.end(), entry.name) != run.end()) {
      what += (what.empty() ? "which entry \"" : " or \"") + entry.name + "\"";
      for (const LoadedTensor &feed : entry.feeds)
        if (std::find(names.begin(), names.end(), feed.name) == names.end())
          names.push_back(feed.name);
    }
  size_t before = sink.errorCount();
  for (const auto &[name, tensor] : tensors)
    if (!what.empty() && !isFeed(name))
      reportUnknown(sink, model, "found input \"" + name + "\", " + what, name, names);
  for (const auto &[name, file] : rawFiles)
    if (!isFeed(name))
      reportUnknown(sink, model, "found input \"" + name + "\", " + what, name, names);
  return sink.errorCount() == before;
}

bool InputSet::collectRaw(const std::string &model, const LoadedTensor &feed,
                          const std::string &path, HostTensor &tensor, DiagnosticSink &sink) const {
  std::string error, bytes;
  if (!readFile(path, bytes, error)) {
    report(sink, "W0702", path, error);
    return false;
  }
  auto given = shapes.find(feed.name);
  std::vector<int64_t> dims = given == shapes.end() ? feed.dims : given->second;
  int64_t size = elementSize(feed.dtype), known = size, open = -1;
  size_t openCount = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0) {
      open = int64_t(d);
      ++openCount;
    } else if (__builtin_mul_overflow(known, dims[d], &known)) {
      known = 0;
    }
  }
  // One open size is what the file has.
  auto total = static_cast<int64_t>(bytes.size());
  bool fits = size > 0 && known > 0 && feed.ranked && openCount <= 1 && total % known == 0 &&
              (openCount == 1 || total == known);
  if (!fits) {
    report(sink, "W0702", path,
           "found " + std::to_string(total) + " bytes for input \"" + feed.name + "\" of " + model +
               "; expected elements of " + std::string(tools::dtypeName(feed.dtype)) + " " +
               shapeName(dims) + (openCount > 1 ? ", whose open sizes --shape gives" : ""));
    return false;
  }
  if (openCount == 1)
    dims[size_t(open)] = total / known;
  tensor.dtype = feed.dtype;
  tensor.dims = std::move(dims);
  tensor.bytes = std::move(bytes);
  return true;
}

bool InputSet::collect(const std::string &model, const LoadedEntry &entry,
                       std::vector<HostTensor> &feeds, DiagnosticSink &sink) {
  size_t before = sink.errorCount();
  for (const LoadedTensor &feed : entry.feeds) {
    // What is named for this entry alone comes first.
    std::string own = entry.name + "/" + feed.name;
    HostTensor *tensor = findTensor(tensors, own);
    HostTensor sequence, raw;
    if (!tensor)
      tensor = findTensor(tensors, feed.name);
    for (const std::string &name : {own, feed.name})
      if (!tensor && feed.dtype == WEIR_TENSOR && sequenceOf(tensors, name, sequence))
        tensor = &sequence;
    auto file = rawFiles.find(own);
    if (file == rawFiles.end())
      file = rawFiles.find(feed.name);
    if (!tensor && file != rawFiles.end()) {
      if (!collectRaw(model, feed, file->second, raw, sink))
        continue;
      tensor = &raw;
    }
    if (tensor) {
      // numpy has no bfloat16 and the like: integers of the same width are
      // taken for their bits.
      if (tensor->dtype != feed.dtype && tensor->dtype != WEIR_STRING &&
          elementSize(tensor->dtype) == elementSize(feed.dtype) &&
          (tensor->dtype == WEIR_U16 || tensor->dtype == WEIR_U8))
        tensor->dtype = feed.dtype;
      feeds.push_back(*tensor);
    } else if (random) {
      auto given = shapes.find(feed.name);
      std::vector<int64_t> dims =
          randomShape(feed, given == shapes.end() ? feed.dims : given->second);
      int64_t count = productOf(dims), size = std::max<int64_t>(elementSize(feed.dtype), 1);
      if (int64_t most = availableMemory(); count < 0 || count > most / size) {
        report(sink, "W0704", model,
               "RESOURCE_EXHAUSTED: input \"" + feed.name + "\" of " +
                   std::string(tools::dtypeName(feed.dtype)) + " " + shapeName(dims) +
                   " takes more than the " + std::to_string(most) + " bytes that are free");
        continue;
      }
      feeds.push_back(randomTensor(feed.dtype, std::move(dims), seed + feeds.size()));
    } else {
      report(sink, "W0701", model,
             "entry \"" + entry.name + "\" needs input \"" + feed.name + "\" (" +
                 std::string(tools::dtypeName(feed.dtype)) + " " + shapeName(feed.dims) +
                 "), which was not given; possible: --input=" + feed.name +
                 "=x.npy, --input=all.npz, --input=random:1");
    }
  }
  return sink.errorCount() == before;
}

bool weir::tools::writeOutputs(const std::string &output, const NamedTensors &all,
                               DiagnosticSink &sink) {
  std::string error;
  NamedTensors fetches;
  for (const auto &[name, tensor] : all)
    for (auto &array : arraysOf(name, tensor))
      fetches.push_back(std::move(array));
  if (output.ends_with(".npz")) {
    if (writeNpzFile(output, fetches, error))
      return true;
    report(sink, "W0707", output, "cannot be written: " + error);
    return false;
  }
  std::error_code code;
  std::string suffix = fs::path(output).extension().string();
  for (const char *one : {".npy", ".csv", ".txt", ".json", ".pb", ".raw", ".bin"})
    if (suffix == one && !fs::is_directory(output, code)) {
      report(sink, "W0707", output,
             "is no form that results are written in; expected a folder's name, for a .npy file "
             "a result, or one that ends in .npz");
      return false;
    }
  fs::create_directories(output, code);
  if (code) {
    report(sink, "W0707", output, "cannot be made: " + code.message());
    return false;
  }
  for (const auto &[name, tensor] : fetches) {
    std::string file = name;
    for (char &c : file)
      if (c == '/' || c == ':')
        c = '_';
    std::string path = output + "/" + file + ".npy";
    if (!writeNpyFile(path, tensor, error)) {
      report(sink, "W0707", path, "cannot be written: " + error);
      return false;
    }
  }
  return true;
}

std::string weir::tools::summaryOf(const std::string &name, const HostTensor &tensor) {
  std::string text = name + ": " + tensor.typeName();
  if (tensor.dtype == WEIR_TENSOR) {
    for (size_t i = 0; i < tensor.elements.size(); ++i)
      text += "\n" + summaryOf(name + "[" + std::to_string(i) + "]", tensor.elements[i]);
    return text;
  }
  int64_t count = tensor.count();
  text += tensor.dims.empty() ? " " : " [";
  constexpr int64_t shown = 8;
  for (int64_t i = 0; i < count && i < shown; ++i)
    text += (i ? ", " : "") + elementText(tensor, i);
  if (count > shown)
    text += ", …";
  return text + (tensor.dims.empty() ? "" : "]");
}
