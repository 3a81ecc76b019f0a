//===- host.c - loads and unloads a plugin again and again --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: host PLUGIN.so plugin_run|weir_plugin
// Prints "ok" unless memory, mappings, threads or open files grow from the
// 100th to the 1,000th time.
//
//===----------------------------------------------------------------------===//

#include "weir/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

static long count_lines(const char *path) {
  FILE *file = fopen(path, "r");
  long lines = 0;
  for (int c; file && (c = fgetc(file)) != EOF;)
    lines += c == '\n';
  if (file)
    fclose(file);
  return lines;
}

static long count_entries(const char *path) {
  DIR *folder = opendir(path);
  long entries = 0;
  while (folder && readdir(folder))
    ++entries;
  if (folder)
    closedir(folder);
  return entries;
}

/// A shared object as weirc writes it, used by its table.
static int run_table(const weir_plugin *plugin) {
  static float image[64];
  weir_session *session = NULL;
  if (plugin->session_create(plugin->program, NULL, &session, NULL))
    return 1;
  weir_tensor feed = {image, sizeof(image), WEIR_F32, 4, {1, 1, 8, 8}};
  weir_tensor fetch;
  memset(&fetch, 0, sizeof(fetch));
  int code = plugin->session_run(session, 0, &feed, 1, &fetch, 1, NULL, NULL);
  if (code == 0 && fetch.dims[1] != 10)
    code = 1;
  plugin->session_release(session, &fetch);
  plugin->session_destroy(session);
  return code;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  size_t bytes = 0;
  long mappings = 0, threads = 0, files = 0;
  for (int i = 1; i <= 1000; ++i) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
      return puts(dlerror()), 1;
    void *symbol = dlsym(plugin, argv[2]);
    if (!symbol)
      return puts(dlerror()), 1;
    int (*run)(void);
    memcpy(&run, &symbol, sizeof(run));
    int isTable = strcmp(argv[2], WEIR_PLUGIN_SYMBOL) == 0;
    if (isTable ? run_table((const weir_plugin *)symbol) : run())
      return puts("the run failed"), 1;
    // dlclose only gives up a reference; ask whether the object is gone.
    if (dlclose(plugin) || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
      return puts("the plugin does not unload"), 1;
    if (i == 100) {
      bytes = mallinfo2().uordblks;
      mappings = count_lines("/proc/self/maps");
      threads = count_entries("/proc/self/task");
      files = count_entries("/proc/self/fd");
    }
  }
  long more = count_lines("/proc/self/maps") - mappings;
  // A thread's stack may be in libc's cache or not: a few mappings' difference.
  // The smallest leak in each of 900 rounds would be 14,400 bytes.
  if (more > 4 || mallinfo2().uordblks > bytes + 8192 ||
      count_entries("/proc/self/task") != threads || count_entries("/proc/self/fd") != files)
    return printf("grew: %ld mappings, %ld bytes, %ld threads, %ld files\n", more,
                  (long)(mallinfo2().uordblks - bytes), count_entries("/proc/self/task") - threads,
                  count_entries("/proc/self/fd") - files),
           1;
  return puts("ok"), 0;
}
