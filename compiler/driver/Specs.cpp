//===- Specs.cpp - shapes, dimensions and types as users write them -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Specs.h"

#include "compiler/driver/Messages.h"
#include "compiler/emit/Program.h"

using namespace weir;
using namespace weir::driver;

std::optional<std::vector<int64_t>> driver::parseShape(llvm::StringRef text) {
  std::vector<int64_t> shape;
  if (text.empty() || text == "scalar")
    return shape;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x');
  for (llvm::StringRef part : parts) {
    int64_t size = 0;
    if (part == "?")
      size = -1;
    else if (part.getAsInteger(10, size) || size < 0)
      return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

std::optional<DimBinding> driver::parseDim(llvm::StringRef text) {
  DimBinding binding;
  size_t dots = text.find("..");
  if (dots == llvm::StringRef::npos) {
    if (text.getAsInteger(10, binding.lower) || binding.lower < 0)
      return std::nullopt;
    binding.upper = binding.lower;
    return binding;
  }
  llvm::StringRef upper = text.drop_front(dots + 2);
  if (text.take_front(dots).getAsInteger(10, binding.lower) || binding.lower < 0)
    return std::nullopt;
  if (upper.empty())
    return binding;
  if (upper.getAsInteger(10, binding.upper) || binding.upper < binding.lower)
    return std::nullopt;
  return binding;
}

/// Whether it names a type that feeds may have.
static bool isDtype(llvm::StringRef name) {
  for (int dtype = 1; dtypeName(dtype) != "?"; ++dtype)
    if (name == dtypeName(dtype))
      return true;
  return false;
}

bool driver::importOptions(const Options &options, DiagnosticSink &sink, ImportOptions &result) {
  size_t before = sink.errorCount();
  auto shapeOf = [&](const std::string &text, const std::string &where) {
    std::optional<std::vector<int64_t>> shape = parseShape(text);
    if (!shape)
      report(sink, "W0113", options.input,
             "found shape \"" + text + "\" in " + where +
                 "; possible: sizes joined by x, such as 1x3x224x224, with ? "
                 "for one that is not fixed");
    return shape;
  };
  for (const EntrySpec &entry : options.entries) {
    weir::EntrySpec to;
    to.name = entry.name;
    to.signature = entry.signature;
    for (const FeedSpec &feed : entry.feeds) {
      weir::FeedSpec spec;
      spec.value = feed.tensor;
      spec.name = feed.name;
      if (!feed.shape.empty())
        spec.shape = shapeOf(feed.shape, "--feed=" + feed.tensor);
      if (!feed.dtype.empty() && !isDtype(feed.dtype))
        report(sink, "W0113", options.input,
               "found type \"" + feed.dtype + "\" in --feed=" + feed.tensor +
                   "; possible: f32, f16, bf16, f64, i8 to i64, u8 to u64, "
                   "bool, string, c64, c128");
      spec.dtype = feed.dtype;
      to.feeds.push_back(std::move(spec));
    }
    for (const FetchSpec &fetch : entry.fetches) {
      weir::FetchSpec spec{fetch.tensor, fetch.name, std::nullopt};
      if (!fetch.shape.empty())
        spec.shape = shapeOf(fetch.shape, "--fetch=" + fetch.tensor);
      to.fetches.push_back(std::move(spec));
    }
    result.entries.push_back(std::move(to));
  }
  result.tags = options.tags;
  for (const auto &[name, text] : options.shapes)
    if (std::optional<std::vector<int64_t>> shape = shapeOf(text, "--shape=" + name))
      result.shapes[name] = *shape;
  std::string error;
  if (!options.customOperations.empty() &&
      !readCustomOperations(options.customOperations, result.customOperations, error))
    report(sink, "W0116", options.customOperations, error);
  for (const auto &[name, text] : options.dims) {
    std::optional<DimBinding> binding = parseDim(text);
    if (binding)
      result.dims[name] = *binding;
    else
      report(sink, "W0113", options.input,
             "found --dim=" + name + "=" + text + "; possible: a size, or bounds such as 1..64");
  }
  return sink.errorCount() == before;
}
