//===- object_graph.cpp - checkpoints of objects --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/object_graph.h"
#include "support/wire_format.h"

namespace weir::rt {

int32_t ObjectGraph::read(BundleReader &bundle, weir_status *status) {
  static const char name[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
  weir_string key{name, int64_t(strlen(name))};
  BundleEntry entry;
  message.clear();
  if (!bundle.contains(key))
    return WEIR_OK;
  if (int32_t code = bundle.find(key, &entry, status))
    return code;
  if (entry.type != storedString || entry.shape.rank != 0 || entry.slices.size() > 0)
    return WEIR_OK; // a variable that is called so
  weir_string text;
  StringMemory memory{[](void *self, int64_t bytes) {
                        auto &to = *static_cast<HeapText *>(self);
                        return to.reserve(bytes | !bytes) ? to.data() : nullptr;
                      },
                      &message};
  if (int32_t code = bundle.read(key, entry, nullptr, &text, memory, false, status))
    return code;
  // It stands behind the lengths that are stored before it.
  HeapText copy;
  copy << text;
  message.clear();
  message << copy.view();
  return message.failed() || copy.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED) : int32_t(WEIR_OK);
}

// TrackableObjectGraph: 1: TrackableObject…; TrackableObject: 2: SerializedTensor…;
// SerializedTensor: 1: name ("VARIABLE_VALUE"), 2: full_name, 3: checkpoint_key.

bool ObjectGraph::keyOf(const weir_string &name, weir_string *key) const {
  MessageReader nodes(message.view());
  while (nodes.next()) {
    if (!nodes.is(1, MessageReader::bytes))
      continue;
    MessageReader attributes(nodes.contents);
    while (attributes.next()) {
      if (!attributes.is(2, MessageReader::bytes))
        continue;
      weir_string fullName{"", 0};
      *key = {"", 0};
      MessageReader fields(attributes.contents);
      while (fields.next())
        if (fields.is(2, MessageReader::bytes))
          fullName = fields.contents;
        else if (fields.is(3, MessageReader::bytes))
          *key = fields.contents;
      if (key->size > 0 && compareBytes(fullName, name) == 0)
        return true;
    }
  }
  return false;
}

} // namespace weir::rt
