//===- Training.h - --train, --optimizer and their kin ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_TRAINING_H
#define WEIR_COMPILER_DRIVER_TRAINING_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/Import.h"

#include "mlir/IR/BuiltinOps.h"

namespace weir::driver {

/// Of a pipeline, where the user names no number: stages then wait for each other for a fifth of a
/// step.
int64_t usualMicroBatches(int64_t stages);

/// Tells importers what training needs of the one entry that is trained. False, with
/// W0141 or W0142, where a flag or the entries are wrong. Without --train: that the
/// other flags have no effect (W0117).
bool prepareTraining(const Options &options, DiagnosticSink &sink, ImportOptions &imports);

/// Says which flags of replicas have no effect (W0117) where a batch has `parts` parts over
/// `replicas` of them.
void warnAboutReplicas(const Options &options, int64_t replicas, int64_t parts,
                       DiagnosticSink &sink);

/// Marks the entry for passes/training; likewise.
bool markTraining(const Options &options, DiagnosticSink &sink, mlir::ModuleOp module);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_TRAINING_H
