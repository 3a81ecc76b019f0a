//===- ResultTable.cpp - tables of results, one row a measurement ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/ResultTable.h"

#include "tools/common/Files.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace weir::tools;

std::string weir::tools::today() {
  std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::string weir::tools::processorName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  while (std::getline(file, line))
    if (line.starts_with("model name")) {
      size_t at = line.find(':');
      name = at == std::string::npos ? line : line.substr(std::min(at + 2, line.size()));
      break;
    }
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores";
}

static std::vector<std::string> fieldsOf(std::string_view line) {
  std::vector<std::string> fields;
  for (std::string_view field : splitFields(line, '\t'))
    fields.emplace_back(field);
  return fields;
}

static std::string lineOf(const std::vector<std::string> &fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i)
    line += (i ? "\t" : "") + fields[i];
  return line + "\n";
}

ResultTable::ResultTable(std::string path, std::vector<std::string> names, size_t keys)
    : path(std::move(path)), columns{"date", "processor"}, keys(keys) {
  columns.insert(columns.end(), names.begin(), names.end());
}

void ResultTable::append(std::vector<std::string> row) {
  std::vector<std::string> whole{today(), processorName()};
  whole.insert(whole.end(), row.begin(), row.end());
  for (std::string &field : whole)
    std::replace_if(field.begin(), field.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  added.push_back(std::move(whole));
}

bool ResultTable::write(std::string &error) {
  std::vector<std::vector<std::string>> rows;
  if (std::filesystem::exists(path)) {
    std::string old;
    if (!readFile(path, old, error))
      return false;
    std::vector<std::string_view> lines = splitLines(old);
    if (lines.empty() || fieldsOf(lines[0]) != columns) {
      std::string wanted = lineOf(columns);
      wanted.pop_back();
      error = "has other columns than: " + wanted;
      return false;
    }
    for (size_t i = 1; i < lines.size(); ++i)
      rows.push_back(fieldsOf(lines[i]));
  }
  // The day may differ: the newest measurement stays.
  auto isSame = [&](const std::vector<std::string> &a, const std::vector<std::string> &b) {
    return a.size() == b.size() && std::equal(a.begin() + 1, a.begin() + 2 + keys, b.begin() + 1);
  };
  for (const std::vector<std::string> &row : added) {
    auto old = std::find_if(rows.begin(), rows.end(),
                            [&](const std::vector<std::string> &r) { return isSame(r, row); });
    if (old != rows.end())
      *old = row;
    else
      rows.push_back(row);
  }
  std::string text = lineOf(columns);
  for (const std::vector<std::string> &row : rows)
    text += lineOf(row);
  return writeFile(path, text, error);
}
