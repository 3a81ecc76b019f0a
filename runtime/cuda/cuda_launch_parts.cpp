//===- cuda_launch_parts.cpp - kernels as several launches -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Attentions of few queries and lines that are few and long, in parts; sorts of long lines.
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_launch.h"

using namespace weir::rt;
using namespace weir::rt::cuda;

/// Keys that a part has. It depends on sizes alone, so that equal ones give equal sums,
/// whatever GPU adds them up: parts of some length, and no more of them than
/// large GPUs have room for at a time.
static int64_t keysOfPart(const weir_cuda_parts &parts) {
  constexpr int64_t step = 64, enoughBlocks = 768;
  int64_t tiles = parts.batches * ((parts.queries + parts.rows - 1) / parts.rows);
  int64_t keys = (parts.keys * tiles + enoughBlocks - 1) / enoughBlocks;
  return keys <= step ? step : (keys + step - 1) / step * step;
}

bool weir::rt::cuda::leavesIdle(const weir_cuda_parts *parts) {
  constexpr int64_t multiprocessors = 132;
  return parts &&
         parts->batches * ((parts->queries + parts->rows - 1) / parts->rows) < multiprocessors;
}

namespace {
struct Grid {
  int64_t blocks;
  int32_t threads;
};
} // namespace

/// Kernels number `part` and `join` in place of the whole, with `bytes` between them, whose place
/// is the first of `more`. False: the kernel goes whole.
static bool noteTwo(weir_context *ctx, const Arguments &arguments, int32_t part, int32_t join,
                    int64_t bytes, MoreParameters more, Grid parts, Grid joins, int32_t *code) {
  CudaDevice &device = *partOf(ctx)->device;
  Function first = functionOf(device, part), second = functionOf(device, join);
  if (!first || !second)
    return false;
  Scratch scratch(ctx);
  more.values[0] = scratch.take(bytes, nodesOf(ctx, arguments.kernel));
  if (!more.values[0])
    return false;
  bool noted = noteLaunch(ctx, first, part, arguments, more, parts.blocks, parts.threads) &&
               noteLaunch(ctx, second, join, arguments, more, joins.blocks, joins.threads);
  *code = noted ? int32_t(WEIR_OK) : outOfHostMemory(ctx);
  return true;
}

bool weir::rt::cuda::noteParts(weir_context *ctx, const Arguments &arguments,
                               const weir_cuda_parts *parts, int32_t *code) {
  constexpr int64_t fewKeys = 256, mostBlocks = 0x7fffffff;
  if (!parts || parts->queries > parts->most_queries || parts->keys <= fewKeys)
    return false;
  int64_t each = keysOfPart(*parts), count = (parts->keys + each - 1) / each;
  int64_t queries = parts->batches * parts->queries;
  int64_t blocks = parts->batches * ((parts->queries + parts->rows - 1) / parts->rows) * count;
  if (count < 2 || blocks > mostBlocks || queries > mostBlocks)
    return false;
  return noteTwo(ctx, arguments, parts->part, parts->join,
                 queries * count * parts->state * int64_t(sizeof(float)),
                 {{0, uint64_t(each), uint64_t(count)}, 3}, {blocks, parts->threads},
                 {queries, parts->join_threads}, code);
}

/// Parts of a line: none is short, and no more of them than large GPUs have room for. It
/// depends on sizes alone, so that equal ones give equal results, whatever GPU computes them.
static int64_t partsOfLine(const weir_cuda_split &split) {
  const int64_t shortest = split.across ? 32 : 2048, enough = split.across ? 1 << 16 : 768;
  if (split.lines <= 0)
    return 0;
  int64_t byLength = split.elements / split.lines / shortest,
          byRoom = (enough + split.lines - 1) / split.lines;
  int64_t count = byLength < byRoom ? byLength : byRoom;
  return count < split.most_parts ? count : split.most_parts;
}

/// A kernel of few long lines in parts.
bool weir::rt::cuda::noteSplit(weir_context *ctx, const Arguments &arguments,
                               const weir_cuda_split *split, int32_t *code) {
  constexpr int64_t fewParts = 4, warp = 32; // fewer are not worth another launch
  if (!split)
    return false;
  int64_t count = partsOfLine(*split), all = split->lines * count;
  if (count < fewParts)
    return false;
  int64_t blocks = split->across ? (all + split->threads - 1) / split->threads : all,
          lines = split->join_threads / warp,
          joins = split->joins_parts ? blocks : (split->lines + lines - 1) / lines;
  return noteTwo(ctx, arguments, split->part, split->join, all * split->state,
                 {{0, uint64_t(count)}, 2}, {blocks, split->threads}, {joins, split->join_threads},
                 code);
}

namespace {
/// Notes the launches of one sort.
class SortLaunches {
public:
  SortLaunches(weir_context *ctx, const Arguments &arguments, const weir_cuda_sort &sort,
               Function take, int64_t takeBlocks, int32_t takeThreads)
      : ctx(ctx), arguments(arguments), sort(sort), take(take), takeBlocks(takeBlocks),
        takeThreads(takeThreads), scratch(ctx), nodes(nodesOf(ctx, arguments.kernel)) {}

