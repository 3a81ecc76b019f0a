//===- CaseOptions.cpp - what a case says about itself --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CaseOptions.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

std::string CaseOptions::read(const std::string &folder) {
  std::string text, error, path = folder + "/options.txt";
  if (!std::filesystem::exists(path))
    return "";
  if (!readFile(path, text, error))
    return "options.txt: " + error;
  for (std::string_view line : splitLines(text)) {
    if (line.empty())
      continue;
    size_t space = line.find(' ');
    std::string word(line.substr(0, space));
    std::string value(space == std::string_view::npos ? "" : line.substr(space + 1));
    std::string name;
    DimBinding binding;
    ShapeSpec sizes;
    if (word == "dim" && parseDimBinding(value, name, binding).empty())
      dims[name] = binding;
    else if (word == "shape" && parseShapeBinding(value, name, sizes).empty())
      shapes[name] = sizes;
    else if (word == "epsilons" && std::strtod(value.c_str(), nullptr) > 0)
      epsilons = std::strtod(value.c_str(), nullptr);
    else if (word == "error" && !value.empty())
      this->error = value;
    else if (word != "steps" || !parseInteger(value, 0, 255, steps))
      return "options.txt: \"" + std::string(line) + "\" is not known";
  }
  return "";
}

void CaseOptions::apply(driver::Options &options) const {
  for (const auto &[name, binding] : dims)
    options.dims[name] = binding;
  for (const auto &[name, sizes] : shapes)
    options.shapes[name] = sizes;
}

Tolerance CaseOptions::toleranceFor(int32_t dtype, const Tolerance &usual) const {
  Tolerance tolerance = usual;
  if (epsilons) {
    tolerance = Tolerance();
    tolerance.relative = *epsilons * epsilonOf(dtype);
  }
  if (elementSize(dtype) == 1)
    tolerance.steps = std::max(tolerance.steps, steps);
  return tolerance;
}
