//===- FlagRules.cpp - flags that do not go together ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/FlagRules.h"

using namespace weir::tools;

namespace {

/// A flag, and those of which it needs one.
struct Companion {
  const char *flag;
  std::vector<std::string> needed;
};

} // namespace

static const std::vector<Companion> &companions() {
  static const std::vector<Companion> all = {
      {"--tolerance", {"--compare"}}, {"--numerics-out", {"--numerics", "--compare"}},
      {"--rtol", {"--expect"}},       {"--atol", {"--expect"}},
      {"--keep", {"--save"}},         {"--compare-f32", {"--precision"}},
  };
  return all;
}

std::string weir::tools::whyIgnored(const FlagParser &parser, bool isLibrary, bool showsNumbers) {
  if (isLibrary) {
    // Shapes fix what the library has left open; threads are the session's.
    std::string flag = parser.givenOf(
        {"What of the model", "Training", "Code", "Devices and memory", "For tests of weir"},
        {"--shape", "--threads"});
    if (flag.empty())
      flag = parser.given({"--compare-f32"});
    if (!flag.empty())
      return "found " + flag + " with a .so, which is compiled; possible: the model, or weirc " +
             flag;
  }
  if (showsNumbers) {
    std::string flag =
        parser.givenOf({"Run", "Times", "Steps", "Expected results", "Checkpoints"},
                       {"--input", "--run", "--steps", "--batch", "--shuffle", "--device",
                        "--numerics", "--compare", "--tolerance", "--numerics-out", "--name"});
    if (!flag.empty())
      return "found " + flag +
             " beside --numerics or --compare, which run the nodes of the model "
             "for themselves";
  }
  for (const Companion &one : companions())
    if (!parser.given({one.flag}).empty() && parser.given(one.needed).empty()) {
      std::string needed;
      for (const std::string &flag : one.needed)
        needed += (needed.empty() ? "" : " or ") + flag;
      return std::string("found ") + one.flag + " without " + needed;
    }
  return "";
}
