//===- train.cpp - training on the device ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A network that was trained elsewhere learns what it meets here: digits in dark on light, of
// which it knows nothing. What it has learnt is a checkpoint, with which the program goes on.
//
//   weirc test/digits/digits.onnx --train=cross_entropy:logits,labels --optimizer=adam -o digits.o
//   c++ -std=c++17 train.cpp digits.o libweir_runtime.a -pthread -o train
//   ./train test/digits/samples.f32 test/digits/samples.u8 checkpoints
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

constexpr size_t batch = 20, lessons = 240; // the pictures behind them are the test

static std::vector<char> bytesOf(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static bool fails(const weir::Status &status) {
  if (!status)
    std::fprintf(stderr, "%s\n", status.message());
  return !status;
}

int main(int argc, char **argv) {
  if (argc < 4)
    return std::puts("usage: train IMAGES.f32 LABELS.u8 FOLDER"), 2;
  const std::vector<char> bytes = bytesOf(argv[1]), labels = bytesOf(argv[2]);
  const auto *pixels = reinterpret_cast<const float *>(bytes.data());
  std::vector<float> dark(pixels, pixels + 64 * labels.size());
  for (float &pixel : dark)
    pixel = 1 - pixel;
  if (labels.size() <= lessons)
    return std::fprintf(stderr, "there are too few pictures\n"), 1;

  digits::Model model;
  const std::string prefix = std::string(argv[3]) + "/digits";
  if (std::ifstream(prefix + ".index")) {
    if (fails(model.restore(prefix.c_str())))
      return 1;
    std::puts("going on");
  }
  auto right = [&] {
    const int64_t count = int64_t(labels.size() - lessons);
    if (fails(model.bind_predict_image(&dark[64 * lessons], {count, 1, 8, 8})) ||
        fails(model.predict()))
      return -1.0;
    int64_t good = 0;
    for (int64_t i = 0; i < count; ++i) {
      const float *p = model.predict_probabilities().data() + 10 * i;
      good += std::max_element(p, p + 10) - p == labels[lessons + size_t(i)];
    }
    return 100.0 * double(good) / double(count);
  };
  std::printf("before: %.0f %% are right\n", right());
  const std::vector<int64_t> classes(labels.begin(), labels.end());
  for (size_t step = 0; step < 20 * lessons / batch; ++step) {
    const size_t first = step * batch % lessons;
    if (fails(model.bind_train_step_image(&dark[64 * first], {int64_t(batch), 1, 8, 8})) ||
        fails(model.bind_train_step_labels(&classes[first], {int64_t(batch)})) ||
        fails(model.train_step()))
      return 1;
  }
  // Whole or not at all, also where the power fails.
  if (fails(model.save(prefix.c_str())))
    return 1;
  std::printf("after: %.0f %% are right\n", right());
  return 0;
}
