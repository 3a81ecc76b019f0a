#!/usr/bin/env python3
#===- large_test.py - Constants of gigabytes --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compiles models of 400 MB and of 3 GB, and bounds the memory that it takes.

usage: large_test.py --build=build/release --source=. [--sizes=400,3072]
Anonymous memory of weirc stays below 400 MB plus twice the largest tensor; the
object links into an ordinary program, and the program computes what it should:
y = x W1 W2 ... where every W is zero but for one number a row, so that the sum is
known. Needs disk for three times the largest model.
"""
import argparse
import array
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "digits"))
import wire  # noqa: E402

WIDTH = 5120  # a matrix of 100 MiB
MATRIX = WIDTH * WIDTH * 4


def value_info(name):
    dims = wire.data(1, wire.integer(1, 1)) + wire.data(1, wire.integer(1, WIDTH))
    return wire.data(1, name) + wire.data(2, wire.data(1, wire.integer(1, 1) + wire.data(2, dims)))


def write_model(path, count):
    """An ONNX model of `count` products, its weights beside it. Row i of a matrix
    holds 2.0 in column (i + 1) % WIDTH; one number, too small to matter, is the
    matrix's own, so that no two are the same constant."""
    weights = path + ".weights"
    with open(weights, "wb") as file:
        for m in range(count):
            row = array.array("f", bytes(4 * WIDTH))
            for i in range(WIDTH):
                row[(i + 1) % WIDTH] = 2.0
                file.write(row.tobytes())
                row[(i + 1) % WIDTH] = 0.0
            file.seek(-4 * WIDTH, os.SEEK_CUR)
            row[0] = 2.0
            row[5] = m * 2.0 ** -140
            file.write(row.tobytes())
    graph = b""
    for m in range(count):
        graph += wire.data(1, wire.data(1, "x%d" % m) + wire.data(1, "w%d" % m)
                           + wire.data(2, "x%d" % (m + 1)) + wire.data(3, "product%d" % m)
                           + wire.data(4, "MatMul"))
    graph += wire.data(2, "large")
    for m in range(count):
        external = b"".join(
            wire.data(13, wire.data(1, key) + wire.data(2, value))
            for key, value in (("location", os.path.basename(weights)),
                               ("offset", str(m * MATRIX)), ("length", str(MATRIX))))
        graph += wire.data(5, wire.integer(1, WIDTH) + wire.integer(1, WIDTH)
                           + wire.integer(2, 1) + wire.data(8, "w%d" % m) + external
                           + wire.integer(14, 1))
    graph += wire.data(11, value_info("x0")) + wire.data(12, value_info("x%d" % count))
    model = wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.integer(2, 17))
    with open(path, "wb") as file:
        file.write(model)


def anonymous_peak(command):
    """Runs a command; its seconds and the most anonymous memory seen, in MB."""
    begin = time.time()
    process = subprocess.Popen(command)
    peak = 0
    while process.poll() is None:
        try:
            with open("/proc/%d/status" % process.pid) as file:
                for line in file:
                    if line.startswith("RssAnon:"):
                        peak = max(peak, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.005)
    if process.returncode != 0:
        sys.exit("%s exits %d" % (" ".join(command), process.returncode))
    return time.time() - begin, peak / 1024


PROGRAM = r"""
#include "large.h"
#include <cmath>
#include <cstdio>
int main() {
  large::Model model;
  if (!model.status())
    return std::puts(model.status().message()), 1;
  weir::Span<float> x = model.x0();
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 7);
  weir::Status status = model.run();
  if (!status)
    return std::puts(status.message()), 1;
  weir::Span<const float> y = model.x@COUNT@();
  const size_t n = y.size();
  for (size_t i = 0; i < n; ++i) {
    float expected = std::ldexp(float((i + n - @COUNT@ % n) % n % 7), @COUNT@);
    if (std::fabs(y[i] - expected) > 1e-20f)
      return std::printf("element %zu: %g, not %g\n", i, y[i], expected), 1;
  }
  return std::puts("ok"), 0;
}
"""


def check(folder, megabytes, weirc, include, runtime):
    count = max(1, megabytes * (1 << 20) // MATRIX)
    model = os.path.join(folder, "large.onnx")
    write_model(model, count)
    object_file = os.path.join(folder, "large.o")
    seconds, peak = anonymous_peak([weirc, model, "-o", object_file, "--cpu=x86-64-v3"])
    bound = 400 + 2 * MATRIX / (1 << 20)
    print("%d MB of constants: %.1f s, %.0f MB of anonymous memory (at most %.0f), object of %.0f MB"
          % (megabytes, seconds, peak, bound, os.path.getsize(object_file) / (1 << 20)))
    source = os.path.join(folder, "program.cpp")
    with open(source, "w") as file:
        file.write(PROGRAM.replace("@COUNT@", str(count)))
    failed = peak > bound
    for compiler, flags in (("clang++-22", ["-fuse-ld=lld-22"]), ("g++", [])):
        if not shutil.which(compiler):
            print("%s is not installed: skipped" % compiler)
            continue
        program = os.path.join(folder, "program")
        begin = time.time()
        subprocess.run([compiler, source, object_file, runtime, "-I" + folder, "-I" + include,
                        *flags, "-lpthread", "-lm", "-o", program], check=True)
        linked = time.time() - begin
        output = subprocess.run([program], stdout=subprocess.PIPE, text=True).stdout.strip()
        print("  %s links it in %.1f s; the program says %s" % (compiler, linked, output))
        failed |= output != "ok"
        os.remove(program)
    print("%d MB: %s" % (megabytes, "failed" if failed else "passed"))
    return not failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sizes", default="400,3072", help="in MB")
    args = parser.parse_args()
    good = True
    for size in args.sizes.split(","):
        folder = tempfile.mkdtemp(prefix="weir-large-")
        try:
            good &= check(folder, int(size), os.path.abspath(os.path.join(args.build, "bin/weirc")),
                          os.path.join(args.source, "runtime/include"),
                          os.path.join(args.build, "lib/libweir_runtime.a"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
