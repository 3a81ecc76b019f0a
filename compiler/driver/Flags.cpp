//===- Flags.cpp - flags of formats and of kinds of devices ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from the formats and the kinds themselves, so that a program which runs what is
// compiled has their flags without MLIR.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/DeviceFlags.h"
#include "compiler/driver/Formats.h"
#include "compiler/frontend/FrontendFlags.h"

// Made of what the folders say: nothing outside of them names them.
#include "compiler/driver/RegisteredDeviceFlags.h"
#include "compiler/driver/RegisteredFrontendFlags.h"

#include <mutex>

using namespace weir;

std::vector<FrontendFlag> driver::frontendFlags() {
  static std::once_flag once;
  std::call_once(once, registerFrontendFlags);
  return registeredFrontendFlags();
}

std::vector<DeviceFlag> driver::deviceFlags() {
  static std::once_flag once;
  std::call_once(once, registerDeviceFlags);
  return registeredDeviceFlags();
}

std::optional<DeviceFlag> driver::deviceFlagOf(std::string_view name) {
  for (DeviceFlag &flag : deviceFlags())
    if (name.ends_with(flag.first()))
      return std::move(flag);
  return std::nullopt;
}

std::string driver::firstDevices() {
  std::string names = "CPU:0";
  for (const DeviceFlag &flag : deviceFlags())
    names += ", " + flag.first();
  return names;
}
