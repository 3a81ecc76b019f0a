#===- job.py - A training that something happens to --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""The launcher and the enemy of a training of several tasks.

As launcher it starts a process anew that ended with an error, with the same command. As
enemy it disturbs a task:

kill      SIGKILL
stop      SIGSTOP, and SIGKILL once the others have given it up
pause     SIGSTOP, and SIGCONT then
link      its link goes down until the others have given it up (namespaces)
disk      the folder of checkpoints has no room until one could not be written (a tmpfs)
gone      SIGKILL, and nobody starts it anew
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import tasks as task_files

TIMEOUT = 1.0


def latest(folder):
    """The number of a folder's latest checkpoint; -1: there is none."""
    try:
        with open(os.path.join(folder, "checkpoint")) as state:
            return int(re.search(r'model_checkpoint_path: ".*-(\d+)"', state.read()).group(1))
    except (OSError, AttributeError):
        return -1


def data_of(prefix):
    """The values of a checkpoint of one shard, as bytes."""
    with open(f"{prefix}.data-00000-of-00001", "rb") as data:
        return data.read()


class Options:
    """What a job needs to know: `run` (weir-run), `program`, `digits`, `labels`, `tasks`, `steps`,
    `secret`, `by_task`, `elastic`, `spaces` (Namespaces, or None)."""

    def __init__(self, **given):
        self.secret, self.by_task, self.elastic, self.spaces = "", False, False, None
        self.every = 20
        self.__dict__.update(given)


