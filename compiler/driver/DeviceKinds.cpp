//===- DeviceKinds.cpp - the kinds of devices that weir has ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/DeviceFlags.h"

// Made of what the kinds' folders say: nothing outside of them names them.
#include "compiler/driver/RegisteredDevices.h"

#include <mutex>

using namespace weir;

llvm::SmallVector<const DeviceBackend *> driver::allDeviceBackends() {
  static std::once_flag once;
  std::call_once(once, registerDeviceBackends);
  return deviceBackends();
}

llvm::SmallVector<const DeviceBackend *> driver::acceleratorBackends() {
  llvm::SmallVector<const DeviceBackend *> backends = allDeviceBackends();
  llvm::erase_if(backends, [](const DeviceBackend *backend) { return backend->isHost(); });
  return backends;
}

std::string driver::targetsFor(const DeviceBackend &backend, const Options &options) {
  auto it = options.deviceTargets.find(backend.type().str());
  return it == options.deviceTargets.end() ? "" : it->second;
}

std::vector<std::string> driver::profilesFor(const DeviceBackend &backend, const Options &options) {
  auto it = options.deviceProfiles.find(backend.type().str());
  return it == options.deviceProfiles.end() ? std::vector<std::string>() : it->second;
}

std::optional<std::string> driver::deviceProfile(const std::string &type, std::string &why) {
  for (const DeviceBackend *backend : acceleratorBackends())
    if (backend->type() == type)
      return backend->profileHere(why);
  why = "there is no such kind of device";
  return std::nullopt;
}
