//===- strangers.c - sessions in the wrong hands ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "digits.h"
#include "second.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  static float image[64];
  float found[10];
  const int64_t dims[] = {1, 1, 8, 8};
  weir_session *session = NULL;
  weir_status status = WEIR_STATUS_INIT;
  if (digits_create(NULL, &session, &status))
    return puts(status.message), 1;
  weir_tensor feed = digits_image_tensor(image, dims);
  weir_tensor fetch = digits_probabilities_tensor(found, sizeof(found));
  if (second_run(session, &feed, &fetch, NULL, &status) != WEIR_INVALID_ARGUMENT ||
      strcmp(status.message, "a function of program \"second\" was given a session of program "
                             "\"digits\"") != 0)
    return puts(status.message), 1;
  if (digits_run(session, &feed, &fetch, NULL, &status))
    return puts(status.message), 1;
  digits_destroy(session);
  digits_destroy(session);
  if (digits_run(session, &feed, &fetch, NULL, &status) != WEIR_INVALID_ARGUMENT)
    return puts("a destroyed session runs"), 1;
  if (digits_run(NULL, &feed, &fetch, NULL, &status) != WEIR_INVALID_ARGUMENT)
    return puts("no session runs"), 1;
  return puts("ok"), 0;
}
