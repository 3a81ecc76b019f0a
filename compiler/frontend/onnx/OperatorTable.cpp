//===- OperatorTable.cpp - what ONNX says of its operators ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/OperatorTable.h"
#include "compiler/frontend/onnx/OperatorNames.h"

#include <algorithm>
#include <charconv>
#include <tuple>

using namespace weir::onnx;

namespace {

struct Row {
  std::string_view domain, name, versions;
  int leastInputs, mostInputs, leastOutputs, mostOutputs;
  std::string_view inputs, outputs, attributes;
};

constexpr Row rows[] = {
#define OPERATOR(...) {__VA_ARGS__},
#define OPERAND_TYPES(...)
#include "compiler/frontend/onnx/OperatorTable.inc"
// Behind ONNX's own, by its name.
#include "compiler/frontend/onnx/MicrosoftTable.inc"
#undef OPERATOR
#undef OPERAND_TYPES
};

struct ByName {
  using Key = std::pair<std::string_view, std::string_view>;
  bool operator()(const Row &row, const Key &key) const {
    return std::tie(row.domain, row.name) < std::tie(key.first, key.second);
  }
  bool operator()(const Key &key, const Row &row) const {
    return std::tie(key.first, key.second) < std::tie(row.domain, row.name);
  }
};

/// Cuts the first word off a text of words separated by spaces.
std::string_view nextWord(std::string_view &text) {
  size_t space = text.find(' ');
  std::string_view word = text.substr(0, space);
  text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  return word;
}

int64_t parseVersion(std::string_view text) {
  int64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

AttributeKind kindOf(std::string_view letters) {
  bool list = letters.size() == 2;
  switch (letters[0]) {
  case 'i':
    return list ? AttributeKind::Ints : AttributeKind::Int;
  case 'f':
    return list ? AttributeKind::Floats : AttributeKind::Float;
  case 's':
    return list ? AttributeKind::Strings : AttributeKind::String;
  case 't':
    return list ? AttributeKind::Tensors : AttributeKind::Tensor;
  case 'g':
    return list ? AttributeKind::Graphs : AttributeKind::Graph;
  case 'p':
    return list ? AttributeKind::TypeProtos : AttributeKind::TypeProto;
  case 'S':
    return AttributeKind::SparseTensor;
  default:
    return AttributeKind::Undefined;
  }
}

AttributeSpec parseAttribute(std::string_view word) {
  AttributeSpec spec;
  size_t colon = word.find(':');
  spec.name = word.substr(0, colon);
  std::string_view rest = word.substr(colon + 1);
  size_t equals = rest.find('=');
  if (equals != std::string_view::npos) {
    spec.defaultValue = rest.substr(equals + 1);
    rest = rest.substr(0, equals);
  }
  spec.required = rest.ends_with('!');
  if (spec.required)
    rest.remove_suffix(1);
  spec.kind = kindOf(rest);
  return spec;
}

} // namespace

std::vector<AttributeSpec> OperatorSpec::attributes() const {
  std::vector<AttributeSpec> specs;
  for (std::string_view text = attributeText; !text.empty();)
    specs.push_back(parseAttribute(nextWord(text)));
  return specs;
}

std::optional<AttributeSpec> OperatorSpec::attribute(std::string_view attributeName) const {
  for (std::string_view text = attributeText; !text.empty();) {
    AttributeSpec spec = parseAttribute(nextWord(text));
    if (spec.name == attributeName)
      return spec;
  }
  return std::nullopt;
}

std::string OperatorSpec::inputName(size_t index) const {
  std::string_view text = inputs;
  for (size_t i = 0; !text.empty(); ++i) {
    std::string_view word = nextWord(text);
    if (word.ends_with('*'))
      return std::string(word.substr(0, word.size() - 1)) + "[" + std::to_string(index - i) + "]";
    if (i == index)
      return std::string(word.ends_with('?') ? word.substr(0, word.size() - 1) : word);
  }
  return "input " + std::to_string(index);
}

bool OperatorSpec::isOptional(size_t index) const {
  std::string_view text = inputs;
  for (size_t i = 0; !text.empty(); ++i)
    if (std::string_view word = nextWord(text); i == index)
      return word.ends_with('?');
  return false;
}

std::optional<OperatorSpec> weir::onnx::findOperator(std::string_view domain, std::string_view name,
                                                     int64_t opset) {
  auto [first, last] =
      std::equal_range(std::begin(rows), std::end(rows), ByName::Key(domain, name), ByName());
  const Row *best = nullptr;
  int64_t since = 0;
  for (const Row *row = first; row != last; ++row)
    for (std::string_view text = row->versions; !text.empty();) {
      int64_t version = parseVersion(nextWord(text));
      if (version > opset || version <= since)
        continue;
      since = version;
      best = row;
    }
  if (!best)
    return std::nullopt;
  return OperatorSpec{
      best->domain,       best->name,        since,        best->leastInputs, best->mostInputs,
      best->leastOutputs, best->mostOutputs, best->inputs, best->outputs,     best->attributes};
}

int64_t weir::onnx::firstVersion(std::string_view domain, std::string_view name) {
  // Rows of one operator are sorted by their first version.
  const Row *row =
      std::lower_bound(std::begin(rows), std::end(rows), ByName::Key(domain, name), ByName());
  if (row == std::end(rows) || row->domain != domain || row->name != name)
    return 0;
  std::string_view text = row->versions;
  return parseVersion(nextWord(text));
}

std::vector<std::string_view> weir::onnx::operatorNames(std::string_view domain) {
  std::vector<std::string_view> names;
  for (const Row &row : rows)
    if (row.domain == domain)
      names.push_back(row.name);
  return names;
}

bool weir::onnx::isKnownDomain(std::string_view domain) {
  if (domain == microsoftDomain)
    return false;
  const Row *row = std::lower_bound(std::begin(rows), std::end(rows),
                                    ByName::Key(domain, std::string_view()), ByName());
  return row != std::end(rows) && row->domain == domain;
}

int64_t weir::onnx::newestOpset() { return NEWEST_OPSET; }
