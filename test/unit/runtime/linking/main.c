//===- main.c - a program with one or two models --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/* Compiled as C and as C++. */

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
int first_check(void);
int second_check(void);
#ifdef __cplusplus
}
#endif

int main(void) {
  int failed = first_check();
#ifdef TWO
  failed |= second_check();
#endif
  puts(failed ? "wrong" : "right");
  return failed;
}
