//===- transport_test.cpp - small tensors that a transport brings ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A transport that is a thread of this process, and returns what is sent: unlike
// UCX's it can be looked into by ThreadSanitizer. What it delivers is taken and
// given back without a lock.

#include "test_program.h"

#include "weir/transport.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

using namespace weir::rt::test;

namespace {

/// Device 1 is another task's, which sends back over edge 1 what edge 0 brings.
class Echo {
public:
  Echo() {
    table.size = sizeof(table);
    table.self = this;
    table.attach = [](void *self, weir_session *session, const weir_transport_host *host,
                      const weir_program_desc *, int32_t *tasks, weir_status *) -> int32_t {
      static_cast<Echo *>(self)->session = session;
      static_cast<Echo *>(self)->host = host;
      tasks[0] = -1;
      tasks[1] = 1;
      return WEIR_OK;
    };
    table.detach = [](void *) {};
    table.begin = [](void *self, weir_run *run, void *, int32_t, int64_t, const weir_tensor *,
                     int32_t, int32_t *parts, void **handle, weir_status *) -> int32_t {
      *parts = 0;
      *handle = self;
      static_cast<Echo *>(self)->begin(run);
      return WEIR_OK;
    };
    table.send = [](void *self, void *, int32_t, int64_t iteration, const weir_tensor *tensor,
                    void *data, int64_t bytes, int32_t, weir_status *) -> int32_t {
      static_cast<Echo *>(self)->send(iteration, *tensor, data, bytes);
      return WEIR_OK;
    };
    table.end = [](void *self, void *, int32_t, const char *) { static_cast<Echo *>(self)->end(); };
    table.taken = [](void *, void *, int32_t, int64_t) {};
    table.help = [](void *, int32_t (*)(void *), void *) {};
  }

  weir_transport table = {};
  std::atomic<int64_t> few{0}, others{0};

private:
  struct Message {
    int64_t iteration;
    weir_tensor tensor;
    std::vector<unsigned char> bytes;
  };

  void begin(weir_run *begun) {
    run = begun;
    ends = false;
    thread = std::thread([this] { work(); });
  }
  void end() {
    {
      std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    thread.join();
  }
  void send(int64_t iteration, const weir_tensor &tensor, void *data, int64_t bytes) {
    auto *begin = static_cast<unsigned char *>(data);
    std::lock_guard lock(mutex);
    queue.push_back({iteration, tensor, {begin, begin + bytes}});
    changed.notify_all();
  }
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ends || !queue.empty(); });
      if (queue.empty())
        return;
      Message message = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      deliver(message);
      lock.lock();
    }
  }
  void deliver(Message &message) {
    weir_tensor tensor = message.tensor;
    tensor.data = message.bytes.data();
    void *woken = nullptr;
    if (host->deliver_few(run, 1, message.iteration, &tensor, &woken)) {
      ++few;
      if (woken)
        host->resume(woken);
      return;
    }
    ++others;
    auto bytes = int64_t(message.bytes.size());
    tensor.data = host->allocate(session, 0, bytes);
    std::memcpy(tensor.data, message.bytes.data(), message.bytes.size());
    host->deliver(run, 1, message.iteration, &tensor, bytes);
  }

  weir_session *session = nullptr;
  const weir_transport_host *host = nullptr;
  weir_run *run = nullptr;
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Message> queue;
  bool ends = false;
};

constexpr int64_t rounds = 2000;

/// Sends tensors, up to five in a row, and takes as many answers. Memory of its own
/// comes and goes in between, from the same blocks. `stopsAt`: leaves the rest.
struct Sender {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t sent, taken, stopsAt;

  static int64_t lengthOf(int64_t number) { return number % 24 + 1; }

