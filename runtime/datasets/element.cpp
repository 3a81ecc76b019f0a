//===- element.cpp - tuples of tensors that are shared --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/element.h"

#include <new>
#include <stdlib.h>
#include <string.h>

namespace weir::rt {

Element *newElement(int32_t count, int64_t bytes) {
  int64_t tensors = alignedBytes(sizeof(Element)),
          owners = tensors + count * int64_t(sizeof(weir_tensor));
  int64_t head = alignedBytes(owners + count * int64_t(sizeof(Counted *)));
  void *memory = nullptr;
  if (posix_memalign(&memory, size_t(elementAlignment), size_t(head + bytes)) != 0)
    return nullptr;
  memset(memory, 0, size_t(head));
  auto *element = new (memory) Element();
  auto *begin = static_cast<uint8_t *>(memory);
  element->count = count;
  element->components = reinterpret_cast<weir_tensor *>(begin + tensors);
  element->owners = reinterpret_cast<Counted **>(begin + owners);
  element->room = begin + head;
  element->destroy = [](Counted *self) {
    auto *element = static_cast<Element *>(self);
    for (int32_t i = 0; i < element->count; ++i)
      release(element->owners[i]);
    free(element);
  };
  return element;
}

Element *copyToElement(const weir_tensor *components, int32_t count) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < count; ++i)
    bytes += alignedBytes(copyBytes(components[i]));
  Element *element = newElement(count, bytes);
  if (!element)
    return nullptr;
  uint8_t *to = element->room;
  for (int32_t i = 0; i < count; ++i) {
    copyElements(components[i], to);
    element->components[i] = components[i];
    element->components[i].data = to;
    to += alignedBytes(copyBytes(components[i]));
  }
  return element;
}

namespace {

struct OwnedResult : Counted {
  weir_session *session;
  void *data;
};

void freeResult(weir_session *session, void *data) {
  if (Block *block = findResult(session, data))
    block->memory->free(block);
}

} // namespace

Counted *ownResult(weir_session *session, const weir_tensor &result) {
  void *memory = malloc(sizeof(OwnedResult));
  if (!memory) {
    freeResult(session, result.data);
    return nullptr;
  }
  auto *owned = new (memory) OwnedResult();
  owned->session = session;
  owned->data = result.data;
  owned->destroy = [](Counted *self) {
    auto *owned = static_cast<OwnedResult *>(self);
    freeResult(owned->session, owned->data);
    free(owned);
  };
  return owned;
}

weir_tensor sliceOf(const weir_tensor &tensor, int64_t index) {
  weir_tensor one = tensor;
  one.bytes = tensor.dims[0] > 0 ? tensor.bytes / tensor.dims[0] : 0;
  one.data = static_cast<uint8_t *>(tensor.data) + index * one.bytes;
  --one.rank;
  memmove(one.dims, one.dims + 1, sizeof(one.dims) - sizeof(one.dims[0]));
  one.dims[WEIR_MAX_RANK - 1] = 0;
  return one;
}

} // namespace weir::rt
