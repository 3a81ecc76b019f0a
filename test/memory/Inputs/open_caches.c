/*===- open_caches.c - fetches of open size in the memory of feeds --*- C -*-===*\
|*                                                                            *|
|* Part of weir, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "open_caches.h"
#include <stdio.h>
#include <string.h>

enum { heads = 2, size = 3, most = 8 };

static weir_session *session;
static float keys[heads * most * size], missing[heads * most * size];

static weir_tensor tensor(void *data, int32_t dtype, int64_t lines) {
  weir_tensor made = {0};
  made.data = data;
  made.bytes = heads * lines * size * (dtype == WEIR_I64 ? 8 : 4);
  made.dtype = dtype;
  made.rank = 4;
  int64_t dims[4] = {1, heads, lines, size};
  memcpy(made.dims, dims, sizeof(dims));
  return made;
}

/* A run of caches of `lines`, to which `more` are joined; line `at` is new. Says what became of
   the fetch at `data`, where `bytes` are. */
static int run(const char *what, int64_t lines, int64_t more, int64_t at, float *data,
               int64_t bytes) {
  float fresh[heads * size];
  int64_t places[heads * size];
  for (int i = 0; i < heads * lines * size; ++i)
    keys[i] = (float)i;
  for (int i = 0; i < heads * more * size; ++i)
    missing[i] = -1.0f - (float)i;
  for (int i = 0; i < heads * size; ++i)
    fresh[i] = 100.0f + (float)i, places[i] = at;
  weir_tensor feeds[] = {tensor(keys, WEIR_F32, lines), tensor(missing, WEIR_F32, more),
                         tensor(fresh, WEIR_F32, 1), tensor(places, WEIR_I64, 1)};
  weir_tensor fetch = {0};
  fetch.data = data;
  fetch.bytes = bytes;
  weir_status status = WEIR_STATUS_INIT;
  if (weir_session_run(session, 0, feeds, 4, &fetch, 1, NULL, &status)) {
    printf("%s: %s\n", what, status.message);
    return 0;
  }
  int64_t all = lines + more;
  int wrong = fetch.rank != 4 || fetch.dims[2] != all, isInPlace = fetch.data == (void *)keys;
  for (int head = 0; head < heads && !wrong; ++head)
    for (int line = 0; line < all; ++line)
      for (int i = 0; i < size; ++i) {
        float is = ((float *)fetch.data)[(head * all + line) * size + i];
        float wanted = line == at     ? fresh[head * size + i]
                       : line < lines ? (float)((head * lines + line) * size + i)
                                      : -1.0f - (float)((head * more + line - lines) * size + i);
        wrong += is != wanted;
      }
  for (int i = 0; i < heads * lines * size && !isInPlace; ++i)
    wrong += keys[i] != (float)i;
  printf("%s: %s, %s\n", what, wrong ? "wrong" : "right",
         isInPlace                    ? "in place"
         : fetch.data == (void *)data ? "where it was asked for"
                                      : "elsewhere");
  weir_session_release(session, &fetch);
  return !wrong;
}

int main(void) {
  weir_status status = WEIR_STATUS_INIT;
  if (weir_session_create(open_caches_program(), NULL, &session, &status)) {
    printf("%s\n", status.message);
    return 1;
  }
  float own[heads * most * size];
  int64_t line = heads * size * sizeof(float);
  int good = run("apart", 4, 0, 2, own, sizeof(own)) & run("in place", 4, 0, 3, keys, 4 * line) &
             run("in place again", 5, 0, 0, keys, 5 * line) &
             run("longer, apart", 4, 2, 5, own, sizeof(own)) &
             run("longer than there is room", 4, 1, 4, keys, 4 * line) &
             run("of nothing", 0, 1, 0, own, sizeof(own));
  run("behind the feed", 4, 0, 1, keys, sizeof(keys));
  weir_session_destroy(session);
  return !good;
}
