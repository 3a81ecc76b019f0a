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

import numpy as np  # noqa: E402

import cases  # noqa: E402
import values  # noqa: E402

# What TensorFlow says where it lacks something, rather than that operands are wrong.
LACKS = re.compile(r"not (yet )?(supported|implemented)|unsupported|only support|No OpKernel"
                   r"|Could not find device|too large|overflow|at most \d+ elements|oneDNN"
                   r"|has constraint on attr|Invalid seed type|kintmax|Axis: -1 Input Dimensions: 0"
                   r"|shape too wide", re.I)

# What they give hangs on the operands by a condition number, or is cut to a small part of them.
DETERMINANT = re.compile("MatrixDeterminant")
# Differences of large terms, and states of many steps.
CANCELLING = re.compile("^(FusedBatchNormGrad|GRUBlockCell|BlockLSTM|LSTMBlockCell)")
SOLVERS = re.compile(r"Solve|Inverse$|^(Batch)?CholeskyGrad$|^AdjustContrast$")


def imported(build):
    listed = subprocess.run([build + "/bin/weirc", "--print-supported-operators"],
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sorted({r[1] for r in rows if r[0] == "tensorflow"})


def error_of(answer):
    """The answer of a case that is to end with an error; what gives results is refused."""
    if answer[0] == "results":
        return "refused", "operands are right"
    if len(answer) < 3 or LACKS.search(answer[1]) or \
            any(r != ("error", "INVALID_ARGUMENT") for r in answer[2]):
        return "refused", answer[1]
    return "results", answer[2], "tensorflow"


def wrong_integer(random, value):
    """A copy, one of whose integers is maybe out of range."""
    value = value.copy()
    info = np.iinfo(value.dtype)
    wrong = [max(-1, info.min), max(-7, info.min), min(1 << 20, info.max), info.min, info.max,
             int(value.max()) + 1 if value.max() < info.max else 0]
    value.reshape(-1)[int(random.integers(value.size))] = wrong[int(random.integers(6))]
    return value


def spoil(random, case):
    """Makes one operand of a case wrong, maybe: an integer out of range, fed or constant, a size
    that does not fit."""
    import tensorflow as tf
    run = case.feeds[0]
    names = [n for n, v in run.items() if v.dtype != object]
    if not names:
        raise cases.Reject("nothing is fed")
    constants = [(n.attr["value"].tensor, tf.make_ndarray(n.attr["value"].tensor))
                 for n in case.model.node if n.op == "Const"]
    constants = [(t, v) for t, v in constants if v.dtype.kind in "iu" and v.size]
    if constants and random.random() < 0.3:
        tensor, value = values.pick(random, constants)
        tensor.CopyFrom(tf.make_tensor_proto(wrong_integer(random, value), shape=value.shape))
        return
    name = values.pick(random, names)
    value = run[name]
    if value.dtype.kind in "iu" and value.size and random.random() < 0.7:
        value = wrong_integer(random, value)
    elif case.cell[2] == "open" and value.ndim:
        axis = int(random.integers(value.ndim))
        more = value.shape[axis] and random.random() < 0.5
        value = np.concatenate([value, np.take(value, [0], axis)], axis) if more else \
            np.delete(value, 0, axis) if value.shape[axis] > 1 else value
    run[name] = value


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

    errors_wanted = False

    def ask(self, oracle, case):
        targets = getattr(case, "targets", None) or [[]] * len(case.feeds)
        asked = getattr(case, "asked", case.model)  # where weir differentiates, TensorFlow's nodes
        answer = oracle.ask((asked.SerializeToString(),
                             list(zip(case.feeds, case.fetches, targets))))
        if self.errors_wanted:
            answer = error_of(answer)
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
        case = self.module.make(random, values.pick(random, self.operations))
        if self.errors_wanted:
            spoil(random, case)
        return case

    def ask(self, oracle, case):
        answer = super().ask(oracle, case)
        if answer[0] == "results" and DETERMINANT.search(case.operation) and any(
                r.dtype.kind == "c" and not values.is_finite(r) for r in map(np.asarray, case.results[0])):
            return "refused", "products of complex numbers that overflow"
        if answer[0] == "results" and type(self) is Singles and CANCELLING.search(case.operation):
            import tf_noise
            tf_noise.measure(oracle, case,
                             lambda random: tf_noise.moved_constants(random, case.model))
        if answer[0] == "results" and type(self) is Singles and SOLVERS.search(case.operation):
            import tf_noise
            if tf_noise.measure(oracle, case,
                                lambda random: tf_noise.moved_constants(random, case.model)):
                return "refused", "matrices that are nearly singular"
        return answer


class Errors(Singles):
    """Operations with operands that TensorFlow refuses."""
    errors_wanted = True


def source(given):
    if given.kind == "single":
        return Singles(given)
    if given.kind == "error":
        return Errors(given)
    if given.kind == "graph":
        from tf_graphs import Graphs
        return Graphs(given)
    if given.kind == "gradient":
        from tf_graphs import Gradients
        return Gradients(given)
    from tf_scripts import Scripts
    return Scripts(given)
