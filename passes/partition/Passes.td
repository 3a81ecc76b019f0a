//===- Passes.td - one function a device -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_PASSES_TD
#define WEIR_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirPlacePass : Pass<"weir-place", "::mlir::ModuleOp"> {
  let summary = "gives every operation a device";
  let description = [{
    What: completes the device names that the model requests; users of a resource
    go where the resource is; operations without a request follow the first of
    their operands. Writes `weir_plan.devices` and every operation's
    `weir.device_index`.
    Why here: once the graph has its final form, before it is cut.
  }];
}

def WeirPartitionPass : Pass<"weir-partition", "::mlir::ModuleOp"> {
  let summary = "cuts an entry into one function a device, joined by send and receive";
  let description = [{
    What: copies every operation to the function of its device. A value that is
    used on another device is sent once, however many uses it has there.
    Why here: after placement; before kernels, which belong to one device.
    Before: every operation has a device. After: every function runs on one.
  }];
}

#endif // WEIR_PASSES_PARTITION_PASSES_TD
