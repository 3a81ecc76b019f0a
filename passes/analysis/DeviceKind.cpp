//===- DeviceKind.cpp - kinds of devices ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/DeviceKind.h"
#include "llvm/Support/RWMutex.h"

using namespace weir;

namespace {
struct Table {
  llvm::sys::RWMutex mutex;
  llvm::SmallVector<const DeviceKind *> kinds;

  const DeviceKind *find(llvm::StringRef type) const {
    for (const DeviceKind *kind : kinds)
      if (kind->type() == type)
        return kind;
    return nullptr;
  }
};
} // namespace

static Table &table() {
  static Table made;
  return made;
}

bool weir::registerDeviceKind(const DeviceKind &kind) {
  llvm::sys::ScopedWriter lock(table().mutex);
  if (table().find(kind.type()))
    return false;
  table().kinds.push_back(&kind);
  return true;
}

const DeviceKind *weir::findDeviceKind(llvm::StringRef type) {
  llvm::sys::ScopedReader lock(table().mutex);
  return table().find(type);
}

const DeviceKind *weir::hostKind() {
  llvm::sys::ScopedReader lock(table().mutex);
  const auto *found =
      llvm::find_if(table().kinds, [](const DeviceKind *kind) { return kind->isHost(); });
  return found == table().kinds.end() ? nullptr : *found;
}

llvm::SmallVector<const DeviceKind *> weir::deviceKinds() {
  llvm::sys::ScopedReader lock(table().mutex);
  return table().kinds;
}
