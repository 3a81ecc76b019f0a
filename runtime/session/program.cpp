//===- program.cpp - what a program says about itself ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/session.h"

#include "session/cpu_features.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

using namespace weir::rt;

const char *weir::rt::arenaTag(const weir_program_desc *program, int32_t device) {
  // Objects of before have none.
  constexpr size_t end = offsetof(weir_program_desc, arena_tags) + sizeof(program->arena_tags);
  return program->size < end || !program->arena_tags ? "the planned arena of a run"
                                                     : program->arena_tags[device];
}

int64_t weir::rt::customCount(const weir_program_desc *program) {
  constexpr size_t end = offsetof(weir_program_desc, custom_count) + sizeof(int64_t);
  return program->size < end ? 0 : program->custom_count;
}

int64_t weir::rt::acceleratorCount(const weir_program_desc *program) {
  constexpr size_t end = offsetof(weir_program_desc, accelerator_count) + sizeof(int64_t);
  return program->size < end ? 0 : program->accelerator_count;
}

int64_t weir::rt::collectiveCount(const weir_program_desc *program) {
  constexpr size_t end = offsetof(weir_program_desc, collective_driver) + sizeof(void *);
  return program->size < end ? 0 : program->collective_count;
}

int32_t weir::rt::stateDevice(const weir_program_desc *program) {
  constexpr size_t end = offsetof(weir_program_desc, state_device) + sizeof(int32_t);
  return program->size < end ? -1 : program->state_device - 1;
}

int32_t weir::rt::frozenCount(const weir_program_desc *program) {
  constexpr size_t end = offsetof(weir_program_desc, frozen_count) + sizeof(int32_t);
  return program->size < end ? 0 : program->frozen_count;
}

const weir_launch_desc *weir::rt::launchesOf(const weir_program_desc *program) {
  constexpr size_t end = offsetof(weir_program_desc, launches) + sizeof(void *);
  return program->size < end ? nullptr : program->launches;
}

int64_t weir::rt::arenaBytesOf(const weir_program_desc *program, const weir_entry_desc *entry,
                               int32_t device) {
  constexpr size_t end = offsetof(weir_program_desc, entry_arenas) + sizeof(void *);
  if (program->size < end || !program->entry_arenas)
    return program->devices[device].arena_bytes;
  return program->entry_arenas[(entry - program->entries) * program->device_count + device];
}

int32_t weir::rt::overFeedOf(const weir_program_desc *program, const weir_entry_desc *entry,
                             int32_t fetch) {
  constexpr size_t end = offsetof(weir_program_desc, over_feed) + sizeof(void *);
  if (program->size < end || !program->over_feed)
    return -1;
  const int64_t *over = program->over_feed[entry - program->entries];
  return over ? int32_t(over[fetch]) - 1 : -1;
}

const weir_program_desc *weir::rt::chooseVariant(const weir_program_desc *program,
                                                 weir_status *status) {
  constexpr size_t end = offsetof(weir_program_desc, variant_count) + sizeof(int64_t);
  int64_t count = program->size < end ? 0 : program->variant_count;
  if (count == 0)
    return program;
  // Entry `count` is the program itself.
  auto variant = [&](int64_t i) { return i < count ? program->variants[i] : program; };
  if (const char *wanted = getenv("WEIR_CPU"); wanted && *wanted) {
    for (int64_t i = 0; i <= count; ++i)
      if (strcmp(variant(i)->cpu, wanted) == 0)
        return variant(i);
    StatusText out(status, WEIR_FAILED_PRECONDITION);
    out << "WEIR_CPU is " << wanted << ", and program \"" << program->name << "\" has code for";
    for (int64_t i = 0; i <= count; ++i)
      out << (i ? ", " : " ") << variant(i)->cpu;
    return nullptr;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint64_t needed = variant(i)->required_cpu_features;
    if ((needed & ~usableCpuFeatures(needed)) == 0)
      return variant(i);
  }
  return program;
}

const char *weir_program_name(const weir_program_desc *program) {
  return program ? program->name : nullptr;
}

const char *weir_program_compiler(const weir_program_desc *program) {
  return program ? program->compiler : nullptr;
}

