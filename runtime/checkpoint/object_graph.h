//===- object_graph.h - checkpoints of objects ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_OBJECT_GRAPH_H
#define WEIR_RUNTIME_CHECKPOINT_OBJECT_GRAPH_H

#include "checkpoint/bundle.h"

namespace weir::rt {

/// What tf.train.Checkpoint writes beside values, whose keys are paths through objects: a
/// TrackableObjectGraph, under the key `_CHECKPOINTABLE_OBJECT_GRAPH`, which knows the names
/// of variables. Source: tensorflow/core/protobuf/trackable_object_graph.proto.
class ObjectGraph {
public:
  /// A bundle without one has no objects.
  int32_t read(BundleReader &bundle, weir_status *status);
  /// The key of the variable `name`. False: there is none.
  bool keyOf(const weir_string &name, weir_string *key) const;

private:
  HeapText message;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_OBJECT_GRAPH_H
