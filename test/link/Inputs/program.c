//===- program.c - runs the digits network from C -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: program SAMPLES.f32 PROBABILITIES.npy
// Exits 0 when the results are the recorded ones.
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <math.h>
#include <stdio.h>

enum { count = 360 };
static float images[count * 64], expected[count * 10], found[count * 10];

static int read_tail(const char *path, float *out, size_t n) {
  FILE *file = fopen(path, "rb");
  int good = file && fseek(file, -(long)(n * sizeof(float)), SEEK_END) == 0 &&
             fread(out, sizeof(float), n, file) == n;
  if (file)
    fclose(file);
  return good;
}

int main(int argc, char **argv) {
  if (argc < 3 || !read_tail(argv[1], images, count * 64) ||
      !read_tail(argv[2], expected, count * 10))
    return puts("cannot read the samples"), 2;

  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = NULL;
  if (digits_create(NULL, &session, &status))
    return puts(status.message), 1;
  const int64_t dims[] = {count, 1, 8, 8};
  weir_tensor feeds[DIGITS_RUN_FEEDS] = {digits_image_tensor(images, dims)};
  weir_tensor fetches[DIGITS_RUN_FETCHES] = {digits_probabilities_tensor(found, sizeof(found))};
  if (digits_run(session, feeds, fetches, NULL, &status))
    return puts(status.message), 1;
  if (fetches[0].data != (void *)found || fetches[0].dims[0] != count)
    return puts("the result is not where it was asked for"), 1;
  for (int i = 0; i < count * 10; ++i)
    if (fabsf(found[i] - expected[i]) > 1e-5f)
      return printf("element %d: %g, not %g\n", i, found[i], expected[i]), 1;

  // A feed of the wrong size is an error that names it.
  feeds[0].dims[1] = 2;
  if (digits_run(session, feeds, fetches, NULL, &status) != WEIR_INVALID_ARGUMENT)
    return puts("a wrong feed was taken"), 1;
  digits_destroy(session);
  return puts("ok"), 0;
}
