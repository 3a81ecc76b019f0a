#!/usr/bin/env python3
#===- faults.py - every call of the driver fails once ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""faults.py WEIR_RUN MODEL.so ENTRY RECORDER FOLDER CALL...

Runs an entry with each call of the driver failing in turn, and of a library the
CALLs, and with less and less memory on the GPU. Each run must end in time, by itself, with a status or with the
result, and leave nothing in the driver. Ends with the number of runs and of
statuses among them.
"""
import os
import subprocess
import sys

CALLS = """cuDevicePrimaryCtxRetain cuModuleLoadData cuMemAlloc cuMemHostAlloc cuMemcpyHtoD
cuMemcpyHtoDAsync cuMemcpyDtoHAsync cuMemcpyDtoDAsync cuMemcpyPeerAsync cuCtxEnablePeerAccess cuMemsetD8Async cuStreamCreate cuStreamWaitEvent
cuStreamAddCallback cuEventCreate cuEventRecord cuLaunchKernel cuMemAddressReserve cuMemCreate
cuMemMap cuMemSetAccess cuStreamBeginCapture cuStreamEndCapture cuGraphInstantiate cuGraphLaunch""".split()


def main():
    weir_run, model, entry, recorder, folder = sys.argv[1:6]
    record = os.path.join(folder, "faults-record")
    runs = statuses = 0

    def once(what, **settings):
        nonlocal runs, statuses
        if os.path.exists(record):
            os.remove(record)
        environment = dict(os.environ, WEIR_CUDA="require", WEIR_CUDA_DRIVER=recorder,
                           WEIR_CUDA_CACHE="off", WEIR_CUDA_RECORD=record, **settings)
        done = subprocess.run([weir_run, model, "--run=" + entry, "--input=random:1", "--repeat=3"],
                              env=environment, capture_output=True, text=True, timeout=120)
        runs += 1
        if done.returncode not in (0, 1):
            raise SystemExit(f"{what}: ended with {done.returncode}: {done.stderr}")
        if done.returncode:
            statuses += 1
            if " error W070" not in done.stderr:
                raise SystemExit(f"{what}: no status: {done.stderr}")
        if os.path.exists(record):
            with open(record) as f:
                text = f.read()
            if "problem:" in text or "allocations 0, pinned 0, streams 0, events 0, modules 0" not in text:
                raise SystemExit(f"{what}: {text}")
        return done.returncode

    for call in CALLS:
        for number in range(1, 40):
            # Calls that a run makes no more: the next function's turn.
            if once(f"{call}:{number}", WEIR_RECORDER_FAIL=f"{call}:{number}") == 0:
                break
    # What a library refuses may be a kernel's work.
    for call in sys.argv[6:]:
        for number in [*range(1, 9), *range(9, 90, 9)]:
            once(f"{call}:{number}", WEIR_RECORDER_FAIL=f"{call}:{number}")
    for kib in range(0, 8192, 512):
        once(f"{kib} KiB", WEIR_RECORDER_MEMORY=str(kib << 10))
    once("memory that cannot be mapped", WEIR_RECORDER_NO_MAP="1")
    print(f"{runs} runs, {statuses} statuses")


main()
