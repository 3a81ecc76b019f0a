//===- PlanFacts.h - what passes ask of a step's operations -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How operations of a step treat buffers, as traits at their definitions: as
// dialects/weir/OperationFacts.h has them for the graph's.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_PLAN_PLANFACTS_H
#define WEIR_DIALECTS_PLAN_PLANFACTS_H

#include "mlir/IR/OpDefinition.h"

namespace weir::plan::traits {

/// The step owns the buffers of run-time size that it gives, and frees them.
template <typename ConcreteType>
class OwnsResults : public mlir::OpTrait::TraitBase<ConcreteType, OwnsResults> {};

/// Nobody writes or frees its buffer before the run ends.
template <typename ConcreteType>
class LivesToTheEnd : public mlir::OpTrait::TraitBase<ConcreteType, LivesToTheEnd> {};

/// What it gives has bytes in common with nothing that another operation gives while it lives; but
/// what an arena holds may take turns there.
template <typename ConcreteType>
class GivesOwnMemory : public mlir::OpTrait::TraitBase<ConcreteType, GivesOwnMemory> {};

/// Is done with the buffers that it names when the step goes on, and keeps none of them.
template <typename ConcreteType>
class UsesAtOnce : public mlir::OpTrait::TraitBase<ConcreteType, UsesAtOnce> {};

/// Uses the buffers that it names when the step comes to it, and hands on none of them.
template <typename ConcreteType>
class UsesInOrder : public mlir::OpTrait::TraitBase<ConcreteType, UsesInOrder> {};

/// Writes none of the buffers that it names.
template <typename ConcreteType>
class OnlyReads : public mlir::OpTrait::TraitBase<ConcreteType, OnlyReads> {};

} // namespace weir::plan::traits

#endif // WEIR_DIALECTS_PLAN_PLANFACTS_H
