//===- CallsTarget.cpp - libFuzzer: any calls, in any order ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is a list of calls of the C interface with arguments that may be right: sessions that
// are made, used by several names, used after their end and ended twice, tensors of other types
// and sizes, names that there are not; runs and checkpoints that end later, deadlines, observers.
// Each call returns; what fails says why; what was begun is told of once.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/runtime/Scratch.h"
#include "test/unit/runtime/test_program.h"

#include "weir/observer.h"

#include <list>
#include <semaphore>

using namespace weir::rt::test;

namespace {

int32_t doubleStep(weir_context *ctx) {
  const weir_tensor &x = ctx->feeds[0];
  auto *y = static_cast<float *>(weir_rt_fetch(ctx, 0, x.rank, x.dims, x.bytes));
  if (!y)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < x.bytes / 4; ++i)
    y[i] = 2 * static_cast<const float *>(x.data)[i];
  return WEIR_OK;
}

struct Bytes {
  const uint8_t *at, *end;
  bool more() const { return at < end; }
  uint8_t next() { return at < end ? *at++ : 0; }
};

const char *const names[] = {"w", "b", "main", "", "no such name", nullptr};

/// What a call began, which lives until it has ended.
struct Begun {
  weir_tensor feed, fetch;
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  std::binary_semaphore isDone{0};
  static void done(void *self, const weir_status *status) {
    if (status->code && !*status->message)
      std::abort();
    static_cast<Begun *>(self)->isDone.release();
  }
};

