//===- Devices.h - files of devices, placements and profiles ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings what the user says of devices into the module's attributes, which
// placement reads, and what placement decided out of them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_DEVICES_H
#define WEIR_COMPILER_DRIVER_DEVICES_H

#include "compiler/driver/Options.h"
#include "compiler/emit/Report.h"
#include "compiler/frontend/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"

namespace weir::driver {

/// Reads --devices, --placement, --profile and --placer. False after an error
/// in the sink.
bool attachDevices(const Options &options, DiagnosticSink &sink, mlir::ModuleOp module);

/// Marks the module's products that the devices of each of `groups` groups share, as --shard names
/// them.
void shareProducts(mlir::ModuleOp module, llvm::ArrayRef<std::string> products, int64_t groups);

/// After placement: what it decided, for reports and `weirc explain`.
PlacementInfo takePlacement(mlir::ModuleOp module);

/// The file of --placement-out, which --placement reads.
std::string placementFile(const PlacementInfo &placement, const std::string &model);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_DEVICES_H
