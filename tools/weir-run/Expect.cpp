//===- Expect.cpp - results against recorded ones -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Expect.h"

#include "tools/common/Compare.h"

#include <cstdio>
#include <cstdlib>

using namespace weir;
using namespace weir::tools;

static FlagParser::Setter toleranceSetter(double &target) {
  return [&target](std::string_view value) -> std::string {
    std::string text(value);
    char *end = nullptr;
    double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || !(number >= 0))
      return "is no number from 0 on";
    target = number;
    return "";
  };
}

void weir::tools::addExpectFlags(FlagParser &parser, ExpectFlags &flags) {
  parser.group("Expected results");
  parser.text("--expect", "out.npz",
              "compares results with those of the file, whose keys are their names; exit code 1 "
              "where one differs",
              flags.file);
  parser.value("--rtol", "X", "how far floats may be off, as a part of what is expected (1e-3)",
               toleranceSetter(flags.relative));
  parser.value("--atol", "X", "and in addition to that (1e-5)", toleranceSetter(flags.absolute));
}

bool weir::tools::meetsExpectations(const ExpectFlags &flags, const NamedTensors &results,
                                    DiagnosticSink &sink) {
  if (flags.file.empty())
    return true;
  std::string error;
  NamedTensors wanted;
  if (!readNpzFile(flags.file, wanted, error)) {
    sink.report({"W0702", flags.file, "", "", error, {}});
    return false;
  }
  NamedTensors got;
  std::string names;
  for (const auto &[name, tensor] : results)
    for (auto &array : arraysOf(name, tensor)) {
      names += (names.empty() ? "\"" : ", \"") + array.first + "\"";
      got.push_back(std::move(array));
    }
  Tolerance tolerance;
  tolerance.relative = flags.relative;
  tolerance.ofMax = 0;
  tolerance.absolute = flags.absolute;
  size_t before = sink.errorCount();
  for (const auto &[name, want] : wanted) {
    HostTensor *found = findTensor(got, name);
    if (!found) {
      sink.report({"W0711",
                   flags.file,
                   "",
                   "",
                   "expected a result \"" + name + "\", got " + (names.empty() ? "none" : names),
                   {}});
      continue;
    }
    if (std::optional<std::string> difference = compareTensors(*found, want, tolerance))
      sink.report({"W0711", flags.file, "", "", "result \"" + name + "\": " + *difference, {}});
    else
      std::printf("%s: as expected\n", name.c_str());
  }
  return sink.errorCount() == before;
}
