//===- Plan.h - the weir_plan dialect ----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_PLAN_PLAN_H
#define WEIR_DIALECTS_PLAN_PLAN_H

#include "dialects/plan/PlanFacts.h"
#include "dialects/plan/Schedule.h"
#include "dialects/weir/Weir.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/plan/PlanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttributes.h.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.h.inc"

#endif // WEIR_DIALECTS_PLAN_PLAN_H
