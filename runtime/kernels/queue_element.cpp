//===- queue_element.cpp - tuples of tensors in one piece of memory -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/queue.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt {

static constexpr int64_t alignment = 64;

static int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

QueueElement *makeElement(const weir_tensor *components, int32_t count, int64_t index) {
  // Each component as a tensor of the element.
  auto componentOf = [&](int32_t i) {
    weir_tensor one = components[i];
    if (index < 0)
      return one;
    one.bytes = one.dims[0] > 0 ? one.bytes / one.dims[0] : 0;
    one.data = static_cast<uint8_t *>(one.data) + index * one.bytes;
    --one.rank;
    memmove(one.dims, one.dims + 1, sizeof(one.dims) - sizeof(one.dims[0]));
    one.dims[WEIR_MAX_RANK - 1] = 0;
    return one;
  };
  int64_t header = aligned(int64_t(sizeof(QueueElement) + size_t(count) * sizeof(weir_tensor)));
  int64_t bytes = header;
  for (int32_t i = 0; i < count; ++i)
    bytes += aligned(copyBytes(componentOf(i)));
  void *memory = nullptr;
  if (posix_memalign(&memory, size_t(alignment), size_t(bytes)) != 0)
    return nullptr;
  auto *element = static_cast<QueueElement *>(memory);
  element->next = nullptr;
  element->priority = 0;
  element->count = count;
  auto *to = static_cast<uint8_t *>(memory) + header;
  for (int32_t i = 0; i < count; ++i) {
    weir_tensor one = componentOf(i);
    copyElements(one, to);
    element->components[i] = one;
    element->components[i].data = to;
    to += aligned(copyBytes(one));
  }
  return element;
}

} // namespace weir::rt
