//===- two.cpp - two models in one program ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "digits.h"
#include "second.h"

#include <cstdio>

int main() {
  digits::Model first;
  second::Model other;
  if (!first.status() || !other.status())
    return std::puts(first.status().message()), std::puts(other.status().message()), 1;
  return std::puts("ok"), 0;
}
