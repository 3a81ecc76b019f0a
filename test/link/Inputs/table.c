//===- table.c - all of the interface by a shared object's table -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: table LIBRARY.so
// Opens the library, and asks, runs, waits, cancels and ends by its table alone.
//
//===----------------------------------------------------------------------===//

#include "libdigits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended = -1;

static void done(void *self, const weir_status *status) {
  (void)self;
  pthread_mutex_lock(&mutex);
  ended = status->code;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

#define EXPECT(condition)                                                                          \
  do                                                                                               \
    if (!(condition))                                                                              \
      return printf("line %d: %s\n", __LINE__, status.message), 1;                                 \
  while (0)

int main(int argc, char **argv) {
  static float image[64];
  static const int64_t dims[] = {1, 1, 8, 8};
  weir_status status = WEIR_STATUS_INIT;
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    return puts("cannot open the library"), 1;
  const weir_plugin *p = (const weir_plugin *)dlsym(library, WEIR_PLUGIN_SYMBOL);
  EXPECT(p && p->size == sizeof(weir_plugin));

  EXPECT(p->program_entry_count(p->program) == 1 && p->program_variable_count(p->program) == 0);
  EXPECT(strcmp(p->program_entry_name(p->program, 0), "main") == 0);
  weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
  EXPECT(p->program_feed(p->program, 0, 0, &info) == WEIR_OK && info.rank == 4);
  EXPECT(strcmp(info.name, "image") == 0 && strcmp(p->dtype_name(info.dtype), "f32") == 0);
  EXPECT(p->program_fetch(p->program, 0, 1, &info) == WEIR_OUT_OF_RANGE);
  EXPECT(p->program_device_count(p->program) == 1 && *p->runtime_version());

  weir_session *session = NULL;
  EXPECT(p->session_create(p->program, NULL, &session, &status) == WEIR_OK);
  EXPECT(p->session_find_entry(session, "main") == 0 && p->session_threads(session) > 0);
  weir_tensor feed = digits_image_tensor(image, dims), fetch;
  memset(&fetch, 0, sizeof(fetch));
  EXPECT(p->session_run_async(session, 0, &feed, 1, &fetch, 1, NULL, done, NULL, &status) ==
         WEIR_OK);
  pthread_mutex_lock(&mutex);
  while (ended < 0)
    pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  EXPECT(ended == WEIR_OK && fetch.rank == 2 && fetch.dims[1] == 10);
  p->session_release(session, &fetch);

  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.cancellation = p->cancellation_create();
  p->cancellation_cancel(options.cancellation);
  EXPECT(p->cancellation_is_cancelled(options.cancellation));
  EXPECT(p->session_run(session, 0, &feed, 1, &fetch, 1, &options, &status) == WEIR_CANCELLED);
  EXPECT(strcmp(p->code_name(status.code), "CANCELLED") == 0);
  p->cancellation_reset(options.cancellation);
  EXPECT(p->session_run(session, 0, &feed, 1, &fetch, 1, &options, &status) == WEIR_OK);
  p->session_release(session, &fetch);
  p->cancellation_destroy(options.cancellation);
  options.cancellation = NULL;
  options.timeout_ns = 1;
  EXPECT(p->session_run(session, 0, &feed, 1, &fetch, 1, &options, &status) ==
         WEIR_DEADLINE_EXCEEDED);
  p->session_trim(session);
  p->session_destroy(session);
  EXPECT(p->session_run(session, 0, &feed, 1, &fetch, 1, NULL, &status) == WEIR_INVALID_ARGUMENT);
  return dlclose(library) ? 1 : (puts("ok"), 0);
}
