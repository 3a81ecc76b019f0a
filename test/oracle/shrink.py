#===- shrink.py - Makes a wrong case small, and keeps it ----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Tries smaller forms of a case, each of which the oracle has to answer, and takes the
first that weir still gets wrong in the same way: fewer nodes, smaller sizes, simpler
values. One round asks weir for all of them in one batch."""
import copy
import os
import re
import shutil

import numpy as np

import cases

ROUNDS = 10


def copied(case):
    small = copy.copy(case)
    small.model = type(case.model)()
    small.model.CopyFrom(case.model)
    small.feeds = dict(case.feeds) if case.suite == "onnx" else [dict(f) for f in case.feeds]
    if case.fetches:
        small.fetches = [list(f) for f in case.fetches]
    return small


def arrays(case):
    """Pairs (where, name) of all that is fed."""
    if case.suite == "onnx":
        return [(case.feeds, name) for name in case.feeds]
    return [(run, edge) for run in case.feeds for edge in run]


# Values ---------------------------------------------------------------------------

def simpler_values(case):
    for index in range(len(arrays(case))):
        value = arrays(case)[index]
        old = value[0][value[1]]
        if old.dtype == object or not old.size:
            continue
        for made in (np.zeros_like(old), np.ones_like(old),
                     np.where(np.arange(old.size).reshape(old.shape) < old.size // 2, old,
                              np.zeros_like(old))):
            with np.errstate(all="ignore"):
                if made.tobytes() == old.tobytes():
                    continue
            small = copied(case)
            where, name = arrays(small)[index]
            where[name] = made.astype(old.dtype)
            yield small


# Sizes ----------------------------------------------------------------------------

def cut(value, size, to):
    for axis, d in enumerate(value.shape):
        if d == size:
            value = np.take(value, range(to), axis=axis)
    return value


def smaller_sizes(case):
    """Every axis of one size at once, in feeds, constants and declared shapes."""
    sizes = {d for where, name in arrays(case) for d in where[name].shape if d > 1}
    for size in sorted(sizes, reverse=True):
        for to in sorted({1, 2, size // 2, size - 1} - {0}):
            if to >= size:
                continue
            small = copied(case)
            for where, name in arrays(small):
                where[name] = cut(where[name], size, to)
            (cut_onnx if case.suite == "onnx" else cut_tf)(small.model, size, to)
            yield small


def cut_onnx(model, size, to):
    import onnx_single
    from onnx import numpy_helper
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_value == size:
                dim.dim_value = to
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        if size in value.shape and value.dtype != object:
            tensor.CopyFrom(onnx_single.tensor_of(cut(value, size, to), tensor.name))


def cut_tf(definition, size, to):
    import tensorflow as tf
    for node in definition.node:
        if node.op == "Placeholder":
            for dim in node.attr["shape"].shape.dim:
                if dim.size == size:
                    dim.size = to
        elif node.op == "Const":
            tensor = node.attr["value"].tensor
            if size in [d.size for d in tensor.tensor_shape.dim]:
                value = cut(tf.make_ndarray(tensor), size, to)
                tensor.CopyFrom(tf.make_tensor_proto(value, tensor.dtype, value.shape))


# Nodes ----------------------------------------------------------------------------

def fewer_nodes(case):
    """What an inner node computes becomes the result, and what no result needs goes."""
    if case.suite == "onnx":
        yield from fewer_onnx(case)
    elif not case.model.library.function and len(case.fetches) == 1:
        yield from fewer_tf(case)


def fewer_onnx(case):
    nodes = case.model.graph.node
    if len(nodes) < 2 or any(n.op_type in ("If", "Loop") for n in nodes):
        return
    for node in nodes[:-1]:
        small = copied(case)
        graph = small.model.graph
        del graph.output[:]
        graph.output.add(name=node.output[0])
        needed, kept = {node.output[0]}, []
        for n in reversed(graph.node):
            if needed & set(n.output):
                needed |= set(n.input)
                kept.insert(0, copy.deepcopy(n))
        del graph.node[:]
        graph.node.extend(kept)
        for field in (graph.input, graph.initializer):
            left = [copy.deepcopy(i) for i in field if i.name in needed]
            del field[:]
            field.extend(left)
        small.feeds = {k: v for k, v in small.feeds.items() if k in needed}
        small.dtypes = [None]
        yield small


def fewer_tf(case):
    if getattr(case, "asked", None) is not None:
        return
    fetches = case.fetches[0]
    options = [[f] for f in fetches] if len(fetches) > 1 else []
    options += [[n.name + ":0"] for n in case.model.node
                if n.op not in ("Const", "Placeholder", "NoOp")]
    for option in options:
        small = copied(case)
        needed = {option[0].split(":")[0]}
        for node in reversed(small.model.node):
            if node.name in needed:
                needed |= {i.lstrip("^").split(":")[0] for i in node.input}
        left = [copy.deepcopy(n) for n in small.model.node if n.name in needed]
        if len(left) == len(case.model.node) and option == fetches:
            continue
        del small.model.node[:]
        small.model.node.extend(left)
        small.feeds = [{k: v for k, v in small.feeds[0].items() if k.split(":")[0] in needed}]
        small.fetches = [option]
        yield small


# ----------------------------------------------------------------------------------

def shrink(case, kind, source, oracle, weir, classify):
    for _ in range(ROUNDS):
        answered = []
        for step in (fewer_nodes, smaller_sizes, simpler_values):
            for small in step(case):
                try:
                    if source.ask(oracle, small)[0] == "results":
                        answered.append(small)
                except (KeyError, ValueError, TypeError):
                    continue
                if len(answered) >= 40:
                    break
        for small, (outcome, reason) in zip(answered, weir.judge(answered)):
            if classify(small, outcome, reason) == kind:
                case = small
                break
        else:
            return case
    return case


def keep(given, source, oracle, weir, found, classify):
    """Folders under --keep, one for each operation and kind of fault."""
    seen = set()
    for case, kind, _ in found:
        name = re.sub(r"[^A-Za-z0-9]+", "-", case.operation)[:60].strip("-").lower()
        if (name, kind) in seen or len(seen) > 60:
            continue
        seen.add((name, kind))
        if not given.no_shrink:
            case = shrink(case, kind, source, oracle, weir, classify)
        folder = os.path.join(given.keep, case.suite, "%s-%s" % (name, kind))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        cases.write(case, folder)
        print("kept %s: %s" % (folder, cases.describe(case)), flush=True)
