#!/usr/bin/env python3
#===- recovery_test.py - A training whose tasks die and hang ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains over several processes, and kills or stops one of them at random moments.

usage: recovery_test.py --run=WEIR-RUN --program=M.so --digits=FOLDER --out=FOLDER [--tasks=2]
                        [--kills=4] [--stops=2] [--steps=300] [--seed=1] [--secret=FILE]

M.so is the digits network with as many replicas as tasks.

This script is the launcher: a process that ended with an error is started again with the
same command, one that was stopped is killed a second after its timeout, or goes on. In the
end the checkpoint has the same bits as that of a training that nothing has happened to. Says
how long the job took to go on.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import tasks as task_files

TIMEOUT = 2.0


class Job:
    """The processes of a training. `with` ends them."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.cluster = os.path.join(folder, "c.json")
        task_files.write_cluster(self.cluster, options.tasks,
                                 {"heartbeat": 0.1, "timeout": TIMEOUT, "connect": 60}, False, False)
        self.logs = [open(os.path.join(folder, f"task{i}.log"), "ab") for i in range(options.tasks)]
        self.processes = [None] * options.tasks
        self.starts = [0] * options.tasks
        for i in range(options.tasks):
            self.start(i)

    def start(self, i):
        o = self.options
        command = [o.run, o.program, f"--cluster={self.cluster}", f"--task=worker:{i}",
                   f"--input=image={o.digits}/samples.npy", f"--input=labels={o.out}/labels.npy",
                   "--batch=40", "--shuffle=3", f"--steps={o.steps}", "--threads=1",
                   f"--save={self.folder}/m", "--save-every=20", "--keep=3", "--recover=100"]
        if o.secret:
            command.append(f"--secret={o.secret}")
        self.starts[i] += 1
        self.processes[i] = subprocess.Popen(command, stdout=self.logs[i], stderr=self.logs[i])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for log in self.logs:
            log.close()

    def text(self, i):
        with open(os.path.join(self.folder, f"task{i}.log"), errors="replace") as log:
            return log.read()

    def step(self):
        """The number of the latest checkpoint."""
        try:
            with open(os.path.join(self.folder, "checkpoint")) as state:
                return int(re.search(r'model_checkpoint_path: ".*-(\d+)"', state.read()).group(1))
        except (OSError, AttributeError):
            return -1

    def supervise(self):
        """Starts anew what has ended with an error. Whether the leader is done."""
        for i, process in enumerate(self.processes):
            code = process.poll()
            if code is None or (code == 0 and i > 0):
                continue
            if code == 0:
                return True
            if self.starts[i] > 60:
                sys.exit(f"task {i} does not stay: {self.text(i)[-2000:]}")
            self.start(i)
        return False


def run(options, name, disturbances, rng, usual=0.0):
    """The final weights, the leader's log, and seconds. `usual`: those of an undisturbed run,
    over which disturbances are spread."""
    folder = os.path.join(options.out, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    began = time.time()
    with Job(options, folder) as job:
        pending = list(disturbances)
        gap = usual / (len(pending) + 1)
        moment = time.time() + rng.uniform(0.3, 1.0) * gap
        resume = []
        while True:
            if time.time() - began > 600:
                sys.exit("the job does not end: " + job.text(0)[-2000:])
            for when, i, how in list(resume):
                if time.time() >= when:
                    resume.remove((when, i, how))
                    job.processes[i].send_signal(how)
            if job.supervise():
                break
            if pending and time.time() > moment and not resume and job.step() >= 0:
                how, i = pending.pop(0)
                job.processes[i].send_signal(signal.SIGKILL if how == "kill" else signal.SIGSTOP)
                if how != "kill":
                    # A launcher kills what hangs; or it was only slow.
                    resume.append((time.time() + TIMEOUT + 1, i,
                                   signal.SIGKILL if how == "stop" else signal.SIGCONT))
                moment = (time.time() + rng.uniform(0.2, 1.0) * gap
                          + (TIMEOUT + 1) * (how != "kill"))
            time.sleep(0.01)
        if pending:
            sys.exit(f"{len(pending)} disturbances came too late; possible: more --steps")
        log = job.text(0)
    with open(os.path.join(folder, f"m-{options.steps}.data-00000-of-00001"), "rb") as data:
        return data.read(), log, time.time() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--digits", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--stops", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--secret", default="")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "Inputs", "labels.py"),
                    f"{options.digits}/samples.u8", f"{options.out}/labels.npy"], check=True)
    rng = random.Random(options.seed)
    quiet, _, usual = run(options, "quiet", [], rng)
    # The leader, too.
    disturbances = [("kill", i % options.tasks) for i in range(options.kills)]
    disturbances += [(("stop", "pause")[i % 2], 1 + i % (options.tasks - 1))
                     for i in range(options.stops)]
    rng.shuffle(disturbances)
    disturbed, log, _ = run(options, "disturbed", disturbances, rng, usual)
    seconds = [float(s) for s in re.findall(r"goes on behind step .* after ([0-9.]+) s", log)]
    if disturbed != quiet:
        sys.exit("the weights differ from those of an undisturbed training\n" + log[-3000:])
    named = len(re.findall(r"step \d+: UNAVAILABLE: task /job:worker/replica:0/task:\d+", log))
    print(f"{options.kills} kills, {options.stops} stops: the same bits after {options.steps} steps; "
          f"the leader went on {len(seconds)} times"
          + (f", after {min(seconds):.1f} to {max(seconds):.1f} s" if seconds else "")
          + f"; {named} times a task was named")


if __name__ == "__main__":
    main()
