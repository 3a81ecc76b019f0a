#!/usr/bin/env python3
#===- images.py - Images a second of an input pipeline ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Times records of JPEG images, decoded, cut, turned round, resized and put into batches.

usage: images.py WEIR_RUN FOLDER [--threads=2] [--rounds=5]     (in a Python with TensorFlow)

The same graph, in turn, in weir and in TensorFlow with as many threads.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
BATCH, BATCHES = 32, 40


def option(name, otherwise):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), otherwise)


def write_records(path):
    rng = np.random.default_rng(4)
    with tf.io.TFRecordWriter(path) as out:
        for i in range(128):
            coarse = rng.integers(0, 256, [12, 16, 3]).astype(np.float32)
            image = tf.cast(tf.image.resize(coarse, [240, 320]), tf.uint8)
            text = tf.io.encode_jpeg(image, quality=90).numpy()
            out.write(tf.train.Example(features=tf.train.Features(feature={
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[text])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 10])),
            })).SerializeToString())


def parse(record):
    example = tf.io.parse_single_example(record, {
        "image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)})
    image = tf.io.decode_jpeg(example["image"], channels=3)
    image = tf.image.resize(tf.cast(image[8:232, 48:272], tf.float32), [128, 128])
    image = tf.cond(tf.equal(example["label"] % 2, 0), lambda: image, lambda: image[:, ::-1])
    return tf.ensure_shape((image - 127.5) / 64.0, [128, 128, 3]), example["label"]


def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def weir(tool, folder, threads, batches):
    """Seconds of processors, and of the clock a batch."""
    before = used(resource.RUSAGE_CHILDREN)
    done = subprocess.run([tool, os.path.join(folder, "images.pb"), "--fetch=mean",
                           "--fetch=labels", f"--threads={threads}", f"--repeat={batches}",
                           "--warm-up=3", "--latencies"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return (used(resource.RUSAGE_CHILDREN) - before,
            float(re.search(r"mean=([0-9.]+)", done.stdout)[1]) / 1e3)


def tensorflow(graph, fetches, threads):
    """Seconds of processors an image, and images a second."""
    config = v1.ConfigProto(intra_op_parallelism_threads=threads,
                            inter_op_parallelism_threads=threads)
    with v1.Session(graph=graph, config=config) as session:
        for _ in range(3):
            session.run(fetches)
        before, start = used(resource.RUSAGE_SELF), time.perf_counter()
        for _ in range(BATCHES):
            session.run(fetches)
        took = time.perf_counter() - start
    images = BATCH * BATCHES
    return (used(resource.RUSAGE_SELF) - before) / images, images / took


def main():
    tool, folder = [a for a in sys.argv[1:] if not a.startswith("--")]
    tool = shutil.which(tool) or os.path.abspath(tool)
    threads, rounds = int(option("threads", "2")), int(option("rounds", "5"))
    os.makedirs(folder, exist_ok=True)
    records = os.path.abspath(os.path.join(folder, "images.tfrecord"))
    write_records(records)
    graph = tf.Graph()
    with graph.as_default():
        dataset = tf.data.TFRecordDataset(records).repeat().map(
            parse, num_parallel_calls=threads).batch(BATCH, drop_remainder=True).prefetch(2)
        images, labels = v1.data.make_one_shot_iterator(dataset).get_next()
        mean = tf.reduce_mean(images, name="mean")
        labels = tf.identity(labels, name="labels")
    with open(os.path.join(folder, "images.pb"), "wb") as out:
        out.write(graph.as_graph_def().SerializeToString())
    figures = []
    for _ in range(rounds):
        long, wall = weir(tool, folder, threads, BATCHES + 5)
        short, _ = weir(tool, folder, threads, 5)
        cpu, theirs = tensorflow(graph, (mean, labels), threads)
        figures.append(((long - short) / (BATCH * BATCHES), cpu, BATCH / wall, theirs))
    mine, cpu, rate, theirs = (float(np.median(column)) for column in zip(*figures))
    walls = sorted(f[2] / f[3] for f in figures)
    print(f"processor time an image: weir {1e3 * mine:.3f} ms, TensorFlow {1e3 * cpu:.3f} ms, share of "
          f"TensorFlow's rate {cpu / mine:.2f}\nimages a second: weir {rate:.0f}, TensorFlow "
          f"{theirs:.0f}; pairs {walls[0]:.2f} to {walls[-1]:.2f}, in the middle "
          f"{walls[len(walls) // 2]:.2f}")


main()
