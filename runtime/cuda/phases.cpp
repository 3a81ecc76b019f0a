//===- phases.cpp - launches that are phases of one ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/phases.h"
#include "cuda/work_records.h"

#include <stdlib.h>

namespace weir::rt::cuda {

/// Turns that a block takes in a phase: more are a large launch, which is better off alone.
static constexpr int64_t mostTurns = 32;

Phases *openPhases(const CudaDevice &device) {
  const weir_cuda_record &record = *device.record;
  const Driver &driver = *device.driver;
  const char *wanted = getenv("WEIR_CUDA_PERSISTENT");
  int together = 0, count = 0;
  if (record.phased_count == 0 || (wanted && strcmp(wanted, "off") == 0) || !driver.occupancy ||
      driver.deviceAttribute(&together, cooperativeLaunch, device.device) != 0 || !together ||
      driver.deviceAttribute(&count, multiprocessors, device.device) != 0)
    return nullptr;
  int32_t numbers = 0;
  for (int64_t i = 0; i < record.phased_count; ++i)
    for (int64_t k = 0; k < record.phased[i].phase_count; ++k)
      if (record.phased[i].phases[k].kernel >= numbers)
        numbers = record.phased[i].phases[k].kernel + 1;
  auto *phases = static_cast<Phases *>(calloc(1, sizeof(Phases)));
  if (!phases)
    return nullptr;
  phases->count = int32_t(record.phased_count);
  phases->numbers = numbers;
  phases->sets = static_cast<PhaseSet *>(calloc(size_t(phases->count), sizeof(PhaseSet)));
  phases->byNumber = static_cast<int32_t *>(calloc(size_t(numbers) + 1, sizeof(int32_t)));
  if (!phases->sets || !phases->byNumber) {
    closePhases(phases);
    return nullptr;
  }
  for (int32_t i = 0; i < phases->count; ++i) {
    PhaseSet &set = phases->sets[i];
    set.desc = &record.phased[i];
    set.function = device.functions[set.desc->kernel];
    int each = 0;
    if (!set.function || driver.occupancy(&each, set.function, set.desc->threads, 0) != 0)
      continue;
    set.mostBlocks = int64_t(each) * count;
    for (int64_t k = 0; set.mostBlocks > 0 && k < set.desc->phase_count; ++k)
      phases->byNumber[set.desc->phases[k].kernel] = phaseNumber(i, int32_t(k));
  }
  return phases;
}

void closePhases(Phases *phases) {
  if (!phases)
    return;
  free(phases->sets);
  free(phases->byNumber);
  free(phases);
}

namespace {

/// Blocks that a launch would have, were they as large as those that do phases.
int64_t tilesOf(const LaunchRecord &launch, const PhaseSet &set) {
  int64_t threads = set.desc->threads;
  return (int64_t(launch.blocks) * launch.threads + threads - 1) / threads;
}

/// Goes along the records, and writes what takes their place.
class Joiner {
public:
  explicit Joiner(CudaRun *part) : part(part), work(part->pending), phases(*part->device->phases) {}
  Joiner(const Joiner &) = delete;
  Joiner &operator=(const Joiner &) = delete;

  void run() {
    PendingWork joined = {};
    int32_t open = 0;
    bool good = true;
    for (int64_t at = 0; good && at < work.bytes;) {
      const WorkRecord *record = recordAt(work, at);
      open += record->kind == WorkKind::Loop || record->kind == WorkKind::Then;
      open -= record->kind == WorkKind::LoopEnd || record->kind == WorkKind::BranchEnd;
      // Whether nodes of conditional ones may be cooperative launches is not said anywhere.
      int32_t set = open == 0 ? setOf(*record) : -1;
      int32_t count = 0;
      int64_t end = set < 0 ? at : endOfRow(at, set, &count);
      if (set >= 0 && count >= phases.sets[set].desc->least) {
        good = join(joined, at, end, set);
        at = end;
      } else {
        // A row that is too short is none from any of its launches on.
        for (end = end > at ? end : at + record->bytes; good && at < end;
             at += recordAt(work, at)->bytes)
          good = copy(joined, *recordAt(work, at));
      }
    }
    if (!good) {
      free(joined.records);
      return;
    }
    free(work.records);
    work.records = joined.records;
    work.capacity = joined.capacity;
    work.bytes = joined.bytes;
    work.count = joined.count;
  }

private:
  /// The set that a launch is a phase of; -1: none.
  int32_t setOf(const WorkRecord &record) const {
    if (record.kind != WorkKind::Launch)
      return -1;
    auto &launch = static_cast<const LaunchRecord &>(record);
    if (launch.phase == 0 || launch.maps || launch.shared)
      return -1;
    int32_t set = setOfPhase(launch.phase);
    const PhaseSet &own = phases.sets[set];
    // With its head it must fit into an empty table.
    return tilesOf(launch, own) <= mostTurns * own.mostBlocks &&
                   launch.parameters <= own.desc->words
               ? set
               : -1;
  }

