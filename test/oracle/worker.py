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
import resource
import struct
import sys
import warnings

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


# Bytes that an answer may have, and that the process may take for it: what is larger makes no case.
LARGEST_ANSWER = 64 << 20
LARGEST_PROCESS = {"onnx": 6 << 30, "tf": 24 << 30}


def size_of(reply):
    """Bytes of the arrays in an answer."""
    if isinstance(reply, np.ndarray):
        return reply.nbytes
    if isinstance(reply, dict):
        return sum(map(size_of, reply.values()))
    return sum(map(size_of, reply)) if isinstance(reply, (list, tuple)) else 0


def main(suite):
    limit = LARGEST_PROCESS[suite]
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
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
        if size_of(reply) > LARGEST_ANSWER:
            reply = ("refused", "the answer has %d bytes" % size_of(reply))
        data = pickle.dumps(reply)
        answers.write(struct.pack("<q", len(data)) + data)
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
