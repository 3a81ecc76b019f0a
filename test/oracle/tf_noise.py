#===- tf_noise.py - What of a result is rounding ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Where terms cancel, or a matrix is nearly singular, rounding shows: how much of it there is,
the oracle tells when its operands are moved by an epsilon."""
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2

import cases
import tf_single
import values


def measure(oracle, case, draw):
    """Sets the case's noise, of some draws of the graph with operands that are fed moved, too.
    Whether a result moved by more than rounding can."""
    random, jumped = np.random.default_rng(len(case.name)), False
    case.noise = 0.0
    # Of few elements a draw may move none that counts.
    fed = sum(np.size(v) for run in case.feeds for v in run.values())
    for _ in range(3 if fed > 8 else 8):
        feeds = [{e: nudged(random, v) for e, v in run.items()} for run in case.feeds]
        moved = oracle.ask((draw(random).SerializeToString(),
                            list(zip(feeds, getattr(case, "wanted", case.fetches), [[]]))))
        if moved[0] == "results":
            for first, second in zip(case.results, moved[1]):
                case.noise = max([case.noise] + [noise(a, b) for a, b in zip(first, second)])
                jumped = jumped or any(map(jumps, first, second))
    return jumped


def moved_constants(random, definition):
    """The graph with its constants moved by an epsilon."""
    out = graph_pb2.GraphDef()
    out.CopyFrom(definition)
    for node in out.node:
        if node.op == "Const":
            tensor = node.attr["value"].tensor
            value = tf.make_ndarray(tensor)
            if value.dtype.kind in "fc":
                tensor.CopyFrom(tf.make_tensor_proto(nudged(random, value), tensor.dtype, value.shape))
    return out


def signs(out, name, edge, seed, part):
    """Adds nodes that draw -1 or 1 for each element of `edge`; the name of the last."""
    def add(op, suffix, inputs, **types):
        node = node_def_pb2.NodeDef(name=name + suffix, op=op, input=inputs)
        for attribute, value in types.items():
            node.attr[attribute].type = value
        out.append(node)
        return node.name
    shape = add("Shape", "/shape", [edge], T=part[1], out_type=types_pb2.DT_INT32)
    drawn = add("StatelessRandomUniform", "/drawn", [shape, seed], T=types_pb2.DT_INT32,
                dtype=part[0], Tseed=types_pb2.DT_INT32)
    halves = add("Sub", "/around", [drawn, name + "/half"], T=part[0])
    return add("Sign", "/sign", [halves], T=part[0])


def with_noise(random, definition, largest=None, each=False):
    """The graph with each floating-point result multiplied by 1 and an epsilon, more or less; all
    of its elements alike, or `each` in its own way: what is equal is no longer so. What
    sums up has errors of its largest terms: of those in `largest`, which says how large a
    result's elements are, a twentieth of an epsilon is added."""
    graph, moved, out = tf.Graph(), {}, graph_pb2.GraphDef()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    out.versions.CopyFrom(definition.versions)
    out.library.CopyFrom(definition.library)
    extra = []
    for node in definition.node:
        if node.op in ("Placeholder", "Const", "Identity"):
            continue
        for port, tensor in enumerate(graph.get_operation_by_name(node.name).outputs):
            if not tensor.dtype.is_floating and not tensor.dtype.is_complex:
                continue
            dtype = tensor.dtype.as_numpy_dtype
            name, edge = "%s_moved%d" % (node.name, port), "%s:%d" % (node.name, port)
            step = (1 if random.random() < 0.5 else -1) * values.epsilon(np.dtype(dtype))
            if each:
                real = np.zeros(0, dtype).real.dtype
                part = tf_single.enum_of(real), tensor.dtype.as_datatype_enum
                tf_single.add_constant(out, name + "/half", np.array(0.5, real))
                tf_single.add_constant(out, name + "/step", np.array(step, real))
                tf_single.add_constant(out, name + "/one", np.array(1, real))
                tf_single.add_constant(out, name + "/seed",
                                       random.integers(0, 1 << 30, 2).astype(np.int32))
                sign = signs(extra, name, edge, name + "/seed", part)
                for op, suffix, inputs in (("Mul", "/steps", [sign, name + "/step"]),
                                           ("AddV2", "/real", [name + "/steps", name + "/one"])):
                    extra.append(node_def_pb2.NodeDef(name=name + suffix, op=op, input=inputs))
                    extra[-1].attr["T"].type = part[0]
                extra.append(node_def_pb2.NodeDef(name=name + "/by", op="Cast",
                                                  input=[name + "/real"]))
                extra[-1].attr["SrcT"].type, extra[-1].attr["DstT"].type = part
            else:
                tf_single.add_constant(out, name + "/by", np.array(1 + step, dtype))
            multiply = node_def_pb2.NodeDef(name=name, op="Mul",
                                         input=[edge, name + "/by"])
            multiply.attr["T"].type = tensor.dtype.as_datatype_enum
            extra.append(multiply)
            moved[edge] = name
            if largest and edge in largest and tf_single.SUMS.search(node.op):
                tf_single.add_constant(out, name + "/more",
                                       np.array(0.05 * step * largest[edge], dtype))
                add = node_def_pb2.NodeDef(name=name + "/sum", op="AddV2",
                                           input=[name, name + "/more"])
                add.attr["T"].type = tensor.dtype.as_datatype_enum
                extra.append(add)
                moved[edge] = add.name
    for node in definition.node:
        copy = out.node.add()
        copy.CopyFrom(node)
        for i, edge in enumerate(node.input):
            copy.input[i] = moved.get(edge if ":" in edge else edge + ":0", edge)
    out.node.extend(extra)
    return out


def nudged(random, value):
    """Each element, or the number beside it."""
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return (nudged(random, value.real) + 1j * nudged(random, value.imag)).astype(value.dtype)
    if value.dtype.kind != "f":
        return value
    towards = np.where(random.random(value.shape) < 0.5, -np.inf, np.inf).astype(value.dtype)
    kept = (random.random(value.shape) < 0.3) | (value == 0) | ~np.isfinite(value)
    return np.where(kept, value, np.nextafter(value, towards))


def differences(first, second):
    """Between finite elements, and up to which they can be rounding."""
    if not isinstance(first, np.ndarray) or first.dtype.kind not in "fc" or \
            first.shape != second.shape:
        return np.zeros(0), 0.0
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        apart = np.abs(first.astype(wide) - second.astype(wide))
    limit = np.finfo(first.dtype).eps ** 0.5 * max(1.0, cases.largest(first))
    return apart[np.isfinite(apart)], limit


def noise(first, second):
    """The largest difference that can be rounding."""
    apart, limit = differences(first, second)
    return float(np.max(apart[apart < limit], initial=0))


def jumps(first, second):
    """Whether a difference cannot be rounding."""
    apart, limit = differences(first, second)
    return bool(np.any(apart >= limit))


def decides(first, second):
    """Whether results that are no numbers with a point differ, or places of what is not finite."""
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape:
        return True
    if first.dtype.kind not in "fc":
        return not np.array_equal(first, second)
    return not np.array_equal(np.isfinite(first), np.isfinite(second))
