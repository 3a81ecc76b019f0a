//===- plugin_host.c - loads and unloads a model --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/* plugin_host FIRST.so SECOND.so COUNT: loads both, runs both at once loaded,
 * unloads them, COUNT times, and fails when anything of them stays. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number from /proc/self/status, which is in kB for sizes. */
static long statusField(const char *name) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long value = -1;
  while (fgets(line, sizeof(line), file))
    if (strncmp(line, name, strlen(name)) == 0)
      value = atol(line + strlen(name));
  fclose(file);
  return value;
}

static int check(void *plugin, const char *name) {
  int (*function)(void);
  *(void **)&function = dlsym(plugin, name);
  return function ? function() : 2;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  int count = atoi(argv[3]);
  long resident = 0, size = 0;
  for (int i = 0; i < count; ++i) {
    /* The heap's and the loader's own caches have settled by then. */
    if (i == count / 10) {
      resident = statusField("VmRSS:");
      size = statusField("VmSize:");
    }
    void *first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *second = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!first || !second) {
      puts(dlerror());
      return 1;
    }
    if (check(first, "first_check") || check(second, "second_check")) {
      puts("a model computed something else");
      return 1;
    }
    dlclose(second);
    dlclose(first);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
      puts("the plugin stays loaded");
      return 1;
    }
  }
  if (statusField("Threads:") != 1) {
    puts("threads are left");
    return 1;
  }
  /* What one load leaves would be seen a thousand times over. */
  if (statusField("VmRSS:") > resident + 1024 || statusField("VmSize:") > size + 1024) {
    printf("grew from %ld to %ld kB resident, %ld to %ld kB mapped\n", resident,
           statusField("VmRSS:"), size, statusField("VmSize:"));
    return 1;
  }
  puts("right");
  return 0;
}