  int32_t note() {
    constexpr int64_t mostItems = 0x7fffffff; // of a line, and blocks
    CudaDevice &device = *partOf(ctx)->device;
    run = functionOf(device, sort.run);
    merge = functionOf(device, sort.merge);
    merges = functionOf(device, sort.merges);
    if (!run || !merge || !merges || sort.size > mostItems ||
        sort.lines * runsOf(sort.size) > mostItems / 8)
      return fail(ctx, "the kernel cannot be launched", 1, nodes);
    int64_t size = sort.size, left = 0;
    Pointer from = 0, places[2] = {0, 0};
    // The kernel says so, and reads nothing.
    if (sort.wanted > size)
      return noteTake(from, size);
    // Few of a line: the first of each run are the next line, until that is one run.
    for (int32_t round = 0;; ++round) {
      bool isLast = runsOf(size) == 1, keepsAll = !isLast && sort.wanted > sort.run_elements / 2;
      int64_t keep = keepsAll ? sort.run_elements : sort.wanted;
      left =
          (runsOf(size) - 1) * keep + smaller(keep, size - (runsOf(size) - 1) * sort.run_elements);
      Pointer &to = places[round % 2];
      if (int32_t code = to ? int32_t(WEIR_OK) : allocate(left, to))
        return code;
      if (!noteRun(from, to, size, left, keep,
                   from ? WEIR_CUDA_SORT_ITEMS : WEIR_CUDA_SORT_ELEMENTS))
        return outOfHostMemory(ctx);
      from = to;
      size = left;
      if (isLast || keepsAll)
        break;
    }
    return noteMerges(from, size) ? noteTake(from, size) : outOfHostMemory(ctx);
  }

private:
  int32_t noteTake(Pointer items, int64_t size) {
    bool noted =
        noteLaunch(ctx, take, -1, arguments, {{items, uint64_t(size)}, 2}, takeBlocks, takeThreads);
    return noted ? int32_t(WEIR_OK) : outOfHostMemory(ctx);
  }
  static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
  int64_t runsOf(int64_t size) const { return (size + sort.run_elements - 1) / sort.run_elements; }

  int32_t allocate(int64_t size, Pointer &where) {
    int64_t bytes = sort.lines * size * sort.item_bytes;
    where = scratch.take(bytes, nodes);
    return where ? int32_t(WEIR_OK)
                 : abortOutOfMemory(ctx->run, *partOf(ctx)->device, bytes, nodes);
  }

  bool noteRun(Pointer from, Pointer to, int64_t size, int64_t left, int64_t keep,
               weir_cuda_sort_mode mode) {
    return noteLaunch(
        ctx, run, -1, arguments,
        {{from, to, uint64_t(size), uint64_t(left), uint64_t(keep), uint64_t(mode)}, 6},
        sort.lines * runsOf(size), sort.threads);
  }

  /// `steps` steps of a merge, the first over 2^`bit` items.
  bool noteSteps(Pointer items, int64_t size, int64_t bit, int64_t steps, bool mirrors) {
    int64_t twice = int64_t(2) << bit, groups = (size + twice - 1) / twice * (twice >> steps);
    return noteLaunch(ctx, steps == 1 ? merge : merges, -1, arguments,
                      {{items, uint64_t(size), uint64_t(bit), uint64_t(mirrors)}, 4},
                      sort.lines * ((groups + sort.merge_threads - 1) / sort.merge_threads),
                      sort.merge_threads);
  }

  /// Runs that are sorted become one.
  bool noteMerges(Pointer items, int64_t size) {
    int64_t least = 0;
    while (int64_t(1) << least < sort.run_elements)
      ++least;
    for (int64_t level = least; int64_t(1) << level < size; ++level) {
      bool noted = noteSteps(items, size, level, 1, true);
      for (int64_t bit = level - 1; noted && bit >= least;) {
        int64_t steps = bit - least >= 2 ? 3 : 1;
        noted = noteSteps(items, size, bit, steps, false);
        bit -= steps;
      }
      if (!noted || !noteRun(items, items, size, size, sort.run_elements, WEIR_CUDA_END_MERGE))
        return false;
    }
    return true;
  }

  weir_context *ctx;
  const Arguments &arguments;
  const weir_cuda_sort &sort;
  Function take;
  int64_t takeBlocks;
  int32_t takeThreads;
  Scratch scratch;
  const char *nodes;
  Function run = nullptr, merge = nullptr, merges = nullptr;
};
} // namespace

int32_t weir::rt::cuda::noteSort(weir_context *ctx, const Arguments &arguments,
                                 const weir_cuda_sort &sort, Function take, int64_t takeBlocks,
                                 int32_t takeThreads) {
  return SortLaunches(ctx, arguments, sort, take, takeBlocks, takeThreads).note();
}
