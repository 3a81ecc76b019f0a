#!/usr/bin/env python3
#===- step_limits.py - What --memory-limit costs a training step -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains the networks of step_models.py within a part of the memory that they take.

usage: step_limits.py WEIRC WEIR_RUN FOLDER [--percent=75,50] [--batch=32] [--rounds=3]
         [--steps=10] [--tsv=FILE] [NETWORK...]

FOLDER has the models that step_times.py exported. Memory is what a limit counts: of the largest
entry the arena, and the results that a run may ask for. Every program runs its training step in turn with the
one without a limit; times are processor time of a step, medians over rounds (of digits ask for
some thousand steps: loading differs by more than ten of them take). Prints a Markdown table,
appends rows to the file, and exits 1 where a limit is not kept, or the losses of the same step (the 50th,
or an earlier one) are apart by more than 1e-5 of their size (less may be fused, which rounds otherwise). A limit
that no plan fits is `refused`.
"""
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from step_models import NAMES, batch_of

COLUMNS = "network\tbatch\tpercent\tlimit_mib\tarena_mib\tlaunches_again\tcpu_ratio\n"
GRANULE, HEADER = 256, 64  # of the allocator
LOSS_STEP = 50  # losses of one batch come so near to 0 later that roundings are most of them


def option(name, otherwise):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), otherwise)


def compiled(weirc, folder, network, batch, out, limit=None):
    """The report of a program, and what a limit counts of it; nothing where none fits."""
    optimizer = "adagrad" if network == "recommender" else "adam,epsilon=1e-7"
    command = [weirc, f"{folder}/{network}-{batch}-forward", "-o", out, f"--report={out}.report",
               "--train=cross_entropy:logits,labels", f"--optimizer={optimizer}"]
    done = subprocess.run(command + ([f"--memory-limit={limit}"] if limit else []),
                          capture_output=True, text=True)
    if done.returncode:
        if limit and "W0610" in done.stderr:
            return None, 0, 0
        sys.exit(done.stderr)
    with open(f"{out}.report/report.json") as file:
        report = json.load(file)
    with open(f"{out}.report/report.txt") as file:
        text = file.read()
    again = re.search(r"recompute +(\d+) launches", text)
    arenas = {e["name"]: sum(e["arena_bytes"]) for e in report["entries"]}
    # Entries take turns; the results of evaluate lie beside its own arena.
    need = max(arenas["train_step"], arenas["evaluate"] + results_of(network, batch))
    return need, arenas["train_step"], int(again[1]) if again else 0


def results_of(network, batch):
    """Bytes of the results of evaluate, which has most of them: logits, and a loss."""
    shape = {"digits": (batch, 10), "resnet18": (batch, 10), "recommender": (batch, 2)}
    rounded = [-(-(n + HEADER) // GRANULE) * GRANULE
               for n in (4 * int(np.prod(shape.get(network, (batch, 32, 2000)))), 4)]
    return sum(rounded)


def run(weir_run, program, feeds, folder, steps):
    """Processor time of steps, and the loss of one of the first, where it is far from 0."""
    out = os.path.join(folder, "out.npz")
    command = [weir_run, program, "--run=train_step", f"--input={feeds}", "--threads=1",
               f"--output={out}"]
    used, loss = [], None
    for count in (1, 1 + min(steps, LOSS_STEP), 1 + steps):  # loading and a step are not counted
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command + [f"--repeat={count}"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if count <= 1 + LOSS_STEP:
            loss = float(np.load(out)["loss"].reshape(-1)[0])
    return (used[-1] - used[0]) / steps, loss


def main():
    weirc, weir_run, folder, *networks = [a for a in sys.argv[1:] if not a.startswith("--")]
    batch, steps = int(option("batch", "32")), int(option("steps", "10"))
    wrong = 0
    print("| network | limit | MiB allowed | arena, MiB | launches again | time |\n" + "|---" * 6 + "|",
          flush=True)
    with tempfile.TemporaryDirectory() as work:
        for network in networks or NAMES:
            feeds, free = f"{work}/feeds.npz", f"{work}/free.so"
            xs, labels = batch_of(network, batch)
            np.savez(feeds, labels=labels, **{f"x{i}": x for i, x in enumerate(xs)})
            whole_need, arena, _ = compiled(weirc, folder, network, batch, free)
            rows = [("none", whole_need, arena, 0, 1.0)]
            for percent in map(int, option("percent", "75,50").split(",")):
                limit, own = whole_need * percent // 100, f"{work}/own.so"
                need, got, again = compiled(weirc, folder, network, batch, own, limit)
                if need is None:
                    rows.append((percent, limit, 0, 0, 0.0))
                    continue
                ratios = []
                for _ in range(int(option("rounds", "3"))):
                    (whole, loss), (less, other) = (run(weir_run, p, feeds, work, steps)
                                                    for p in (free, own))
                    ratios.append(less / whole)
                    wrong += abs(loss - other) > 1e-5 * abs(loss)
                wrong += need > limit
                rows.append((percent, limit, got, again, statistics.median(ratios)))
            for percent, limit, got, again, ratio in rows:
                cells = [f"{limit / 2**20:.2f}", f"{got / 2**20:.2f}" if got else "refused",
                         str(again), f"{ratio:.2f}" if got else ""]
                print(f"| {network} | {percent} | " + " | ".join(cells) + " |", flush=True)
                if option("tsv", ""):
                    is_new = not os.path.exists(option("tsv", ""))
                    with open(option("tsv", ""), "a") as file:
                        file.write((COLUMNS if is_new else "")
                                   + "\t".join([network, str(batch), str(percent), *cells]) + "\n")
    print(f"\n{wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
