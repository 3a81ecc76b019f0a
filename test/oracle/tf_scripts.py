#===- tf_scripts.py - Operations with state, over several runs ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Every operation that changes a variable, of references and of resources: set, changed
two to four times by what is fed, read each time. Queues and tables: what goes in, in what
order, and comes out again."""
import re

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.python.framework import op_def_registry

import cases
import tf_single
import tf_source
import values

CHANGES = re.compile(r"(Resource)?(Sparse)?Apply|(Resource)?Scatter(Nd)?(Add|Sub|Mul|Div|Min|Max|Update)$"
                     r"|Assign(Add|Sub)?(VariableOp)?$|(Resource)?StridedSliceAssign|(Resource)?CountUpTo"
                     r"|ResourceGather")
# Hyperparameters: what training gives them.
SCALARS = {"lr": 0.1, "rho": 0.9, "momentum": 0.9, "epsilon": 1e-3, "beta1": 0.9, "beta2": 0.99,
           "beta1_power": 0.9, "beta2_power": 0.99, "l1": 0.01, "l2": 0.02, "l2_shrinkage": 0.01,
           "lr_power": -0.5, "alpha": 0.1, "beta": 0.9, "sign_decay": 0.8, "logbase": 1.0}
FLOATS = [np.dtype(t) for t in ("float32", "float32", "float64", "float16")]


class Scripts(tf_source.Source):
    def __init__(self, given):
        names = [n for n in tf_source.imported(given.weir) if CHANGES.match(n)]
        self.operations = [op_def_registry.get(n) for n in names if re.search(given.only, n)]
        self.operations = [o for o in self.operations if o is not None and any(
            a.type == types_pb2.DT_RESOURCE or a.is_ref for a in o.input_arg)]
        self.extra = [m for n, m in (("Queue", queue), ("Table", table)) if re.search(given.only, n)]

    def make(self, random):
        if self.extra and (not self.operations or random.random() < 0.15):
            return values.pick(random, self.extra)(random)
        return change(random, values.pick(random, self.operations))


class Graph:
    def __init__(self):
        self.definition = graph_pb2.GraphDef()
        self.definition.versions.producer = 2474

    def node(self, name, op, inputs=(), **attributes):
        node = self.definition.node.add(name=name, op=op, input=list(inputs))
        for key, value in attributes.items():
            tf_single.proto_of(value, node.attr[key])
        return node

    def constant(self, name, value):
        tf_single.add_constant(self.definition, name, value)
        return name

    def feed(self, name, value, opened):
        shape = [None] * value.ndim if opened else value.shape
        tf_single.add_placeholder(self.definition, name, value.dtype, shape)
        return name + ":0"

    def variable(self, name, value, resource):
        """Names of its handle, of the node that sets it, and of its value."""
        dtype, shape = tf.as_dtype(value.dtype), tf.TensorShape(value.shape)
        self.constant(name + "_first", value)
        if resource:
            self.node(name, "VarHandleOp", dtype=dtype, shape=shape, shared_name=name.encode())
            self.node(name + "_set", "AssignVariableOp", [name, name + "_first"], dtype=dtype)
            self.node(name + "_read", "ReadVariableOp", [name], dtype=dtype)
        else:
            self.node(name, "VariableV2", dtype=dtype, shape=shape)
            self.node(name + "_set", "Assign", [name, name + "_first"], T=dtype)
            self.node(name + "_read", "Identity", [name], T=dtype)
        return name, name + "_set", name + "_read:0"


def is_state(arg):
    return arg.is_ref or arg.type == types_pb2.DT_RESOURCE


def change(random, op):
    graph, resource = Graph(), op.name.startswith("Resource") or op.name.endswith("VariableOp")
    counts = "CountUpTo" in op.name
    numeric = "Apply" in op.name or "Strided" in op.name
    dtype = values.pick(random, FLOATS)
    if counts:
        dtype = np.dtype(str(random.choice(["int32", "int64"])))
    elif not numeric and random.random() < 0.4:
        dtype = np.dtype(str(random.choice(["int32", "int64", "float32"])))
    shape = values.shape(random, empty=False, limit=3000)
    if counts:
        shape = []
    if not shape and re.search("Scatter|Sparse|Gather|Strided", op.name):
        shape = [values.size(random, empty=False)]
    states = [a.name for a in op.input_arg if is_state(a)]
    inputs, sets, reads, feeds = [], [], [], [{} for _ in range(int(random.integers(2, 5)))]
    integer = np.dtype(str(random.choice(["int32", "int64"])))
    opened = random.random() < 0.4
    taken = int(random.integers(1, min(shape[0], 6) + 1)) if shape else 1
    attributes = {}
    for a in op.attr:
        if a.type == "type":
            attributes[a.name] = tf.as_dtype(integer if a.name in ("Tindices", "Index") else dtype)
        elif a.type == "bool" and a.name not in ("validate_shape", "validate_indices"):
            attributes[a.name] = bool(random.random() < 0.5)
        elif a.name == "limit":
            attributes["limit"] = int(random.integers(1, 4))
    nd = "Nd" in op.name

    def value_of(arg):
        if arg in ("indices",):
            rows = random.permutation(shape[0])[:taken] if nd or "Update" in op.name or \
                "Apply" in op.name else random.integers(0, shape[0], taken)
            return rows.astype(integer).reshape([taken, 1] if nd else [taken])
        if arg in ("updates",) or arg == "grad" and "Sparse" in op.name:
            updates = values.elements(random, dtype, [taken] + shape[1:], "plain")
            # Vectors of TensorFlow's divide integers by 0, and what follows them ends its process.
            if "Div" in op.name and dtype.kind in "iu":
                updates[updates == 0] = 1
            return updates
        if arg in ("begin", "end", "strides"):
            filled = {"begin": 0, "end": None, "strides": 1}[arg]
            return np.array([filled if filled is not None else d for d in shape], integer)
        if arg == "global_step":
            return np.array(3, np.int64)
        if arg in SCALARS and arg != "momentum" or arg == "momentum":
            return np.array(SCALARS[arg] * float(random.choice([1, 0.5, 0.3])), dtype)
        return values.elements(random, dtype, shape, "even" if random.random() < 0.3 else "plain")
    for arg in op.input_arg:
        if is_state(arg):
            first = values.elements(random, dtype, shape, "plain")
            if arg.name not in ("var", "ref", "resource"):  # slots are not negative
                first = np.abs(first)
            if counts:
                first = np.zeros(shape, dtype)
            handle, setter, read = graph.variable(arg.name, first, resource)
            inputs.append(handle)
            sets.append(setter)
            reads.append(read)
            continue
        value = value_of(arg.name)
        name = "x_" + arg.name
        if arg.name in ("begin", "end", "strides", "global_step") or random.random() < 0.3:
            graph.constant(name, value)
        else:
            edge = graph.feed(name, value, opened)
            for run in feeds:
                run[edge] = value_of(arg.name)
        inputs.append(name)
    graph.node("change", op.name, inputs, **attributes)
    returns = bool(op.output_arg)
    case = cases.Case("tf", op.name, graph.definition, [{}], (
        dtype.name, "%d runs" % len(feeds), "open" if opened else "fixed"), length=taken)
    case.fetches, case.targets = [[]], [sets]
    for run in feeds:
        if returns and (counts or "Gather" in op.name):
            case.feeds.append(run)
            case.fetches.append(["change:0"])
            case.targets.append([])
        else:
            case.feeds.append(run)
            case.fetches.append([])
            case.targets.append(["change"])
        case.feeds.append({})
        case.fetches.append(list(reads))
        case.targets.append([])
    case.least = 64
    if not states:
        raise cases.Reject("no state")
    return case


def queue(random):
    """What is put in comes out in the queue's order; sizes between."""
    graph = Graph()
    kind = str(random.choice(["FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2"]))
    dtype = np.dtype(str(random.choice(["float32", "int32", "int64", "object"])))
    shape = values.shape(random, rank=int(random.integers(0, 3)), empty=False, limit=60)
    enum = tf.as_dtype(tf_single.enum_of(dtype))
    node = graph.node("queue", kind, capacity=20)
    priority = kind.startswith("Priority")
    listed = node.attr["component_types"].list
    listed.type.append(tf_single.enum_of(dtype))
    listed = node.attr["shapes"].list
    listed.SetInParent()
    listed.shape.add().CopyFrom(tf.TensorShape(shape).as_proto())
    count = int(random.integers(2, 5))
    one = values.elements(random, dtype, shape)
    edge = graph.feed("x", one, False)
    types = [enum]
    inputs = ["queue", "x"]
    feeds = [{edge: values.elements(random, dtype, shape)} for _ in range(count)]
    if priority:
        rank = graph.feed("p", np.array(0, np.int64), False)
        inputs.insert(1, "p")
        types.insert(0, tf.int64)
        for run, p in zip(feeds, random.permutation(count)):
            run[rank] = np.array(p, np.int64)
    put = graph.node("put", "QueueEnqueueV2", inputs)
    take = graph.node("take", "QueueDequeueV2", ["queue"])
    for t in types:
        put.attr["Tcomponents"].list.type.append(t.as_datatype_enum)
        take.attr["component_types"].list.type.append(t.as_datatype_enum)
    graph.node("size", "QueueSizeV2", ["queue"])
    case = cases.Case("tf", kind, graph.definition, feeds, (
        "string" if dtype == object else dtype.name, "%d runs" % count, "fixed"))
    case.fetches = [[] for _ in feeds]
    case.targets = [["put"] for _ in feeds]
    for i in range(count):
        case.feeds += [{}, {}]
        case.fetches += [["size:0"], ["take:%d" % (len(types) - 1)]]
        case.targets += [[], []]
    return case


