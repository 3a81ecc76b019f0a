//===- ResultTable.h - tables of results, one row a measurement --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_RESULTTABLE_H
#define WEIR_TOOLS_WEIR_BENCH_RESULTTABLE_H

#include <string>
#include <vector>

namespace weir::tools {

/// The day, as YYYY-MM-DD.
std::string today();
/// The processor as /proc/cpuinfo calls it, with how many there are.
std::string processorName();

/// A file of tab-separated values whose first line names the columns (docs/results/).
/// Every row begins with the date and the processor, which `append` fills in; a row
/// that agrees with an older one in all of the first `keys` further columns and in the
/// processor takes its place.
class ResultTable {
public:
  /// `columns` without date and processor.
  ResultTable(std::string path, std::vector<std::string> columns, size_t keys);
  void append(std::vector<std::string> row);
  /// Rewrites the file, whole or not at all. False, with the reason: it cannot be read
  /// or written, or has other columns.
  bool write(std::string &error);

private:
  std::string path;
  std::vector<std::string> columns;
  size_t keys;
  std::vector<std::vector<std::string>> added;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_RESULTTABLE_H
