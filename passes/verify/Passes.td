//===- Passes.td - what holds after each level -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_VERIFY_PASSES_TD
#define WEIR_PASSES_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

// Verifiers change nothing. An operation's own rules are its verifier's in the dialect; these
// are the rules of a level as a whole, which later stages rely on without asking.

def VerifyGraphPass : Pass<"verify-graph", "::mlir::ModuleOp"> {
  let summary = "what holds of the graph once it is simplified";
  let description = [{
    What holds: every tensor has a rank. No composite is left (DecomposeOpInterface), and no
    call of a function of the module. All operations are of the dialects weir and func, but for
    what weir_plan says of collectives.
    Before and after: the same module.
    Why here: behind simplify and layout, which establish it; placement, the cut and kernels
    ask every value for its rank, and know no composite.
    What breaks if it moves: in front of weir-decompose it would refuse every model.
  }];
}

def VerifyPartitionedPass : Pass<"verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "what holds of the functions of devices, and of the edges between them";
  let description = [{
    What holds: every function with a body belongs to a device of `weir_plan.devices`
    (`weir.device_index`), and no operation in it to another. Every edge that is sent or
    received is in `weir_plan.edges`; what sends it runs on the edge's source, what receives it
    on its destination; it has both, of one type; and no edge is sent twice in one block.
    Before and after: the same module.
    Why here: behind the cut, which makes edges. Later stages, and the runtime, pair sends and
    receives by number alone: a receive without a send would wait for ever.
    What breaks if it moves: before the cut there are no edges; behind bufferize types are
    memrefs, which this does not read.
  }];
}

def VerifyKernelsPass : Pass<"verify-kernels", "::mlir::ModuleOp"> {
  let summary = "what holds of kernels and of what steps still do themselves";
  let description = [{
    What holds: outside of kernels no operation is left that is a kernel's work. In a kernel
    there are kernel operations and constants alone, or launches of other kernels
    (depth-first fusion), without effects, tokens and control flow, and index tuples that are
    scattered by have a length that is known. Every kernel is launched.
    Before and after: the same module.
    Why here: behind weir-kernelize and the fusions after it. The step's builder has no code for
    tensors of any size, and emitters none for effects.
    What breaks if it moves: before weir-kernelize there is not one kernel; behind bufferize
    launches are runs.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def VerifyPlannedPass : Pass<"verify-planned", "::mlir::ModuleOp"> {
  let summary = "what holds of steps on buffers with offsets";
  let description = [{
    What holds: in steps there are no tensors but strings and other boxes that the runtime owns:
    values are buffers, scalars and tokens. Every buffer has a fixed size, and an offset that is
    aligned, within the arena of its device in `weir_plan.arenas`. Buffers that a run reads and
    writes have the element types of its kernel's arguments. Every swap is awaited or copied back.
    Before and after: the same module.
    Why here: last before code, when offsets are final. That no two live buffers overlap is
    checked where offsets are chosen (weir-plan-memory).
    What breaks if it moves: earlier, buffers have no offsets.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

#endif // WEIR_PASSES_VERIFY_PASSES_TD
