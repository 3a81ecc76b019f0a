//===- Passes.td - one function a device -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_PASSES_TD
#define WEIR_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirMarkDeviceControlPass : Pass<"weir-mark-device-control", "::mlir::ModuleOp"> {
  let summary = "leaves loops and conditionals to the device that computes their conditions";
  let description = [{
    What: a loop whose condition, or a conditional whose condition, is computed from what a device has in
    its memory, and all of whose operations one device computes at known sizes, without an effect, gets
    `weir.decided_on_device`; so does what computes a conditional's condition. Few integers that are
    made there are tensors in memory, whose operations are kernels, and nothing crosses to the host
    and back each time the loop comes by. Loops that count stay with the step, which need not wait for them.
    Why here: on the graph's final form, in front of weir-place, whose constraints keep
    such a loop on one device.
    Before: devices of the module are known. After: what is marked is free of effects, of open sizes and of
    requests for several devices.
    What breaks if it moves: behind weir-place conditions are on the host; before layouts are final a
    rewrite may bring in what no device computes.
  }];
}

def WeirFormPipelinePass : Pass<"weir-form-pipeline", "::mlir::ModuleOp"> {
  let summary = "cuts a training step into stages, and its batch into micro-batches";
  let description = [{
    What: of a `train_step` with the attributes `weir.stages` and `weir.micro_batches`, cuts the forward
    pass into stages of about the same time by the placer's cost model, gives each operation its
    stage (`weir.stage_index`), and writes what depends on the batch out for each micro-batch, in 1F1B
    order. What is marked as a sum over micro-batches is added up as they come. Writes
    `weir_plan.pipeline`.
    Why here: before weir-replicate, which copies the stages with all else, and behind all that
    simplifies: the copies are alike, and cost no time there.
    Before: one micro-batch of the training step.
    After: no mark of micro-batches is left, and the order of operations is kept
    (`weir.keeps_order`).
    What breaks if it moves: equal values of different micro-batches would be computed once.
  }];
}

def WeirPlacePass : Pass<"weir-place", "::mlir::ModuleOp"> {
  let summary = "gives every operation a device";
  let description = [{
    What: gathers what the model, the user's placement and colocation ask for
    into groups, with the devices that suit each; gives groups devices by a
    search on a cost model (docs/placement.md). Reads `weir.device_requests` and
    `weir.colocations` of functions and `weir.cluster`, `weir.locks`
    and `weir.profile` of the module. Writes
    `weir_plan.devices`, every operation's `weir.device_index`, and the
    `weir.homes` of the results of loops and conditionals. Where several devices
    are used, brings operations into the plan's order if a simulated step ends
    sooner in it, and writes their times (`weir.times`), unless what crosses is
    received early, or where a function keeps its order (`weir.keeps_order`).
    Why here: once the graph has its final form, before it is cut. Requests are
    kept by node, so that rewrites before need not know of them.
    Before: every operation may name a device, in part. After: every operation that is
    placed has the number of one (`weir.device_index`).
    What breaks if it moves: earlier, rewrites would have to keep devices apart; later, there is nothing left to cut.
  }];
  let options = [
    Option<"placer", "placer", "std::string", "\"search\"",
           "how: search, greedy, on:DEVICE, random:SEED">,
    Option<"receives", "receives", "std::string", "\"late\"",
           "when tensors cross: late, as the simulated step allows, or early">,
    Option<"hard", "hard", "bool", "false",
           "a device that is not there, or not for all of a group, is an error">,
    Option<"describes", "describe", "bool", "false",
           "leave in the module which node is where, and why">
  ];
}

def WeirFormCollectivesPass : Pass<"weir-form-collectives", "::mlir::ModuleOp"> {
  let summary = "has devices reduce together what each of them has a part of";
  let description = [{
    What: an all_reduce whose inputs lie on as many devices of one task, all of one
    kind that can, and whose result several of these use, becomes a conditional:
    where the session has the collective (`weir_plan.has_collective`) each of the
    devices takes part in it (`weir_plan.all_reduce`); else one of them computes the
    result from what the others send. Each has a result of its own. In loops and
    conditionals, too: all devices that have a part of one come by equally often, in one order. Writes
    `weir_plan.collectives`.
    Why here: devices are known, and the cut after it finds a part for each of them.
    Before: all_reduce is one operation on one device. After: each device that takes part
    has an operation of its own; others are as they were.
    What breaks if it moves: in front of weir-place no device is known; behind weir-partition the parts of a reduction
    lie in several functions.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirPartitionPass : Pass<"weir-partition", "::mlir::ModuleOp"> {
  let summary = "cuts an entry into one function a device, joined by send and receive";
  let description = [{
    What: copies every operation to the function of its device. A value that is
    used on another device is sent once, however many uses it has there. A loop
    or conditional exists on every device that has operations in it; its
    condition is sent there. Where operations have `weir.times`, tensors are sent
    as late as these allow; what that did is in `weir_plan.late_transfers`.
    Why here: after placement; before kernels, which belong to one device.
    Before: every operation has a device. After: every function runs on one.
    What breaks if it moves: behind weir-kernelize it would have to cut kernels.
  }];
}

#endif // WEIR_PASSES_PARTITION_PASSES_TD
