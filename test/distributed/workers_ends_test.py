#!/usr/bin/env python3
#===- workers_ends_test.py - What ends a job that recovers, and what does not --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Workers and a parameter server (Inputs/workers.py) whose processes end as they should not.

usage: workers_ends_test.py --run=WEIR-RUN --compiler=WEIRC --out=FOLDER

forgetful   the server is begun anew without --save and --recover: its variables have initial
            values, and workers end with an error instead of training them, be they those that were
            there or ones that have begun anew, too
leader      one that leads all steps and cannot go on: its server waits for the next one, and does
            not end as if all were done
late        a task that serves is begun anew when the steps, which do not need it, are done: the
            leader waits for it, and it ends as all others do
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import workers as graph
from workers_test import compile_graph, write_cluster

SAYS = "task /job:ps/replica:0/task:0 has begun anew without it, with initial values"


class Tasks:
    """Processes by name; all are gone in the end."""

    def __init__(self, options, folder):
        self.options, self.folder, self.processes = options, os.path.join(options.out, folder), {}
        os.makedirs(self.folder)
        write_cluster(os.path.join(self.folder, "c.json"), options.workers,
                      {"heartbeat": 0.2, "timeout": 2, "connect": 3})
        self.saved = os.path.join(self.folder, "saved", "m")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, _ in self.processes.values():
            process.kill()
            process.wait()

    def start(self, name, *flags):
        log = open(os.path.join(self.folder, name.replace(":", "-") + ".log"), "a+")
        command = [self.options.run, os.path.join(self.options.out, "workers.so"), "--threads=1",
                   f"--cluster={self.folder}/c.json", f"--task={name}", *flags]
        self.processes[name] = (subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), log)

    def kill(self, name):
        self.processes[name][0].kill()
        self.processes[name][0].wait()

    def text(self, name):
        log = self.processes[name][1]
        log.seek(0)
        return log.read()

    def end(self, name, code):
        """Waits until it has ended with `code`; what it has said."""
        try:
            found = self.processes[name][0].wait(60)
        except subprocess.TimeoutExpired:
            found = None
        if found != code:
            sys.exit(f"{name} ended with {found} instead of {code}:\n{self.text(name)}")
        return self.text(name)

    def await_text(self, name, text):
        give = time.time() + 60
        while text not in self.text(name):
            if time.time() > give or self.processes[name][0].poll() is not None:
                sys.exit(f"{name} does not say \"{text}\":\n{self.text(name)}")
            time.sleep(0.01)

    def checkpoint(self):
        give = time.time() + 60
        # Not m-0, the first one, and no part of one.
        while not any(re.search(r"/m-[1-9]\d*\.index$", f) for f in glob.glob(self.saved + "-*.index")):
            if time.time() > give:
                sys.exit("no checkpoint is written:\n" + "".join(map(self.text, self.processes)))
            time.sleep(0.01)


def forgetful(options, also_a_worker):
    with Tasks(options, f"forgetful-{also_a_worker}") as tasks:
        how = ["--steps=1000000", f"--save={tasks.saved}", "--save-every=20", "--recover=100"]
        names = [f"worker:{i}" for i in range(options.workers)]

        def worker(i):
            tasks.start(names[i], *["--run=init"] * (i == 0), f"--run=async_{i}", "--own-steps", *how)

        tasks.start("ps:0", *how)
        for i in range(options.workers):
            worker(i)
        tasks.checkpoint()
        if also_a_worker:
            for name in names + ["ps:0"]:
                tasks.kill(name)
            for i in range(options.workers):
                worker(i)
        else:
            tasks.kill("ps:0")
        tasks.start("ps:0")
        if not any(SAYS in tasks.end(name, 1) for name in names):
            sys.exit("no worker says why it has ended:\n" + "".join(map(tasks.text, names)))
    print(f"forgetful server, {'all begun anew' if also_a_worker else 'workers that were there'}: "
          "an error", flush=True)


def leader(options):
    with Tasks(options, "leader") as tasks:
        how = ["--steps=40", f"--save={tasks.saved}", "--save-every=20", "--recover=4"]
        tasks.start("ps:0", *how)
        tasks.start("worker:0", "--run=init", "--run=missing", *how)
        tasks.start("worker:1", *how)
        if "found no entry \"missing\"" not in tasks.end("worker:0", 1):
            sys.exit(tasks.text("worker:0"))
        time.sleep(0.5)
        tasks.start("worker:0", "--run=init", "--run=async_0", *how)
        for name in tasks.processes:
            tasks.end(name, 0)
    print("a leader that failed: others waited for the next one", flush=True)


def late(options):
    with Tasks(options, "late") as tasks:
        how = ["--steps=40", f"--save={tasks.saved}", "--save-every=20", "--recover=4"]
        tasks.start("ps:0", *how)
        tasks.start("worker:0", "--run=init", "--run=async_0", *how)
        tasks.await_text("worker:0", "all is done; waits up to 3 s for task /job:worker/replica:0/task:1")
        tasks.start("worker:1", *how)
        for name in tasks.processes:
            tasks.end(name, 0)
    print("a task that came when all was done: it was told", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    options.workers = 2
    os.makedirs(options.out, exist_ok=True)
    model = os.path.join(options.out, "workers.pbtxt")
    flags = graph.write(model, options.workers, 1)
    compile_graph(options, model, flags, os.path.join(options.out, "workers.so"))
    forgetful(options, also_a_worker=False)
    forgetful(options, also_a_worker=True)
    leader(options)
    late(options)


if __name__ == "__main__":
    main()