class Job:
    """The processes of a training. `with` ends them."""

    def __init__(self, options, folder, save):
        self.options, self.folder, self.save = options, folder, save
        self.cluster = os.path.join(folder, "c.json")
        connect = 3 if options.elastic else 60
        task_files.write_cluster(self.cluster, options.tasks,
                                 {"heartbeat": 0.1, "timeout": TIMEOUT, "connect": connect},
                                 False, False, options.spaces)
        self.logs = [open(os.path.join(folder, f"task{i}.log"), "ab")
                     for i in range(options.tasks)]
        self.processes = [None] * options.tasks
        self.starts = [0] * options.tasks
        self.gone = set()
        for i in range(options.tasks):
            self.start(i)

    def start(self, i):
        o = self.options
        command = [o.run, o.program, f"--cluster={self.cluster}", f"--task=worker:{i}",
                   f"--input=image={o.digits}/samples.npy", f"--input=labels={o.labels}",
                   "--batch=40", "--shuffle=3", f"--steps={o.steps}", "--threads=1",
                   f"--save={self.save}/m", f"--save-every={o.every}", "--keep=3", "--recover=1000"]
        command += [f"--secret={o.secret}"] * bool(o.secret)
        command += ["--save-by-task"] * o.by_task + ["--elastic"] * o.elastic
        environment = dict(os.environ)
        if o.spaces:
            command = o.spaces.inside(i) + command
            environment["UCX_TLS"] = "tcp"
        self.starts[i] += 1
        self.processes[i] = subprocess.Popen(command, stdout=self.logs[i], stderr=self.logs[i],
                                             env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        task_files.end_all(self.processes)
        for log in self.logs:
            log.close()

    def text(self, i):
        with open(os.path.join(self.folder, f"task{i}.log"), errors="replace") as log:
            return log.read()

    def allText(self):
        return "".join(f"--- task {i}\n{self.text(i)[-1500:]}" for i in range(self.options.tasks))

    def step(self):
        return latest(self.save)

    def resident(self, i):
        """Kilobytes; 0: it is not there."""
        try:
            with open(f"/proc/{self.processes[i].pid}/status") as status:
                return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        except (OSError, AttributeError):
            return 0

    def supervise(self):
        """Starts anew what has ended with an error. Whether all is done."""
        done = self.step() >= self.options.steps
        for i, process in enumerate(self.processes):
            code = process.poll()
            if code is None or i in self.gone:
                done &= i in self.gone
                continue
            if code == 0:
                continue
            done = False
            if self.starts[i] > 400:
                sys.exit(f"task {i} does not stay: {self.text(i)[-2000:]}")
            self.start(i)
        return done


class Disturbance:
    """One of a kind, of one task, from begin() on until isOver()."""

    def __init__(self, kind, task):
        self.kind, self.task = kind, task

    def begin(self, job):
        self.before, self.at = job.step(), time.time()
        self.until = self.at + TIMEOUT + 1
        self.failures = self.count(job)
        process = job.processes[self.task]
        if self.kind in ("kill", "gone"):
            if self.kind == "gone":
                job.gone.add(self.task)
            process.send_signal(signal.SIGKILL)
            self.until = self.at
        elif self.kind in ("stop", "pause"):
            process.send_signal(signal.SIGSTOP)
        elif self.kind == "link":
            job.options.spaces.cut(self.task)
        elif self.kind == "disk":
            fill(job.save)
            self.until = self.at + 30

    @staticmethod
    def count(job):
        return sum(len(re.findall("goes on without it|W0710", job.text(i)))
                   for i in range(job.options.tasks))

    def isOver(self, job):
        """Undoes it when it is time."""
        if self.kind == "disk":
            # Whatever fails then has failed for lack of room.
            if self.count(job) == self.failures and time.time() < self.until:
                fill(job.save)
                return False
            if os.path.exists(os.path.join(job.save, "filler")):
                os.unlink(os.path.join(job.save, "filler"))
            return True
        if time.time() < self.until:
            return False
        if self.kind in ("stop", "pause"):
            job.processes[self.task].send_signal(
                signal.SIGKILL if self.kind == "stop" else signal.SIGCONT)
        elif self.kind == "link":
            job.options.spaces.join(self.task)
        return True


def fill(folder):
    """Leaves no room on the folder's file system."""
    for size in (65536, 512):
        try:
            with open(os.path.join(folder, "filler"), "ab", buffering=0) as filler:
                while True:
                    filler.write(b"x" * size)
        except OSError:
            pass


class Outcome:
    """What became of a training."""

    def __init__(self):
        self.weights = b""       ## of the last checkpoint: all shards
        self.seconds = 0.0
        self.recoveries = []     ## (disturbance, seconds until the next checkpoint)
        self.log = ""
        self.growth = 0          ## kilobytes of the first task's process, where it has lived


class Moments:
    """When disturbances begin: somewhere in the steps that are left, and then between two
    checkpoints."""

    def __init__(self, options, rng):
        self.options, self.rng = options, rng
        self.at = self.seen = self.length = 0.0
        self.last = -1

    def draw(self, step, pending):
        left = self.options.steps - self.options.every - max(step, 0)
        self.target = max(step, 0) + self.rng.uniform(0.0, 0.9) * max(left, 0) / (pending + 1)
        self.at = None

    def isNow(self, step):
        now = time.time()
        if step != self.last:
            self.length, self.seen, self.last = now - self.seen, now, step
        if self.at is None and 0 <= self.target - step < self.options.every:
            self.at = now + self.rng.uniform(0.0, min(self.length, 1.0))
        elif self.at is None and step > self.target:
            self.at = now
        return step >= 0 and self.at is not None and now >= self.at


def run(options, folder, disturbances, rng, limit=600, save=None):
    """Trains. Each disturbance is let go, and survived, before the next one. `save`: the folder of
    checkpoints."""
    shutil.rmtree(folder, ignore_errors=True)
    save = save or os.path.join(folder, "saved")
    os.makedirs(folder)
    os.makedirs(save, exist_ok=True)
    for name in os.listdir(save):
        os.unlink(os.path.join(save, name))
    outcome = Outcome()
    began = time.time()
    with Job(options, folder, save) as job:
        pending, current, waiting = list(disturbances), None, None
        moments = Moments(options, rng)
        moments.draw(0, len(pending))
        first = 0
        while True:
            if time.time() - began > limit:
                sys.exit(f"the job does not end: step {job.step()} of {options.steps}\n"
                         + job.allText())
            if current and current.isOver(job):
                waiting, current = current, None
            step = job.step()
            if waiting and (step > waiting.before or step >= options.steps):
                outcome.recoveries.append((waiting, time.time() - waiting.at))
                waiting = None
                moments.draw(step, len(pending))
            if not current and job.supervise():
                break
            if step >= 0 and not first and job.starts[0] == 1:
                first = job.resident(0)
            elif first and job.starts[0] == 1:
                outcome.growth = max(outcome.growth, job.resident(0) - first)
            if pending and not current and not waiting and moments.isNow(step):
                current = pending.pop(0)
                current.begin(job)
            time.sleep(0.01)
        if pending:
            sys.exit(f"{len(pending)} disturbances came too late; possible: more --steps")
        outcome.log = "".join(job.text(i) for i in range(options.tasks))
    outcome.seconds = time.time() - began
    outcome.weights = weights(options, folder, save)
    return outcome


def weights(options, folder, save):
    """The bytes of the last checkpoint, as one process writes it that restores it."""
    prefix = f"{save}/m-{options.steps}"
    if options.by_task:
        subprocess.run([options.run, options.program, "--run=predict", f"--restore={prefix}",
                        f"--input=image={options.digits}/samples.npy", f"--save={folder}/whole",
                        f"--output={folder}/whole.npz"], check=True, stdout=subprocess.DEVNULL)
        prefix = f"{folder}/whole"
    return data_of(prefix)
