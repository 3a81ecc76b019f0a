//===- DeviceSet.h - the devices of a module ------------------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a cluster file says, as the module's attribute `weir.cluster`:
//   {devices = [{name = "/job:…", flops = f64, bandwidth = f64, memory = i64,
//                overhead = f64}],
//    links = [{source = i64, destination = i64, bandwidth = f64,
//              latency = f64, compress = bool}]}
// in operations, bytes and seconds. All but names may be missing.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_DEVICESET_H
#define WEIR_PASSES_ANALYSIS_DEVICESET_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/analysis/DeviceName.h"
#include "passes/placement/Placement.h"

namespace weir {

struct ClusterDevice {
  DeviceName name;                  ///< complete
  double flops = 50e9;              ///< operations a second
  double bandwidth = 10e9;          ///< bytes a second, read and written
  double overhead = 1e-6;           ///< seconds to launch a kernel
  double memory = placement::never; ///< bytes
};

/// Devices of a run and what lies between them.
struct DeviceSet {
  std::vector<ClusterDevice> devices;
  /// links[from * devices + to]: seconds, and seconds a byte.
  std::vector<placement::Link> links;
  /// By the same index: f32 crosses as its upper 16 bits.
  std::vector<char> compressed;
  bool given = false; ///< by the user; else made up from what nodes ask for

  /// Reads the module's attribute; without one, CPU devices up to the highest
  /// number among `requests`, in every task that is named there.
  static DeviceSet of(mlir::ModuleOp module, llvm::ArrayRef<DeviceName> requests);
  /// The link from one device to another, of those that are there; the usual
  /// one for others.
  placement::Link between(int64_t from, int64_t to) const;
  std::string list() const; ///< names, for messages
};

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_DEVICESET_H
