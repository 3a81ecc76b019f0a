//===- FrontendFlags.cpp - the flags that formats have --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/FrontendFlags.h"

#include <algorithm>
#include <mutex>

using namespace weir;

namespace {
struct Table {
  std::mutex mutex;
  std::vector<FrontendFlag> flags;
};
} // namespace

static Table &table() {
  static Table made;
  return made;
}

void weir::registerFrontendFlag(const std::vector<FrontendFlag> &flags) {
  std::lock_guard lock(table().mutex);
  std::vector<FrontendFlag> &all = table().flags;
  for (const FrontendFlag &flag : flags)
    if (std::none_of(all.begin(), all.end(),
                     [&](const FrontendFlag &other) { return other.flag == flag.flag; }))
      all.push_back(flag);
}

std::vector<FrontendFlag> weir::registeredFrontendFlags() {
  std::lock_guard lock(table().mutex);
  return table().flags;
}
