#===- tf_control.py - A graph inside of functions, branches and loops ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Wraps the nodes of a drawn graph: what was fed becomes what a function captures."""
import numpy as np
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import op_def_registry

import cases
import tf_single
import values


def wrap(form, drawing, fetches):
    """(GraphDef, feeds, fetches)"""
    if form == "plain":
        return drawing.definition, dict(drawing.feeds), fetches
    if form == "switch":
        return switched(drawing, fetches)
    definition = graph_pb2.GraphDef()
    definition.versions.producer = drawing.definition.versions.producer
    feeds = dict(drawing.feeds)
    for node in drawing.definition.node:
        if node.op == "Placeholder":
            definition.node.append(node)
    body = function(definition, "body", drawing, fetches)
    inputs = [e[:-2] for e in drawing.feeds]
    types = [tf_single.enum_of(drawing.known[f].dtype) for f in fetches]
    if form == "call":
        call = definition.node.add(name="call", op="PartitionedCall", input=inputs)
        fill(call, drawing, types, {"f": body})
        return definition, feeds, ["call:%d" % i for i in range(len(fetches))]
    if form == "if":
        zeros = other(definition, drawing, fetches)
        condition = condition_value(drawing.random)
        tf_single.add_placeholder(definition, "cond", condition.dtype, condition.shape)
        feeds["cond:0"] = condition
        branch = definition.node.add(name="if", op=str(drawing.random.choice(["If", "StatelessIf"])),
                                     input=["cond"] + inputs)
        fill(branch, drawing, types, {"then_branch": body, "else_branch": zeros})
        branch.attr["Tcond"].type = tf_single.enum_of(condition.dtype)
        return definition, feeds, ["if:%d" % i for i in range(len(fetches))]
    return loop(definition, drawing, fetches, inputs, feeds)


def condition_value(random):
    """TensorFlow takes any type: numbers are true that are not 0, other shapes than scalars
    where they have elements."""
    dtype = np.dtype(str(random.choice(["bool", "bool", "int32", "float32", "int64", "float64"])))
    shape = [] if random.random() < 0.7 else values.shape(random, limit=100)
    kind = "even"
    return values.elements(random, dtype, shape, kind)


def fill(node, drawing, types, functions):
    node.attr["Tin"].list.SetInParent()
    for value in drawing.feeds.values():
        node.attr["Tin"].list.type.append(tf_single.enum_of(value.dtype))
    node.attr["Tout"].list.SetInParent()
    node.attr["Tout"].list.type.extend(types)
    for attr, name in functions.items():
        node.attr[attr].func.name = name


def output_name(op_name, node, index):
    """In functions a result is named node:argument:number."""
    op = op_def_registry.get(op_name)
    for out in op.output_arg:
        count = node.attr[out.number_attr].i if out.number_attr else 1
        if index < count:
            return "%s:%s:%d" % (node.name, out.name, index)
        index -= count
    raise cases.Reject("output")


def function(definition, name, drawing, fetches):
    made = definition.library.function.add()
    made.signature.name = name
    nodes = {n.name: n for n in drawing.definition.node}
    placeholders = set()
    for edge, value in drawing.feeds.items():
        made.signature.input_arg.add(name=edge[:-2], type=tf_single.enum_of(value.dtype))
        placeholders.add(edge[:-2])

    def inner(edge):
        node, _, index = edge.partition(":")
        if node in placeholders:
            return node
        return output_name(nodes[node].op, nodes[node], int(index or 0))
    for node in drawing.definition.node:
        if node.name in placeholders:
            continue
        copy = made.node_def.add()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(inner(i) for i in node.input)
    for i, fetch in enumerate(fetches):
        made.signature.output_arg.add(name="r%d" % i,
                                      type=tf_single.enum_of(drawing.known[fetch].dtype))
        made.ret["r%d" % i] = inner(fetch if ":" in fetch else fetch + ":0")
    return name


def other(definition, drawing, fetches):
    made = definition.library.function.add()
    made.signature.name = "zeros"
    for edge, value in drawing.feeds.items():
        made.signature.input_arg.add(name=edge[:-2], type=tf_single.enum_of(value.dtype))
    scratch = graph_pb2.GraphDef()
    for i, fetch in enumerate(fetches):
        value = drawing.known[fetch]
        if value.dtype == object:
            raise cases.Reject("strings")
        tf_single.add_constant(scratch, "z%d" % i, np.zeros_like(value))
        made.signature.output_arg.add(name="r%d" % i, type=tf_single.enum_of(value.dtype))
        made.ret["r%d" % i] = "z%d:output:0" % i
    made.node_def.extend(scratch.node)
    return "zeros"


