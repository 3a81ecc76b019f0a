//===- KernelRows.cpp - kernels that several nodes share ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/KernelRows.h"

#include "dialects/weir/NodeName.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weir;

int weir::kernelRow(StepTables &tables, StringRef kernel, Location launch) {
  std::vector<KernelInfo> &rows = tables.program.kernels;
  int first = tables.kernelIndex[kernel];
  // Other devices know kernels by these numbers, and have more kernels behind them.
  if (!tables.program.accelerators.empty())
    return first;
  llvm::SetVector<StringRef> names;
  collectNodeNames(launch, names);
  std::string nodes = llvm::join(names, ";");
  bool isShared = rows[first].launches > 1 || tables.kernelIndex.contains((kernel + ";").str());
  if (!isShared || nodes.empty())
    return first;
  std::string key = (kernel + ";" + nodes).str();
  auto known = tables.kernelIndex.find(key);
  int row = known == tables.kernelIndex.end() ? first : known->second;
  if (known == tables.kernelIndex.end()) {
    // The first launch takes the kernel's own row.
    if (!tables.kernelIndex.try_emplace((kernel + ";").str(), first).second) {
      row = int(rows.size());
      rows.push_back(KernelInfo(rows[first]));
    }
    tables.kernelIndex[key] = row;
    rows[row].nodes = nodes;
    rows[row].launches = 0;
  }
  ++rows[row].launches;
  return row;
}
