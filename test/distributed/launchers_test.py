#!/usr/bin/env python3
#===- launchers_test.py - Tasks that Slurm and mpirun start -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Starts jobs by srun, of a Slurm of its own (Debian's slurmctld, slurmd, munge), or by mpirun.

usage: launchers_test.py --launcher=slurm|mpirun --run=WEIR-RUN --program=M.so --digits=FOLDER
         --out=FOLDER [--kills=2]

M.so trains the digits network with two replicas. A job trains to its end; others lose a task to
SIGKILL, the leader in turn with the other one, with `srun --no-kill --kill-on-bad-exit=0` or
`mpirun --enable-recovery` and --elastic, and go on. All have the bits of a training in one process.
Everything of Slurm lies in a folder of its own in /tmp, listens at ports that are free, and ends with this script.
Skipped, with a line, without root or one of the programs.
"""
import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import job
import tasks as task_files

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scancel")


def find(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def missing(launcher):
    if launcher == "mpirun":
        return "" if find("mpirun") else "mpirun is not installed"
    if os.geteuid() != 0:
        return "slurmd wants root"
    lacking = [name for name in NEEDED if not find(name)]
    if lacking:
        return f"{', '.join(lacking)} is not installed"
    plugins = [root for root in ("/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib/slurm-wlm",
                                 "/usr/lib64/slurm")
               if os.path.exists(os.path.join(root, "mpi_pmix.so"))]
    return "" if plugins else "this Slurm has no plugin for PMIx"


class Slurm:
    """A cluster of one node, this host. `with` ends it."""

    def __init__(self):
        # Sockets lie in it, whose names have 107 characters at most: a build folder may be deep.
        self.folder = tempfile.mkdtemp(prefix="weir-slurm-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.processes = []
        self.environment = dict(os.environ, SLURM_CONF=f"{self.folder}/slurm.conf")

    def spawn(self, name, *arguments):
        log = open(f"{self.folder}/{name}.log", "ab")
        self.processes.append(subprocess.Popen(
            [find(name), *arguments], stdout=log, stderr=log, env=self.environment))

    def __enter__(self):
        host = socket.gethostname().split(".")[0]
        controller, daemon = task_files.free_ports(2)
        # munged wants what it trusts to be nobody else's.
        self.munge = f"/run/weir-munge-{os.getpid()}"
        os.makedirs(self.munge, mode=0o755)
        key, where = f"{self.munge}/key", f"{self.munge}/socket"
        with open(key, "wb") as file:
            file.write(random.randbytes(1024))
        os.chmod(key, 0o400)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
        with open(f"{self.folder}/slurm.conf", "w") as conf:
            conf.write(f"""ClusterName=weir
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={where}
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
MessageTimeout=100
TCPTimeout=60
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory={memory // 2} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
""")
        os.makedirs(f"{self.folder}/state")
        os.makedirs(f"{self.folder}/spool")
        self.spawn("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={where}",
                   f"--pid-file={self.munge}/pid", f"--log-file={self.munge}/log",
                   f"--seed-file={self.munge}/seed")
        for _ in range(1200):
            if os.path.exists(where):
                break
            time.sleep(0.05)
        self.spawn("slurmctld", "-D", "-i", "-f", f"{self.folder}/slurm.conf")
        self.spawn("slurmd", "-D", "-f", f"{self.folder}/slurm.conf", "-N", host)
        for _ in range(900):
            state = subprocess.run([find("sinfo"), "-h", "-o", "%T"], capture_output=True,
                                   text=True, env=self.environment).stdout.strip()
            if state.startswith("idle"):
                return self
            time.sleep(0.1)
        text = self.logs()
        self.__exit__()
        sys.exit(f"Slurm does not come up: {state}\n{text}")

    def logs(self):
        text = ""
        for name in ("munged", "slurmctld", "slurmd"):
            try:
                with open(f"{self.folder}/{name}.log", errors="replace") as log:
                    text += f"--- {name}\n{log.read()[-1500:]}"
            except OSError:
                pass
        return text

    def __exit__(self, *_):
        # The controller last: the daemon tells it that it goes.
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.munge, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    name = "srun --mpi=pmix"

    def launch(self, *command, **more):
        return subprocess.Popen([find("srun"), "--mpi=pmix", "-n2", "--overcommit", "--no-kill",
                                 "--kill-on-bad-exit=0", *command],
                                env=self.environment, **more)


class Mpirun:
    """What Slurm is, of Open MPI's launcher."""

    name = "mpirun"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def logs(self):
        return ""

    def launch(self, *command, **more):
        return subprocess.Popen(
            [find("mpirun"), "-n", "2", "--oversubscribe", "--enable-recovery", *command],
            env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"),
            **more)


def train(launcher, options, labels, name, steps, more=()):
    """Begins a job; its folder, and the launcher's process."""
    folder = f"{options.out}/{name}"
    os.makedirs(folder)
    cluster = {"devices": [{"name": f"/job:worker/task:{i}/device:CPU:0"} for i in range(2)],
               "tasks": [{"name": f"worker:{i}"} for i in range(2)],
               # Tasks of a busy machine begin, and beat, late.
               "timing": {"heartbeat": 0.1, "timeout": 10, "connect": 8 if more else 60}}
    with open(f"{folder}/c.json", "w") as file:
        json.dump(cluster, file)
    log = open(f"{folder}/log", "ab")
    return folder, launcher.launch(
        options.run, options.program, f"--cluster={folder}/c.json",
        f"--input=image={options.digits}/samples.npy", f"--input=labels={labels}", "--batch=40",
        "--shuffle=3", f"--steps={steps}", "--threads=1", f"--save={folder}/saved/m", *more,
        stdout=log, stderr=log)


def log_of(folder):
    with open(f"{folder}/log", errors="replace") as log:
        return log.read()


def children(program):
    """Processes that have `program` among their arguments, by rank."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/cmdline", "rb") as line:
                    arguments = line.read().split(b"\0")
                with open(f"/proc/{entry}/environ", "rb") as variables:
                    environment = variables.read().split(b"\0")
                if (os.path.basename(arguments[0]) == b"weir-run"
                        and program.encode() in arguments):
                    rank = [v for v in environment if v.startswith(b"PMIX_RANK=")]
                    if rank:
                        found[int(rank[0].split(b"=")[1])] = int(entry)
        except OSError:
            pass
    return found


def finish(process, folder, launcher, seconds=180):
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"the job does not end\n{log_of(folder)[-2000:]}\n{launcher.logs()}")


def launched(name, begin):
    """What `begin(name)` says of a job; it says None of one that srun has given up before all its
    tasks ran, which happens while slurmd is at the end of the job before: another one begins then."""
    for attempt in range(10):
        if result := begin(f"{name}-{attempt}"):
            return result
        time.sleep(1 + attempt)
    sys.exit(f"{name}: no job begins")


def is_given_up(folder):
    log = log_of(folder)
    return "launch failed" in log or "before step completely launched" in log


def train_quietly(launcher, options, labels):
    def begin(name):
        folder, process = train(launcher, options, labels, name, options.steps)
        code = finish(process, folder, launcher)
        if is_given_up(folder):
            return None
        if code:
            sys.exit(f"it ended with {code}\n{log_of(folder)[-2000:]}\n{launcher.logs()}")
        return folder
    return launched("quiet", begin)


def lose_one(launcher, options, labels, name, rank):
    """The folder of a job that has lost task `rank` behind its step 40."""
    def begin(name):
        folder, process = train(launcher, options, labels, name, options.steps,
                                ("--save-every=20", "--recover=100", "--elastic"))
        # A task that dies before srun has heard of all takes the job down.
        end = time.time() + 120
        while (job.latest(f"{folder}/saved") < 40 and time.time() < end
               and process.poll() is None):
            time.sleep(0.02)
        time.sleep(random.uniform(0, 0.3))
        victim = children(f"--cluster={folder}/c.json").get(rank)
        try:
            if victim:
                os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            victim = None
        finish(process, folder, launcher)
        if not victim and not is_given_up(folder):
            print(f"{name}: had ended before it could lose a task\n{log_of(folder)[-800:]}")
        return folder if victim else None
    return launched(name, begin)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", choices=["slurm", "mpirun"], required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--digits", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    options.run = find(options.run) or options.run
    if why := missing(options.launcher):
        print(f"{options.launcher}: skipped, {why}")
        return
    os.makedirs(options.out, exist_ok=True)
    labels = f"{options.out}/labels.npy"
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "Inputs", "labels.py"),
                    f"{options.digits}/samples.u8", labels], check=True)
    subprocess.run([options.run, options.program, f"--input=image={options.digits}/samples.npy",
                    f"--input=labels={labels}", "--batch=40", "--shuffle=3",
                    f"--steps={options.steps}", "--threads=1", f"--save={options.out}/alone/m"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    alone = job.data_of(f"{options.out}/alone/m")
    made = Slurm() if options.launcher == "slurm" else Mpirun()
    with made as launcher:
        folder = train_quietly(launcher, options, labels)
        if job.data_of(f"{folder}/saved/m") != alone:
            sys.exit("the weights differ from those of one process")
        print(f"{launcher.name}: the same bits as one process")
        for kill in range(options.kills):
            folder = lose_one(launcher, options, labels, f"kill{kill}", kill % 2)
            if job.data_of(f"{folder}/saved/m-{options.steps}") != alone:
                sys.exit("the weights differ from those of an undisturbed training")
            if "goes on without task" not in log_of(folder):
                sys.exit("nobody has done without the task that was killed")
            print(f"task {kill % 2} killed: the same bits, by one task")


if __name__ == "__main__":
    main()
