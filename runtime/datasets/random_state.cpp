//===- random_state.cpp - where random operations in functions stand ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"
#include "session/resources.h"
#include "weir/datasets.h"

#include <atomic>
#include <new>
#include <stdlib.h>

using namespace weir::rt;

namespace {

struct Drawn : Resource {
  std::atomic<int64_t> blocks{0};
  int64_t restored = 0;
};

Resource *makeDrawn(void *) {
  void *memory = malloc(sizeof(Drawn));
  if (!memory)
    return nullptr;
  auto *made = new (memory) Drawn();
  made->reset = [](Resource *self) { static_cast<Drawn *>(self)->blocks.store(0); };
  made->save = [](Resource *self, void *, StateWriter &out) {
    out.number(static_cast<Drawn *>(self)->blocks.load());
  };
  made->prepare = [](Resource *self, weir_session *, const weir_string &state,
                     weir_status *status) {
    StateReader in(state);
    static_cast<Drawn *>(self)->restored = in.number();
    return in.failed() ? refuseState(status, *self) : int32_t(WEIR_OK);
  };
  made->settle = [](Resource *self, bool takes) {
    auto *drawn = static_cast<Drawn *>(self);
    if (takes)
      drawn->blocks.store(drawn->restored);
  };
  made->destroy = [](Resource *self) { free(static_cast<Drawn *>(self)); };
  return made;
}

} // namespace

int32_t weir_kernel_random_reserve(weir_context *ctx, const weir_tensor *operands, int32_t,
                                   weir_tensor *results, int32_t, const int64_t *) {
  weir_string name;
  int64_t blocks = 0;
  if (!loadString(operands[0], &name) || !loadInteger(operands[1], &blocks))
    return failMessage(ctx, WEIR_INTERNAL, "random numbers are drawn of no operation");
  auto *drawn = static_cast<Drawn *>(resourceOf(ctx, name.data, name.size, makeDrawn, nullptr));
  if (!drawn)
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED,
                       "no memory for the state of a random operation");
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  storeIndex(results[0], 0, drawn->blocks.fetch_add(blocks));
  return WEIR_OK;
}
