//===- small_tensors_test.cpp - the short way between two tasks -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Tensors around the limits of what a message of one cache line can say: types,
// ranks, dims and sizes on both sides of each, and more of them at once than the
// queue between the processes has room for.

#include "cluster_members.h"

using namespace weir::rt::test;

namespace {

const char *const deviceNames[] = {"/job:worker/replica:0/task:0/device:CPU:0",
                                   "/job:worker/replica:0/task:1/device:CPU:0"};

struct Shape {
  int32_t dtype;
  std::vector<int64_t> dims;
};
/// By number of bytes: none, one, the usual, the most inside of a message, more.
const Shape shapes[] = {{WEIR_F32, {}},
                        {WEIR_I64, {}},
                        {WEIR_U8, {1}},
                        {WEIR_U8, {255}},
                        {WEIR_U8, {256}},
                        {WEIR_BOOL, {192}},
                        {WEIR_BOOL, {193}},
                        {WEIR_F64, {24}},
                        {WEIR_F64, {25}},
                        {WEIR_F32, {0}},
                        {WEIR_F32, {3, 0, 300}},
                        {WEIR_F32, {1, 2, 3, 4}},
                        {WEIR_F32, {1, 2, 3, 2, 1}},
                        {WEIR_I32, {2, 2, 2, 1, 1, 1, 2}},
                        {WEIR_U8, {1, 1, 1, 192}},
                        {WEIR_F16, {9}},
                        {WEIR_C128, {3, 4}},
                        {WEIR_F32, {1000}}};
constexpr int64_t shapeCount = std::size(shapes);

/// What the `number`th tensor is made of.
struct Value {
  explicit Value(int64_t number) {
    const Shape &shape = shapes[number % shapeCount];
    tensor.dtype = shape.dtype;
    tensor.rank = int32_t(shape.dims.size());
    int64_t count = 1;
    for (size_t d = 0; d < shape.dims.size(); ++d)
      count *= tensor.dims[d] = shape.dims[d];
    bytes.resize(size_t(count * weir_dtype_size(shape.dtype)));
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = uint8_t(number * 31 + int64_t(i) * 7);
    tensor.data = bytes.data();
    tensor.bytes = int64_t(bytes.size());
  }
  bool equals(const weir_tensor &other) const {
    return other.dtype == tensor.dtype && other.rank == tensor.rank &&
           other.bytes == tensor.bytes &&
           std::equal(tensor.dims, tensor.dims + tensor.rank, other.dims) &&
           (bytes.empty() || memcmp(other.data, bytes.data(), bytes.size()) == 0);
  }
  std::vector<uint8_t> bytes;
  weir_tensor tensor = {};
};

constexpr int64_t total = 40 * 30, burst = 30;

/// Device 0 sends thirty, and awaits them; device 1 returns what comes.
struct Player {
  void (*resume)(void *);
  weir_context *ctx;
  bool serves;
  int64_t at;

  int32_t sendBurst() {
    int32_t code = WEIR_OK;
    for (int64_t i = 0; i < burst && code == WEIR_OK; ++i) {
      Value value(at + i);
      code = weir_rt_send(ctx, 0, WEIR_NEXT_ITERATION, &value.tensor);
    }
    return code;
  }
  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, serves ? 1 : 0, WEIR_NEXT_ITERATION, &value))
      return code;
    int32_t code = WEIR_OK;
    if (!serves)
      code = weir_rt_send(ctx, 1, WEIR_NEXT_ITERATION, &value);
    else if (!Value(at).equals(value))
      code = weir_rt_error_text(ctx, -1, WEIR_DATA_LOSS, "tensor {0} is another one", at, 0);
    weir_rt_free(ctx, value.data);
    ++at;
    if (code == WEIR_OK && serves && at % burst == 0 && at < total)
      code = sendBurst();
    return code;
  }
  int32_t advance() {
    while (at < total) {
      if (!weir_rt_receive_ready(ctx, serves ? 1 : 0, WEIR_NEXT_ITERATION, this))
        return WEIR_PENDING;
      if (int32_t code = take())
        return code;
    }
    return WEIR_OK;
  }
  static int32_t start(weir_context *ctx, bool serves) {
    auto *self = new Player{resumeFrame<Player>, ctx, serves, 0};
    int32_t code = serves ? self->sendBurst() : int32_t(WEIR_OK);
    if (code == WEIR_OK)
      code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};

int32_t serve(weir_context *ctx) { return Player::start(ctx, true); }
int32_t answer(weir_context *ctx) { return Player::start(ctx, false); }

/// Task 0 leads the steps; `first` has the device that begins.
void play(int first) {
  TestProgram program;
  program.rename(0, deviceNames[first]);
  program.device(deviceNames[1 - first], 4096);
  program.edge("there:0;0;1", 0, 1);
  program.edge("back:0;1;0", 1, 0);
  program.entry("main", {}, {}, {serve, answer});
  Tasks tasks(2);
  Worker worker(tasks, 1, program.get());
  Member member(tasks, 0, program.get());
  ASSERT_EQ(member.code, WEIR_OK) << member.status.message;
  std::vector<weir_tensor> none;
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(member.run({}, none), WEIR_OK) << member.status.message;
}

TEST(SmallTensors, AllShapesComeWholeAndInOrder) {
  play(0);
  play(1);
}

/// Four places: most tensors find the queue full, and go as others do.
TEST(SmallTensors, FullQueuesLoseNothing) {
  setenv("UCX_POSIX_FIFO_SIZE", "4", 1);
  setenv("UCX_SYSV_FIFO_SIZE", "4", 1);
  play(0);
  unsetenv("UCX_POSIX_FIFO_SIZE");
  unsetenv("UCX_SYSV_FIFO_SIZE");
}

} // namespace
