#!/usr/bin/env python3
#===- swaps.py - limits that copies to the host keep -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""swaps.py WEIRC WEIR_RUN RECORDER FOLDER MODEL...

Runs models on the recording driver without a limit, and within shares of what that
took, over a link of usual speed and over one that is faster than any computing. With
each limit results must be the same bits on the GPU, whatever stream goes first, and on
the host that stands in for it; the allocator's high-water mark must be below; the
driver must have found nothing wrong, and have nothing left. Prints a line for each
limit, and exits 1 where anything is wrong.
"""
import json
import os
import re
import subprocess
import sys
import zipfile

weirc, weir_run, recorder, folder = sys.argv[1:5]
GPU = {"name": "/device:GPU:0", "flops": 2e13, "bandwidth": 1.5e12, "overhead": 3e-6}
LINKS = {"slow": (2e10, 1e-5), "fast": (1e12, 1e-9)}
wrong = 0


def check(good, what):
    global wrong
    if not good:
        wrong += 1
        print(f"wrong: {what}", flush=True)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def compile_model(model, out, link, limit=None):
    bandwidth, latency = LINKS[link]
    cluster = os.path.join(folder, link + ".json")
    with open(cluster, "w") as file:
        json.dump({"devices": [{"name": "/device:CPU:0"}, GPU],
                   "links": [{"from": "*", "to": "*", "bandwidth": bandwidth,
                              "latency": latency}]}, file)
    command = [weirc, model, "-o", out, "--cuda=sm_90", "--devices=" + cluster,
               "--placer=on:/device:GPU:0", "--report=" + out + ".r"]
    if limit:
        command.append(f"--memory-limit={limit}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        check("error W0610" in done.stderr, done.stderr)
        return None
    with open(out + ".r/report.json") as file:
        return json.load(file)["memory"]


def run(program, what, seed=None, repeat=1):
    """Results, and the GPU's high-water mark; on the host without a seed."""
    record, out = os.path.join(folder, "record"), os.path.join(folder, "out.npz")
    settings = {"WEIR_CUDA": "off"}
    if seed:
        settings = {"WEIR_CUDA": "require", "WEIR_CUDA_DRIVER": recorder,
                    "WEIR_CUDA_RECORD": record, "WEIR_RECORDER_SEED": str(seed)}
    if os.path.exists(record):
        os.remove(record)
    done = subprocess.run([weir_run, program, "--input=random:1", "--output=" + out, "--memory",
                           f"--repeat={repeat}"], env=dict(os.environ, **settings),
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        check(False, f"{what}: {done.stderr}")
        return None, 0
    if seed:
        with open(record) as file:
            text = file.read()
        check("problems 0" in text and "allocations 0, pinned 0, streams 0, events 0" in text,
              f"{what}: {text}")
    return contents(out), int(re.search(r"device=1 peak_bytes=(\d+)", done.stdout)[1])


def main():
    for model in sys.argv[5:]:
        name = os.path.splitext(os.path.basename(model))[0]
        program = os.path.join(folder, name + ".so")
        compile_model(model, program, "slow")
        want, peak = run(program, name, seed=1)
        host, _ = run(program, name)
        for link in LINKS:
            for percent in (50, 45):
                limit = peak * percent // 100
                what = f"{name}, {link} link, {percent} %"
                memory = compile_model(model, program, link, limit)
                if not memory:
                    print(f"{what}: refused", flush=True)
                    continue
                check(run(program, what)[0] == host, what + ": the host's bits")
                for seed in (1, 2):
                    got, used = run(program, f"{what}, seed {seed}", seed, repeat=3)
                    check(got == want, f"{what}, seed {seed}: bits")
                    check(used <= limit, f"{what}: {used} of {limit} bytes")
                print(f"{what}: {memory['repeated_launches']} launches again, "
                      f"{memory['swapped_values']} values out, {memory['swap_returns']} back",
                      flush=True)
    print(f"{wrong} wrong")
    sys.exit(bool(wrong))


main()
