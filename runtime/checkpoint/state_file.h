//===- state_file.h - which checkpoints a folder has ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file `checkpoint` of a folder, as TensorFlow's Saver has it: a CheckpointState as
// text, `model_checkpoint_path` the latest one, `all_model_checkpoint_paths` all that are
// kept, the oldest first. Paths are relative to the folder, or absolute.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_STATE_FILE_H
#define WEIR_RUNTIME_CHECKPOINT_STATE_FILE_H

#include "checkpoint/table.h"

namespace weir::rt {

struct CheckpointState {
  HeapText latest;
  EntryList all; ///< keys are paths, the oldest first

  bool failed() const { return latest.failed() || all.failed(); }
};

/// Reads the file of a folder. NOT_FOUND where there is none, DATA_LOSS where it is no
/// such text. Fields of no interest here are left out.
int32_t readState(const weir_string &folder, CheckpointState *state, weir_status *status);
/// Writes it, whole or not at all.
int32_t writeState(const weir_string &folder, const CheckpointState &state, weir_status *status);

/// Makes a bundle, which was just written, the latest of its folder, and removes the oldest
/// ones until there are `keep`. What cannot be removed stays.
int32_t keepCheckpoints(const weir_string &prefix, int64_t keep, weir_status *status);

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_STATE_FILE_H