def table(random):
    """A mutable table, filled by one run, overwritten by the next, and looked up."""
    graph = Graph()
    key = np.dtype(str(random.choice(["int64", "object"])))
    value = np.dtype(str(random.choice(["int64", "float32", "object"])))
    if key == object and value == object:
        value = np.dtype("int64")
    kt, vt = (tf.as_dtype(tf_single.enum_of(t)) for t in (key, value))
    graph.node("table", "MutableHashTableV2", key_dtype=kt, value_dtype=vt)
    count = int(random.integers(1, 9))

    def keys():
        return values.elements(random, key, [count])
    k, v = keys(), values.elements(random, value, [count])
    edges = [graph.feed("k", k, True), graph.feed("v", v, True)]
    graph.constant("other", values.elements(random, value, []))
    graph.node("insert", "LookupTableInsertV2", ["table", "k", "v"], Tin=kt, Tout=vt)
    graph.node("find", "LookupTableFindV2", ["table", "k", "other"], Tin=kt, Tout=vt)
    graph.node("size", "LookupTableSizeV2", ["table"])
    case = cases.Case("tf", "MutableHashTableV2", graph.definition, [], (
        "string" if key == object else key.name, "runs", "open"))
    case.fetches, case.targets = [], []
    for _ in range(int(random.integers(1, 4))):
        case.feeds += [{edges[0]: keys(), edges[1]: values.elements(random, value, [count])},
                       {edges[0]: keys()}, {}]
        case.fetches += [[], ["find:0"], ["size:0"]]
        case.targets += [["insert"], [], []]
    return case
