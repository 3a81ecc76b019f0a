/*===- caches.c - fetches in the memory of feeds --------------------*- C -*-===*\
|*                                                                            *|
|* Part of weir, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "caches.h"
#include <stdio.h>
#include <string.h>

enum { heads = 2, lines = 4, size = 3, count = heads * lines * size, place = 2 };
enum { kept, keptRead, sum, doubled, fetchCount };
enum { keys, read, lately, at, feedCount };

static weir_session *session;
static float values[feedCount][count];
static int64_t position = place;

static weir_tensor tensor(void *data, int64_t bytes, int32_t dtype, int32_t rank, int64_t length) {
  weir_tensor made = {0};
  made.data = data;
  made.bytes = bytes;
  made.dtype = dtype;
  made.rank = rank;
  int64_t dims[4] = {1, heads, length, size};
  memcpy(made.dims, dims, (size_t)rank * sizeof(int64_t));
  return made;
}

/* Runs with fetch `number` at `data`, where `bytes` are; all others are the session's. */
static int32_t run(int number, void *data, int64_t bytes, weir_tensor *fetches,
                   weir_status *status) {
  for (int i = 0; i < count; ++i)
    values[keys][i] = values[read][i] = (float)i;
  for (int i = 0; i < heads * size; ++i)
    values[lately][i] = 100.0f + (float)i;
  weir_tensor feeds[feedCount] = {
      tensor(values[keys], sizeof(values[keys]), WEIR_F32, 4, lines),
      tensor(values[read], sizeof(values[read]), WEIR_F32, 4, lines),
      tensor(values[lately], heads * size * sizeof(float), WEIR_F32, 4, 1),
      tensor(&position, sizeof(position), WEIR_I64, 1, 0),
  };
  memset(fetches, 0, fetchCount * sizeof(weir_tensor));
  fetches[number].data = data;
  fetches[number].bytes = bytes;
  return weir_session_run(session, 0, feeds, feedCount, fetches, fetchCount, NULL, status);
}

static float wanted(int i) {
  int head = i / (lines * size), line = i / size % lines;
  return line == place ? 100.0f + (float)(head * size + i % size) : (float)i;
}

static void release(weir_tensor *fetches) {
  for (int i = 0; i < fetchCount; ++i)
    weir_session_release(session, &fetches[i]);
}

/* One run that succeeds, with `kept` at `data`. */
static int isRight(const char *what, float *data, int64_t bytes) {
  weir_tensor fetches[fetchCount];
  weir_status status = WEIR_STATUS_INIT;
  if (run(kept, data, bytes, fetches, &status)) {
    printf("%s: %s\n", what, status.message);
    return 0;
  }
  int wrong = 0;
  float total = 0;
  for (int i = 0; i < count; ++i) {
    total += (float)i;
    wrong += ((float *)fetches[kept].data)[i] != wanted(i);
    wrong += ((float *)fetches[keptRead].data)[i] != wanted(i);
    wrong += ((float *)fetches[doubled].data)[i] != 2 * wanted(i);
    wrong += values[read][i] != (float)i;
  }
  wrong += *(float *)fetches[sum].data != total;
  int isInPlace = fetches[kept].data == (void *)values[keys], isKept = 1;
  for (int i = 0; i < count; ++i)
    isKept &= values[keys][i] == (isInPlace ? wanted(i) : (float)i);
  wrong += isInPlace != (data == values[keys] && bytes == sizeof(values[keys]));
  printf("%s: %s%s\n", what, wrong || !isKept ? "wrong" : "right",
         isInPlace ? "" : ", the feed is as it was");
  release(fetches);
  return !wrong && isKept;
}

static int isRefused(int number, void *data) {
  weir_tensor fetches[fetchCount];
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = run(number, data, sizeof(values[0]), fetches, &status);
  printf("%s: %s\n", code == WEIR_INVALID_ARGUMENT ? "refused" : "not refused", status.message);
  if (code == WEIR_OK)
    release(fetches);
  return code == WEIR_INVALID_ARGUMENT;
}

int main(void) {
  const weir_program_desc *program = caches_program();
  weir_status status = WEIR_STATUS_INIT;
  if (weir_session_create(program, NULL, &session, &status)) {
    printf("%s\n", status.message);
    return 1;
  }
  int isSaid = 1;
  for (int i = 0; i < fetchCount; ++i) {
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    weir_program_fetch(program, 0, i, &info);
    isSaid &= info.over_feed == (i == kept ? keys + 1 : 0);
  }
  printf("kept may have the memory of keys, others of none: %s\n", isSaid ? "yes" : "no");
  float own[count];
  int good = isSaid && isRight("apart", own, sizeof(own)) &
                           isRight("in place", values[keys], sizeof(values[keys])) &
                           isRight("too small", own, sizeof(float)) &
                           isRefused(keptRead, values[read]) & isRefused(doubled, values[keys]);
  weir_session_destroy(session);
  return !good;
}
