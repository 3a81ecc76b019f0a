#!/usr/bin/env python3
# ===- client.py - asks a server by KServe's protocol -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Sends pictures of digits to server.cpp from several threads, and counts right answers.

usage: client.py URL IMAGES.f32 LABELS.u8 [PICTURES_A_REQUEST]
"""
import array
import concurrent.futures
import json
import sys
import time
import urllib.error
import urllib.request


def ask(url, body=None):
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(url, data, timeout=30) as answer:
        return json.load(answer)


def main(url, images, labels, rows=3):
    for _ in range(100):  # it may just have been started
        try:
            ask(url + "/v2/health/ready")
            break
        except OSError:
            time.sleep(0.1)
    inputs = ask(url + "/v2/models/digits")["inputs"]
    print("inputs:", ", ".join(f"{one['name']} {one['datatype']} {one['shape']}" for one in inputs))
    pixels = array.array("f")
    with open(images, "rb") as file:
        pixels.frombytes(file.read())
    with open(labels, "rb") as file:
        labels = list(file.read())

    def classify(first):
        count = min(rows, len(labels) - first)
        data = pixels[64 * first:64 * (first + count)].tolist()
        answer = ask(url + "/v2/models/digits/infer", {"id": str(first), "inputs": [
            {"name": "image", "datatype": "FP32", "shape": [count, 1, 8, 8], "data": data}]})
        assert answer["id"] == str(first)
        found = answer["outputs"][0]["data"]
        rows_found = [found[10 * i:10 * i + 10] for i in range(count)]
        return sum(row.index(max(row)) == label for row, label in zip(rows_found, labels[first:]))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        right = sum(pool.map(classify, range(0, len(labels), rows)))
    print(f"{right} of {len(labels)} digits are classified right")
    try:
        ask(url + "/v2/models/digits/infer", {"inputs": [{"name": "image"}]})
    except urllib.error.HTTPError as error:
        print("refused:", error.code)


main(sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
