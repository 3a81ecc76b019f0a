//===- train_digits.cpp - training the digits network from scratch --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: train_digits IMAGES LABELS FOLDER STEPS [SAVE_EVERY]
//
// IMAGES are bytes, 64 a picture (0 to 16), LABELS one byte each. Goes on from FOLDER's
// latest checkpoint. Each step takes rows that follow from its number alone.
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

constexpr int batch = 48;

static std::vector<unsigned char> bytesOf(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The row of place `i` of a step: another order each time around, without a table.
static size_t rowOf(uint64_t step, uint64_t i, uint64_t rows) {
  uint64_t place = step * batch + i, around = place / rows;
  // Multiplying by a number that has no factor in common with the rows permutes them.
  uint64_t factor = 2 * (around % 97) + 601;
  while (rows % factor == 0)
    factor += 2;
  return (place % rows * factor + around * 31) % rows;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  std::vector<unsigned char> images = bytesOf(argv[1]), labels = bytesOf(argv[2]);
  std::string folder = argv[3];
  uint64_t steps = std::strtoull(argv[4], nullptr, 10);
  uint64_t every = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 50, step = 0;

  digits::Model model;
  weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
  options.keep = 3; // and the file `checkpoint` names them
  char latest[4096];
  weir_status found = WEIR_STATUS_INIT;
  if (weir_latest_checkpoint(folder.c_str(), latest, sizeof(latest), &found) == WEIR_OK) {
    if (auto status = model.restore(latest); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.message());
      return 1;
    }
    step = std::strtoull(std::string(latest).substr(std::string(latest).rfind('-') + 1).c_str(),
                         nullptr, 10);
  }
  for (; step < steps; ++step) {
    if (!model.resize_train_step_image({batch, 1, 8, 8}) ||
        !model.resize_train_step_labels({batch}))
      return 1;
    float *image = model.train_step_image().data();
    int64_t *label = model.train_step_labels().data();
    for (uint64_t i = 0; i < batch; ++i) {
      size_t row = rowOf(step, i, labels.size());
      label[i] = labels[row];
      for (size_t p = 0; p < 64; ++p)
        image[i * 64 + p] = images[row * 64 + p] / 16.0f;
    }
    if (auto status = model.train_step(); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.message());
      return 1;
    }
    if ((step + 1) % every == 0 &&
        !model.save((folder + "/m-" + std::to_string(step + 1)).c_str(), &options).ok())
      return 1;
  }
  return 0;
}
