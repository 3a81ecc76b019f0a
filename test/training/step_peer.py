#!/usr/bin/env python3
#===- step_peer.py - One engine's training step, timed when told to ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""A side process of step_times.py, which starts one for each engine and asks them in turn.

usage: step_peer.py ENGINE NETWORK BATCH THREADS FOLDER

Prints `{"compile": seconds}` when the first step is done. For each line on its input that
holds a number of seconds it runs steps for that long, and prints a line
`{"wall": ms, "cpu": ms, "steps": N, "peak": MiB, "loss": …}`: medians of a step; the peak is
of the whole process, less what it held before the network was made: with the package, and the
batch (weir compiles by a process of its own). `{"error": …}` ends it.
"""
import json
import os
import sys
import time

engine, network, batch, threads, folder = sys.argv[1:6]
batch, threads = int(batch), int(threads)
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="tensorflow",
                  OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
import numpy as np  # noqa: E402

from step_models import batch_of, keras_model, torch_model  # noqa: E402

XS, LABELS = batch_of(network, batch)  # held by all engines alike, before they are measured


def say(**line):
    print(json.dumps(line), flush=True)


def mebibytes(key):
    with open("/proc/self/status") as file:
        return next(int(l.split()[1]) for l in file if l.startswith(key + ":")) / 1024


def keras_step(xla):
    """A step of Keras's optimizer as one graph, as `keras_steps.py` exports it."""
    import tensorflow as tf
    model, optimizer = keras_model(network)
    optimizer.build(model.trainable_variables)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    xs, labels = XS, LABELS
    specs = {f"x{i}": tf.TensorSpec(x.shape, x.dtype, f"x{i}") for i, x in enumerate(xs)}
    specs["labels"] = tf.TensorSpec(labels.shape, labels.dtype, "labels")

    def body(**feeds):
        inputs = [feeds[f"x{i}"] for i in range(len(xs))]
        with tf.GradientTape() as tape:
            logits = model(inputs if len(xs) > 1 else inputs[0], training=True)
            loss = loss_of(feeds["labels"], logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return {"loss": loss}
    step = tf.function(body, jit_compile=xla or None)
    feeds = {f"x{i}": tf.constant(x) for i, x in enumerate(xs)}
    feeds["labels"] = tf.constant(labels)
    return tf, model, optimizer, step, specs, feeds


def tensorflow_engine():
    import keras  # noqa: F401
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    base = mebibytes("VmRSS")
    start = time.perf_counter()
    *_, step, _, feeds = keras_step(engine == "xla")

    def run():
        return float(step(**feeds)["loss"])
    run()
    return run, time.perf_counter() - start, base


def torch_engine():
    import torch
    torch.set_num_threads(threads)
    number = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([number])
    number.sum().backward()
    optimizer.step()  # the first of all imports the half of PyTorch
    base = mebibytes("VmRSS")
    model, optimizer = torch_model(network)
    if network in ("digits", "resnet18"):
        model = model.to(memory_format=torch.channels_last)
    xs = [torch.from_numpy(x) for x in XS]
    if xs[0].dim() == 4:
        xs[0] = xs[0].permute(0, 3, 1, 2)  # channels last in memory
    labels = torch.from_numpy(LABELS).flatten()
    start = time.perf_counter()

    def loss_of(*xs):
        logits = model(*xs)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels)
    if engine == "torch-compile":
        loss_of = torch.compile(loss_of)

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(*xs)
        loss.backward()
        optimizer.step()
        return loss.item()
    run()
    return run, time.perf_counter() - start, base


def export():
    """Writes the SavedModel that weir reads, by a process that has TensorFlow."""
    tf, model, optimizer, step, specs, _ = keras_step(False)

    class Trainer(tf.Module):
        def __init__(self):
            super().__init__()
            self.model, self.optimizer, self.body = model, optimizer, step
    tf.saved_model.save(Trainer(), f"{folder}/{network}-{batch}",
                        signatures={"train_step": step.get_concrete_function(**specs)})

    def infer(**feeds):
        inputs = [feeds[f"x{i}"] for i in range(len(feeds))]
        return {"logits": model(inputs if len(inputs) > 1 else inputs[0], training=False)}
    del specs["labels"]
    module = tf.Module()
    module.model = model
    tf.saved_model.save(module, f"{folder}/{network}-{batch}-forward",
                        signatures={"serving_default":
                                    tf.function(infer).get_concrete_function(**specs)})


def weir_engine():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                    "..", "..", "tools", "python"))
    import weir
    base = mebibytes("VmRSS")
    model, flags = f"{folder}/{network}-{batch}", ["--entry=train_step"]
    if engine == "weir-before":
        os.environ["WEIRC"] = os.environ["WEIRC_BEFORE"]
    if engine in ("weir-train", "weir-before"):
        model += "-forward"
        name = os.environ.get("WEIR_OPTIMIZER")
        name = name or ("adagrad" if network == "recommender" else "adam,epsilon=1e-7")
        flags = ["--train=cross_entropy:logits,labels", "--optimizer=" + name]
    start = time.perf_counter()
    program = weir.compile(model, output=f"{folder}/{engine}-{network}-{batch}.so",
                           options=flags, threads=threads)
    took = time.perf_counter() - start
    feeds = {f"x{i}": x for i, x in enumerate(XS)}
    feeds["labels"] = LABELS
    entry = program["train_step"]

    def run():
        return float(np.asarray(entry(**feeds)).reshape(-1)[0])
    run()
    return run, took, base


def main():
    if engine == "export":
        export()
        return say(compile=0)
    make = (weir_engine if engine.startswith("weir")
            else torch_engine if engine.startswith("torch") else tensorflow_engine)
    run, took, base = make()
    for _ in range(2):
        run()
    say(compile=took)
    for line in sys.stdin:
        end, walls, loss = time.perf_counter() + float(line), [], 0.0
        cpu = time.process_time()
        while not walls or time.perf_counter() < end:
            start = time.perf_counter()
            loss = run()
            walls.append(time.perf_counter() - start)
        cpu = (time.process_time() - cpu) / len(walls)
        say(wall=1e3 * float(np.median(walls)), cpu=1e3 * cpu, steps=len(walls),
            peak=mebibytes("VmHWM") - base, loss=loss)


try:
    main()
except Exception as error:  # whatever an engine cannot do is told, and the others go on
    say(error=f"{type(error).__name__}: {error}"[:2000])
