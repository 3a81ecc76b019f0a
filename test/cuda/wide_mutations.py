#!/usr/bin/env python3
#===- wide_mutations.py - whether the interpreter finds what is left out ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Leaves one thing after the other out of a kernel's PTX, runs it under the recording
driver, and wants an error that says what is wrong, or sums that are no numbers."""
import argparse
import os
import re
import subprocess

# name, pattern, what takes its place, what is said
PRODUCTS = [
    ("no wait for bytes", r"(mbarrier\.try_wait\.parity\.shared::cta\.b64 w_p, \[w_bar\], w_parity;\n)", "setp.eq.u32 w_p, 0, 0;\n", r"a race in shared memory|wait for each other"),
    ("no wait for room", r"mbarrier\.try_wait\.parity\.shared::cta\.b64 w_p, \[w_bar\+8\], w_parity;", "setp.eq.u32 w_p, 0, 0;", "a race in shared memory|more arrivals than the barrier counts"),
    ("stages are not given back", r"@w_behind mbarrier\.arrive[^;]*;", "", "wait for each other"),
    ("given back before they are read", r"wgmma\.wait_group\.sync\.aligned 1;", "", "a race in shared memory"),
    ("no fence before products", r"wgmma\.fence\.sync\.aligned;", "", "no wgmma.fence is between"),
    ("no fence behind barriers", r"fence\.mbarrier_init\.release\.cluster;", "", "was not made known to the copy engine"),
    ("no meeting behind barriers", r"bar\.sync\s+0;", "", "a race in shared memory|no barrier was made there"),
    ("no meeting behind staged sums", r"bar\.warp\.sync -1;", "", "a race in shared memory"),
    ("no wait for kernels before", r"griddepcontrol\.wait;", "", "no griddepcontrol.wait is before"),
]

RACE = "a race in shared memory"
WAIT = r"mbarrier\.try_wait\.parity\.shared::cta\.b64 w_p, \[[^\]+]*"
ATTENTION = [
    ("no wait for bytes", WAIT + r"\], (?!w_parity)[^;]*;", "setp.eq.u32 w_p, 0, 0;", RACE + "|wait for each other"),
    ("no wait for room", WAIT + r"\+8\], w_parity;", "setp.eq.u32 w_p, 0, 0;", RACE + "|more arrivals than the barrier counts"),
    ("stages are not given back", r"@w_lead mbarrier\.arrive[^;]*;", "", "wait for each other"),
    ("products are not waited for", r"wgmma\.wait_group\.sync\.aligned 0;", "", RACE + "|differ|of another product|were written before"),
    ("no fence before products", r"wgmma\.fence\.sync\.aligned;", "", "no wgmma.fence is between"),
    ("no fence behind barriers", r"fence\.mbarrier_init\.release\.cluster;", "", "was not made known to the copy engine"),
    ("no meeting behind barriers", r"bar\.sync\s+0;", "", RACE + "|no barrier was made there"),
    ("no meeting behind staged sums", r"bar\.warp\.sync -1;", "", RACE),
    ("bytes are not expected", r"mbarrier\.arrive\.expect_tx[^;]*;", "", "wait for each other|more bytes|" + RACE),
]

BETWEEN = "a race between blocks"
PHASES = [
    ("no barrier between phases", r"bar\.sync 0;\nsetp\.ne\.u32 w_p[^}]*?bar\.sync 0;\n", "", BETWEEN),
    ("blocks do not meet before they tell", r"bar\.sync 0;\n(setp\.ne\.u32 w_p)", r"\1", BETWEEN),
    ("blocks do not meet behind", r"(w_met_\d+:\n)bar\.sync 0;", r"\1", BETWEEN + "|" + RACE),
    ("told without an order", r"atom\.acq_rel", "atom.relaxed", BETWEEN),
    ("asked without an order", r"ld\.acquire", "ld.relaxed", BETWEEN),
    ("told to the block alone", r"atom\.acq_rel\.gpu", "atom.acq_rel.cta", BETWEEN),
    ("the first block adds what others do", r"sub\.s32 (\s*%r\d+), -2147483647, %r\d+;", r"mov.b32 \1, 1;", "wait for each other"),
    ("others' results are read as constants", r"ld\.global\.(?!nc)", "ld.global.nc.", BETWEEN),
    ("no meeting between tiles", r"bar\.sync\s+0;(?!\nsetp)(?!\n})", "", RACE + "|" + BETWEEN),
    ("no wait for kernels before", r"griddepcontrol\.wait;", "", "no griddepcontrol.wait is before"),
]
KINDS = {"products": PRODUCTS, "attention": ATTENTION, "phases": PHASES}


def main():
    parser = argparse.ArgumentParser()
    for flag in ("build", "recorder", "program", "ptx", "out"):
        parser.add_argument("--" + flag, required=True)
    parser.add_argument("--run", default="chain")
    parser.add_argument("--only", default="products", choices=sorted(KINDS))
    o = parser.parse_args()
    mutations = KINDS[o.only]
    os.makedirs(o.out, exist_ok=True)
    weir_run = os.path.join(o.build, "bin", "weir-run")
    with open(o.ptx) as file:
        text = file.read()
    env = dict(os.environ, WEIR_CUDA_DRIVER=o.recorder, WEIR_CUDA="require", WEIR_CUBLASLT="off", WEIR_CUDNN="off",
               WEIR_RECORDER_MULTIPROCESSORS="5")
    command = [weir_run, o.program, "--run=" + o.run, "--input=random:1"]

    def run(ptx):
        record = os.path.join(o.out, "record")
        if os.path.exists(record):
            os.remove(record)
        done = subprocess.run(command, capture_output=True, text=True,
                              env=dict(env, WEIR_RECORDER_PTX=ptx, WEIR_CUDA_RECORD=record))
        with open(record) as file:
            return done.returncode, done.stderr + file.read()

    code, said = run(o.ptx)
    if code or "problems 0" not in said:
        raise SystemExit("without a mutation: " + said)
    found = 0
    for i, (name, pattern, instead, wanted) in enumerate(mutations):
        changed, count = re.subn(pattern, instead, text)
        path = os.path.join(o.out, f"{i}.ptx")
        with open(path, "w") as file:
            file.write(changed)
        code, said = run(path)
        good = count > 0 and code != 0 and re.search(wanted, said)
        problem = re.search(r"problem: .*", said)
        print(f"{name}: {'found' if good else 'NOT FOUND'}, {problem[0][:300] if problem else said.strip()[:300]}")
        found += bool(good)
    print(f"{found} of {len(mutations)} mutations found")


main()
