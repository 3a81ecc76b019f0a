#!/usr/bin/env python3
#===- summaries_test.py - Event files that TensorFlow reads -----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compares event files with TensorFlow's own.

usage: summaries_test.py WEIR_RUN FOLDER MODEL DATA     (in a Python that has TensorFlow)

A graph with summary operations runs in TensorFlow and in weir-run: but for their times the
events are the same. MODEL (the digits network) trains with --summary: scalars of each step
and histograms of the variables are there.
"""
import glob
import os
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1, raw = tf.compat.v1, tf.raw_ops
run_tool = shutil.which(sys.argv[1]) or os.path.abspath(sys.argv[1])
folder, model, data = sys.argv[2:5]


def events(where):
    found = []
    for path in sorted(glob.glob(where + "/events.out.tfevents.*")):
        for event in v1.train.summary_iterator(path):
            event.wall_time = 0
            # Of who wrote the file nothing is compared.
            event.ClearField("source_metadata")
            found.append(event)
    return found


def build(where):
    graph = tf.Graph()
    with graph.as_default():
        writer = raw.SummaryWriter(shared_name="writer", container="")
        step = tf.constant(7, tf.int64)
        values = tf.constant(np.linspace(-3, 5, 50).astype(np.float32))
        made = raw.CreateSummaryFileWriter(
            writer=writer, logdir=where, max_queue=10, flush_millis=1000, filename_suffix=".x")
        with tf.control_dependencies([made]):
            last = raw.WriteScalarSummary(writer=writer, step=step, tag="scalar", value=2.5)
        with tf.control_dependencies([last]):
            last = raw.WriteHistogramSummary(writer=writer, step=step, tag="spread", values=values)
        merged = raw.MergeSummary(inputs=[raw.ScalarSummary(tags="a", values=1.5),
                                          raw.HistogramSummary(tag="b", values=values)])
        with tf.control_dependencies([last]):
            last = raw.WriteRawProtoSummary(writer=writer, step=step + 1, tensor=merged)
        metadata = v1.SummaryMetadata(display_name="matrix").SerializeToString()
        with tf.control_dependencies([last]):
            last = raw.WriteSummary(writer=writer, step=step, tensor=tf.reshape(values, [5, 10]),
                                    tag="tensor", summary_metadata=metadata)
        with tf.control_dependencies([last]):
            last = raw.FlushSummaryWriter(writer=writer)
        with tf.control_dependencies([last]):
            raw.CloseSummaryWriter(writer=writer, name="all")
    return graph


def graph_operations():
    theirs, ours = f"{folder}/theirs", f"{folder}/ours"
    graph = build(theirs)
    with v1.Session(graph=graph) as session:
        session.run(graph.get_operation_by_name("all"))
    with open(f"{folder}/graph.pb", "wb") as file:
        file.write(build(ours).as_graph_def().SerializeToString())
    subprocess.run([run_tool, f"{folder}/graph.pb", "--entry=main", "--fetch=^all"], check=True)
    wanted, got = events(theirs), events(ours)
    if len(wanted) != len(got):
        sys.exit(f"found {len(got)} events, TensorFlow writes {len(wanted)}")
    for mine, other in zip(got, wanted):
        # Tensors may be stored as bytes or as numbers.
        for event in (mine, other):
            for value in event.summary.value:
                if value.HasField("tensor"):
                    value.tensor.CopyFrom(tf.make_tensor_proto(tf.make_ndarray(value.tensor)))
        if mine != other:
            sys.exit(f"found event {mine}TensorFlow writes {other}")
    print(f"operations: {len(got)} events as TensorFlow's")


def tool():
    images = np.fromfile(data + "/training.u8", np.uint8).reshape(-1, 1, 8, 8)
    labels = np.fromfile(data + "/training_labels.u8", np.uint8).astype(np.int64)
    np.savez(folder + "/data.npz", image=images.astype(np.float32) / 16, labels=labels)
    done = subprocess.run(
        [run_tool, model, "--train=cross_entropy:logits,labels", "--optimizer=adam", "--steps=20",
         "--batch=48", "--shuffle=1", f"--input={folder}/data.npz", f"--summary={folder}/tool"],
        capture_output=True, text=True, check=True)
    losses, histograms = [], {}
    for event in events(folder + "/tool"):
        for value in event.summary.value:
            if value.tag == "loss":
                losses.append((event.step, value.simple_value))
            if value.HasField("histo"):
                histograms.setdefault(value.tag, []).append((event.step, value.histo))
    steps, spread = zip(*histograms["dense/weights"])
    if [s for s, _ in losses] != list(range(1, 21)) or list(steps) != list(range(2, 21, 2)):
        sys.exit(f"found losses {losses}, histograms of steps {steps}")
    if any(h.num != 2560 or sum(h.bucket) != 2560 for h in spread):
        sys.exit("found histograms that do not count 2560 weights")
    lines = [line for line in done.stderr.splitlines() if line.startswith("step ")]
    if len(lines) != 10 or not lines[-1].startswith("step 20 of 20: ") or "left" not in lines[0]:
        sys.exit(f"found progress {lines}")
    print(f"tool: {len(losses)} losses, histograms of {len(histograms)} variables")


if __name__ == "__main__":
    graph_operations()
    tool()
