//===- program.cpp - runs the digits network from C++ -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As program.c, by the class of the model's header. With SECOND defined, a
// second model (the same network under another name) runs in the same program.
//
//===----------------------------------------------------------------------===//

#include "digits.h"
#ifdef SECOND
#include "second.h"
#endif

#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

static const int count = 360;
static float images[count * 64], expected[count * 10];

static bool readTail(const char *path, float *out, size_t n) {
  std::FILE *file = std::fopen(path, "rb");
  bool good = file && std::fseek(file, -long(n * sizeof(float)), SEEK_END) == 0 &&
              std::fread(out, sizeof(float), n, file) == n;
  if (file)
    std::fclose(file);
  return good;
}

static bool isExpected(weir::Span<const float> found) {
  if (found.size() != size_t(count * 10))
    return false;
  for (size_t i = 0; i < found.size(); ++i)
    if (std::fabs(found[i] - expected[i]) > 1e-5f)
      return false;
  return true;
}

template <typename Model> static int runModel() {
  Model model;
  if (!model.status())
    return std::puts(model.status().message()), 1;
  if (model.run().code() != WEIR_INVALID_ARGUMENT)
    return std::puts("a run with nothing fed is no error"), 1;
  if (model.resize_image({count, 1, 8, 9}).code() != WEIR_INVALID_ARGUMENT ||
      model.resize_image({count}).code() != WEIR_INVALID_ARGUMENT ||
      model.resize_image({-1, 1, 8, 8}).code() != WEIR_INVALID_ARGUMENT ||
      model.resize_image({INT64_MAX / 8, 1, 8, 8}).code() != WEIR_RESOURCE_EXHAUSTED)
    return std::puts("a wrong shape was taken"), 1;
  weir::Status status = model.resize_image({count, 1, 8, 8});
  if (!status)
    return std::puts(status.message()), 1;
  weir::Span<float> image = model.image();
  std::memcpy(image.data(), images, sizeof(images));
  status = model.run();
  if (!status)
    return std::puts(status.message()), 1;
  if (!isExpected(model.probabilities()) || model.probabilities_shape()[0] != count)
    return std::puts("wrong results"), 1;

  // By name; in the caller's own memory; after a move; through a view.
  if (!isExpected(model.output("probabilities").template as<const float>()) ||
      model.input("no such feed"))
    return std::puts("wrong results by name"), 1;
  Model moved(std::move(model));
  if (model.run())
    return std::puts("a model that was moved from runs"), 1;
  static float own[count * 10];
  if (!moved.bind_image(images, {count, 1, 8, 8}) || !moved.bind_probabilities(own, count * 10) ||
      !moved.run() || moved.probabilities().data() != own || !isExpected(moved.probabilities()))
    return std::puts("wrong results in the caller's memory"), 1;
  // Bound memory keeps its size: after a smaller result, and after one that
  // did not fit into it.
  if (!moved.bind_image(images, {7, 1, 8, 8}) || !moved.run() ||
      moved.probabilities().size() != 7 * 10)
    return std::puts("wrong size of a smaller result"), 1;
  if (!moved.bind_image(images, {count, 1, 8, 8}) || !moved.run() ||
      moved.probabilities().data() != own || !isExpected(moved.probabilities()))
    return std::puts("bound memory is lost after a smaller result"), 1;
  if (!moved.output("probabilities").bind(own, 10 * sizeof(float)) ||
      moved.run().code() != WEIR_OUT_OF_RANGE || moved.probabilities().data() == own ||
      !isExpected(moved.probabilities()))
    return std::puts("a result that does not fit is wrong"), 1;
  if (!moved.bind_image(images, {1, 1, 8, 8}) || !moved.run() ||
      moved.probabilities().data() != own)
    return std::puts("bound memory is lost after a larger result"), 1;
  Model view = moved.view();
  if (!view.bind_image(images, {count, 1, 8, 8}) || !view.run() ||
      !isExpected(view.probabilities()))
    return std::puts("wrong results of a view"), 1;
  weir::Status wrong = view.bind_image(images, {count, 2, 8, 8});
  if (wrong.code() != WEIR_INVALID_ARGUMENT || !std::strstr(wrong.message(), "image"))
    return std::puts("a wrong feed was taken"), 1;
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || !readTail(argv[1], images, count * 64) ||
      !readTail(argv[2], expected, count * 10))
    return std::puts("cannot read the samples"), 2;
  if (int code = runModel<digits::Model>())
    return code;
#ifdef SECOND
  if (int code = runModel<second::Model>())
    return code;
#endif
  return std::puts("ok"), 0;
}
