#!/usr/bin/env python3
#===- measure_steps.py - Replicas' steps on links of a known rate, beside the simulator's ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains a small transformer with replicas in network namespaces, and predicts the same steps.

usage: measure_steps.py --build=DIR FOLDER [--tasks=2,4,8] [--rates=1gbit,200mbit] [--rows=16,64]
         [--steps=40] [--turns=3] [--before=DIR] [--record=docs/results/replicas.tsv]
       measure_steps.py --build=DIR FOLDER --hosts=1000 [--rows=128] [--record=docs/results/hosts.tsv]

Needs root, for namespaces whose links are shaped, and a Python with TensorFlow (the model is
test/training/curves.py's). `rows` are each task's. Tasks share this machine's processors, so that
what a step computes is measured as often as there are tasks at once, without a link between them
(`alone`): passes by forward, backward and update, from traces. The simulator is told these, the
buckets and when they are there, what a TCP connection of a link carries, which Inputs/link.py
measures, and what as many tasks at once send, take in and add up where links do not limit them,
which weir-bench collectives measures; and nothing else. --before names another build, which is
measured in turn. A figure is the median of the turns.

--hosts predicts the same training on up to so many hosts like this one, from one task's passes and
two tasks' messages: racks of 32, at 10 and 25 Gbit/s a host, with a half of that between racks,
hosts that fail once in five years, and the checkpoints that this calls for.
"""
import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "Inputs"), os.path.join(HERE, "..", "training")]
import tasks as task_files  # noqa: E402
from measure_collectives import between, processor, rows as rows_of  # noqa: E402
from namespaces import Namespaces  # noqa: E402

VOCABULARY, LENGTH, WIDTH = 2000, 32, 256
HOW = ["--train=cross_entropy:logits,labels", "--optimizer=sgd,lr=0.01"]


def write_model(folder):
    import curves
    import numpy as np
    weights, nodes, inputs, outputs, *_ = curves.transformer(
        np.random.default_rng(5), VOCABULARY, LENGTH, WIDTH, 4)
    curves.write_model(f"{folder}/t.onnx", nodes, weights, inputs, outputs)
    rows = np.random.default_rng(6).integers(0, VOCABULARY, [1024, LENGTH])
    np.savez(f"{folder}/t.npz", tokens=rows, labels=np.roll(rows, -1, 1))


class Bench:
    def __init__(self, build, folder, steps):
        self.bin, self.folder, self.steps = os.path.join(build, "bin"), folder, steps
        self.programs = {}

    def program(self, replicas):
        if replicas not in self.programs:
            tag = os.path.basename(os.path.dirname(self.bin)) + str(abs(hash(self.bin)) % 1000)
            path = f"{self.folder}/{tag}-{replicas}.so"
            subprocess.run([f"{self.bin}/weirc", f"{self.folder}/t.onnx", *HOW, "-o", path]
                           + ([f"--replicas={replicas}"] if replicas > 1 else []), check=True)
            self.programs[replicas] = path
        return self.programs[replicas]

    def start(self, before, program, *flags):
        return subprocess.Popen(
            before + [f"{self.bin}/weir-run", program, f"--input={self.folder}/t.npz",
                      f"--steps={self.steps}", "--threads=1", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, UCX_TLS="tcp,self"))

    def together(self, tasks, rows, rate, trace=""):
        """Milliseconds a step, and those of its own, in the task that leads."""
        with Namespaces(tasks, rate) as spaces:
            cluster = f"{self.folder}/cluster.json"
            task_files.write_cluster(cluster, tasks, {"heartbeat": 0.5, "timeout": 20,
                                                      "connect": 60}, False, False, spaces)
            processes = [self.start(spaces.inside(i), self.program(tasks), f"--cluster={cluster}",
                                    f"--task=worker:{i}", f"--batch={rows * tasks}",
                                    *([f"--trace={trace}{i}"] if trace else []))
                         for i in range(tasks)]
            texts = [p.communicate()[0] for p in processes]
        found = re.search(r"task:0: ([\d.]+) ms a step, ([\d.]+) ms of it its own", texts[0])
        if not found:
            sys.exit("a training failed:\n" + "\n".join(texts))
        return float(found.group(1)), float(found.group(2))

    def alone(self, tasks, rows):
        """Milliseconds of forward pass, backward pass and update where as many tasks compute at
        once and none waits for another."""
        traces = [f"{self.folder}/alone{i}.json" for i in range(tasks)]
        processes = [self.start([], self.program(1), f"--batch={rows}", f"--trace={trace}")
                     for trace in traces]
        for process in processes:
            process.communicate()
        parts = [part for trace in traces for part in parts_of(trace)]
        return [statistics.median(part[k] for part in parts) for k in range(3)]


def buckets_of(path):
    """Bytes of each, and which share of the backward pass was over when they were there: medians
    over steps."""
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    found = {}
    for run in [e for e in events if e["cat"] == "run"][5:]:
        begin, end = run["ts"], run["ts"] + run["dur"]
        sends = [e for e in events if e["cat"] == "send" and begin <= e["ts"] <= end
                 and re.match(r"all_reduce/\d+/[^;:]*:0;", e["name"])]
        loss = [e["ts"] for e in sends if e["args"]["bytes"] == 4]
        sends = sorted((e for e in sends if e["args"]["bytes"] > 4), key=lambda e: e["ts"])
        for i, e in enumerate(sends if loss else []):
            share = (e["ts"] - loss[0]) / (sends[-1]["ts"] - loss[0])
            found.setdefault(i, []).append((e["args"]["bytes"], share))
    return [[all[0][0], statistics.median(share for _, share in all)] for all in found.values()]


def parts_of(path):
    """Of each step but the first ones: until the loss is there, until the first update, the rest."""
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    kernels = sorted((e for e in events if e["cat"] == "kernel"), key=lambda e: e["ts"])
    for run in [e for e in events if e["cat"] == "run"][5:]:
        begin, end = run["ts"], run["ts"] + run["dur"]
        own = [e for e in kernels if begin <= e["ts"] <= end]
        loss = next((e for e in own if e["name"].startswith("reduce_1_f32")), None)
        update = next((e for e in own if e["name"].startswith("sub_")
                       and e["ts"] > begin + run["dur"] / 2), None)
        if loss and update:
            forward, backward = loss["ts"] + loss["dur"] - begin, update["ts"] - begin
            yield forward / 1000, (backward - forward) / 1000, (run["dur"] - backward) / 1000


def link_of(rate):
    """Bytes a second, both ways at once, and seconds."""
    with Namespaces(2, rate) as spaces:
        ends = [subprocess.Popen(
            spaces.inside(i) + [sys.executable, os.path.join(HERE, "Inputs", "link.py"), way,
                                spaces.address(0), "2"], stdout=subprocess.PIPE, text=True)
                for i, way in enumerate(("listen", "connect"))]
        found = [[float(x) for x in end.communicate()[0].split()] for end in ends]
    return min(f[0] for f in found), found[1][1]


def transport_of(build, tasks, folder):
    """Bytes a second that each of so many tasks sends and takes in at once, and adds up, with links
    of any rate: all that is left is their processors' time."""
    largest = 1 << 20
    with Namespaces(tasks) as spaces:
        found = between(spaces, [os.path.join(build, "bin", "weir-bench"), "collectives",
                                 f"--tasks={tasks}", f"--largest={largest}"], tasks, folder)
    row = next(row for row in found if row[0] == str(largest))
    whole, alone = float(row[1]) / 1e6, float(row[3]) / 1e6
    # Each sends twice what it adds up.
    added = largest * (tasks - 1) / tasks
    return 2 * added / alone, added / max(whole - alone, added / 2e10)


def simulate(bench, topology, hosts, rounds):
    """Rows by hosts."""
    path = f"{bench.folder}/topology.json"
    with open(path, "w") as file:
        json.dump(topology, file)
    return rows_of([f"{bench.bin}/weir-bench", "simulate", f"--topology={path}",
                    f"--hosts={hosts}", f"--rounds={rounds}"])


def predicted(bench, tasks, link, transport, parts, buckets):
    found = simulate(bench, {
        "levels": [{"name": "switch", "count": tasks, "bandwidth": link[0], "latency": link[1]}],
        "transport": transport[0], "combine": transport[1], "busy": 1,
        "step": {"forward": parts[0] / 1000, "backward": parts[1] / 1000,
                 "update": parts[2] / 1000, "buckets": buckets}}, tasks, 1)
    return next(float(row[1]) for row in found if row[0] == str(tasks))


def predict_hosts(bench, options):
    """A table by hosts. On each a task computes, and another processor has its messages."""
    rows = int(options.rows.split(",")[0])
    trace = f"{options.folder}/together.json"
    bench.together(2, rows, "1gbit", trace)
    buckets, transport = buckets_of(trace + "0"), transport_of(options.build, 2, options.folder)
    parts = bench.alone(1, rows)
    gradients = sum(size for size, _ in buckets)
    lines = []
    for gigabits in (10, 25):
        rate = gigabits * 1e9 / 8 * 0.95  # of which headers have a part
        found = simulate(bench, {
            "levels": [{"name": "rack", "count": 32, "bandwidth": rate, "latency": 1e-5},
                       {"name": "room", "count": 32, "bandwidth": rate / 2, "latency": 2e-5}],
            "transport": transport[0], "combine": transport[1],
            "step": {"forward": parts[0] / 1000, "backward": parts[1] / 1000,
                     "update": parts[2] / 1000, "buckets": buckets, "jitter": 0.02},
            "failures": {"host_hours": 43800, "restart": 60},
            # Adam's variables beside the weights, written by all tasks beside the steps.
            "checkpoint": {"bytes": 3 * gradients, "bandwidth": 5e8,
                           "blocking": 3 * gradients / 1e10}}, options.hosts, 5)
        lines += [[f"{gigabits} Gbit/s", str(rows)] + row for row in found]
    columns = ["link", "rows"] + ["hosts", "step ms", "compute ms", "bubble %", "exposed ms",
                                  "scaling %", "MTBF h", "interval s", "kept %", "drawn %"]
    print("\t".join(columns))
    for line in lines:
        print("\t".join(line))
    if options.record:
        with open(options.record, "w") as table:
            table.write("\t".join(["date", "machine"] + columns) + "\n")
            for line in lines:
                table.write("\t".join([str(datetime.date.today()), processor()] + line) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--build", required=True)
    parser.add_argument("--before", default="")
    parser.add_argument("--tasks", default="2,4,8")
    parser.add_argument("--rates", default="1gbit,200mbit")
    parser.add_argument("--rows", default="16,64")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--record", default="")
    parser.add_argument("--hosts", type=int, default=0)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    write_model(options.folder)
    bench = Bench(options.build, options.folder, options.steps)
    if options.hosts:
        return predict_hosts(bench, options)
    before = Bench(options.before, options.folder, options.steps) if options.before else None
    columns = ["tasks", "link", "rows", "ms a step", "waits %", "predicted ms", "off by %",
               "before, ms a step"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for tasks in map(int, options.tasks.split(",")):
        for rows in map(int, options.rows.split(",")):
            trace = f"{options.folder}/together.json"
            bench.together(tasks, rows, options.rates.split(",")[0], trace)
            buckets = buckets_of(trace + "0")
            transport = transport_of(options.build, tasks, options.folder)
            for rate in options.rates.split(","):
                own, waits, theirs, parts, link = [], [], [], [], link_of(rate)
                for _ in range(options.turns):
                    step, busy = bench.together(tasks, rows, rate)
                    own.append(step)
                    waits.append(100 * (1 - busy / step))
                    parts.append(bench.alone(tasks, rows))
                    if before:
                        theirs.append(before.together(tasks, rows, rate)[0])
                step = statistics.median(own)
                simulated = predicted(bench, tasks, link, transport,
                                      [statistics.median(p[k] for p in parts) for k in range(3)],
                                      buckets)
                line = [str(tasks), rate, str(rows), f"{step:.1f}",
                        f"{statistics.median(waits):.1f}", f"{simulated:.1f}",
                        f"{100 * (simulated / step - 1):+.1f}",
                        f"{statistics.median(theirs):.1f}" if theirs else "-"]
                print("| " + " | ".join(line) + " |", flush=True)
                if options.record:
                    fresh = not os.path.exists(options.record)
                    with open(options.record, "a") as table:
                        if fresh:
                            table.write("\t".join(["date", "machine"] + columns) + "\n")
                        table.write("\t".join([str(datetime.date.today()), processor()] + line)
                                    + "\n")


if __name__ == "__main__":
    main()
