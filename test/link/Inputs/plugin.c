//===- plugin.c - a plugin that holds a model ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "digits.h"

/// Runs the network once on a blank image. Everything is given back.
__attribute__((visibility("default"))) int plugin_run(void) {
  static float image[64];
  float found[10];
  const int64_t dims[] = {1, 1, 8, 8};
  weir_session *session = NULL;
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 2;
  if (digits_create(&options, &session, NULL))
    return 1;
  weir_tensor feed = digits_image_tensor(image, dims);
  weir_tensor fetch = digits_probabilities_tensor(found, sizeof(found));
  int code = digits_run(session, &feed, &fetch, NULL, NULL);
  digits_destroy(session);
  return code;
}
