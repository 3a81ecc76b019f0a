#===- tf_source.py - Graphs of TensorFlow, one after the other ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""What run.py draws from for TensorFlow."""
import os
import re
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import cases  # noqa: E402


def imported(build):
    listed = subprocess.run([build + "/bin/weirc", "--print-supported-operators"],
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sorted({r[1] for r in rows if r[0] == "tensorflow"})


class Source:
    """Draws with `make(random)` of a module."""

    @property
    def errors(self):
        import tensorflow as tf
        return tf.errors.OpError

    def draw(self, random):
        try:
            return self.make(random)
        except (ValueError, IndexError, OverflowError, TypeError, ZeroDivisionError, KeyError,
                AttributeError, self.errors) as error:
            raise cases.Reject(str(error)[:120])

    @staticmethod
    def ask(oracle, case):
        targets = getattr(case, "targets", None) or [[]] * len(case.feeds)
        asked = getattr(case, "asked", case.model)  # where weir differentiates, TensorFlow's nodes
        answer = oracle.ask((asked.SerializeToString(),
                             list(zip(case.feeds, case.fetches, targets))))
        if answer[0] == "results":
            case.results, case.oracle = answer[1], answer[2]
            case.fetches = getattr(case, "written", case.fetches)
        return answer


class Singles(Source):
    def __init__(self, given):
        import tf_single
        self.module = tf_single
        operations = [tf_single.usable(name) for name in imported(given.weir)
                      if re.search(given.only, name)]
        self.operations = [op for op in operations if op is not None]
        if not self.operations:
            raise SystemExit("--only=%s: no operation of that name stands alone" % given.only)

    def make(self, random):
        return self.module.make(random, self.operations[int(random.integers(len(self.operations)))])


def source(given):
    if given.kind == "single":
        return Singles(given)
    if given.kind == "graph":
        from tf_graphs import Graphs
        return Graphs(given)
    if given.kind == "gradient":
        from tf_graphs import Gradients
        return Gradients(given)
    from tf_scripts import Scripts
    return Scripts(given)
