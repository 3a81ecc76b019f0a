#!/usr/bin/env python3
#===- measure_ort_memory.py - Our arenas against ONNX Runtime's growth -------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compares the memory of a run: our allocator's high-water mark (arena and results)
with what ONNX Runtime's process grows by between a loaded session and the end of its
second run, on one thread each. Needs a Python with onnxruntime and numpy.

  measure_ort_memory.py WEIR_RUN MODEL.onnx...
"""
import os
import re
import subprocess
import sys


def growth(model):
    """KiB, in a process of its own: printed by the child below."""
    done = subprocess.run([sys.executable, __file__, "--child", model],
                          capture_output=True, text=True, check=True)
    return int(done.stdout)


def child(model):
    import ctypes
    import numpy as np
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    feeds = {i.name: random.random(i.shape, np.float32) for i in session.get_inputs()}

    def status(key):
        with open("/proc/self/status") as file:
            return int(re.search(key + r":\s+(\d+) kB", file.read())[1])

    # What loading has left over goes back first; the mark of the peak with it.
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    session.run(None, feeds)
    session.run(None, feeds)  # by now its memory pattern is known
    print(status("VmHWM") - before)


def main():
    if sys.argv[1] == "--child":
        return child(sys.argv[2])
    tool, models = sys.argv[1], sys.argv[2:]
    print("| model | ours, KiB | ONNX Runtime, KiB | of it |")
    print("|---|---|---|---|")
    for model in models:
        text = subprocess.run([tool, model, "--input=random:1", "--threads=1", "--memory"],
                              capture_output=True, text=True, check=True).stdout
        ours = int(re.search(r"peak_bytes=(\d+)", text)[1]) / 1024
        theirs = min(growth(model) for _ in range(5))
        name = os.path.splitext(os.path.basename(model))[0]
        print(f"| {name} | {ours:,.0f} | {theirs:,} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
