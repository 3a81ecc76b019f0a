#===- open_chains.py - kernels that go through images of open sizes together -===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: open_chains.py FOLDER WEIRC WEIR_RUN

The model of test/driver/chain.test with open sizes: results have the bits of the kernels one behind
the other, and of the model with its sizes fixed, whatever the sizes are, with any number of threads.
"""
import os
import subprocess
import sys
import zipfile

from floats import HERE, npy, values

TESTS = os.path.join(HERE, "..", "..")
# Of one element and line; a strip's, one more, one less; lines that are as long as a tile, or not;
# of windows that fit on a stack with fewer lines at a time, and with none.
SIZES = [(1, 1, 1), (1, 2, 3), (2, 3, 1), (1, 4, 28), (3, 5, 31), (1, 9, 14), (2, 8, 33), (1, 17, 140),
         (1, 6, 147), (2, 7, 300), (1, 12, 1100)]
FIXED = [(1, 2, 3), (2, 8, 33), (2, 7, 300)]
FEATURE = "--cpu=x86-64-v3"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def contents(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


class Models:
    def __init__(self, folder, weirc, weir_run):
        self.folder, self.weirc, self.weir_run = folder, weirc, weir_run

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, sizes):
        """Compiled, with kernels in chains and without."""
        models = [self.path(name + ".onnx"), self.path(name + "-plain.onnx")]
        run(sys.executable, os.path.join(TESTS, "driver", "Inputs", "chain_model.py"), TESTS, *models,
            *map(str, sizes))
        for model in models:
            run(self.weirc, model, FEATURE, "-o", model + ".so")
        return [model + ".so" for model in models]

    def results(self, program, threads, *options):
        out = self.path("out.npz")
        run(self.weir_run, program, f"--input={self.path('in.npz')}", f"--threads={threads}",
            f"--output={out}", *options)
        return contents(out)


def main():
    models = Models(*sys.argv[1:])
    chained, plain = models.write("open", ("N", "H", "W"))
    kernels = models.path("kernels.mlir")
    run(models.weirc, models.path("open.onnx"), FEATURE, "--stop-after=kernelize", "-o", kernels)
    with open(kernels) as file:
        text = file.read()
    print(f"chains: {text.count('schedule <depth_first')}, "
          f"kernels of stages by lines: {text.count('lines = 1')}")
    for sizes in SIZES:
        images, height, width = sizes
        shape = (images, 16, height, width)
        with zipfile.ZipFile(models.path("in.npz"), "w") as file:
            file.writestr("x.npy", npy(shape, values(shape, 3)))
        wanted = models.results(plain, 1)
        found = [models.results(chained, threads) for threads in (1, 2, 7)]
        if sizes in FIXED:
            found += [models.results(models.write("fixed", sizes)[0], 1)]
        for own in found:
            for name, value in own.items():
                if wanted[name] != value:
                    sys.exit(f"{sizes}: {name} differs")
        print(sizes, "is the same")


if __name__ == "__main__":
    main()
