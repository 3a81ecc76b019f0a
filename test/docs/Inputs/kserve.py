#!/usr/bin/env python3
#===- kserve.py - a public client of KServe's protocol ----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Asks server.cpp with the client of another server (tritonclient).

usage: kserve.py URL IMAGES.f32 LABELS.u8
"""
import sys
import time

import numpy as np
import tritonclient.http as kserve


def main(url, images, labels):
    client = kserve.InferenceServerClient(url.removeprefix("http://"), concurrency=8)
    for _ in range(100):  # it may just have been started
        try:
            if client.is_server_ready():
                break
        except OSError:
            time.sleep(0.1)
    assert client.is_server_live() and client.is_model_ready("digits")
    about = client.get_model_metadata("digits")
    print(about["inputs"][0]["name"], about["inputs"][0]["shape"])
    pixels = np.fromfile(images, np.float32).reshape(-1, 1, 8, 8)
    wanted = np.fromfile(labels, np.uint8)

    def ask(first, count, as_bytes):
        image = kserve.InferInput("image", [count, 1, 8, 8], "FP32")
        image.set_data_from_numpy(pixels[first:first + count], binary_data=as_bytes)
        output = kserve.InferRequestedOutput("probabilities", binary_data=as_bytes)
        return client.async_infer("digits", [image], outputs=[output], request_id=str(first))

    for as_bytes in (True, False):
        asked = [(first, ask(first, min(7, len(wanted) - first), as_bytes))
                 for first in range(0, len(wanted), 7)]
        right = 0
        for first, answer in asked:
            result = answer.get_result()
            assert result.get_response()["id"] == str(first)
            found = result.as_numpy("probabilities")
            right += int((found.argmax(1) == wanted[first:first + 7]).sum())
        print("as bytes:" if as_bytes else "as JSON:", right, "of", len(wanted))
    # Without a list of outputs the client asks for bytes of all.
    image = kserve.InferInput("image", [3, 1, 8, 8], "FP32")
    image.set_data_from_numpy(pixels[:3])
    print("all outputs:", client.infer("digits", [image]).as_numpy("probabilities").shape)
    wrong = kserve.InferInput("image", [3, 8, 8], "FP32")
    wrong.set_data_from_numpy(pixels[:3, 0])
    try:
        client.infer("digits", [wrong])
    except kserve.InferenceServerException as error:
        print("refused:", error.message())


main(*sys.argv[1:])
