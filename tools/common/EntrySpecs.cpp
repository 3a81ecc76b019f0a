//===- EntrySpecs.cpp - feeds and fetches on a command line ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/EntrySpecs.h"

#include "tools/common/FlagParser.h"
#include "tools/common/HostTensor.h"

using namespace weir;
using namespace weir::tools;

namespace {

/// Takes a name off the front of `text`: a quoted one, or all up to ':' or '='.
bool takeName(std::string_view &text, std::string &name) {
  if (text.starts_with('"')) {
    size_t end = text.find('"', 1);
    if (end == std::string_view::npos)
      return false;
    name = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    size_t end = std::min(text.find_first_of(":="), text.size());
    name = text.substr(0, end);
    text.remove_prefix(end);
  }
  return !name.empty();
}

/// Takes `:part`, up to the next ':' or '='.
std::string_view takePart(std::string_view &text) {
  size_t end = std::min(text.find_first_of(":=", 1), text.size());
  std::string_view part = text.substr(1, end - 1);
  text.remove_prefix(end);
  return part;
}

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `node[:port][=name]` off the front.
std::string takeValue(std::string_view &text, std::string &value, std::string &name) {
  if (!takeName(text, value))
    return "names no node";
  if (text.starts_with(':')) {
    std::string_view rest = text, port = takePart(rest);
    if (isNumber(port)) {
      value += ":" + std::string(port);
      text = rest;
    }
  }
  if (text.starts_with('=')) {
    text.remove_prefix(1);
    if (!takeName(text, name))
      return "has an empty name after '='";
  }
  return "";
}

} // namespace

bool weir::tools::parseShape(std::string_view text, std::vector<int64_t> &dims) {
  dims.clear();
  if (text == "scalar")
    return true;
  while (true) {
    size_t end = std::min(text.find('x'), text.size());
    std::string_view item = text.substr(0, end);
    int64_t dim = -1;
    if (item != "?" && !parseInteger(item, 0, int64_t(1) << 48, dim))
      return false;
    dims.push_back(dim);
    if (end == text.size())
      return true;
    text.remove_prefix(end + 1);
  }
}

std::string weir::tools::parseEntry(std::string_view text, driver::EntrySpec &entry) {
  if (!takeName(text, entry.name))
    return "names no entry; possible: NAME, NAME=signature";
  if (text.empty())
    return "";
  if (!text.starts_with('='))
    return "is no entry; possible: NAME, NAME=signature";
  text.remove_prefix(1);
  if (!takeName(text, entry.signature) || !text.empty())
    return "is no entry; possible: NAME, NAME=signature";
  return "";
}

std::string weir::tools::parseFeed(std::string_view text, driver::FeedSpec &feed) {
  std::string problem = takeValue(text, feed.tensor, feed.name);
  if (!problem.empty())
    return problem;
  if (text.starts_with(':')) {
    std::string_view part = takePart(text);
    std::vector<int64_t> dims;
    if (parseShape(part, dims)) {
      feed.shape = part;
      part = text.starts_with(':') ? takePart(text) : std::string_view();
    }
    if (!part.empty()) {
      if (dtypeOfName(part) == WEIR_INVALID)
        return "has no shape or element type where \"" + std::string(part) +
               "\" stands; possible: 2x?x3, scalar, f32, i64 …";
      feed.dtype = dtypeName(dtypeOfName(part));
    }
  }
  if (!text.empty())
    return "is no feed; possible: node:port[=name][:2x?x3[:f32]]";
  return "";
}

std::string weir::tools::parseFetch(std::string_view text, driver::FetchSpec &fetch) {
  std::string problem = takeValue(text, fetch.tensor, fetch.name);
  if (problem.empty() && text.starts_with(':')) {
    std::vector<int64_t> dims;
    fetch.shape = takePart(text);
    if (!parseShape(fetch.shape, dims))
      return "has no shape where \"" + fetch.shape + "\" stands; possible: 2x?x3, scalar";
  }
  if (problem.empty() && !text.empty())
    problem = "is no fetch; possible: node:port[=name][:2x?x3]";
  return problem;
}

std::string weir::tools::parseShapeBinding(std::string_view text, Binding &binding) {
  if (!takeName(text, binding.first))
    return "names no input; possible: name=1x3x224x224";
  if (text.starts_with(':'))
    binding.first += ":" + std::string(takePart(text));
  std::vector<int64_t> dims;
  if (!text.starts_with('=') || !parseShape(text.substr(1), dims))
    return "gives no shape; possible: name=1x3x224x224";
  binding.second = text.substr(1);
  return "";
}

std::string weir::tools::parseDimBinding(std::string_view text, Binding &binding) {
  const char *possible = "binds no dimension; possible: N=5, N=1..64";
  if (!takeName(text, binding.first) || !text.starts_with('='))
    return possible;
  text.remove_prefix(1);
  binding.second = text;
  size_t dots = text.find("..");
  constexpr int64_t most = int64_t(1) << 48;
  int64_t lower, upper;
  if (!parseInteger(text.substr(0, dots), 0, most, lower))
    return possible;
  if (dots != std::string_view::npos && !parseInteger(text.substr(dots + 2), lower, most, upper))
    return possible;
  return "";
}
