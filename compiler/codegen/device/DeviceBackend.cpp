//===- DeviceBackend.cpp - a kind of device, to the compiler --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/device/DeviceBackend.h"
#include "compiler/codegen/device/DeviceFlag.h"
#include "compiler/codegen/host/StepRewriter.h"
#include "dialects/weir/Pch.h"

#include <mutex>

using namespace mlir;
using namespace weir;

namespace {
struct Table {
  std::mutex mutex;
  llvm::SmallVector<const DeviceBackend *> backends;
};
} // namespace

static Table &table() {
  static Table made;
  return made;
}

static DeviceFlag flagOf(const DeviceBackend &backend) {
  DeviceBackend::Profiles profiles = backend.profiles();
  return {backend.type().str(),     backend.flag().str(),         backend.flagValue().str(),
          backend.flagHelp().str(), backend.usualTargets().str(), backend.variable().str(),
          profiles.flag.str(),      profiles.help.str(),          profiles.outHelp.str()};
}

bool weir::registerDeviceBackend(const DeviceBackend &backend) {
  std::lock_guard lock(table().mutex);
  if (!registerDeviceKind(backend))
    return false;
  table().backends.push_back(&backend);
  if (!backend.isHost())
    registerDeviceFlag(flagOf(backend));
  return true;
}

llvm::SmallVector<const DeviceBackend *> weir::deviceBackends() {
  std::lock_guard lock(table().mutex);
  return table().backends;
}

StepRewriterFactory weir::anyOf(std::vector<StepRewriterFactory> factories) {
  return [factories = std::move(factories)](func::FuncOp step, StepTables &tables) {
    std::unique_ptr<StepRewriter> made;
    for (const StepRewriterFactory &factory : factories)
      if (factory && !made)
        made = factory(step, tables);
    return made;
  };
}
