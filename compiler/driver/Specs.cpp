//===- Specs.cpp - what importers are told --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Specs.h"

#include "compiler/driver/Messages.h"
#include "compiler/driver/Shapes.h"
#include "compiler/driver/Work.h"

using namespace weir;
using namespace weir::driver;

bool driver::importOptions(const Options &options, DiagnosticSink &sink, ImportOptions &result) {
  size_t before = sink.errorCount();
  auto refuse = [&](const llvm::Twine &found, const llvm::Twine &possible) {
    report(sink, "W0113", options.input, "found " + found + "; possible: " + possible);
  };
  result.entries = options.entries;
  for (EntrySpec &entry : result.entries) {
    for (FeedSpec &feed : entry.feeds) {
      if (feed.shape)
        checkShape(*feed.shape, "--feed=" + feed.value, options, sink);
      if (feed.dtype.empty())
        continue;
      std::string_view dtype = typeNameOf(feed.dtype);
      if (dtype.empty())
        refuse("type \"" + feed.dtype + "\" in --feed=" + feed.value,
               "f32, f16, bf16, f64, i8 to i64, u8 to u64, bool, string, c64, c128");
      feed.dtype = dtype;
    }
    for (const FetchSpec &fetch : entry.fetches)
      if (fetch.shape)
        checkShape(*fetch.shape, "--fetch=" + fetch.value, options, sink);
  }
  checkShapes(options, sink);
  for (const auto &[name, binding] : options.dims)
    if (binding.lower < 0 || (binding.upper != -1 && binding.upper < binding.lower))
      refuse("--dim=" + name + " from " + llvm::Twine(binding.lower) + " to " +
                 llvm::Twine(binding.upper),
             "a size, or bounds such as 1..64");
  result.shapes = options.shapes;
  result.dims = options.dims;
  result.flags = options.frontendFlags;
  result.jobs = unsigned(jobsOf(options));
  std::string error;
  if (!options.customOperations.empty() &&
      !readCustomOperations(options.customOperations, result.customOperations, error))
    report(sink, "W0116", options.customOperations, error);
  return sink.errorCount() == before;
}
