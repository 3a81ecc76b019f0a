//===- classify.cpp - Ten lines around a compiled model -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: classify IMAGES.f32 LABELS.u8
// Built by tools/quickstart against the object and header that weirc wrote.
//
//===----------------------------------------------------------------------===//

#include "digits.h"
#include <algorithm>
#include <cstdio>
#include <fstream>

int main(int argc, char **argv) {
  constexpr int count = 360;
  char labels[count];
  digits::Model model;
  if (auto status = model.resize_image({count, 1, 8, 8}); !status.ok())
    return std::puts(status.message()), 1;
  auto images = model.image();
  if (argc < 3 ||
      !std::ifstream(argv[1]).read((char *)images.data(), images.size() * sizeof(float)) ||
      !std::ifstream(argv[2]).read(labels, count))
    return std::puts("usage: classify IMAGES.f32 LABELS.u8"), 2;
  if (auto status = model.run(); !status.ok())
    return std::puts(status.message()), 1;
  int right = 0;
  const float *p = model.probabilities().data();
  for (int i = 0; i < count; ++i, p += 10)
    right += std::max_element(p, p + 10) - p == labels[i];
  std::printf("accuracy %.4f: %d of %d digits are classified right\n", double(right) / count, right,
              count);
}
