//===- direct.cpp - feeds and fetches in an accelerator's memory ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A feed that an accelerator alone takes is sent to it by the host's step, as any other
// value is. When the caller has it there, only the pointer is sent. A fetch that a
// accelerator alone makes is written to the caller's pointer instead of being sent; the
// host's step receives an empty message, and copies nothing.
//
//===----------------------------------------------------------------------===//

#include "session/run.h"

namespace weir::rt {

/// The row that the program has for a feed or fetch, or an edge; null: none.
template <typename Match> static const weir_direct_edge *find(const weir_run *run, Match match) {
  const weir_session *session = run->session;
  for (int32_t device = 0; device < session->deviceCount; ++device) {
    const Accelerator *accelerator = acceleratorOf(session, device);
    if (!accelerator)
      continue;
    for (int64_t i = 0; i < accelerator->desc->direct_count; ++i)
      if (match(accelerator->desc->direct[i]))
        return &accelerator->desc->direct[i];
  }
  return nullptr;
}

const weir_tensor *directTensor(const weir_run *run, int32_t edge, bool isFetch) {
  const uint8_t *there = isFetch ? run->fetchesOnDevice : run->feedsOnDevice;
  if (!there)
    return nullptr;
  const weir_direct_edge *row = find(run, [&](const weir_direct_edge &each) {
    return each.edge == edge && (each.is_fetch != 0) == isFetch;
  });
  if (!row || !there[row->index])
    return nullptr;
  return isFetch ? &run->fetches[row->index] : &run->feeds[row->index];
}

int32_t hostFetch(const weir_run *run, int32_t edge) {
  auto number = int32_t(run->entry - run->session->program->entries);
  const weir_direct_edge *row = find(run, [&](const weir_direct_edge &each) {
    return each.entry == number && each.edge == edge && each.is_fetch;
  });
  return !row || (run->fetchesOnDevice && run->fetchesOnDevice[row->index]) ? -1 : row->index;
}

int32_t checkDirect(const weir_run *run, bool isPart, weir_status *status) {
  const weir_entry_desc &entry = *run->entry;
  auto number = int32_t(run->entry - run->session->program->entries);
  for (bool isFetch : {false, true}) {
    const uint8_t *there = isFetch ? run->fetchesOnDevice : run->feedsOnDevice;
    int32_t count = isFetch ? entry.fetch_count : entry.feed_count;
    for (int32_t i = 0; there && i < count; ++i) {
      if (!there[i])
        continue;
      bool isThere = run->session->accelerators && !isPart;
      const weir_tensor &tensor = isFetch ? run->fetches[i] : run->feeds[i];
      bool isAligned = reinterpret_cast<uintptr_t>(tensor.data) % 16 == 0;
      if (isThere && find(run, [&](const weir_direct_edge &each) {
            return each.entry == number && each.index == i && (each.is_fetch != 0) == isFetch;
          })) {
        if (isAligned)
          continue;
        StatusText(status, WEIR_INVALID_ARGUMENT)
            << (isFetch ? "fetch \"" : "feed \"")
            << (isFetch ? entry.fetches[i] : entry.feeds[i]).name << "\" of entry \"" << entry.name
            << "\": found a pointer that is no multiple of 16, possible: one that is";
        return WEIR_INVALID_ARGUMENT;
      }
      bool hasOne = false;
      for (int32_t device = 0; device < run->session->deviceCount; ++device)
        hasOne |= acceleratorOf(run->session, device) != nullptr;
      int32_t code = hasOne ? WEIR_INVALID_ARGUMENT : WEIR_FAILED_PRECONDITION;
      const char *kind = acceleratorKind(run->session);
      StatusText text(status, code);
      text << (isFetch ? "fetch \"" : "feed \"")
           << (isFetch ? entry.fetches[i] : entry.feeds[i]).name << "\" of entry \"" << entry.name
           << "\": found memory of a " << kind << ", possible: memory of the host, ";
      if (hasOne)
        text << "since not one " << kind << " alone " << (isFetch ? "makes" : "takes")
             << " the value";
      else
        text << "which does all the work of this session";
      return code;
    }
  }
  return WEIR_OK;
}

} // namespace weir::rt
