//===- DeviceKinds.h - the kinds of devices that weir has ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_DEVICEKINDS_H
#define WEIR_COMPILER_DRIVER_DEVICEKINDS_H

#include "compiler/codegen/device/DeviceBackend.h"
#include "compiler/driver/Options.h"

namespace weir::driver {

/// Registers weir's kinds of devices, once however often it is called, and returns
/// them with those that others have registered. Thread-safe.
llvm::SmallVector<const DeviceBackend *> allDeviceBackends();

/// Those of them that are not the host, whose flag is one of every compilation's.
llvm::SmallVector<const DeviceBackend *> acceleratorBackends();

/// What code is asked for by the kind's flag; empty: none.
std::string targetsFor(const DeviceBackend &backend, const Options &options);
/// The files that describe devices of the kind which code is tuned for.
std::vector<std::string> profilesFor(const DeviceBackend &backend, const Options &options);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_DEVICEKINDS_H
