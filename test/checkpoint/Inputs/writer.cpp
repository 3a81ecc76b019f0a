//===- writer.cpp - a program that saves and restores ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   writer save PREFIX FIRST   counts on from FIRST, and saves each number
//   writer once PREFIX N       saves N
//   writer check PREFIX        "whole N" of a checkpoint that is there, or "none"
//
//===----------------------------------------------------------------------===//

#include "counter.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static int fail(const ::weir::Status &status) {
  std::fprintf(stderr, "%s: %s\n", weir_code_name(status.code()), status.message());
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  counter::Model model;
  const char *prefix = argv[2];
  if (std::strcmp(argv[1], "check") == 0) {
    auto status = model.restore(prefix);
    if (status.code() == WEIR_NOT_FOUND) {
      std::puts("none");
      return 0;
    }
    if (status.ok())
      status = model.get();
    if (!status.ok())
      return fail(status);
    int64_t value = *model.get_value().data();
    for (int64_t element : model.get_values())
      if (element != value)
        return 3;
    std::printf("whole %lld\n", static_cast<long long>(value));
    return 0;
  }
  *model.set_start().data() = std::atoll(argv[3]);
  auto status = model.set();
  if (!status.ok())
    return fail(status);
  bool once = std::strcmp(argv[1], "once") == 0;
  for (int64_t i = 0; i < 100000; ++i) {
    status = model.save(prefix);
    if (!status.ok())
      return fail(status);
    if (once)
      return 0;
    if (i == 0) {
      std::puts("saved");
      std::fflush(stdout);
    }
    status = model.step();
    if (!status.ok())
      return fail(status);
  }
  return 0;
}