  /// The end of the launches from `from` on that go into one table.
  int64_t endOfRow(int64_t from, int32_t set, int32_t *count) const {
    int64_t at = from, words = 0, most = wordsOfTable(from, set);
    for (; at < work.bytes; at += recordAt(work, at)->bytes, ++*count) {
      const WorkRecord *record = recordAt(work, at);
      if (setOf(*record) != set || words + record->parameters > most)
        break;
      words += record->parameters;
    }
    return at;
  }

  /// How many words of a table to use, so that the launches from `from` on share as few tables as
  /// there must be about equally, and none is left with too few. A launch's head takes the place of
  /// its record for errors.
  int64_t wordsOfTable(int64_t from, int32_t set) const {
    int64_t words = phases.sets[set].desc->words, all = 0, largest = 0;
    for (int64_t at = from; at < work.bytes && setOf(*recordAt(work, at)) == set;
         at += recordAt(work, at)->bytes) {
      int64_t own = recordAt(work, at)->parameters;
      all += own;
      largest = own > largest ? own : largest;
    }
    int64_t tables = (all + words - 1) / words, share = all / (tables ? tables : 1) + largest;
    return share < words ? share : words;
  }

  bool copy(PendingWork &to, const WorkRecord &record) const {
    WorkRecord *made = note(to, record.kind, record.bytes, record.kernel);
    if (made)
      memcpy(made, &record, size_t(record.bytes));
    return made;
  }

  bool join(PendingWork &to, int64_t from, int64_t end, int32_t number) const {
    const PhaseSet &set = phases.sets[number];
    constexpr int32_t before = 3; // parameters
    int32_t words = set.desc->words;
    auto *record = static_cast<LaunchRecord *>(
        note(to, WorkKind::Launch, int64_t(sizeof(LaunchRecord)) + 8 * int64_t(before + words),
             set.desc->kernel));
    if (!record)
      return false;
    auto *values = reinterpret_cast<uint64_t *>(record + 1);
    uint64_t *table = values + before, *next = table;
    int64_t tiles = 1;
    for (int64_t at = from; at < end; at += recordAt(work, at)->bytes) {
      auto &launch = *static_cast<const LaunchRecord *>(recordAt(work, at));
      int32_t count = launch.parameters - 1;
      *next++ = uint64_t(caseOfPhase(launch.phase)) | uint64_t(count) << 16 |
                uint64_t(launch.blocks) << 32;
      memcpy(next, reinterpret_cast<const uint64_t *>(&launch + 1) + 1, 8 * size_t(count));
      next += count;
      if (tilesOf(launch, set) > tiles)
        tiles = tilesOf(launch, set);
    }
    record->parameters = before + words;
    record->function = set.function;
    record->blocks = uint32_t(tiles < set.mostBlocks ? tiles : set.mostBlocks);
    record->threads = uint32_t(set.desc->threads);
    record->table = uint32_t(words);
    values[0] = part->errorOnDevice;
    values[1] = part->barrierOnDevice;
    values[2] = uint64_t(next - table);
    return true;
  }

  CudaRun *part;
  PendingWork &work;
  const Phases &phases;
};

} // namespace

void joinPhases(CudaRun *part) {
  const Timeline &timeline = part->timeline;
  bool eachCall = timeline.on && !timeline.byActivity;
  if (part->device->phases && part->barrierOnDevice && !eachCall && !part->device->waitsAlways)
    Joiner(part).run();
}

} // namespace weir::rt::cuda
