#!/usr/bin/env python3
#===- groups.py - attention of shared heads by its definition ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""groups.py DIR TYPE BATCH QUERY_HEADS KEY_HEADS QUERIES KEYS SIZE [MASK_HEADS]: writes
DIR/in.npz with q, k, v (and m, f32: 0, or -1e4 for some), and DIR/out.npy with
softmax(q kT / 8 + m) v, where neighbouring heads of q share one of k and v.
TYPE: f32, f16, or bf16 as words. Needs no packages."""
import io
import math
import random
import struct
import sys
import zipfile


def words(kind, values):
    if kind == "bf16":
        bits = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
        return struct.pack(f"<{len(bits)}H", *((b + 0x7fff + (b >> 16 & 1)) >> 16 for b in bits))
    return struct.pack(f"<{len(values)}{'f' if kind == 'f32' else 'e'}", *values)


def npy(kind, shape, values):
    form = {"f32": "<f4", "f16": "<f2", "bf16": "<u2"}[kind]
    header = f"{{'descr': '{form}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + words(kind, values)


def main():
    folder, kind = sys.argv[1:3]
    batch, heads, key_heads, queries, keys, size = map(int, sys.argv[3:9])
    mask_heads = int(sys.argv[9]) if len(sys.argv) > 9 else 0
    source = random.Random(7)
    count = lambda shape: math.prod(shape)
    # Eighths are numbers of all types.
    some = lambda shape: [source.randint(-12, 12) / 8 for _ in range(count(shape))]
    q_shape, k_shape = (batch, heads, queries, size), (batch, key_heads, keys, size)
    m_shape = (batch, mask_heads, queries, keys)
    q, k, v = some(q_shape), some(k_shape), some(k_shape)
    m = [0.0 if source.random() < 0.7 else -1e4 for _ in range(count(m_shape))]
    out = []
    for b in range(batch):
        for h in range(heads):
            first = (b * key_heads + h // (heads // key_heads)) * keys * size
            rows = [k[first + s * size:first + (s + 1) * size] for s in range(keys)]
            columns = [v[first + i:first + keys * size:size] for i in range(size)]
            for l in range(queries):
                begin = ((b * heads + h) * queries + l) * size
                row = q[begin:begin + size]
                logits = [sum(map(float.__mul__, row, key)) / 8 for key in rows]
                if mask_heads:
                    own = ((b * mask_heads + h % mask_heads) * queries + l) * keys
                    logits = [x + m[own + s] for s, x in enumerate(logits)]
                top = max(logits)
                weights = [math.exp(x - top) for x in logits]
                total = sum(weights)
                out += [sum(map(float.__mul__, weights, column)) / total for column in columns]
    feeds = {"q": (kind, q_shape, q), "k": (kind, k_shape, k), "v": (kind, k_shape, v)}
    if mask_heads:
        feeds["m"] = ("f32", m_shape, m)
    with zipfile.ZipFile(f"{folder}/in.npz", "w") as archive:
        for name, feed in feeds.items():
            archive.writestr(f"{name}.npy", npy(*feed))
    with open(f"{folder}/out.npy", "wb") as f:
        f.write(npy(kind, q_shape, out))


main()
