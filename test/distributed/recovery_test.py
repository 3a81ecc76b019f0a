#!/usr/bin/env python3
#===- recovery_test.py - A training whose tasks die and hang ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains with several tasks while something happens to them at random moments.

usage: recovery_test.py --run=WEIR-RUN --program=M.so --digits=FOLDER --out=FOLDER
         [--tasks=2] [--kinds=kill,stop,pause] [--each=1] [--per-run=8] [--steps=300] [--seed=1]
         [--by-task] [--secret=FILE] [--record=F.tsv]

M.so trains the digits network over as many tasks. Each of --kinds (Inputs/job.py says what they
are) happens --each times to each task, the one that leads included; `gone` is --elastic, and
happens to one task after the other while there are two. In the end the checkpoint has the same bits as that of a
training that nothing has happened to. `link` wants network namespaces, `disk` a tmpfs: root. What
cannot be is skipped, with a line. --record adds a line a kind and task to a table.
"""
import argparse
import datetime
import os
import random
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import job
import namespaces


class SmallDisk:
    """A tmpfs with room for a few checkpoints, at `folder`."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", self.folder], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder])


def campaign(options, base, kind, rng, quiet):
    """Disturbs each task `each` times; (task, recoveries in seconds, trainings, growth)."""
    rows = []
    # All tasks share the folder of checkpoints.
    for task in range(1 if kind == "disk" else base.tasks):
        left, seconds, trainings, growth = options.each, [], 0, 0
        while left > 0:
            now = 1 if kind == "gone" else min(left, options.per_run)
            left -= now
            trainings += 1
            plan = [job.Disturbance(kind, task) for _ in range(now)]
            folder = os.path.join(options.out, f"{kind}-{task}")
            limit = 240 + 60 * now
            if kind == "disk":
                with SmallDisk(os.path.join(options.out, "disk")) as disk:
                    outcome = job.run(base, folder, plan, rng, limit, disk.folder)
            else:
                outcome = job.run(base, folder, plan, rng, limit)
            if outcome.weights != quiet.weights:
                sys.exit(f"{kind} of task {task}: the weights differ from those of an undisturbed "
                         f"training\n{outcome.log[-4000:]}")
            if len(outcome.recoveries) != now:
                sys.exit(f"{kind} of task {task}: {len(outcome.recoveries)} of {now} were survived")
            seconds += [s for _, s in outcome.recoveries]
            growth = max(growth, outcome.growth)
        rows.append((task, seconds, trainings, growth))
        print(f"{kind} of task {task}: {len(seconds)} times in {trainings} trainings, the same "
              f"bits; the next checkpoint after {statistics.median(seconds):.1f} s, at most "
              f"{max(seconds):.1f} s", flush=True)
    return rows


def possible(kind):
    if kind == "link" and not namespaces.possible():
        return "no network namespaces can be made here"
    if kind == "disk" and os.geteuid() != 0:
        return "no file system can be mounted here"
    return ""


def record(path, options, kind, rows):
    columns = ("date\twhat\ttask\ttimes\ttrainings\ttasks\tsteps\tnext checkpoint after, s: median"
               "\tmost\tthe first task's growth, KiB\tthe same bits\n")
    fresh = not os.path.exists(path)
    with open(path, "a") as table:
        if fresh:
            table.write(columns)
        for task, seconds, trainings, growth in rows:
            table.write(f"{datetime.date.today()}\t{kind}\t{task}\t{len(seconds)}\t{trainings}\t"
                        f"{options.tasks}\t{options.steps}\t{statistics.median(seconds):.2f}\t"
                        f"{max(seconds):.2f}\t{growth if growth else '-'}\tyes\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--digits", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--kinds", default="kill,stop,pause")
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--per-run", type=int, default=8)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--secret", default="")
    parser.add_argument("--by-task", action="store_true")
    parser.add_argument("--record", default="")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    labels = f"{options.out}/labels.npy"
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "Inputs", "labels.py"),
                    f"{options.digits}/samples.u8", labels], check=True)
    rng = random.Random(options.seed)
    base = job.Options(run=options.run, program=options.program, digits=options.digits,
                       labels=labels, tasks=options.tasks, steps=options.steps,
                       secret=options.secret, by_task=options.by_task)
    quiet = job.run(base, os.path.join(options.out, "quiet"), [], rng)
    for kind in options.kinds.split(","):
        if why := possible(kind):
            print(f"{kind}: skipped, {why}")
            continue
        base.elastic = kind == "gone"
        if kind == "link":
            with namespaces.Namespaces(options.tasks) as base.spaces:
                rows = campaign(options, base, kind, rng, quiet)
            base.spaces = None
        else:
            rows = campaign(options, base, kind, rng, quiet)
        if options.record:
            record(options.record, options, kind, rows)


if __name__ == "__main__":
    main()
