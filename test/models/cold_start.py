#!/usr/bin/env python3
#===- cold_start.py - From exec to the first result -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Measures how long a linked program takes from exec to its first result.

usage: cold_start.py MODEL.onnx --build=build/release [--threads=1] [--rounds=9]
Compiles the model, links a small C program with it, and starts that anew for each
round, with the program's file in the page cache. Prints medians in milliseconds:
exec to main, a session, the first run, a later run, and what the first result
costs beyond a step; once by the clock, and once in processor time, which other
programs disturb less. Last comes what is in memory after all runs, in MiB: the
process's pages, and what they are beyond the object's constants and the arena.
Feeds are zeros; their shapes must be fixed.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAM = r"""
#include "cold.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double times[2][3 + 9];

static void note(int place) {
  const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
  for (int c = 0; c < 2; ++c) {
    struct timespec t;
    clock_gettime(clocks[c], &t);
    times[c][place] = t.tv_sec * 1e3 + t.tv_nsec / 1e6;
  }
}

int main(int argc, char **argv) {
  note(0);
  double began[] = {argc > 2 ? atof(argv[1]) : 0, 0};
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = atoi(argv[2]);
  weir_session *session;
  weir_status status = WEIR_STATUS_INIT;
  if (cold_create(&options, &session, &status))
    return puts(status.message), 1;
  note(1);
  const weir_program_desc *program = weir_session_program(session);
  weir_tensor feeds[16] = {0}, fetches[16] = {0};
  for (int i = 0; i < weir_program_feed_count(program, 0); ++i) {
    weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
    weir_program_feed(program, 0, i, &info);
    feeds[i].dtype = info.dtype;
    feeds[i].rank = info.rank;
    feeds[i].bytes = weir_dtype_size(info.dtype);
    for (int d = 0; d < info.rank; ++d)
      feeds[i].bytes *= feeds[i].dims[d] = info.dims[d];
    feeds[i].data = calloc(1, feeds[i].bytes + 64);
  }
  for (int i = 0; i < 10; ++i) {
    if (cold_run(session, feeds, fetches, NULL, &status))
      return puts(status.message), 1;
    note(2 + i);
  }
  for (int c = 0; c < 2; ++c) {
    printf("%f", times[c][0] - began[c]);
    for (int i = 0; i < 11; ++i)
      printf(" %f", times[c][1 + i] - times[c][i]);
    puts("");
  }
  char line[256];
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, "VmRSS:", 6))
      printf("%s", line + 6);
  return 0;
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--build", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    with tempfile.TemporaryDirectory(prefix="weir-cold-") as folder:
        path = lambda name: os.path.join(folder, name)
        subprocess.run([os.path.join(build, "bin", "weirc"), args.model, "-o", path("cold.o"),
                        "--report=" + path("report")], check=True)
        with open(path("report/report.json")) as file:
            report = json.load(file)
        planned = report["constants"]["bytes"] + sum(d["arena_bytes"] for d in report["devices"])
        with open(path("main.c"), "w") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O2", path("main.c"), path("cold.o"),
                        os.path.join(build, "lib", "libweir_runtime.a"), "-I" + folder,
                        "-I" + os.path.join(ROOT, "runtime", "include"), "-lpthread", "-lm",
                        "-o", path("cold")], check=True)
        rounds, pages = [], []
        for _ in range(args.rounds + 1):
            began = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e3
            out = subprocess.run([path("cold"), "%f" % began, str(args.threads)],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
            *lines, resident = out.splitlines()
            lines = [[float(word) for word in line.split()] for line in lines]
            rounds.append([n[:3] + [statistics.median(n[3:])] for n in lines])
            pages.append(int(resident.split()[0]) * 1024)
    # The first one brought the file into the page cache.
    for clock, name in enumerate(("clock    ", "processor")):
        measured = [r[clock] for r in rounds[1:]]
        start, session, first, step = (statistics.median(m[i] for m in measured)
                                       for i in range(4))
        extra = statistics.median(sum(m[:3]) - m[3] for m in measured)
        print("%s exec_ms=%.1f session_ms=%.1f first_ms=%.1f step_ms=%.1f "
              "beyond_a_step_ms=%.1f runs=%d"
              % (name, start, session, first, step, extra, args.rounds))
    resident = statistics.median(pages[1:])
    print("resident_mib=%.1f constants_and_arena_mib=%.1f beyond_mib=%.1f"
          % (resident / 2**20, planned / 2**20, (resident - planned) / 2**20))


if __name__ == "__main__":
    main()
