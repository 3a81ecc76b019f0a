//===- DeviceTraits.h - what runs beside the host -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices of all kinds but CPUs have memory of their own, and their steps are host
// code that feeds them. What their step would have to read stays on the host: feeds,
// fetches, variables, shapes, conditions.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_DEVICETRAITS_H
#define WEIR_PASSES_ANALYSIS_DEVICETRAITS_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/analysis/DeviceKind.h"
#include "passes/analysis/DeviceName.h"
#include <string>

namespace weir {

/// Null: a CPU's name, or none of a known kind.
const DeviceKind *kindOf(const DeviceName &name);
/// Whether a device of that name has memory of its own, and a host that feeds it.
inline bool isOffloadDevice(const DeviceName &name) { return kindOf(name); }
/// The same for a number of `weir_plan.devices`.
bool isOffloadDevice(mlir::ModuleOp module, int64_t device);
/// Whether the function around `op` is the step of an offload device, and of which
/// kind; null: of none.
const DeviceKind *kindAround(mlir::Operation *op);
inline bool isOffloaded(mlir::Operation *op) { return kindAround(op); }
/// The device that feeds an offload device: the first CPU of its task, or of the
/// program; itself when there is none.
int64_t hostOf(mlir::ModuleOp module, int64_t device);

/// What loops and conditionals carry whose condition is left where a device computes it, and
/// operations outside of them that compute such a condition (weir-mark-device-control).
inline constexpr llvm::StringLiteral decidedOnDeviceAttr = "weir.decided_on_device";
/// Of a loop or conditional that no device decides although its condition is made of what lies in a
/// device's memory: why, as a sentence.
inline constexpr llvm::StringLiteral notDecidedAttr = "weir.decided_by_host";
/// On a weir_plan.load: it is the condition of one of those.
inline constexpr llvm::StringLiteral conditionAttribute = "weir_plan.condition";
/// How deep such loops and conditionals may lie in each other.
inline constexpr int mostDecidedDepth = 8;
/// Whether `op` is such an operation or lies in one: then few integers that it makes are
/// tensors in memory as all others, and no scalars of the step.
bool isDecidedOnDevice(mlir::Operation *op);
/// Whether such an operation makes `value`, which so lies in memory.
bool isDecidedOnDevice(mlir::Value value);

/// Why a device of the kind cannot compute `op`, as what follows "it" in a
/// sentence; empty: it can.
std::string whyNotOn(const DeviceKind &kind, mlir::Operation *op);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_DEVICETRAITS_H
