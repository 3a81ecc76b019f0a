#!/usr/bin/env python3
#===- sorts.py - elements that are hard to sort ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""sorts.py WEIR_RUN MODEL.so RECORDER FOLDER ENTRY:TYPE:SIZE,SIZE...

Runs entries on the host and on the GPU with bit patterns (TYPE: f2, f4, f8, bf, i1, u1
...) that an order treats in some way of its own: NaNs of both signs and several payloads,
zeros of both signs, infinities, least and largest numbers, and many that are equal.
Exits 1 unless all results have the same bits. Needs no packages."""
import math
import os
import struct
import subprocess
import sys

WORDS = {1: "B", 2: "H", 4: "I", 8: "Q"}
FRACTIONS = {"f2": 10, "bf": 7, "f4": 23, "f8": 52}


def special(kind, bits):
    top = 1 << (bits - 1)
    if kind not in FRACTIONS:
        return [0, 1, top - 1, top, top + 1, 2 * top - 1]
    infinity = top - (1 << FRACTIONS[kind])
    positive = [0, 1, infinity - 1, infinity, infinity + 1, top - 1]
    return positive + [top + p for p in positive]


def patterns(kind, bits, count):
    state, marked = 1, special(kind, bits)
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        choice = (state >> 33) % 8
        if choice < 2:
            yield marked[(state >> 36) % len(marked)]
        elif choice < 4:
            yield (state >> 40) % 5 << (bits - 4)
        else:
            yield state >> (64 - bits)


def write(path, kind, shape):
    size = 2 if kind == "bf" else int(kind[1:])
    stored = "u2" if kind == "bf" else kind
    order = "|" if size == 1 else "<"
    header = f"{{'descr': '{order}{stored}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    count = math.prod(shape)
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode())
        f.write(struct.pack(f"<{count}{WORDS[size]}", *patterns(kind, 8 * size, count)))


def main():
    weir_run, model, recorder, folder = sys.argv[1:5]
    record = os.path.join(folder, "sorts-record")
    for case in sys.argv[5:]:
        entry, kind, sizes = case.split(":")
        feed = os.path.join(folder, entry + ".npy")
        write(feed, kind, tuple(map(int, sizes.split(","))))

        def run(where, **settings):
            if os.path.exists(record):
                os.remove(record)
            out = os.path.join(folder, entry + where)
            subprocess.run([weir_run, model, "--run=" + entry, "--input=x=" + feed,
                            "--output=" + out], env=dict(os.environ, **settings), check=True)
            return {name: open(os.path.join(out, name), "rb").read() for name in sorted(os.listdir(out))}

        host = run("-host", WEIR_CUDA="off")
        gpu = run("-gpu", WEIR_CUDA="require", WEIR_CUDA_DRIVER=recorder,
                  WEIR_CUDA_RECORD=record, WEIR_RECORDER_SEED="5")
        for name, bits in host.items():
            if gpu[name] != bits:
                raise SystemExit(f"{entry}: {name} is not the host's")
        text = open(record).read()
        if "launches 0" in text or "problems 0" not in text:
            raise SystemExit(f"{entry}: {text}")
    print(f"{len(sys.argv) - 5} entries agree")


main()
