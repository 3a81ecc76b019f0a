//===- DeviceFlag.cpp - what users say of a kind of devices ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/device/DeviceFlag.h"

#include <algorithm>
#include <mutex>

using namespace weir;

namespace {
struct Table {
  std::mutex mutex;
  std::vector<DeviceFlag> flags;
};
} // namespace

static Table &table() {
  static Table made;
  return made;
}

void weir::registerDeviceFlag(const DeviceFlag &flag) {
  std::lock_guard lock(table().mutex);
  std::vector<DeviceFlag> &flags = table().flags;
  if (std::none_of(flags.begin(), flags.end(),
                   [&](const DeviceFlag &other) { return other.type == flag.type; }))
    flags.push_back(flag);
}

std::vector<DeviceFlag> weir::registeredDeviceFlags() {
  std::lock_guard lock(table().mutex);
  return table().flags;
}
