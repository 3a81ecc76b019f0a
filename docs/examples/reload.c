//===- reload.c - a model that is replaced while the program runs ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that knows its models as files: each is a shared object with a table of
// functions, opened when it is there and given up when a newer one is.
//
//   weirc model.onnx -o a.so && weirc newer.onnx -o b.so
//   cc reload.c -Iinclude -ldl -o reload && ./reload a.so b.so
//
//===----------------------------------------------------------------------===//

#include "weir/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A model that is open.
struct model {
  void *library;
  const weir_plugin *table;
  weir_session *session;
};

static int open_model(const char *path, struct model *model) {
  weir_status status = WEIR_STATUS_INIT;
  model->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!model->library)
    return fprintf(stderr, "%s\n", dlerror()), 1;
  model->table = (const weir_plugin *)dlsym(model->library, WEIR_PLUGIN_SYMBOL);
  if (!model->table)
    return fprintf(stderr, "%s: no model\n", path), 1;
  if (model->table->session_create(model->table->program, NULL, &model->session, &status))
    return fprintf(stderr, "%s: %s\n", path, status.message), 1;
  return 0;
}

/// Sessions go before their library.
static void close_model(struct model *model) {
  model->table->session_destroy(model->session);
  dlclose(model->library);
}

/// Runs the first entry on zeros; sizes that are open are 1.
static int run_model(const struct model *model) {
  const weir_plugin *t = model->table;
  weir_status status = WEIR_STATUS_INIT;
  weir_tensor feed, fetch;
  weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
  if (t->program_feed_count(t->program, 0) != 1 || t->program_fetch_count(t->program, 0) != 1)
    return fprintf(stderr, "expected one input and one output\n"), 1;
  t->program_feed(t->program, 0, 0, &info);
  memset(&feed, 0, sizeof(feed));
  memset(&fetch, 0, sizeof(fetch));
  feed.dtype = info.dtype;
  feed.rank = info.rank;
  feed.bytes = t->dtype_size(info.dtype);
  for (int i = 0; i < info.rank; ++i) {
    feed.dims[i] = info.dims[i] < 0 ? 1 : info.dims[i];
    feed.bytes *= feed.dims[i];
  }
  feed.data = calloc(1, (size_t)feed.bytes);
  int code = t->session_run(model->session, 0, &feed, 1, &fetch, 1, NULL, &status);
  if (code)
    fprintf(stderr, "%s\n", status.message);
  else
    printf("%s: %s of rank %d, %lld bytes\n", t->program_name(t->program),
           t->dtype_name(fetch.dtype), fetch.rank, (long long)fetch.bytes);
  t->session_release(model->session, &fetch);
  free(feed.data);
  return code;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    struct model model;
    if (open_model(argv[i], &model) || run_model(&model))
      return 1;
    close_model(&model);
  }
  return argc > 1 ? 0 : 2;
}
