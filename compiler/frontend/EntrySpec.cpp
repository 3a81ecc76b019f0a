//===- EntrySpec.cpp - what a program computes of a model -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/EntrySpec.h"

#include <algorithm>
#include <array>
#include <charconv>

using namespace weir;

namespace {

/// More than any tensor has along a dimension.
constexpr int64_t largestSize = int64_t(1) << 48;

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

/// A whole number from `lowest` to largestSize.
bool parseNumber(std::string_view text, int64_t lowest, int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && isNumber(text) &&
         value >= lowest && value <= largestSize;
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

/// By weir's name, which is the first, others' for the same elements.
constexpr std::array<std::string_view, 4> typeNames[] = {
    {"f32", "float32", "float"},
    {"u8", "ui8", "uint8", "quint8"},
    {"i8", "int8", "qint8"},
    {"u16", "ui16", "uint16", "quint16"},
    {"i16", "int16", "qint16"},
    {"i32", "int32", "qint32"},
    {"i64", "int64"},
    {"string"},
    {"bool", "i1"},
    {"f16", "float16", "half"},
    {"f64", "float64", "double"},
    {"u32", "ui32", "uint32"},
    {"u64", "ui64", "uint64"},
    {"c64", "complex64"},
    {"c128", "complex128"},
    {"bf16", "bfloat16"},
    {"f8e4m3fn", "f8E4M3FN", "float8_e4m3fn"},
    {"f8e4m3fnuz", "f8E4M3FNUZ", "float8_e4m3fnuz"},
    {"f8e5m2", "f8E5M2", "float8_e5m2"},
    {"f8e5m2fnuz", "f8E5M2FNUZ", "float8_e5m2fnuz"},
    {"u4", "ui4", "uint4"},
    {"i4", "int4"},
    {"f4e2m1", "f4E2M1FN", "float4_e2m1fn"},
    {"f8e8m0", "f8E8M0FNU", "float8_e8m0fnu"},
    {"u2", "ui2", "uint2"},
    {"i2", "int2"},
    {"tensor"},
};

} // namespace

std::vector<std::string> weir::valuesOf(const FrontendFlagValues &flags, const std::string &flag) {
  auto it = flags.find(flag);
  return it == flags.end() ? std::vector<std::string>() : it->second;
}

std::string_view weir::typeNameOf(std::string_view name) {
  for (const auto &row : typeNames)
    for (std::string_view candidate : row)
      if (!candidate.empty() && candidate == name)
        return row[0];
  return "";
}

std::optional<ShapeSpec> weir::parseShape(std::string_view text) {
  ShapeSpec dims;
  if (text == "scalar")
    return dims;
  while (true) {
    size_t end = std::min(text.find('x'), text.size());
    std::string_view item = text.substr(0, end);
    int64_t dim = -1;
    if (item != "?" && !parseNumber(item, 0, dim))
      return std::nullopt;
    dims.push_back(dim);
    if (end == text.size())
      return dims;
    text.remove_prefix(end + 1);
  }
}

std::string weir::parseEntry(std::string_view text, EntrySpec &entry) {
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

std::string weir::parseFeed(std::string_view text, FeedSpec &feed) {
  std::string problem = takeValue(text, feed.value, feed.name);
  if (!problem.empty())
    return problem;
  if (text.starts_with(':')) {
    std::string_view part = takePart(text);
    if ((feed.shape = parseShape(part)))
      part = text.starts_with(':') ? takePart(text) : std::string_view();
    if (!part.empty()) {
      feed.dtype = typeNameOf(part);
      if (feed.dtype.empty())
        return "has no shape or element type where \"" + std::string(part) +
               "\" stands; possible: 2x?x3, scalar, f32, i64 …";
    }
  }
  if (!text.empty())
    return "is no feed; possible: node:port[=name][:2x?x3[:f32]]";
  return "";
}

std::string weir::parseFetch(std::string_view text, FetchSpec &fetch) {
  std::string problem = takeValue(text, fetch.value, fetch.name);
  if (problem.empty() && text.starts_with(':')) {
    std::string_view part = takePart(text);
    if (!(fetch.shape = parseShape(part)))
      return "has no shape where \"" + std::string(part) + "\" stands; possible: 2x?x3, scalar";
  }
  if (problem.empty() && !text.empty())
    problem = "is no fetch; possible: node:port[=name][:2x?x3]";
  return problem;
}

std::string weir::parseShapeBinding(std::string_view text, std::string &name, ShapeSpec &shape) {
  if (!takeName(text, name))
    return "names no input; possible: name=1x3x224x224";
  if (text.starts_with(':'))
    name += ":" + std::string(takePart(text));
  std::optional<ShapeSpec> given;
  if (!text.starts_with('=') || !(given = parseShape(text.substr(1))))
    return "gives no shape; possible: name=1x3x224x224";
  shape = std::move(*given);
  return "";
}

std::string weir::parseDimBinding(std::string_view text, std::string &name, DimBinding &binding) {
  const char *possible = "binds no dimension; possible: N=5, N=1..64";
  if (!takeName(text, name) || !text.starts_with('='))
    return possible;
  text.remove_prefix(1);
  size_t dots = text.find("..");
  if (!parseNumber(text.substr(0, dots), 0, binding.lower))
    return possible;
  binding.upper = binding.lower;
  if (dots == std::string_view::npos)
    return "";
  std::string_view upper = text.substr(dots + 2);
  binding.upper = -1;
  return upper.empty() || parseNumber(upper, binding.lower, binding.upper) ? "" : possible;
}
