#===- tf_oracle.py - What TensorFlow says -------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs a GraphDef in one session: each run's fetches, or the code of its error."""
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

CODES = {v: k for k, v in tf.errors.__dict__.items() if isinstance(v, int)}


def configuration():
    config = config_pb2.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    options = config.graph_options
    options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    options.rewrite_options.disable_meta_optimizer = True
    options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    return config


def unoptimized(definition):
    """The graph, whose functions are not rewritten either: a call says so for itself."""
    for nodes in [definition.node] + [f.node_def for f in definition.library.function]:
        for node in nodes:
            if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
                node.attr["config_proto"].s = configuration().SerializeToString()
    return definition


def gradients(text, y, xs, order):
    """The graph with TensorFlow's gradient nodes, and the gradients' names."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_pb2.GraphDef.FromString(text), name="")
        value = graph.get_tensor_by_name(y)
        operands = [graph.get_tensor_by_name(x) for x in xs]
        for _ in range(order):
            found = tf.gradients(value, operands)
            found = [tf.convert_to_tensor(g) if g is not None else None for g in found]
            value = [g for g in found if g is not None]
            if not value:
                return "refused", "no gradient"
        return "gradients", graph.as_graph_def().SerializeToString(), \
            [g.name if g is not None else None for g in found]


def as_array(value):
    """Strings as objects: NumPy's own drop zeros at their ends."""
    return np.array(value, dtype=object) if isinstance(value, bytes) else np.asarray(value)


def answer(request):
    if request[0] == "gradients":
        return gradients(*request[1:])
    text, runs = request
    definition = unoptimized(graph_pb2.GraphDef.FromString(text))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    results, refusals = [], []
    with tf.compat.v1.Session(graph=graph, config=configuration()) as session:
        for feeds, fetches, targets in runs:
            try:
                wanted = [graph.get_tensor_by_name(f) for f in fetches]
                steps = [graph.get_operation_by_name(t) for t in targets]
                got, _ = session.run([wanted, steps], feeds)
                results.append([as_array(g) for g in got])
            except tf.errors.OpError as error:
                results.append(("error", CODES.get(error.error_code, "INTERNAL")))
                refusals.append(str(error.message)[:200])
    if len(refusals) == len(runs):
        return "refused", refusals[0], results
    return "results", results, "tensorflow"
