//===- collective_steps.h - devices that reduce together --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_RUNTIME_COLLECTIVE_STEPS_H
#define WEIR_TEST_UNIT_RUNTIME_COLLECTIVE_STEPS_H

#include "cluster_members.h"
#include "collectives/driver.h"

#include <cstdlib>

namespace weir::rt::test {

/// What rank r gives: numbers whose sums depend on their order.
inline float given(int rank, int64_t i) {
  uint32_t x = uint32_t(i * 2654435761u) + uint32_t(rank) * 40503u;
  x ^= x >> 13;
  x *= 0x5bd1e995u;
  x ^= x >> 15;
  return (float(x % 20001) - 10000.0f) / 7.0f * (rank % 2 ? 1.0f : 0.001f);
}

/// A program with one entry a kind of collective, over one device a task. Entry k feeds
/// the number of elements that each gives, and fetches what each gets.
struct CollectiveProgram {
  explicit CollectiveProgram(int ranks, bool severalTasks) : ranks(ranks) {
    for (int i = 0; i < ranks; ++i) {
      names.push_back("/job:worker/replica:0/task:" + std::to_string(severalTasks ? i : 0) +
                      "/device:CPU:" + std::to_string(severalTasks ? 0 : i));
      gets.push_back("result" + std::to_string(i));
    }
    for (int i = 0; i < ranks; ++i)
      if (i == 0)
        program.rename(0, names[0].c_str());
      else
        program.device(names[size_t(i)].c_str(), 4096);
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<TestTensor> fetches;
      for (const std::string &name : gets)
        fetches.push_back({name, WEIR_F32, {-1}});
      program.entry("main", {{"count", WEIR_I64}}, fetches,
                    std::vector<weir_step_fn>(size_t(ranks), step));
      program.collective(kind, kind, WEIR_REDUCE_SUM, ranks, &weir_collectives);
    }
  }

  static const weir_collective_rank &rankOf(weir_context *ctx) {
    const weir_program_desc *desc = current;
    auto kind = *static_cast<const int64_t *>(ctx->feeds[0].data) >> 56;
    return desc->collectives[kind].ranks[ctx->device];
  }
  static int32_t step(weir_context *ctx) {
    int64_t count = *static_cast<const int64_t *>(ctx->feeds[0].data) & ((int64_t(1) << 56) - 1);
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(given(int(ctx->device), i));
    weir_tensor tensor = floats(values, {count});
    const weir_collective_rank &rank = rankOf(ctx);
    if (int32_t code = weir_rt_send(ctx, rank.input, 0, &tensor))
      return code;
    return Relay::start(ctx, rank.output, [](weir_context *ctx, const weir_tensor &value) {
      return fetch(ctx, int32_t(ctx->device), value);
    });
  }
  const weir_program_desc *get() { return current = program.get(); }

  /// What rank `rank` gets of element `i` of its result. All-reduce: in the documented
  /// order, of trees where `inTree`.
  float expected(int kind, int64_t count, int rank, int64_t i, bool inTree) const {
    if (kind == WEIR_BROADCAST)
      return given(0, i);
    if (kind == WEIR_ALL_GATHER)
      return given(int(i / count), i % count);
    if (kind == WEIR_ALL_REDUCE && inTree)
      return tree(0, i, 1 << 30);
    int64_t chunk = ((count + ranks - 1) / ranks + 15) / 16 * 16;
    int64_t owner = kind == WEIR_REDUCE_SCATTER ? rank : i / chunk;
    int64_t at = kind == WEIR_REDUCE_SCATTER ? rank * (count / ranks) + i : i;
    float sum = given(int((owner + 1) % ranks), at);
    for (int k = 2; k <= ranks; ++k)
      sum += given(int((owner + k) % ranks), at);
    return sum;
  }
  /// Rank r with all that is below it in the tree.
  float tree(int r, int64_t i, int limit) const {
    float sum = given(r, i);
    for (int bit = 1; bit < limit && r + bit < ranks; bit *= 2)
      sum += tree(r + bit, i, bit);
    return sum;
  }

  template <typename Run> void check(int kind, int64_t count, Run run) const {
    int64_t fed = int64_t(kind) << 56 | count;
    std::vector<weir_tensor> fetches(static_cast<size_t>(ranks));
    run(scalar(&fed), fetches);
    for (int rank = 0; rank < ranks; ++rank) {
      const weir_tensor &got = fetches[size_t(rank)];
      int64_t elements = kind == WEIR_ALL_GATHER       ? count * ranks
                         : kind == WEIR_REDUCE_SCATTER ? count / ranks
                                                       : count;
      ASSERT_EQ(got.bytes, elements * 4) << kind << ": " << count;
      ASSERT_EQ(got.dims[0], elements);
      bool inTree = count * 4 <= 32 << 10;
      for (int64_t i = 0; i < elements; ++i)
        ASSERT_EQ(static_cast<const float *>(got.data)[i], expected(kind, count, rank, i, inTree))
            << "kind " << kind << ", " << count << " elements, rank " << rank << ", element " << i;
    }
  }

  int ranks;
  TestProgram program;
  std::vector<std::string> names, gets;
  static inline const weir_program_desc *current = nullptr;
};

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_COLLECTIVE_STEPS_H
