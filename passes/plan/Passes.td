//===- Passes.td - order, buffers, offsets -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_PASSES_TD
#define WEIR_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirOrderLaunchesPass : Pass<"weir-order-launches", "::mlir::ModuleOp"> {
  let summary = "an order of launches in which few bytes are alive at once";
  let description = [{
    What: reorders the operations of each block within what data and effects
    allow, so that the peak of live bytes falls: `schedule` says
    latency (as given), memory (least everywhere), or balanced (only where it
    decides about the peak). Effects keep their order among themselves. Writes
    both peaks into `weir_plan.order`, and whether it is proved that no order of
    these launches has a smaller one.
    Where `limit` says how many bytes a device may use and that order needs more,
    `memory` takes its place.
    Why here: launches are final, and the order is fixed with bufferize, which
    goes through blocks as they stand. Never worse than what it was given.
    Before: launches in any order that data and effects allow. After: the same operations;
    the peak of live bytes is no larger.
    What breaks if it moves: in front of kernelize it would order operations that fuse; behind bufferize nothing may move
    any more.
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"balanced\"",
           "what the order is to be good for: latency, memory or balanced">,
    Option<"limit", "limit", "int64_t", "0", "bytes that a device may use; 0: any number">
  ];
}

def WeirRecomputeLaunchesPass : Pass<"weir-recompute-launches", "::mlir::ModuleOp"> {
  let summary = "computes values again where keeping them exceeds the limit";
  let description = [{
    What: where `limit` says how many bytes a device may use and more are alive than
    that, drops values that wait across the fullest moments and clones the launches
    that make them in front of the next use, most bytes saved for the least work
    first. On an offload device it copies values to the host (`swap_out`) and back
    (`swap_in`) where the link makes that cheaper, and begins copies back so early
    that work hides them, as far as the limit leaves room. In a loop or conditional
    only where nothing around it keeps the limit.
    Writes `weir_plan.recompute`: whether the limit is kept, launches that run again,
    peaks before and after, and the work added, in thousandths (of a loop, one turn's);
    and, where there is an offload device, `weir_plan.swap`: values copied out, copies
    back, the bytes of both, and the peak that running again alone reached.
    Why here: behind the order, which is free; before buffers, which then see short
    lives. No pass behind it merges equal launches.
    Must not: repeat what has effects.
    Before: the order is chosen. After: no more bytes are alive than the limit says, or
    `weir_plan.recompute` says that they are.
    What breaks if it moves: in front of weir-order-launches it would recompute what another order saves; behind
    bufferize a second launch would need a buffer that the plan does not know.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "0", "bytes that a device may use; 0: any number">
  ];
}

def WeirBufferizePass : Pass<"weir-bufferize", "::mlir::ModuleOp"> {
  let summary = "gives every tensor of a step a buffer";
  let description = [{
    What: turns each entry function on tensors into a step on memrefs: feeds,
    constants and variables are read in place, every launch gets result buffers
    (`buffer` where the size is fixed, `alloc` where it is not), sizes become
    index arithmetic, few host integers become scalars, weir.if and weir.while
    become scf with explicit copies of what they carry.
    Why here: after kernelize and the order of launches, which decide how long
    values live; before offsets, which need to know all buffers.
    Before: launches and step operations on tensors. After: no tensor is left
    outside of kernels; every value of a launch lies in one buffer that nothing
    else writes while it is read.
    What breaks if it moves: in front of weir-order-launches the order, and with it every lifetime, would be the file's.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirFoldSizesPass : Pass<"weir-fold-sizes", "::mlir::ModuleOp"> {
  let summary = "one value for sizes that are the same, and none that is a choice";
  let description = [{
    What: folds the index arithmetic of steps by what sizes can be: a feed's are not negative, nor
    more than the runtime takes, so the greater of a size and 0 is the size, sums of constants are
    one, and a comparison that every size answers alike is its answer. Equal computations are one,
    in the same turn, so that the greater of two operands' sizes is theirs where both come from one
    image by windows of different kinds. Checks that cannot fail go.
    Why here: sizes have just become arithmetic; canonicalize and cse, which know of no bounds, take
    away what nothing uses any more.
    Before: every launch's sizes are computed from its operands'. After: those that are known to be
    the same are the same value.
    What breaks if it moves: behind weir-reuse-buffers no residual sum of an open size would be written over its
    operand, since two sizes that are two values may differ.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirBoundBuffersPass : Pass<"weir-bound-buffers", "::mlir::ModuleOp"> {
  let summary = "plans buffers of run-time size whose sizes have bounds";
  let description = [{
    What: where dimensions of feeds have bounds, derives those of every `alloc` by
    interval arithmetic, and puts a `buffer` of the largest size in its place, seen
    through a `view` of the size of the moment: one plan serves the whole range.
    Then sizes are computed for dimensions over their range, by other code: none may
    need more. What regions hand on, and what has no bounds but those of a type, stays an `alloc`. Writes
    `weir_plan.bounded`: how many are planned, and how many are not.
    Why here: behind the clean-up of size arithmetic; before reuse and offsets,
    which treat these like any buffer.
    Before: sizes are folded index arithmetic. After: an `alloc` is left only where its size
    has no bounds.
    What breaks if it moves: in front of canonicalize sizes are sums that have no bounds; behind offsets it would plan
    nothing.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirAwaitSendsPass : Pass<"weir-await-sends", "::mlir::ModuleOp"> {
  let summary = "lets other tasks read large tensors where the step has them";
  let description = [{
    What: marks sends of large buffers to devices of other tasks as `kept`, and
    inserts an `await_sent` where such a buffer is written or freed next, at the
    end of its block, or before the second send behind it. What stays to the run's
    end anyway (feeds, constants, variables, fetches) is waited for by nobody.
    Why here: every buffer is there, and nothing has been decided by how long they
    live. The wait is a use like any other: reuse, frees and offsets see that the
    buffer lives until then.
    Must not: touch sends within a task, which copy to the receiver's memory at
    once, small ones, and those of offload devices.
    Before: sends copy. After: a buffer of a `kept` send is neither written nor freed before
    an `await_sent` of it.
    What breaks if it moves: behind weir-reuse-buffers a buffer could be written while another task still reads it.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirReuseBuffersPass : Pass<"weir-reuse-buffers", "::mlir::ModuleOp"> {
  let summary = "writes results over operands that die with them";
  let description = [{
    What: lets a kernel's result take the buffer of an operand that nothing uses
    behind it, where the kernel reads that operand only at the index it computes;
    lets a value that is computed only to be copied (into what a loop carries, a
    conditional yields, a variable of a device that keeps their values) be computed
    where it goes; writes what updates a feed into the fetch, where the feed's bytes are
    copied to before, unless both are the same memory. The kernel is marked, so that
    its code reads through the pointer that it writes to. Buffers of open size are handed on
    likewise, and written over where the step says that the sizes are the same. Accesses are
    numbered before, so that the plan can be checked against what was meant.
    Why here: after bufferize and its clean-up, when every use of a buffer is
    known; before offsets, which see the longer lives of fewer buffers.
    Before: one buffer a value. After: a buffer may hold several values, one after the
    other; kernels that write over an operand are marked.
    What breaks if it moves: behind offsets buffers that could be one have two places already.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirAwaitSwapsPass : Pass<"weir-await-swaps", "::mlir::ModuleOp"> {
  let summary = "lets work wait for copies between an offload device and its host";
  let description = [{
    What: inserts an `await_swap` before the first operation that writes over bytes
    that a `swap_out` may still read, and before the first that touches what a
    `swap_in` writes; in a loop or conditional before its end at the latest. Then
    all of it is followed by code that shares nothing with the planner.
    Why here: behind the offsets, which say who comes to lie over whom. Nobody waits
    earlier than that, so copies go on beside the work in between.
    Before: offsets are final. After: nothing writes over bytes, or reads them, that are
    being copied.
    What breaks if it moves: in front of offsets nobody knows who comes to lie over a value that is copied.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirAwaitCollectivesPass : Pass<"weir-await-collectives", "::mlir::ModuleOp"> {
  let summary = "lets work wait for what several devices reduce";
  let description = [{
    What: inserts an `await_reduce` before the first operation that touches what an `all_reduce` writes,
    or writes over or frees what it reads; at the end of a loop's body, or of the step, at the latest. Of a
    conditional that is behind it.
    Why here: behind the offsets, as weir-await-swaps; what is in between goes on beside the reduction.
    Before: offsets are final. After: each `all_reduce` is waited for on every path.
    What breaks if it moves: in front of offsets nobody knows who comes to lie over a value that is reduced.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirPoolBuffersPass : Pass<"weir-pool-buffers", "::mlir::ModuleOp"> {
  let summary = "buffers of open sizes share memory that is asked for once";
  let description = [{
    What: plans those `alloc` of a block whose sizes follow from the feeds', as weir-plan-memory
    does buffers of fixed size, for one image or sequence of usual sizes. Of the plan stays which
    lies above which: the step computes offsets by that, each behind the ends of those below that
    live at the same time, whatever their sizes are. One `alloc` has as many bytes as the highest
    end, and the others are each a `piece` of it. Checks of sizes in between go in front of it.
    Offsets are computed once more for several sizes of the feeds, and checked by code that shares
    nothing with the planner. With `guards` pieces are watched as weir-plan-memory has it. Writes
    `weir_plan.pooled`: how many there are.
    Why here: behind weir-reuse-buffers, which decides what is a buffer, and how long it lives.
    Before: each `alloc` asks for memory of its own when the step comes to it. After: one is left
    where its size follows from data, where its life goes on beside the step (sends, what loops
    carry), or where it is the only one.
    What breaks if it moves: behind weir-free-dynamic each would be given back, and is not there to be;
    in front of weir-reuse-buffers pieces would not be put over others.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect", "::mlir::arith::ArithDialect"];
  let options = [
    Option<"guards", "guards", "bool", "false", "watch buffers in every run">
  ];
}

def WeirFreeDynamicPass : Pass<"weir-free-dynamic", "::mlir::ModuleOp"> {
  let summary = "ends the life of dynamic buffers after their last use";
  let description = [{
    What: inserts a `free` after the last use of every buffer that an alloc, a
    library call or a structured operation made in the same block.
    Why here: after bufferize, which only makes buffers. Independent of offsets.
    Before: buffers of run-time size have no end. After: each has one `free`, behind its
    last use on every path.
    What breaks if it moves: in front of weir-reuse-buffers a free would end a life that reuse extends.
  }];
}

def WeirPlanMemoryPass : Pass<"weir-plan-memory", "::mlir::ModuleOp"> {
  let summary = "places buffers of fixed size in the device's arena";
  let description = [{
    What: derives lifetimes of `buffer` operations from the step's order (a
    buffer used inside of a loop that it lies outside of lives through the whole
    loop), asks the offset planner, writes the offsets, the arena's size and its
    lower bound, and has them checked by code that shares nothing with the
    planner: no two live buffers overlap, and every access finds what it meant.
    With `guards` buffers get guards on both sides, and
    the step fills them before the first and behind the last use, and looks at the
    guards in between.
    Why here: last before code, when no pass will move work any more.
    Before: buffers of fixed size have no offset.
    After: every `buffer` has an offset; the module has `weir_plan.arenas`.
    What breaks if it moves: any pass behind it that moved work would break the lifetimes that offsets follow.
  }];
  let options = [
    Option<"guards", "guards", "bool", "false", "watch buffers in every run">
  ];
}

#endif // WEIR_PASSES_PLAN_PASSES_TD
