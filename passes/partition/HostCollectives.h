//===- HostCollectives.h - reductions that tasks share ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_HOSTCOLLECTIVES_H
#define WEIR_PASSES_PARTITION_HOSTCOLLECTIVES_H

#include "mlir/IR/BuiltinOps.h"

namespace weir {

/// Makes of each all_reduce that is marked (`weir.collective`) and has its operands on as
/// many CPUs a send and a receive on each: the runtime computes what lies between, beside
/// the step. Sends stand where their values are there, receives behind all that needs no
/// result. Begins `weir_plan.edges`, and writes `weir_plan.host_collectives`.
void formHostCollectives(mlir::ModuleOp module);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_HOSTCOLLECTIVES_H