def loop(definition, drawing, fetches, inputs, feeds):
    """As many turns as are fed of the body, whose first result of the first operand's type
    and shape is carried."""
    edge = next(iter(drawing.feeds), None)
    if edge is None:
        raise cases.Reject("nothing to carry")
    fit = [f for f in fetches if drawing.known[f].shape == drawing.feeds[edge].shape and
           drawing.known[f].dtype == drawing.feeds[edge].dtype]
    if not fit:
        raise cases.Reject("nothing to carry")
    if drawing.known[fit[0]].dtype.kind == "c" and any(
            tf_single.PRODUCTS.search(node.op) for node in drawing.definition.node):
        raise cases.Reject("infinite factors of complex numbers, maybe, of a later turn")
    made = next(f for f in definition.library.function if f.signature.name == "body")
    carried = made.ret["r%d" % fetches.index(fit[0])]
    for out in list(made.ret):
        del made.ret[out]
    del made.signature.output_arg[:]
    first = made.signature.input_arg.add(name="turn", type=3)
    arguments = [a for a in made.signature.input_arg]
    for i, argument in enumerate(arguments):
        made.signature.output_arg.add(name="r%d" % i, type=argument.type)
        made.ret["r%d" % i] = argument.name
    made.ret["r0"] = carried
    made.ret["r%d" % (len(arguments) - 1)] = "more:z:0"
    scratch = graph_pb2.GraphDef()
    tf_single.add_constant(scratch, "one", np.array(1, np.int32))
    made.node_def.extend(scratch.node)
    more = made.node_def.add(name="more", op="AddV2", input=["turn", "one:output:0"])
    more.attr["T"].type = 3
    condition = definition.library.function.add()
    condition.signature.name = "cond"
    for argument in arguments:
        condition.signature.input_arg.add(name=argument.name, type=argument.type)
    scratch = graph_pb2.GraphDef()
    tf_single.add_constant(scratch, "most", np.array(int(drawing.random.integers(0, 4)), np.int32))
    condition.node_def.extend(scratch.node)
    less = condition.node_def.add(name="less", op="Less", input=["turn", "most:output:0"])
    less.attr["T"].type = 3
    condition.signature.output_arg.add(name="go", type=10)
    condition.ret["go"] = "less:z:0"
    del first
    tf_single.add_constant(definition, "begin", np.array(0, np.int32))
    node = definition.node.add(name="while", op=str(drawing.random.choice(["While", "StatelessWhile"])),
                               input=inputs + ["begin"])
    node.attr["T"].list.type.extend(a.type for a in arguments)
    node.attr["cond"].func.name = "cond"
    node.attr["body"].func.name = "body"
    return definition, feeds, ["while:0", "while:%d" % (len(arguments) - 1)]


def switched(drawing, fetches):
    """Switch and Merge around all: on the other side the operand itself where it fits."""
    definition = graph_pb2.GraphDef()
    definition.CopyFrom(drawing.definition)
    feeds = dict(drawing.feeds)
    feeds["pred:0"] = np.array(drawing.random.random() < 0.7)
    tf_single.add_placeholder(definition, "pred", np.dtype(bool), [])
    edge = next(iter(feeds))
    value = drawing.feeds[edge]
    for node in definition.node:
        for i, name in enumerate(node.input):
            if name == edge[:-2]:
                node.input[i] = "switch:1"
    node = definition.node.add(name="switch", op="Switch", input=[edge[:-2], "pred"])
    node.attr["T"].type = tf_single.enum_of(value.dtype)
    behind = {"switch"}  # nodes are in an order that runs
    for node in definition.node:
        if any(i.split(":")[0] in behind for i in node.input):
            behind.add(node.name)
    fit = [f for f in fetches if drawing.known[f].dtype == value.dtype and
           f.split(":")[0] in behind]
    if not fit:
        raise cases.Reject("nothing to merge")
    merge = definition.node.add(name="merge", op="Merge", input=["switch", fit[0]])
    merge.attr["T"].type = tf_single.enum_of(value.dtype)
    merge.attr["N"].i = 2
    return definition, feeds, ["merge:0", "merge:1"]
