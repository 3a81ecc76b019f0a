//===- ToyDriver.cpp - a kind of device for tests, to the runtime ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Toy.h"

#include "session/run.h"

#include <cstdlib>

using namespace weir::rt;

namespace toy {

Counts counts;
bool isThere = true;

static void *takePages(void *, int64_t alignment, int64_t bytes, int64_t *received) {
  *received = (bytes + 4095) / 4096 * 4096;
  return std::aligned_alloc(size_t(alignment < 4096 ? 4096 : alignment), size_t(*received));
}
static void givePages(void *, void *data, int64_t) { std::free(data); }

static int32_t open(weir_session *session, const weir_accelerator_desc *desc, int64_t,
                    Accelerator **accelerator, weir_status *status) {
  if (!isThere)
    return WEIR_OK;
  auto *record = reinterpret_cast<const Record *>(desc->record);
  if (!record || record->version != recordVersion || record->size < sizeof(Record)) {
    StatusText(status, WEIR_FAILED_PRECONDITION) << "these are toys of another year";
    return WEIR_FAILED_PRECONDITION;
  }
  SubAllocator pages = {nullptr, takePages, givePages, false};
  auto *opened = new Accelerator{};
  opened->desc = desc;
  opened->memory = new BfcAllocator("toy", pages, {});
  opened->staging = pages;
  opened->blobs = session->blobs;
  *accelerator = opened;
  ++counts.opened;
  counts.image.assign(static_cast<const char *>(desc->image), size_t(desc->image_bytes));
  return WEIR_OK;
}

static void close(Accelerator *accelerator) {
  delete accelerator->memory;
  delete accelerator;
  ++counts.closed;
}

static int32_t begin(weir_run *run, int32_t device) {
  ++counts.begun;
  DeviceRun &part = run->devices[device];
  int64_t bytes = run->session->program->devices[device].arena_bytes;
  if (part.onDevice || bytes <= 0)
    return WEIR_OK;
  AllocationRequest request;
  request.bytes = bytes;
  part.onDevice = acceleratorOf(run->session, device)->memory->allocate(request);
  part.context.arena = static_cast<uint8_t *>(part.onDevice);
  return part.onDevice ? int32_t(WEIR_OK)
                       : abortRun(run, WEIR_RESOURCE_EXHAUSTED, "toys are small");
}

static void release(weir_run *run, int32_t device) {
  DeviceRun &part = run->devices[device];
  acceleratorOf(run->session, device)->memory->free(part.onDevice);
  part.onDevice = nullptr;
  ++counts.released;
}

static int32_t finish(weir_context *, int32_t code) {
  ++counts.finished;
  return code;
}

/// The library's call: by the record's row, on the pointers that the step has.
static int32_t negate(weir_context *ctx, int64_t row, const float *from, float *to) {
  const Accelerator *toy = acceleratorOf(ctx->run->session, int32_t(ctx->device));
  auto *record = reinterpret_cast<const Record *>(toy->desc->record);
  const Negation &negation = record->negations[row];
  for (int64_t i = 0; i < negation.elements; ++i)
    to[i] = -from[i];
  ++counts.negated;
  counts.node = negation.node;
  return 0;
}

static const weir_device_driver driver = {open, close, begin, release, "TOY"};

std::vector<std::pair<const char *, void *>> symbols() {
  return {{"weir_toy_driver", const_cast<weir_device_driver *>(&driver)},
          {"weir_toy_negate", reinterpret_cast<void *>(&negate)},
          {"weir_toy_finish", reinterpret_cast<void *>(&finish)}};
}

} // namespace toy
