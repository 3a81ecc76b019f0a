//===- Target.h - what a module knows of its target --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All facts of the target that passes and code generation read off a module are one
// attribute, `#weir.target`, which the driver writes once the model is imported. What a
// user asks for is not among them: that is an option of the pass that does it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_TARGET_H
#define WEIR_DIALECTS_WEIR_TARGET_H

#include "dialects/weir/Weir.h"
#include "mlir/IR/BuiltinOps.h"

namespace weir {

/// Of modules: a TargetAttr.
inline constexpr char targetAttribute[] = "weir.target";

/// Of modules: results across of the tiles of Winograd's form that --winograd allows: 0, 2 or 4.
/// Without it those of 4 are where their error's bound allows it.
inline constexpr char winogradAttribute[] = "weir.winograd";

/// Of modules: whether variables that no entry changes become constants (--freeze); without it
/// they do where no entry changes any.
inline constexpr char freezeAttribute[] = "weir.freeze";

/// Of modules: how many variables have become constants.
inline constexpr char frozenAttribute[] = "weir.frozen_variables";

/// The target of the module that `op` is, or is in; of one that does not say, a target of
/// which nothing is known.
TargetAttr targetOf(mlir::Operation *op);

/// Whether devices beside the host may get `op`. They have other wishes than the host's
/// tiles where products and convolutions are not of f32, or of open sizes.
inline bool mayBeOffloaded(mlir::Operation *op) { return targetOf(op).getMayOffload(); }

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_TARGET_H
