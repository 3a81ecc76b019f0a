//===- DeviceFlag.h - what users say of a kind of devices -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without MLIR: programs that run what is compiled have the flags, too.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_DEVICE_DEVICEFLAG_H
#define WEIR_COMPILER_CODEGEN_DEVICE_DEVICEFLAG_H

#include <string>
#include <vector>

namespace weir {

/// What a DeviceBackend has for users.
struct DeviceFlag {
  std::string type;              ///< key of Options::deviceTargets
  std::string flag, value, help; ///< --flag=value
  std::string usualTargets;      ///< a value for who has none
  std::string variable;          ///< environment: "require" or "off"
  /// --flag=FILE[,FILE…] of devices that code is tuned for, and what writes such a
  /// file, --flag-out=FILE; empty: there are none.
  std::string profileFlag, profileHelp, profileOutHelp;

  std::string first() const { return type + ":0"; }
};

/// Makes a kind's flags known to all that read command lines; those of a type that is there already
/// are left alone. Thread-safe, as what follows.
void registerDeviceFlag(const DeviceFlag &flag);
/// In the order in which they were registered.
std::vector<DeviceFlag> registeredDeviceFlags();

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_DEVICE_DEVICEFLAG_H