  int32_t sendRow() {
    for (int64_t i = 0; i <= taken % 5 && sent < rounds; ++i) {
      std::vector<int64_t> values(size_t(lengthOf(sent)), sent);
      weir_tensor tensor = {};
      tensor.data = values.data();
      tensor.bytes = int64_t(values.size() * sizeof(int64_t));
      tensor.dtype = WEIR_I64;
      tensor.rank = 1;
      tensor.dims[0] = int64_t(values.size());
      ++sent;
      if (int32_t code = weir_rt_send(ctx, 0, WEIR_NEXT_ITERATION, &tensor))
        return code;
    }
    return WEIR_OK;
  }
  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, 1, WEIR_NEXT_ITERATION, &value))
      return code;
    auto *own = static_cast<int64_t *>(weir_rt_alloc(ctx, 64, -1));
    if (!own)
      return WEIR_RESOURCE_EXHAUSTED;
    for (int i = 0; i < 8; ++i)
      own[i] = -1;
    bool right = value.dims[0] == lengthOf(taken);
    for (int64_t i = 0; i < value.dims[0]; ++i)
      right &= static_cast<int64_t *>(value.data)[i] == taken;
    weir_rt_free(ctx, value.data);
    weir_rt_free(ctx, own);
    if (!right)
      return weir_rt_error_text(ctx, -1, WEIR_DATA_LOSS, "{0} is another one", taken, 0);
    ++taken;
    if (taken == stopsAt)
      return weir_rt_error_text(ctx, -1, WEIR_ABORTED, "enough", 0, 0);
    return taken == sent ? sendRow() : int32_t(WEIR_OK);
  }
  int32_t advance() {
    while (taken < rounds) {
      if (!weir_rt_receive_ready(ctx, 1, WEIR_NEXT_ITERATION, this))
        return WEIR_PENDING;
      if (int32_t code = take())
        return code;
    }
    return WEIR_OK;
  }
  static int32_t start(weir_context *ctx) {
    auto stopsAt = *static_cast<const int64_t *>(ctx->feeds[0].data);
    auto *self = new Sender{resumeFrame<Sender>, ctx, 0, 0, stopsAt};
    int32_t code = self->sendRow();
    if (code == WEIR_OK)
      code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};

int32_t nothing(weir_context *) { return WEIR_OK; }

struct EchoProgram {
  EchoProgram() {
    program.device("/job:localhost/task:1/device:CPU:0", 4096);
    program.edge("there:0;0;1", 0, 1);
    program.edge("back:0;1;0", 1, 0);
    program.entry("main", {{"stop", WEIR_I64, {}}}, {}, {Sender::start, nothing});
  }
  TestProgram program;
};

TEST(Transport, SmallTensorsAreTakenAndGivenBackWithoutALock) {
  EchoProgram made;
  for (int32_t threads : {1, 3}) {
    Echo echo;
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = threads;
    options.transport = &echo.table;
    weir_status status = WEIR_STATUS_INIT;
    weir_session *session = nullptr;
    ASSERT_EQ(weir_session_create(made.program.get(), &options, &session, &status), WEIR_OK)
        << status.message;
    // Runs that end in between leave tensors that nobody takes.
    for (int64_t stop : {int64_t(0), int64_t(7), int64_t(100), int64_t(0)}) {
      weir_tensor feed = {};
      feed.data = &stop;
      feed.bytes = sizeof(stop);
      feed.dtype = WEIR_I64;
      EXPECT_EQ(weir_session_run(session, 0, &feed, 1, nullptr, 0, nullptr, &status),
                stop ? WEIR_ABORTED : WEIR_OK)
          << status.message;
    }
    EXPECT_GT(echo.few, rounds) << "most are few bytes for a run with memory at hand";
    EXPECT_GT(echo.others, 0) << "the first ones find no memory at hand";
    weir_memory_stats stats = {};
    stats.size = sizeof(stats);
    weir_session_memory(session, 0, &stats);
    EXPECT_EQ(stats.live, 1) << "only the arena is left";
    weir_session_destroy(session);
  }
}

} // namespace
