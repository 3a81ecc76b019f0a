//===- observer.cpp - values of nodes, as a program is told them ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// observe SAMPLES.f32 COUNT: runs the digits network, and prints for each value that the observer
// is told its node, shape and the sum of its elements.
//
//===----------------------------------------------------------------------===//

#include MODEL_HEADER
#include "weir/observer.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

static void tell(void *self, const weir_trace_event *event, const char *node,
                 const weir_tensor *value) {
  ++*static_cast<int *>(self);
  double sum = 0;
  int64_t count = value->bytes / int64_t(sizeof(float));
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<const float *>(value->data)[i];
  std::printf("%s %s", event->name, node);
  for (int32_t d = 0; d < value->rank; ++d)
    std::printf("%c%lld", d ? 'x' : ' ', static_cast<long long>(value->dims[d]));
  std::printf(" %.9g\n", sum);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  int64_t count = std::atoll(argv[2]);
  std::vector<float> image(size_t(count) * 64), result(size_t(count) * 10);
  std::FILE *file = std::fopen(argv[1], "rb");
  if (!file || std::fread(image.data(), 4, image.size(), file) != image.size())
    return 2;
  std::fclose(file);
  weir_session *session = nullptr;
  if (weir_session_create(digits_program(), nullptr, &session, nullptr))
    return 2;
  weir_tensor feed = {image.data(), int64_t(image.size() * 4), WEIR_F32, 4, {count, 1, 8, 8}};
  weir_tensor fetch = {result.data(), int64_t(result.size() * 4), WEIR_F32, 2, {count, 10}};
  int values = 0;
  weir_trace observer = {};
  observer.size = sizeof(observer);
  observer.self = &values;
  observer.begin = observer.end = [](void *, const weir_trace_event *) {};
  observer.value = tell;
  if (weir_session_set_observer(session, &observer, nullptr) ||
      weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, nullptr))
    return 1;
  int told = values;
  if (weir_session_set_observer(session, nullptr, nullptr) ||
      weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, nullptr))
    return 1;
  std::printf("without an observer: %s is told\n", values == told ? "nothing" : "something");
  weir_session_destroy(session);
  return 0;
}
