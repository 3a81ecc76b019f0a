#!/usr/bin/env python3
#===- peers.py - tensors from one GPU to another -----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""peers.py WEIRC WEIR_RUN RECORDER FOLDER INPUTS

Runs peers.mlir on two GPUs of the recording driver: copies from GPU to GPU, and by
way of the host, must lead to the same bits, whatever stream goes first, with nothing
wrong and nothing left. A loop's memory must not grow with its turns. Prints a line
for each entry, and exits 1 where anything is wrong.
"""
import os
import re
import subprocess
import sys
import zipfile

weirc, weir_run, recorder, folder, inputs = sys.argv[1:6]
wrong = 0


def check(good, what):
    global wrong
    if not good:
        wrong += 1
        print(f"wrong: {what}", flush=True)


def build(name, turns):
    with open(os.path.join(inputs, "peers.mlir")) as file:
        text = file.read().replace("dense<6>", f"dense<{turns}>")
    model, program = (os.path.join(folder, name + suffix) for suffix in (".mlir", ".so"))
    with open(model, "w") as file:
        file.write(text)
    subprocess.run([weirc, model, "-o", program, "--cuda=sm_90",
                    "--devices=" + os.path.join(inputs, "two-gpus.json"),
                    "--placement=" + os.path.join(inputs, "peers.json")], check=True)
    return program


def run(program, entry, what, repeat=3, **settings):
    """Results, high-water marks, and how many tensors were copied from GPU to GPU."""
    record, out = os.path.join(folder, "record"), os.path.join(folder, "out.npz")
    if os.path.exists(record):
        os.remove(record)
    command = [weir_run, program, "--run=" + entry, "--input=random:1", "--output=" + out,
               "--memory", f"--repeat={repeat}"]
    if entry == "open":
        command.append("--shape=a=40x96")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, WEIR_CUDA="require", WEIR_CUDA_DRIVER=recorder,
                                   WEIR_CUDA_RECORD=record, WEIR_RECORDER_DEVICES="2", **settings))
    if done.returncode:
        check(False, f"{what}: {done.stderr}")
        return None, [], 0
    with open(record) as file:
        text = file.read()
    check("problems 0" in text and "allocations 0, pinned 0, streams 0, events 0" in text,
          f"{what}: {text}")
    with zipfile.ZipFile(out) as archive:
        results = {name: archive.read(name) for name in archive.namelist()}
    peer = re.search(r"copies to peers (\d+)", text)
    return (results, [int(n) for n in re.findall(r"peak_bytes=(\d+)", done.stdout)],
            int(peer[1]) if peer else 0)


def main():
    program = build("short", 6)
    for entry in ("there_and_back", "open", "turns", "ahead"):
        want, _, none = run(program, entry, entry + " by the host", WEIR_CUDA_PEERS="off")
        check(none == 0, f"{entry}: {none} copies to peers that were not wanted")
        got, _, none = run(program, entry, entry + " without access", WEIR_RECORDER_NO_PEERS="1")
        check(got == want and none == 0, entry + " without access")
        for seed in (1, 2, 3, 4):
            what = f"{entry}, seed {seed}"
            got, _, copies = run(program, entry, what, WEIR_RECORDER_SEED=str(seed))
            check(got == want, what + ": bits")
        got, _, unmapped = run(program, entry, entry + " unmapped", WEIR_RECORDER_NO_MAP="1")
        check(got == want and unmapped == copies, entry + " unmapped")
        print(f"{entry}: {copies // 3} copies to peers a run", flush=True)
    program_of_many = build("long", 60)
    for entry in ("turns", "ahead"):
        _, few, _ = run(program, entry, entry + ", few turns", repeat=1)
        _, many, _ = run(program_of_many, entry, entry + ", many turns", repeat=1)
        check(all(b <= 2 * a for a, b in zip(few, many)),
              f"{entry}: memory grows with turns: {few}, {many}")
    print(f"{wrong} wrong")
    sys.exit(bool(wrong))


main()
