//===- threads.cpp - one session, many threads ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies digits from several threads: they share one session, with its weights and
// threads, and each has a view of the model with inputs and outputs of its own.
//
//   weirc test/digits/digits.onnx -o digits.o
//   c++ -std=c++17 threads.cpp digits.o libweir_runtime.a -pthread -o threads
//   ./threads test/digits/samples.f32 test/digits/samples.u8
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

static std::vector<char> bytesOf(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char **argv) {
  if (argc < 3)
    return std::puts("usage: threads IMAGES.f32 LABELS.u8"), 2;
  const std::vector<char> images = bytesOf(argv[1]), labels = bytesOf(argv[2]);
  const auto *pixels = reinterpret_cast<const float *>(images.data());
  const int count = int(labels.size()), batch = 10;

  digits::Model model;
  if (!model.status())
    return std::puts(model.status().message()), 1;
  std::atomic<int> next{0}, right{0}, failed{0};
  auto classify = [&](digits::Model view) {
    for (int first; (first = next.fetch_add(batch)) < count;) {
      // The images are read where they are.
      weir::Status status =
          view.bind_image(pixels + first * 64, {std::min(batch, count - first), 1, 8, 8});
      if (status)
        status = view.run();
      if (!status) {
        std::puts(status.message());
        ++failed;
        return;
      }
      for (size_t i = 0; i < view.probabilities().size() / 10; ++i) {
        const float *p = view.probabilities().data() + 10 * i;
        right += std::max_element(p, p + 10) - p == labels[size_t(first) + i];
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(classify, model.view());
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%d of %d digits are classified right\n", right.load(), count);
  return failed ? 1 : 0;
}
