#!/usr/bin/env python3
#===- paged.py - attention whose keys and values lie in pages ---------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""paged.py WEIRC WEIR_RUN RECORDER FOLDER: models around com.microsoft's PagedAttention, on the host
and on the GPU, beside the definition in numpy: three sequences of other lengths, of which two share
their first page; a window, rotated pairs, queries, keys and values in one operand."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

HEADS, KEY_HEADS, SIZE, PAGES, PAGE = 4, 2, 16, 10, 4
NEW, PAST = np.array([3, 1, 2]), np.array([5, 9, 0])
TABLE = np.array([[7, 2, 0], [7, 5, 3], [9, -1, -1]], np.int32)
F16, I32 = TensorProto.FLOAT16, TensorProto.INT32
CASES = {"plain": {}, "window": {"local_window_size": 4}, "rotated": {"do_rotary": 1}, "packed": {},
         "capped": {"softcap": 2.0, "scale": 0.3}}


def feeds(name):
    random = np.random.default_rng(5)
    tokens = NEW.sum()

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float16)
    made = {"query": normal(tokens, HEADS * SIZE), "key": normal(tokens, KEY_HEADS * SIZE),
            "value": normal(tokens, KEY_HEADS * SIZE),
            "key_cache": normal(PAGES, PAGE, KEY_HEADS, SIZE), "value_cache": normal(PAGES, PAGE, KEY_HEADS, SIZE),
            "starts": np.concatenate([[0], np.cumsum(NEW)]).astype(np.int32), "past": PAST.astype(np.int32), "table": TABLE}
    if name == "packed":
        made["query"] = np.concatenate([made.pop(part) for part in ("query", "key", "value")], axis=1)
    if name == "rotated":
        angles = np.outer(np.arange(16), 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2)))
        made["cosines"], made["sines"] = np.cos(angles).astype(np.float16), np.sin(angles).astype(np.float16)
    return made


def model(name, given, path):
    order = ["query", "key", "value", "key_cache", "value_cache", "starts", "past", "table", "cosines", "sines"]
    node = helper.make_node("PagedAttention", [part if part in given else "" for part in order], ["y", "keys", "values"],
                            name="paged", domain="com.microsoft", num_heads=HEADS, kv_num_heads=KEY_HEADS, **CASES[name])

    def value(part, array):
        # Tokens, and places for pages, are open.
        shape = [None if part in ("query", "key", "value") and i == 0 else size for i, size in enumerate(array.shape)]
        return helper.make_tensor_value_info(part, F16 if array.dtype == np.float16 else I32, shape)
    cache = [PAGES, PAGE, KEY_HEADS, SIZE]
    graph = helper.make_graph([node], "g", [value(*item) for item in given.items()],
                              [helper.make_tensor_value_info("y", F16, [None, HEADS * SIZE]),
                               helper.make_tensor_value_info("keys", F16, cache),
                               helper.make_tensor_value_info("values", F16, cache)])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]), path)


def rotate(x, cosines, sines):
    low, high = np.split(x, 2, axis=-1)
    return np.concatenate([low * cosines - high * sines, high * cosines + low * sines], axis=-1)


def reference(name, given):
    wide = {part: array.astype(np.float32) if array.dtype == np.float16 else array for part, array in given.items()}
    if name == "packed":
        q, k, v = np.split(wide["query"], [HEADS * SIZE, (HEADS + KEY_HEADS) * SIZE], axis=1)
    else:
        q, k, v = wide["query"], wide["key"], wide["value"]
    q, k, v = (x.reshape(len(x), -1, SIZE) for x in (q, k, v))
    owner = np.repeat(np.arange(len(NEW)), NEW)
    position = np.concatenate([past + np.arange(new) for past, new in zip(PAST, NEW)])
    if name == "rotated":
        cosines, sines = wide["cosines"][position][:, None], wide["sines"][position][:, None]
        q, k = (rotate(x, cosines, sines) for x in (q, k))
        k = k.astype(np.float16).astype(np.float32)
    caches = [wide["key_cache"].copy(), wide["value_cache"].copy()]
    for token, (sequence, at) in enumerate(zip(owner, position)):
        for cache, fresh in zip(caches, (k, v)):
            cache[TABLE[sequence, at // PAGE], at % PAGE] = fresh[token]
    attributes, out = CASES[name], np.zeros((len(q), HEADS, SIZE), np.float32)
    for token, (sequence, at) in enumerate(zip(owner, position)):
        first = max(0, at - attributes["local_window_size"] + 1) if "local_window_size" in attributes else 0
        places = np.arange(first, at + 1)
        keys, values = (cache[TABLE[sequence, places // PAGE], places % PAGE] for cache in caches)
        for head in range(HEADS):
            group = head // (HEADS // KEY_HEADS)
            scores = keys[:, group] @ q[token, head] * attributes.get("scale", SIZE**-0.5)
            if cap := attributes.get("softcap"):
                scores = cap * np.tanh(scores / cap)
            weights = np.exp(scores - scores.max())
            out[token, head] = weights @ values[:, group] / weights.sum()
    return {"y": out.reshape(len(q), -1), "keys": caches[0], "values": caches[1]}


def main():
    weirc, weir_run, recorder, folder = sys.argv[1:]
    for name in CASES:
        path, given = os.path.join(folder, name), feeds(name)
        model(name, given, path + ".onnx")
        np.savez(path + ".npz", **given)
        subprocess.run([weirc, path + ".onnx", "--cuda=sm_80,sm_90", "--placer=on:/device:GPU:0", "-o", path + ".so"], check=True)
        wanted = reference(name, given)
        for where, settings in {"host": {"WEIR_CUDA": "off"},
                                "gpu": {"WEIR_CUDA": "require", "WEIR_CUDA_DRIVER": recorder, "WEIR_CUDNN": "off",
                                        "WEIR_CUBLASLT": "off", "WEIR_CUDA_RECORD": path + ".record"}}.items():
            subprocess.run([weir_run, path + ".so", f"--input={path}.npz", f"--output={path}-out.npz"], check=True,
                           env=dict(os.environ, **settings))
            found = np.load(path + "-out.npz")
            for fetch, array in wanted.items():
                worst = np.abs(found[fetch].astype(np.float32) - array).max()
                if found[fetch].shape != array.shape or not worst <= 4e-3:
                    raise SystemExit(f"{name} on the {where}: {fetch} is off by {worst}")
        with open(path + ".record") as record:
            text = record.read()
        if "launches 0" in text or "problems 0" not in text:
            raise SystemExit(f"{name}: {text}")
    print(f"{len(CASES)} models agree")


main()