class Calls {
public:
  Calls(Bytes in, const weir_program_desc *program) : in(in), program(program) {}
  ~Calls() {
    await();
    for (weir_session *session : alive)
      weir_session_destroy(session);
    weir_cancellation_destroy(cancellation);
  }
  void run() {
    for (int i = 0; i < 64 && in.more(); ++i)
      call(in.next() % 22);
  }

private:
  void check(int32_t code) {
    if (code != status.code || (code && !*status.message))
      std::abort();
    status = WEIR_STATUS_INIT;
  }
  /// One that lives, one that does not, or none.
  weir_session *any() {
    const uint8_t which = in.next();
    if (which % 8 == 7)
      return nullptr;
    std::vector<weir_session *> &from = which % 8 == 6 ? dead : alive;
    return from.empty() ? nullptr : from[which / 8 % from.size()];
  }
  weir_tensor tensor() {
    const uint8_t how = in.next();
    weir_tensor t = {memory, 4 * (how % 16), WEIR_F32, 1, {how % 16}};
    if (how & 16)
      t.dims[0] = int64_t(int8_t(in.next())) << (in.next() % 60);
    if (how & 32)
      t.dtype = in.next();
    if (how & 64)
      t.rank = int8_t(in.next());
    if (how & 128)
      t.data = nullptr;
    return t;
  }
  void create() {
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = int8_t(in.next()) % 3;
    if (in.next() & 1)
      options.memory_limit = int64_t(in.next()) << 12;
    weir_session *made = nullptr;
    const bool isNull = in.next() % 16 == 0;
    check(weir_session_create(isNull ? nullptr : program, &options, &made, &status));
    if (made && alive.size() < 4) {
      std::erase(dead, made); // its address may be that of one that is gone
      alive.push_back(made);
    } else {
      weir_session_destroy(made);
    }
  }
  /// A session must not end before what was begun in it.
  void await() {
    for (Begun &each : begun)
      each.isDone.acquire();
    begun.clear();
  }
  void destroy() {
    await();
    weir_session *session = any();
    if (std::erase(alive, session))
      dead.push_back(session);
    weir_session_destroy(session);
  }
  void runEntry() {
    weir_session *session = any();
    weir_tensor feed = tensor(), fetch = tensor();
    fetch.data = in.next() & 1 ? fetch.data : nullptr;
    weir_run_options given = WEIR_RUN_OPTIONS_INIT, *options = runOptions(given);
    check(weir_session_run(session, int8_t(in.next()) % 3, in.next() % 8 ? &feed : nullptr,
                           in.next() % 8 ? 1 : int8_t(in.next()), in.next() % 8 ? &fetch : nullptr,
                           1, options, &status));
    weir_session_release(session, &fetch);
  }
  weir_run_options *runOptions(weir_run_options &options) {
    options.threads = int8_t(in.next()) % 4;
    if (in.next() & 1)
      options.timeout_ns = int64_t(in.next()) << (in.next() % 40);
    if (in.next() & 1)
      options.cancellation = cancellation;
    if (in.next() % 16 == 0)
      options.size = in.next();
    return in.next() % 8 ? &options : nullptr;
  }
  /// Calls `start`, which promises to end what it begins unless it fails.
  template <typename Start> void begin(Start &&start) {
    Begun &each = begun.emplace_back();
    const int32_t code = start(each);
    check(code);
    if (code)
      begun.pop_back();
  }
  void runAsync() {
    begin([&](Begun &each) {
      each.feed = tensor();
      each.fetch = tensor();
      each.fetch.data = nullptr;
      weir_run_options *options = runOptions(each.options);
      return weir_session_run_async(any(), int8_t(in.next()) % 3,
                                    in.next() % 8 ? &each.feed : nullptr, 1,
                                    in.next() % 8 ? &each.fetch : nullptr, 1, options,
                                    in.next() % 16 ? Begun::done : nullptr, &each, &status);
    });
  }
  weir_checkpoint_options checkpointOptions() {
    weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
    options.partial = in.next() & 1;
    options.keep = int8_t(in.next()) % 3;
    options.by_task = in.next() & 1;
    if (in.next() % 16 == 0)
      options.size = in.next();
    return options;
  }
  /// A folder of this process, one that cannot be, or none.
  const char *prefix() {
    static const std::string folder = weir::fuzz::scratchPath("-calls"), first = folder + "/a",
                             second = folder + "/b";
    const char *all[] = {first.c_str(), second.c_str(), "/proc/none/c", "", nullptr};
    return all[in.next() % 5];
  }
  void checkpoint(int how) {
    weir_checkpoint_options options = checkpointOptions();
    weir_session *session = any();
    const char *where = prefix();
    if (how == 0)
      return check(weir_session_save(session, where, &options, &status));
    if (how == 1)
      return check(
          weir_session_restore(session, where, in.next() & 1 ? &options : nullptr, &status));
    begin([&](Begun &each) {
      return weir_session_save_async(session, where, &options, Begun::done, &each, &status);
    });
  }
  /// Introspection, by any index.
  void ask() {
    const int entry = int8_t(in.next()), index = int8_t(in.next());
    const weir_program_desc *of = in.next() % 16 ? program : nullptr;
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    weir_program_entry_name(of, entry);
    weir_program_feed_count(of, entry);
    weir_program_fetch_count(of, entry);
    weir_program_fetch(of, entry, index, &info);
    weir_program_variable(of, index, &info);
    weir_program_device_name(of, index);
    weir_program_arena_bytes(of, index);
    weir_dtype_size(entry);
    weir_dtype_name(index);
    weir_code_name(index);
    weir_session_threads(any());
    weir_session_program(any());
  }
  void report() {
    // Of its own, so that one byte too many is seen.
    const int64_t capacity = in.next() & 1 ? in.next() : 0;
    std::vector<char> text(static_cast<size_t>(capacity));
    weir_session_memory_report(any(), int8_t(in.next()) % 3, capacity ? text.data() : nullptr,
                               capacity);
  }
  void latest() {
    const int64_t capacity = in.next() % 64;
    std::vector<char> text(static_cast<size_t>(capacity));
    const char *folders[] = {"/dev/shm", "", "/no/such/folder", nullptr};
    check(weir_latest_checkpoint(folders[in.next() % 4], text.data(), capacity, &status));
  }
  void observe() {
    auto read = [](void *, const weir_trace_event *event) {
      if (!event->name || !event->nodes || !event->device)
        std::abort();
    };
    auto told = [&](uint32_t size, bool isWhole) {
      weir_trace made = {};
      made.size = size;
      made.begin = made.end = read;
      if (!isWhole)
        made.end = nullptr;
      return made;
    };
    static const weir_trace good = told(sizeof(weir_trace), true), strange = told(3, true),
                            half = told(sizeof(weir_trace), false);
    const weir_trace *all[] = {&good, &half, &strange, nullptr};
    check(weir_session_set_observer(any(), all[in.next() % 4], &status));
  }
  void call(int which) {
    weir_tensor t;
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    weir_memory_stats stats = {};
    stats.size = in.next() % 4 ? sizeof(stats) : 0;
    switch (which) {
    case 0:
      return create();
    case 1:
      return destroy();
    case 2:
    case 3:
    case 4:
      return runEntry();
    case 5:
      t = tensor();
      return check(weir_session_set_variable(any(), names[in.next() % 6], &t, &status));
    case 6:
      t = tensor();
      check(weir_session_get_variable(any(), names[in.next() % 6], &t, &status));
      return;
    case 7:
      return check(weir_session_reset(any(), &status));
    case 8:
      weir_session_find_entry(any(), names[in.next() % 5]);
      return;
    case 9:
      weir_session_memory(any(), int8_t(in.next()), in.next() % 8 ? &stats : nullptr);
      return;
    case 10:
      weir_session_trim(any());
      return;
    case 11:
      in.next() & 1 ? weir_cancellation_cancel(cancellation)
                    : weir_cancellation_reset(cancellation);
      return;
    case 12:
      info.size = in.next() % 4 ? info.size : in.next();
      weir_program_feed(program, int8_t(in.next()), int8_t(in.next()),
                        in.next() % 8 ? &info : nullptr);
      return;
    case 13:
    case 14:
      return runAsync();
    case 15:
    case 16:
    case 17:
      return checkpoint(which - 15);
    case 18:
      return ask();
    case 19:
      return report();
    case 20:
      return in.next() & 1 ? latest() : observe();
    default:
      await(); // a run may have the tensor
      t = tensor();
      weir_session_release(any(), in.next() & 1 ? &t : nullptr);
    }
  }

  Bytes in;
  const weir_program_desc *program;
  std::vector<weir_session *> alive, dead;
  std::list<Begun> begun;
  weir_cancellation *cancellation = weir_cancellation_create();
  weir_status status = WEIR_STATUS_INIT;
  float memory[16] = {};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static auto *program = [] {
    auto *made = new TestProgram;
    made->blobs(std::vector<float>{1, 2, 3, 4});
    made->entry("main", {{"x", WEIR_F32, {-1}, {}, {16}}}, {{"y", WEIR_F32, {-1}}}, {doubleStep});
    made->slot("w", WEIR_F32, {4}, 0, 16);
    made->slot("b", WEIR_F32, {2}, -1, 0);
    return made;
  }();
  Calls(Bytes{data, data + size}, program->get()).run();
  return 0;
}
