//===- cluster_ring.h - a program whose tensors go around all tasks ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_RUNTIME_CLUSTER_RING_H
#define WEIR_TEST_UNIT_RUNTIME_CLUSTER_RING_H

#include "cluster_members.h"

#include <string>
#include <vector>

namespace weir::rt::test {

inline const char *const deviceNames[] = {"/job:worker/replica:0/task:0/device:CPU:0",
                                          "/job:worker/replica:0/task:1/device:CPU:0",
                                          "/job:worker/replica:0/task:2/device:CPU:0"};

/// A ring: device i adds 1 to what it got and sends it to the next; the last
/// sends it to the first, which fetches. Device 1 fetches what it got, too.
inline int32_t plusOne(weir_context *ctx, const weir_tensor &value, int32_t edge) {
  std::vector<float> sums(size_t(value.bytes / 4));
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<const float *>(value.data)[i] + 1;
  weir_tensor tensor = value;
  tensor.data = sums.data();
  return weir_rt_send(ctx, edge, 0, &tensor);
}

template <int tasks> int32_t ringFirst(weir_context *ctx) {
  if (int32_t code = plusOne(ctx, ctx->feeds[0], 0))
    return code;
  return Relay::start(ctx, tasks - 1, [](weir_context *ctx, const weir_tensor &value) {
    return fetch(ctx, 0, value);
  });
}
template <int device> int32_t ringNext(weir_context *ctx) {
  return Relay::start(ctx, device - 1, [](weir_context *ctx, const weir_tensor &value) {
    if (device == 1)
      if (int32_t code = fetch(ctx, 1, value))
        return code;
    return plusOne(ctx, value, device);
  });
}

struct Ring {
  explicit Ring(int tasks) {
    program.rename(0, deviceNames[0]);
    for (int i = 1; i < tasks; ++i)
      program.device(deviceNames[i], 4096);
    for (int i = 0; i < tasks; ++i) {
      keys.push_back("sum" + std::to_string(i) + ":0;" + deviceNames[i] + ";" +
                     deviceNames[(i + 1) % tasks]);
    }
    for (int i = 0; i < tasks; ++i)
      program.edge(keys[size_t(i)].c_str(), i, (i + 1) % tasks);
    std::vector<weir_step_fn> steps = {tasks == 2 ? ringFirst<2> : ringFirst<3>, ringNext<1>};
    if (tasks == 3)
      steps.push_back(ringNext<2>);
    program.entry("main", {{"x", WEIR_F32, {-1}}},
                  {{"sum", WEIR_F32, {-1}}, {"middle", WEIR_F32, {-1}}}, steps);
  }
  TestProgram program;
  std::vector<std::string> keys;
};

inline void checkRing(Member &leader, int tasks, size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = float(i % 1000);
  std::vector<weir_tensor> fetches(2);
  ASSERT_EQ(leader.run({floats(x, {int64_t(count)})}, fetches), WEIR_OK) << leader.status.message;
  ASSERT_EQ(fetches[0].bytes, int64_t(count * 4));
  ASSERT_EQ(fetches[1].bytes, int64_t(count * 4));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(static_cast<float *>(fetches[0].data)[i], x[i] + float(tasks));
    ASSERT_EQ(static_cast<float *>(fetches[1].data)[i], x[i] + 1);
  }
  for (weir_tensor &tensor : fetches)
    weir_session_release(leader.session, &tensor);
}

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_CLUSTER_RING_H
