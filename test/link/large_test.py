#!/usr/bin/env python3
#===- large_test.py - Constants of gigabytes --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compiles models of 400 MB and of 3 GB, and bounds the memory that it takes.

usage: large_test.py --build=build/release --source=. [--sizes=400,3072] [--kinds=...]
Of each size three kinds: products whose weights are read as they lie, products
whose weights are transposed in the file (Gemm, transB), and convolutions with the
channels first, whose weights are rearranged and scaled by a batch normalisation.
Anonymous memory of weirc stays below 400 MB plus twice the largest tensor; the
object links into an ordinary program, and the program computes what it should:
y = x W1 W2 ... where every W is zero but for one number a row, so that the sum is
known. Needs disk for three times the largest model.
"""
import argparse
import array
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "digits"))
import wire  # noqa: E402

# A matrix of 64 MiB; vectors of so many elements are still worked out.
WIDTH = 4096
MATRIX = WIDTH * WIDTH * 4


def value_info(name, sizes):
    dims = b"".join(wire.data(1, wire.integer(1, size)) for size in sizes)
    return wire.data(1, name) + wire.data(2, wire.data(1, wire.integer(1, 1) + wire.data(2, dims)))


class Kind:
    """How one of the models says y = x W1 W2 ...: each W moves every number of x by
    a place and doubles it."""

    def __init__(self, name):
        self.name = name
        # The place of 2.0 in row i of a matrix as it lies in the file.
        self.column = (lambda i: (i + 1) % WIDTH) if name == "plain" \
            else (lambda i: (i - 1) % WIDTH)
        self.dims = [1, WIDTH, 1, 1] if name == "convolution" else [1, WIDTH]
        self.weights = [WIDTH, WIDTH, 1, 1] if name == "convolution" else [WIDTH, WIDTH]

    def node(self, m):
        """The nodes that turn x<m> into x<m + 1>."""
        def node(operation, inputs, output, attributes=b""):
            return wire.data(1, b"".join(wire.data(1, i) for i in inputs) + wire.data(2, output)
                             + wire.data(3, "%s%d" % (operation, m)) + wire.data(4, operation)
                             + attributes)
        x, w, y = "x%d" % m, "w%d" % m, "x%d" % (m + 1)
        if self.name == "plain":
            return node("MatMul", [x, w], y)
        if self.name == "transposed":
            transpose = wire.data(5, wire.data(1, "transB") + wire.integer(3, 1)
                                  + wire.integer(20, 2))
            return node("Gemm", [x, w], y, transpose)
        # (c - 0) * 1 / sqrt(1 - epsilon + epsilon) + 0, after a convolution by W.
        return node("Conv", [x, w], "c%d" % m) + \
            node("BatchNormalization", ["c%d" % m, "scale", "zeros", "zeros", "variance"], y)

    def initializers(self):
        if self.name != "convolution":
            return b""
        out = b""
        for name, value in (("scale", 1.0), ("zeros", 0.0), ("variance", 1.0 - 1e-5)):
            raw = array.array("f", [value]) * WIDTH
            out += wire.data(5, wire.integer(1, WIDTH) + wire.integer(2, 1)
                             + wire.data(8, name) + wire.data(9, raw.tobytes()))
        return out


def write_model(path, count, kind):
    """An ONNX model of `count` products, its weights beside it. Row i of a matrix
    holds one 2.0; one number, too small to matter, is the matrix's own, so that no
    two are the same constant."""
    weights = path + ".weights"
    with open(weights, "wb") as file:
        for m in range(count):
            row = array.array("f", bytes(4 * WIDTH))
            for i in range(WIDTH):
                row[kind.column(i)] = 2.0
                if i == WIDTH - 1:
                    row[5] = m * 2.0 ** -140
                file.write(row.tobytes())
                row[kind.column(i)] = 0.0
    graph = b"".join(kind.node(m) for m in range(count)) + wire.data(2, "large")
    for m in range(count):
        external = b"".join(
            wire.data(13, wire.data(1, key) + wire.data(2, value))
            for key, value in (("location", os.path.basename(weights)),
                               ("offset", str(m * MATRIX)), ("length", str(MATRIX))))
        graph += wire.data(5, b"".join(wire.integer(1, d) for d in kind.weights)
                           + wire.integer(2, 1) + wire.data(8, "w%d" % m) + external
                           + wire.integer(14, 1))
    graph += kind.initializers() + wire.data(11, value_info("x0", kind.dims))
    graph += wire.data(12, value_info("x%d" % count, kind.dims))
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
    if (std::fabs(y[i] - expected) > 1e-20f + 1e-5f * expected)
      return std::printf("element %zu: %g, not %g\n", i, y[i], expected), 1;
  }
  return std::puts("ok"), 0;
}
"""


def check(folder, megabytes, kind, weirc, include, runtime):
    count = max(1, megabytes * (1 << 20) // MATRIX)
    model = os.path.join(folder, "large.onnx")
    write_model(model, count, kind)
    object_file = os.path.join(folder, "large.o")
    seconds, peak = anonymous_peak([weirc, model, "-o", object_file, "--cpu=x86-64-v3"])
    bound = 400 + 2 * MATRIX / (1 << 20)
    print("%d MB of constants, %s: %.1f s, %.0f MB of anonymous memory (at most %.0f), object of %.0f MB"
          % (megabytes, kind.name, seconds, peak, bound, os.path.getsize(object_file) / (1 << 20)))
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
    print("%d MB %s: %s" % (megabytes, kind.name, "failed" if failed else "passed"), flush=True)
    return not failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sizes", default="400,3072", help="in MB")
    parser.add_argument("--kinds", default="plain,transposed,convolution")
    args = parser.parse_args()
    good = True
    for size, kind in itertools.product(args.sizes.split(","), args.kinds.split(",")):
        folder = tempfile.mkdtemp(prefix="weir-large-")
        try:
            good &= check(folder, int(size), Kind(kind),
                          os.path.abspath(os.path.join(args.build, "bin/weirc")),
                          os.path.join(args.source, "runtime/include"),
                          os.path.join(args.build, "lib/libweir_runtime.a"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
