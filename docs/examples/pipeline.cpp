//===- pipeline.cpp - two devices at work on two batches --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The network is cut in two: convolutions run on one device, what follows on another. While
// the second ends a batch the first begins the next, because several runs are under way.
//
//   weirc test/digits/digits.onnx --placement=pipeline.json -o digits.o
//   c++ -std=c++17 pipeline.cpp digits.o libweir_runtime.a -pthread -o pipeline
//   ./pipeline test/digits/samples.f32 test/digits/samples.u8
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <vector>

constexpr int64_t batch = 8, together = 4;

static std::vector<char> bytesOf(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// How many runs may begin.
struct Places {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t left = together;
  std::atomic<bool> failed{false};

  void take(int64_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return left >= count; });
    left -= count;
  }
  /// weir_run_done: a run has ended.
  static void give(void *self, const weir_status *status) {
    auto *places = static_cast<Places *>(self);
    if (status->code != WEIR_OK) {
      std::fprintf(stderr, "%s\n", status->message);
      places->failed = true;
    }
    std::lock_guard lock(places->mutex);
    ++places->left;
    places->changed.notify_all();
  }
};

int main(int argc, char **argv) {
  if (argc < 3)
    return std::puts("usage: pipeline IMAGES.f32 LABELS.u8"), 2;
  const std::vector<char> bytes = bytesOf(argv[1]), labels = bytesOf(argv[2]);
  const auto *pixels = reinterpret_cast<const float *>(bytes.data());
  const int64_t count = int64_t(labels.size());
  std::vector<float> results(size_t(count) * 10);

  digits::Model model;
  if (!model.status())
    return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  for (int32_t i = 0; i < weir_program_device_count(digits_program()); ++i)
    std::printf("device %s\n", weir_program_device_name(digits_program(), i));

  Places places;
  // Tensors stay where they are until their run has ended.
  std::vector<std::array<weir_tensor, 2>> tensors(size_t((count + batch - 1) / batch));
  for (size_t i = 0; i < tensors.size() && !places.failed; ++i) {
    const int64_t first = int64_t(i) * batch, rows = std::min(batch, count - first);
    const int64_t dims[] = {rows, 1, 8, 8};
    tensors[i] = {digits_image_tensor(pixels + 64 * first, dims),
                  digits_probabilities_tensor(&results[size_t(first) * 10], rows * 40)};
    places.take(1);
    weir::Status status;
    if (weir_session_run_async(model.session(), 0, &tensors[i][0], 1, &tensors[i][1], 1, nullptr,
                               Places::give, &places, status.get()))
      Places::give(&places, status.get());
  }
  places.take(together); // all have ended
  int right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const float *p = &results[i * 10];
    right += std::max_element(p, p + 10) - p == labels[i];
  }
  std::printf("%d of %d digits are classified right\n", right, int(count));
  return places.failed;
}
