//===- DeviceFlags.h - what users say of kinds of devices ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tools, which need no MLIR for it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_DEVICEFLAGS_H
#define WEIR_COMPILER_DRIVER_DEVICEFLAGS_H

#include "compiler/codegen/device/DeviceFlag.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::driver {

using weir::DeviceFlag;

/// Of all kinds: those whose folders say it (weir_register_device_flags), and those that others
/// have registered. Thread-safe, as what follows.
std::vector<DeviceFlag> deviceFlags();
/// The kind whose first device the name means, /device:CPU:0 or CPU:0; none: no
/// kind beside CPUs.
std::optional<DeviceFlag> deviceFlagOf(std::string_view name);
/// What a profile's file says of this machine's first device of a type. None: `why`
/// says what is missing.
std::optional<std::string> deviceProfile(const std::string &type, std::string &why);
/// "CPU:0" and the first device of each kind, for messages.
std::string firstDevices();

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_DEVICEFLAGS_H
