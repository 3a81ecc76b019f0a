#===- worker.py - Answers cases in a process of its own -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: worker.py onnx|tf

Reads pickled requests, each behind its length, and writes an answer for each in the same
way: ("results", arrays, oracle) or ("refused", reason). It may crash: whoever asks starts
another one.
"""
import os
import pickle
import struct
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def main(suite):
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    warnings.simplefilter("ignore")
    if suite == "onnx":
        from onnx_oracle import answer
    else:
        from tf_oracle import answer
    requests = sys.stdin.buffer
    while True:
        head = requests.read(8)
        if len(head) < 8:
            return
        request = pickle.loads(requests.read(struct.unpack("<q", head)[0]))
        try:
            reply = answer(request)
        except Exception as error:  # noqa: an oracle may raise anything
            reply = ("refused", "%s: %s" % (type(error).__name__, str(error)[:300]))
        data = pickle.dumps(reply)
        answers.write(struct.pack("<q", len(data)) + data)
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
