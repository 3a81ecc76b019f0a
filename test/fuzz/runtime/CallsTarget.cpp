//===- CallsTarget.cpp - libFuzzer: any calls, in any order ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is a list of calls of the C interface with arguments that may be right: sessions that
// are made, used by several names, used after their end and ended twice, tensors of other types
// and sizes, names that there are not. Each call returns; what fails says why.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/test_program.h"

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

class Calls {
public:
  Calls(Bytes in, const weir_program_desc *program) : in(in), program(program) {}
  ~Calls() {
    for (weir_session *session : alive)
      weir_session_destroy(session);
    weir_cancellation_destroy(cancellation);
  }
  void run() {
    for (int i = 0; i < 64 && in.more(); ++i)
      call(in.next() % 14);
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
    if (made && alive.size() < 4)
      alive.push_back(made);
    else
      weir_session_destroy(made);
  }
  void destroy() {
    weir_session *session = any();
    if (std::erase(alive, session))
      dead.push_back(session);
    weir_session_destroy(session);
  }
  void runEntry() {
    weir_session *session = any();
    weir_tensor feed = tensor(), fetch = tensor();
    fetch.data = in.next() & 1 ? fetch.data : nullptr;
    weir_run_options options = WEIR_RUN_OPTIONS_INIT;
    if (in.next() & 1)
      options.cancellation = cancellation;
    check(weir_session_run(session, int8_t(in.next()) % 3, in.next() % 8 ? &feed : nullptr,
                           in.next() % 8 ? 1 : int8_t(in.next()), in.next() % 8 ? &fetch : nullptr,
                           1, &options, &status));
    weir_session_release(session, &fetch);
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
    default:
      t = tensor();
      weir_session_release(any(), in.next() & 1 ? &t : nullptr);
    }
  }

  Bytes in;
  const weir_program_desc *program;
  std::vector<weir_session *> alive, dead;
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
