//===- borrowed.cpp - tensors that are copied where the caller has them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs borrowed.mlir with feeds and fetches in ordinary and in pinned memory, with a fetch
// that lies over a feed, and with one that the runtime allocates. Exits 1 where a result is
// wrong.
//
//===----------------------------------------------------------------------===//

#include "borrowed.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

constexpr int64_t rows = 200, columns = 300, count = rows * columns;

static int wrong = 0;

static void check(const float *sums, float first, float step, const char *what) {
  for (int64_t i = 0; i < count; ++i)
    if (sums[i] != first + float(i) + step * float(i % columns)) {
      std::printf("wrong: %s at %lld\n", what, static_cast<long long>(i));
      ++wrong;
      return;
    }
}

/// Memory that the driver copies to and from by itself.
class Pinned {
public:
  Pinned() {
    void *context;
    call<int32_t(void **, int32_t)>("cuDevicePrimaryCtxRetain")(&context, 0);
    call<int32_t(void *)>("cuCtxPushCurrent_v2")(context);
    call<int32_t(void **, size_t, unsigned)>("cuMemHostAlloc")(&memory, count * sizeof(float), 0);
  }
  ~Pinned() {
    void *context;
    call<int32_t(void *)>("cuMemFreeHost")(memory);
    call<int32_t(void **)>("cuCtxPopCurrent_v2")(&context);
    call<int32_t(int32_t)>("cuDevicePrimaryCtxRelease_v2")(0);
  }
  float *data() const { return static_cast<float *>(memory); }

private:
  template <typename Function> Function *call(const char *name) {
    return reinterpret_cast<Function *>(dlsym(driver, name));
  }
  void *driver = dlopen(std::getenv("WEIR_CUDA_DRIVER"), RTLD_NOW), *memory = nullptr;
};

int main() {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  weir_session *session;
  weir_status status = WEIR_STATUS_INIT;
  if (borrowed_create(&options, &session, &status)) {
    std::printf("no session: %s\n", status.message);
    return 1;
  }
  std::vector<float> ordinary(count), other(count), b(columns);
  auto run = [&](float *a, float *sum, float first, float step, const char *what) {
    for (int64_t i = 0; i < count; ++i)
      a[i] = first + float(i);
    for (int64_t i = 0; i < columns; ++i)
      b[i] = step * float(i);
    weir_tensor feeds[2] = {}, fetches[2] = {};
    feeds[0].data = a;
    feeds[0].bytes = count * 4;
    feeds[0].rank = 2;
    feeds[0].dims[0] = rows;
    feeds[0].dims[1] = columns;
    feeds[1].data = b.data();
    feeds[1].bytes = columns * 4;
    feeds[1].rank = 1;
    feeds[1].dims[0] = columns;
    for (weir_tensor &feed : feeds)
      feed.dtype = WEIR_F32;
    fetches[0].data = sum;
    fetches[0].bytes = sum ? count * 4 : 0;
    if (weir_session_run(session, 0, feeds, 2, fetches, 2, nullptr, &status)) {
      std::printf("wrong: %s: %s\n", what, status.message);
      ++wrong;
      return;
    }
    check(static_cast<float *>(fetches[0].data), first, step, what);
    for (int64_t i = 0; i < columns; ++i)
      if (static_cast<float *>(fetches[1].data)[i] != 2 * b[size_t(i)])
        ++wrong;
    for (weir_tensor &fetch : fetches)
      if (fetch.data != sum)
        weir_session_release(session, &fetch);
  };
  {
    Pinned firstMemory, secondMemory;
    float *first = firstMemory.data(), *second = secondMemory.data();
    for (int i = 0; i < 3; ++i) {
      float step = float(i + 1);
      run(ordinary.data(), other.data(), 1, step, "ordinary memory");
      run(first, second, 2, step, "pinned memory");
      run(first, other.data(), 3, step, "a pinned feed");
      run(ordinary.data(), second, 4, step, "a pinned fetch");
      run(first, first, 5, step, "a fetch over a feed");
      run(ordinary.data(), nullptr, 6, step, "a fetch of the runtime's");
    }
  }
  weir_session_destroy(session);
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
