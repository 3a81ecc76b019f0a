//===- RaggedRows.cpp - ragged answers that are recorded as text ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/RaggedRows.h"

#include <algorithm>
#include <cstdlib>

using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

/// Values in brackets, taken apart: the innermost ones, and how many things each pair
/// of brackets holds, by depth.
struct Rows {
  std::vector<std::string> values;
  std::vector<std::vector<int64_t>> lengths; ///< the outermost are the rows'

  /// Adds one row. False where the text is none.
  bool read(std::string_view text);

private:
  bool token(std::string_view &text);
};

} // namespace

static bool isSpace(char c) { return c == ' ' || c == '\n' || c == ','; }

/// Takes a number, or a string in quotes, off the front.
bool Rows::token(std::string_view &text) {
  if (text.starts_with('b') && text.size() > 1 && (text[1] == '\'' || text[1] == '"')) {
    std::string value;
    char quote = text[1];
    size_t i = 2;
    for (; i < text.size() && text[i] != quote; ++i) {
      if (text[i] != '\\') {
        value += text[i];
      } else if (i + 3 < text.size() && text[i + 1] == 'x') {
        value +=
            static_cast<char>(std::strtol(std::string(text.substr(i + 2, 2)).c_str(), nullptr, 16));
        i += 3;
      } else if (i + 1 < text.size()) {
        char c = text[++i];
        value += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
    }
    if (i >= text.size())
      return false;
    values.push_back(std::move(value));
    text.remove_prefix(i + 1);
    return true;
  }
  size_t end = 0;
  while (end < text.size() && !isSpace(text[end]) && text[end] != ']' && text[end] != '[')
    ++end;
  values.emplace_back(text.substr(0, end));
  text.remove_prefix(end);
  // NumPy leaves out what is in the middle of long rows.
  return end > 0 && values.back() != "...";
}

bool Rows::read(std::string_view text) {
  std::vector<int64_t> open; // things in each pair of brackets that is not closed
  bool isDone = false;
  for (;;) {
    while (!text.empty() && isSpace(text.front()))
      text.remove_prefix(1);
    if (text.empty())
      return isDone;
    if (isDone)
      return false;
    if (text.front() == '[') {
      if (!open.empty())
        ++open.back();
      open.push_back(0);
      text.remove_prefix(1);
    } else if (text.front() == ']') {
      if (open.empty())
        return false;
      lengths.resize(std::max(lengths.size(), open.size()));
      lengths[open.size() - 1].push_back(open.back());
      open.pop_back();
      isDone = open.empty();
      text.remove_prefix(1);
    } else {
      if (open.empty() || !token(text))
        return false;
      ++open.back();
    }
  }
}

/// The name of the splits of one level, of `levels`.
static std::string splitsName(const std::string &name, size_t level, size_t levels) {
  return name + ".row_splits" + (levels == 1 ? "" : "_" + std::to_string(level));
}

bool weir::conformance::isRagged(NamedTensors &got, const std::string &name) {
  return findTensor(got, name + ".values") &&
         (findTensor(got, splitsName(name, 0, 1)) || findTensor(got, splitsName(name, 0, 2)));
}

std::string weir::conformance::readRaggedRows(const std::string &name, const HostTensor &rows,
                                              NamedTensors &got, NamedTensors &wanted) {
  size_t levels = 1;
  if (!findTensor(got, splitsName(name, 0, 1)))
    while (findTensor(got, splitsName(name, levels, 2)))
      ++levels;
  Rows read;
  read.lengths.resize(levels);
  for (const std::string &row : rows.strings)
    if (!read.read(row))
      return "\"" + name + "\": recorded is a row that cannot be read: " + row;
  for (size_t level = 0; level < levels; ++level) {
    std::string splitsAs = splitsName(name, level, levels);
    HostTensor splits;
    splits.dtype = findTensor(got, splitsAs)->dtype;
    splits.dims = {static_cast<int64_t>(read.lengths[level].size()) + 1};
    splits.bytes.resize(splits.dims[0] * elementSize(splits.dtype));
    int64_t at = 0;
    for (size_t i = 0; i < read.lengths[level].size(); ++i)
      setElement(splits, static_cast<int64_t>(i) + 1,
                 static_cast<double>(at += read.lengths[level][i]));
    wanted.emplace_back(splitsAs, std::move(splits));
  }
  HostTensor *is = findTensor(got, name + ".values"), values;
  values.dtype = is->dtype;
  // Rows of tensors are flat here: only their elements are compared.
  values.dims = is->dims;
  if (is->count() != static_cast<int64_t>(read.values.size()))
    values.dims = {static_cast<int64_t>(read.values.size())};
  if (values.dtype == WEIR_STRING) {
    values.strings = std::move(read.values);
  } else {
    values.bytes.resize(read.values.size() * elementSize(values.dtype));
    for (size_t i = 0; i < read.values.size(); ++i)
      setElement(values, static_cast<int64_t>(i),
                 read.values[i] == "True" ? 1 : std::strtod(read.values[i].c_str(), nullptr));
  }
  wanted.emplace_back(name + ".values", std::move(values));
  return "";
}
