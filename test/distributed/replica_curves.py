#!/usr/bin/env python3
#===- replica_curves.py - Losses of replicas beside those of one big batch -----===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains three networks on one device, and with replicas in network namespaces whose links are shaped.

usage: replica_curves.py --build=DIR FOLDER [--tasks=2,4,8] [--rate=1gbit] [--batch=64] [--steps=60]
         [--record=docs/results/replica-curves.tsv]

Needs root, for the namespaces, and a Python with TensorFlow, which writes the networks
(../training/step_models.py: digits, transformer, recommender). Losses of all steps come from the
event files that weir-run writes; of N tasks each has batch / N rows. What is compared is the
largest distance of two losses of one step, as a part of the loss: sums of gradients are of another
order. With one number of tasks the bits are the same wherever they run, which is asked, too: in one
process, and in namespaces.
"""
import argparse
import datetime
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "Inputs"), os.path.join(HERE, "..", "training")]
import tasks as task_files  # noqa: E402
from measure_collectives import processor  # noqa: E402
from namespaces import Namespaces  # noqa: E402

NETWORKS = {"digits": "adam,epsilon=1e-7", "transformer": "adam,epsilon=1e-7", "recommender": "adagrad"}


class Curve:
    """A network, its rows, and trainings of it."""

    def __init__(self, options, name):
        import numpy as np
        from step_models import batch_of
        self.options, self.name = options, name
        self.bin, self.folder = os.path.join(options.build, "bin"), options.folder
        rows, labels = batch_of(name, 16 * options.batch)
        np.savez(f"{self.folder}/{name}.npz", labels=labels, **{f"x{i}": x for i, x in enumerate(rows)})
        # Weights are drawn anew by each export: all trainings begin with those of the first.
        inputs, _ = batch_of(name, options.batch)
        np.savez(f"{self.folder}/{name}-one.npz", **{f"x{i}": x for i, x in enumerate(inputs)})
        self.one = self.program(1)
        subprocess.run([f"{self.bin}/weir-run", self.one, "--run=predict",
                        f"--input={self.folder}/{name}-one.npz", f"--save={self.folder}/{name}-begin/m"],
                       check=True, stdout=subprocess.DEVNULL)

    def program(self, replicas):
        """Of a network whose batch is a replica's part."""
        batch = str(self.options.batch // replicas)
        subprocess.run([sys.executable, os.path.join(HERE, "..", "training", "step_peer.py"), "export",
                        self.name, batch, "1", self.folder], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = f"{self.folder}/{self.name}-{replicas}.so"
        subprocess.run([f"{self.bin}/weirc", f"{self.folder}/{self.name}-{batch}-forward",
                        "--train=cross_entropy:logits,labels", f"--optimizer={NETWORKS[self.name]}", "-o", path]
                       + ([f"--replicas={replicas}"] if replicas > 1 else []), check=True)
        return path

    def flags(self, tag):
        return [f"--input={self.folder}/{self.name}.npz", f"--batch={self.options.batch}", "--shuffle=5",
                f"--restore={self.folder}/{self.name}-begin/m",
                f"--steps={self.options.steps}", "--threads=1", f"--summary={self.folder}/{tag}"]

    def losses(self, tag):
        import tensorflow as tf
        found = {}
        for file in os.listdir(f"{self.folder}/{tag}"):
            for event in tf.compat.v1.train.summary_iterator(f"{self.folder}/{tag}/{file}"):
                for value in event.summary.value:
                    if value.tag == "loss":
                        found[event.step] = value.simple_value
        return [found[step] for step in sorted(found)]

    def alone(self, program, tag):
        subprocess.run(["rm", "-rf", f"{self.folder}/{tag}"], check=True)
        subprocess.run([f"{self.bin}/weir-run", program, *self.flags(tag)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.losses(tag)

    def together(self, program, tasks, tag):
        subprocess.run(["rm", "-rf", f"{self.folder}/{tag}"], check=True)
        with Namespaces(tasks, self.options.rate) as spaces:
            cluster = f"{self.folder}/cluster.json"
            task_files.write_cluster(cluster, tasks, {"heartbeat": 0.5, "timeout": 20, "connect": 60}, False,
                                     False, spaces)
            processes = [subprocess.Popen(
                spaces.inside(i) + [f"{self.bin}/weir-run", program, *self.flags(tag), f"--cluster={cluster}",
                                    f"--task=worker:{i}"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=dict(os.environ, UCX_TLS="tcp,self")) for i in range(tasks)]
            texts = [each.communicate()[0] for each in processes]
            if any(each.returncode for each in processes):
                sys.exit("a training failed:\n" + "\n".join(texts))
        return self.losses(tag)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--build", required=True)
    parser.add_argument("--tasks", default="2,4,8")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--record", default="")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    columns = ["date", "machine", "network", "tasks", "link", "batch", "steps", "first loss", "last loss",
               "largest distance", "bits of one process"]
    lines = []
    for name in NETWORKS:
        curve = Curve(options, name)
        one = curve.alone(curve.one, f"{name}-alone")
        for tasks in map(int, options.tasks.split(",")):
            program = curve.program(tasks)
            here = curve.alone(program, f"{name}-here")
            apart = curve.together(program, tasks, f"{name}-apart")
            if len(one) != options.steps or len(apart) != options.steps:
                sys.exit(f"{name}: found losses of {len(one)} and {len(apart)} steps, of {options.steps}")
            distance = max(abs(a - b) / abs(a) for a, b in zip(one, apart))
            lines.append([str(datetime.date.today()), processor(), name, str(tasks), options.rate,
                          str(options.batch), str(options.steps), f"{one[0]:.6f}", f"{apart[-1]:.6f}",
                          f"{distance:.1e}", "the same" if here == apart else "others"])
            print("\t".join(lines[-1]), flush=True)
    if options.record:
        with open(options.record, "w") as table:
            table.write("\n".join("\t".join(line) for line in [columns] + lines) + "\n")


if __name__ == "__main__":
    main()
