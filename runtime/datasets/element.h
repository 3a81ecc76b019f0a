//===- element.h - tuples of tensors that are shared ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_DATASETS_ELEMENT_H
#define WEIR_RUNTIME_DATASETS_ELEMENT_H

#include "session/session.h"
#include "support/text.h"

#include <atomic>

namespace weir::rt {

/// Something that several hold. Thread-safe.
struct Counted {
  std::atomic<int32_t> holders{1};
  void (*destroy)(Counted *self); ///< frees it

  void hold() { holders.fetch_add(1, std::memory_order_relaxed); }
};
/// Null is ignored.
inline void release(Counted *counted) {
  if (counted && counted->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
    counted->destroy(counted);
}

/// Why something failed.
struct Failure {
  int32_t code = WEIR_OK;
  char text[512] = {0};

  /// Sets the code; the message is written to what it returns.
  Text fail(int32_t with) {
    code = with;
    return Text(text, sizeof(text));
  }
  void noMemory() { fail(WEIR_RESOURCE_EXHAUSTED) << "no memory for an element of a data set"; }
};

/// A tuple of tensors that never change. What a component's data lies in, beside the
/// element's own memory, is held by it.
struct Element : Counted {
  int32_t count;
  weir_tensor *components;
  Counted **owners; ///< by component; null: the element itself
  uint8_t *room;    ///< its own memory, aligned

  /// Takes the component of another element as it is.
  void share(int32_t i, const weir_tensor &tensor, Counted *owner) {
    components[i] = tensor;
    owners[i] = owner;
    owner->hold();
  }
};

inline constexpr int64_t elementAlignment = 64;
inline int64_t alignedBytes(int64_t bytes) {
  return (bytes + elementAlignment - 1) & -elementAlignment;
}

/// An element of `count` empty components with `bytes` of its own memory. Null: no
/// memory.
Element *newElement(int32_t count, int64_t bytes);
/// A copy of tensors, with all that they point to. Null: no memory.
Element *copyToElement(const weir_tensor *components, int32_t count);
/// Component `i` of `element`, whoever owns it, as component `at` of `to`.
inline void shareComponent(Element &to, int32_t at, Element &element, int32_t i) {
  to.share(at, element.components[i], element.owners[i] ? element.owners[i] : &element);
}
/// A result that a run has left in memory of the session; null: no memory, and the
/// result is released.
Counted *ownResult(weir_session *session, const weir_tensor &result);

/// The tensor's part number `index` along its first dimension; its data are inside.
weir_tensor sliceOf(const weir_tensor &tensor, int64_t index);

} // namespace weir::rt

#endif // WEIR_RUNTIME_DATASETS_ELEMENT_H