int32_t weir_program_entry_count(const weir_program_desc *program) {
  return program ? program->entry_count : 0;
}

static const weir_entry_desc *entryOf(const weir_program_desc *program, int32_t entry) {
  bool exists = program && entry >= 0 && entry < program->entry_count;
  return exists ? &program->entries[entry] : nullptr;
}

const char *weir_program_entry_name(const weir_program_desc *program, int32_t entry) {
  const weir_entry_desc *desc = entryOf(program, entry);
  return desc ? desc->name : nullptr;
}

int32_t weir_program_feed_count(const weir_program_desc *program, int32_t entry) {
  const weir_entry_desc *desc = entryOf(program, entry);
  return desc ? desc->feed_count : 0;
}

int32_t weir_program_fetch_count(const weir_program_desc *program, int32_t entry) {
  const weir_entry_desc *desc = entryOf(program, entry);
  return desc ? desc->fetch_count : 0;
}

/// Whether `info` says how much of it there is, and `program` is one.
static bool canTell(const weir_program_desc *program, const weir_tensor_info *info) {
  return program && info && info->size >= 2 * sizeof(uint32_t);
}

/// Copies as much as the caller's structure has, and keeps its size.
static int32_t giveInfo(weir_tensor_info full, weir_tensor_info *info) {
  full.size = info->size;
  size_t bytes = info->size < sizeof(full) ? info->size : sizeof(full);
  memcpy(info, &full, bytes);
  return WEIR_OK;
}

static int32_t describe(const weir_tensor_desc *descs, int32_t count, int32_t index,
                        weir_tensor_info *info) {
  if (index < 0 || index >= count)
    return WEIR_OUT_OF_RANGE;
  const weir_tensor_desc &desc = descs[index];
  return giveInfo(
      {0, desc.dtype, desc.rank, 0, desc.name, desc.dims, desc.lower, desc.upper, desc.symbols},
      info);
}

int32_t weir_program_feed(const weir_program_desc *program, int32_t entry, int32_t index,
                          weir_tensor_info *info) {
  if (!canTell(program, info))
    return WEIR_INVALID_ARGUMENT;
  const weir_entry_desc *desc = entryOf(program, entry);
  return desc ? describe(desc->feeds, desc->feed_count, index, info) : WEIR_OUT_OF_RANGE;
}

int32_t weir_program_fetch(const weir_program_desc *program, int32_t entry, int32_t index,
                           weir_tensor_info *info) {
  if (!canTell(program, info))
    return WEIR_INVALID_ARGUMENT;
  const weir_entry_desc *desc = entryOf(program, entry);
  if (!desc)
    return WEIR_OUT_OF_RANGE;
  int32_t code = describe(desc->fetches, desc->fetch_count, index, info);
  if (!code && info->size >= offsetof(weir_tensor_info, over_feed) + sizeof(int32_t))
    info->over_feed = overFeedOf(program, desc, index) + 1;
  return code;
}

int32_t weir_program_variable_count(const weir_program_desc *program) {
  return program ? program->slot_count : 0;
}

int32_t weir_program_variable(const weir_program_desc *program, int32_t index,
                              weir_tensor_info *info) {
  if (!canTell(program, info))
    return WEIR_INVALID_ARGUMENT;
  if (index < 0 || index >= program->slot_count)
    return WEIR_OUT_OF_RANGE;
  const weir_slot_desc &slot = program->slots[index];
  return giveInfo({0, slot.dtype, slot.rank, 0, slot.name, slot.dims, nullptr, nullptr, nullptr},
                  info);
}

int32_t weir_program_device_count(const weir_program_desc *program) {
  return program ? program->device_count : 0;
}

const char *weir_program_device_name(const weir_program_desc *program, int32_t device) {
  bool exists = program && device >= 0 && device < program->device_count;
  return exists ? program->devices[device].name : nullptr;
}

int64_t weir_program_arena_bytes(const weir_program_desc *program, int32_t device) {
  bool exists = program && device >= 0 && device < program->device_count;
  const weir_program_desc *chosen = exists ? chooseVariant(program, nullptr) : nullptr;
  return chosen ? chosen->devices[device].arena_bytes : 0;
}
