#!/usr/bin/env python3
#===- tensorboard.py - an event file as TensorFlow reads it -----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: tensorboard.py FOLDER"""
import glob
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402
from tensorflow.core.util import event_pb2  # noqa: E402


def main():
    path, = glob.glob(os.path.join(sys.argv[1], "events.out.tfevents.*"))
    scalars, names = {}, set()
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
        event = event_pb2.Event.FromString(record)
        what = event.WhichOneof("what")
        if what == "graph_def":
            graph = tf.compat.v1.GraphDef.FromString(event.graph_def)
            names = {n.name for n in graph.node}
            sources = {i.lstrip("^").split(":")[0] for n in graph.node for i in n.input}
            print("graph:", *(f"{n.name} ({n.op})" for n in graph.node), end="; edges ")
            print("lead to nodes" if sources <= names else f"from nowhere: {sources - names}")
        elif what == "tagged_run_metadata":
            run = config_pb2.RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
            for device in run.step_stats.dev_stats:
                timed = {n.node_name for n in device.node_stats if n.op_end_rel_nanos > 0}
                sized = {n.node_name for n in device.node_stats
                         if n.output and n.memory and n.memory[0].total_bytes
                         == n.output[0].tensor_description.allocation_description.requested_bytes}
                good = all(0 <= n.op_end_rel_micros <= n.all_end_rel_micros for n in device.node_stats)
                print(f"{event.tagged_run_metadata.tag} on {device.device}: times of",
                      *sorted(timed), "are within the run," if good else "make no sense,",
                      "bytes of", *sorted(sized))
        elif what == "summary":
            for value in event.summary.value:
                scalars.setdefault(value.tag, []).append(value.simple_value)
    for tag, numbers in sorted(scalars.items()):
        print(f"{tag}: {len(numbers)} number{'s' * (len(numbers) > 1)} "
              f"{'above' if max(numbers) > 0 else 'not above'} 0")


main()
