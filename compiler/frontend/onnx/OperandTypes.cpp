//===- OperandTypes.cpp - which types operators take ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/OperandTypes.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

using namespace weir::onnx;

namespace {

struct Row {
  std::string_view domain, name, versions, inputs, sets;
};

constexpr Row rows[] = {
#define OPERATOR(...)
#define OPERAND_TYPES(...) {__VA_ARGS__},
#include "compiler/frontend/onnx/TypeTable.inc"
// Behind ONNX's own, by its name.
#include "compiler/frontend/onnx/MicrosoftTable.inc"
#undef OPERATOR
#undef OPERAND_TYPES
};

std::string_view nextWord(std::string_view &text) {
  size_t space = text.find(' ');
  std::string_view word = text.substr(0, space);
  text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  return word;
}

/// The row of an operator's version; null where the table has none.
const Row *find(const OperatorSpec &spec) {
  auto key = [](const Row &row) { return std::tie(row.domain, row.name); };
  auto wanted = std::tie(spec.domain, spec.name);
  const Row *row = std::lower_bound(std::begin(rows), std::end(rows), wanted,
                                    [&](const Row &r, auto k) { return key(r) < k; });
  for (; row != std::end(rows) && key(*row) == wanted; ++row)
    for (std::string_view text = row->versions; !text.empty();) {
      std::string_view word = nextWord(text);
      int64_t version = 0;
      std::from_chars(word.data(), word.data() + word.size(), version);
      if (version == spec.since)
        return row;
    }
  return nullptr;
}

/// The letters of a set: the table's form of a list of types.
std::string_view lettersOf(std::string_view sets, std::string_view name) {
  while (!sets.empty()) {
    std::string_view word = nextWord(sets);
    size_t equals = word.find('=');
    if (word.substr(0, equals) == name)
      return word.substr(equals + 1);
  }
  return {};
}

DataType typeOf(char letter) { return static_cast<DataType>(letter - 'A' + 1); }

std::string namesOf(std::string_view letters) {
  std::string text;
  for (char letter : letters)
    text += (text.empty() ? "" : ", ") + std::string(dataTypeName(typeOf(letter)));
  return text;
}

} // namespace

std::optional<std::string> weir::onnx::faultyOperandTypes(const OperatorSpec &spec,
                                                          const std::vector<DataType> &types) {
  const Row *row = find(spec);
  if (!row)
    return std::nullopt;
  std::map<std::string_view, size_t> firsts; // of each set, the operand that bound its type
  std::string_view text = row->inputs, name;
  bool repeats = false, isOwn = false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!repeats) {
      if (text.empty())
        break;
      name = nextWord(text);
      isOwn = name.ends_with('+');
      repeats = isOwn || name.ends_with('*');
      if (repeats)
        name.remove_suffix(1);
    }
    if (types[i] == DataType::Undefined || name == "-")
      continue;
    std::string_view allowed = lettersOf(row->sets, name);
    auto isType = [&](char letter) { return typeOf(letter) == types[i]; };
    std::string found = "found " + spec.inputName(i) + " of type ";
    found += dataTypeName(types[i]);
    if (std::none_of(allowed.begin(), allowed.end(), isType))
      return found + ", which " + std::string(spec.name) + " of version " +
             std::to_string(spec.since) + " does not take; possible: " + namesOf(allowed);
    if (isOwn || name.starts_with('.'))
      continue;
    auto [first, isNew] = firsts.try_emplace(name, i);
    if (!isNew && types[first->second] != types[i])
      return "expected one type for " + spec.inputName(i) + " and " +
             spec.inputName(first->second) + ", got " + std::string(dataTypeName(types[i])) +
             " and " + std::string(dataTypeName(types[first->second]));
  }
  return std::nullopt;
}
