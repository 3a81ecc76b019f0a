#!/usr/bin/env python3
#===- workers_recovery_test.py - Workers and a parameter server that die -------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Asynchronous workers (Inputs/workers.py) whose processes, and whose server's, die at random moments.

usage: workers_recovery_test.py --run=WEIR-RUN --compiler=WEIRC --out=FOLDER [--workers=3] [--steps=1500]
         [--each=2] [--kinds=kill] [--seed=1] [--one-leads] [--record=F.tsv]

Each task is begun anew whenever it ends with an error. --each: how often each of --kinds (kill,
stop) happens to each task: the worker that writes checkpoints, the others, and the server. In the
end all workers have done their steps, and of each worker's count, which the server has, no more is
gone than lay between a checkpoint and a loss of the server. --one-leads: one worker leads all
steps, and goes back to a checkpoint; nothing is gone.
"""
import argparse
import datetime
import glob
import os
import random
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import workers as graph
from workers_test import compile_graph, value, write_cluster

EVERY, STALENESS = 20, 3


class Task:
    """A process of the job, begun anew after an error."""

    def __init__(self, options, name, flags):
        self.name, self.begun = name, 0
        self.log = open(os.path.join(options.out, name.replace(":", "-") + ".log"), "w+")
        self.command = [options.run, os.path.join(options.out, "workers.so"), "--threads=1",
                        f"--cluster={options.out}/c.json", f"--task={name}", *flags]
        self.start()

    def start(self):
        self.begun += 1
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=subprocess.STDOUT)

    def isDone(self):
        code = self.process.poll()
        if code:
            self.start()
        return code == 0

    def text(self):
        self.log.seek(0)
        return self.log.read()


def job(options, rng):
    """Losses by task, the seconds until the next checkpoint, and what each worker has counted, of
    itself and as its lead before the slowest."""
    save = os.path.join(options.out, "saved", "m")
    how = [f"--steps={options.steps}", f"--save={save}", f"--save-every={EVERY}", "--keep=3",
           "--recover=1000"]
    tasks = {"ps:0": Task(options, "ps:0", how)}
    for i in range(options.workers):
        own = [] if options.one_leads else ["--own-steps", f"--staleness={STALENESS}"]
        tasks[f"worker:{i}"] = Task(options, f"worker:{i}",
                                    ["--run=init"] * (i == 0) + [f"--run=async_{i}"] + own + how)
    plan = [(kind, name) for kind in options.kinds for name in tasks for _ in range(options.each)]
    rng.shuffle(plan)
    losses = dict.fromkeys(tasks, 0)
    recoveries = []

    def position():
        """Checkpoints are of steps that are done."""
        found = [int(f[:-len(".index")].rsplit("-")[-1]) for f in glob.glob(save + "-*.index")]
        return max(found, default=0)

    give = time.time() + 60 + 20 * len(plan)
    moment, waited = None, None
    while True:
        done = [each.isDone() for each in tasks.values()]
        if all(done):
            if plan:
                sys.exit(f"{len(plan)} disturbances came too late; possible: more --steps")
            texts = [tasks[f"worker:{i}"].text() for i in range(options.workers)]
            return losses, recoveries, *([int(value(text, name)[-1]) for text in texts]
                                         for name in ("count", "lag"))
        if time.time() > give:
            for each in tasks.values():
                each.process.kill()
            sys.exit("the job does not end:\n" + "\n".join(
                f"--- {each.name}\n{each.text()[-3000:]}" for each in tasks.values()))
        now = position()
        if waited and now > waited[1]:
            recoveries.append(time.time() - waited[0])
            waited = None
        # Something happens between two checkpoints, once the last loss is overcome.
        if plan and not waited and now > 0:
            moment = moment or time.time() + rng.uniform(0, 0.3)
            if time.time() >= moment:
                kind, name = plan.pop()
                victim = tasks[name].process
                if victim.poll() is None and now < options.steps:
                    victim.send_signal(signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
                    if kind == "stop":
                        time.sleep(3.5)
                        victim.send_signal(signal.SIGCONT)
                    losses[name] += 1
                    waited = (time.time(), now)
                else:
                    for each in tasks.values():
                        each.process.kill()
                    sys.exit(f"{len(plan) + 1} disturbances came too late; possible: more --steps")
                moment = None
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--kinds", default="kill", type=lambda text: text.split(","))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one-leads", action="store_true")
    parser.add_argument("--record", default="")
    options = parser.parse_args()
    options.workers = 1 if options.one_leads else options.workers
    os.makedirs(options.out, exist_ok=True)
    model = os.path.join(options.out, "workers.pbtxt")
    flags = graph.write(model, options.workers, 1)
    compile_graph(options, model, flags, os.path.join(options.out, "workers.so"))
    write_cluster(os.path.join(options.out, "c.json"), options.workers,
                  {"heartbeat": 0.2, "timeout": 2, "connect": 30})
    losses, recoveries, found, lags = job(options, random.Random(options.seed))
    workers_lost = sum(count for name, count in losses.items() if name != "ps:0")
    # A checkpoint is of a moment; another may be under way. Who was away comes up alone, while the
    # first task, which writes checkpoints, waits for it. A step may be done and not told of.
    most = losses["ps:0"] * (2 * EVERY + 2 * STALENESS + max(lags))
    more = workers_lost + losses["ps:0"]
    if options.one_leads:
        most = more = 0
    for i, count in enumerate(found):
        if not options.steps - most <= count <= options.steps + more:
            sys.exit(f"worker {i} has counted {count} of {options.steps} steps; at most {most} may be lost")
    print(f"{'/'.join(options.kinds)}: {losses}, of {options.steps} steps each counted: {list(found)}; the next "
          f"checkpoint after {statistics.median(recoveries):.1f} s, at most {max(recoveries):.1f} s", flush=True)
    if options.record:
        with open(options.record, "a") as table:
            for name, count in losses.items():
                table.write("\t".join([str(datetime.date.today()), "/".join(options.kinds) + ("" if options.one_leads else ", own steps"), name,
                                       str(count), "1", str(options.workers + 1), str(options.steps),
                                       f"{statistics.median(recoveries):.2f}", f"{max(recoveries):.2f}", "-",
                                       "-"]) + "\n")


if __name__ == "__main__":
    main()
