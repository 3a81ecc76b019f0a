//===- OperationFacts.h - what passes ask of an operation -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about operations that several passes ask for, as traits that stand at the
// operation's definition, instead of lists of operations in passes. A trait says what an
// operation may be done with: one that lacks it is computed in the general way, which is
// slower, never wrong. docs/adding-an-operation.md lists them with their readers.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_OPERATIONFACTS_H
#define WEIR_DIALECTS_WEIR_OPERATIONFACTS_H

#include "mlir/IR/OpDefinition.h"

namespace weir {

namespace traits {

/// A fact without code of its own; WeirBase.td makes it a trait of operations.
#define WEIR_OPERATION_FACT(NAME)                                                                  \
  template <typename ConcreteType>                                                                 \
  class NAME : public mlir::OpTrait::TraitBase<ConcreteType, NAME> {}

// How often elements are read, and what an element costs.

/// An element of an operand is read for many elements of the result: what defines it is
/// computed before, once.
WEIR_OPERATION_FACT(ReadsElementsRepeatedly);
/// Computed in registers for a tile of the result, which elementwise operations around it
/// share.
WEIR_OPERATION_FACT(ComputedByTiles);
/// The operation by which a kernel that holds it is scheduled.
WEIR_OPERATION_FACT(KernelAnchor);
/// Costs less to compute again than a buffer to keep it in.
WEIR_OPERATION_FACT(CheapToRepeat);
/// One fast instruction on vectors of numbers.
WEIR_OPERATION_FACT(OneInstruction);
/// One instruction on vectors of floats, too, which takes the time of several.
WEIR_OPERATION_FACT(SlowInstruction);
/// A call, or many instructions, for each element.
WEIR_OPERATION_FACT(CallsFunction);

// What is computed, and how it may be rewritten.

/// Computes numbers, rather than to move, choose or convert them: how wide its floats are
/// decides how exact it is.
WEIR_OPERATION_FACT(Arithmetic);
/// Each element of the result is one of the first operand's, whatever the others hold.
WEIR_OPERATION_FACT(SelectsElements);
/// Logic on booleans, bit by bit on integers.
WEIR_OPERATION_FACT(BitLogic);
/// f(f(x)) = f(x); of two operands, f(x, x) = x.
WEIR_OPERATION_FACT(Idempotent);
/// On integers, which wrap, operands of nested ones may be combined in any order, once a
/// difference is the sum with a negated operand.
WEIR_OPERATION_FACT(AssociativeOnIntegers);
/// f(x, 0) = x on integers.
WEIR_OPERATION_FACT(ZeroIsNeutral);
/// Floats to whole numbers of their type; integers stay as they are.
WEIR_OPERATION_FACT(RoundsToIntegral);

// What may go wrong.

/// With operands and results of known sizes, and constant parameters (ParametersOpInterface),
/// no data makes it end the run.
WEIR_OPERATION_FACT(CannotFail);
/// Divides integers, by a divisor that is checked.
WEIR_OPERATION_FACT(DividesIntegers);
/// Checks each index that it reads.
WEIR_OPERATION_FACT(ChecksIndices);
/// Its effects keep an order: none of them writes a variable.
WEIR_OPERATION_FACT(WritesNoVariable);

// Sizes of the results.

/// As of the first operand.
WEIR_OPERATION_FACT(KeepsShape);
/// They follow from sizes of operands, and from the few integers among them.
WEIR_OPERATION_FACT(SizesFromSizes);

#undef WEIR_OPERATION_FACT

} // namespace traits

/// Whether running `op`, sizes of whose operands and results are known, can end the run with
/// an error for some data.
bool canFail(mlir::Operation *op);

/// Whether the code of a kernel with `op` may find elements that it must refuse: indices, zero
/// divisors.
bool checksElements(mlir::Operation *op);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_OPERATIONFACTS_H
