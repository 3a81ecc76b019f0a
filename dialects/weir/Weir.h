//===- Weir.h - the weir dialect --------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_WEIR_H
#define WEIR_DIALECTS_WEIR_WEIR_H

#include "dialects/weir/Elemental.h"
#include "dialects/weir/Kinds.h"
#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/ScalarBuilder.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/weir/WeirDialect.h.inc"
#include "dialects/weir/WeirInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/weir/WeirTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/weir/WeirAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/weir/WeirOps.h.inc"

#endif // WEIR_DIALECTS_WEIR_WEIR_H
