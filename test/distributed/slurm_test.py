#!/usr/bin/env python3
#===- slurm_test.py - Tasks that a real Slurm starts --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Starts a controller and a daemon of Slurm (Debian's slurmctld, slurmd, munge), and jobs by srun.

usage: slurm_test.py --run=WEIR-RUN --program=M.so --digits=FOLDER --out=FOLDER [--kills=1]

M.so trains the digits network with two replicas. A job trains to its end; another loses a task
to SIGKILL, with `srun --no-kill --kill-on-bad-exit=0` and --elastic, and goes on. Both have the bits of a training in
one process. Everything of Slurm lies in FOLDER, listens at ports that are free, and ends with this
script. Skipped, with a line, without root or one of the programs.
"""
import argparse
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import tasks as task_files

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scancel")


def find(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def missing():
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

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.environment = dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf")

    def spawn(self, name, *arguments, user=None):
        log = open(f"{self.folder}/{name}.log", "ab")
        self.processes.append(subprocess.Popen(
            [find(name), *arguments], stdout=log, stderr=log, env=self.environment, user=user))

    def __enter__(self):
        os.makedirs(self.folder, mode=0o755)
        host = socket.gethostname().split(".")[0]
        controller, daemon = task_files.free_ports(2)
        # munged wants what it trusts to be nobody else's; sockets have short names.
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
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory={memory // 2} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
""")
        os.makedirs(f"{self.folder}/state")
        os.makedirs(f"{self.folder}/spool")
        self.spawn("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={where}",
                   f"--pid-file={self.munge}/pid", f"--log-file={self.munge}/log",
                   f"--seed-file={self.munge}/seed")
        for _ in range(200):
            if os.path.exists(where):
                break
            time.sleep(0.05)
        self.spawn("slurmctld", "-D", "-i", "-f", f"{self.folder}/slurm.conf")
        self.spawn("slurmd", "-D", "-f", f"{self.folder}/slurm.conf", "-N", host)
        for _ in range(300):
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

    def srun(self, *command, **more):
        return subprocess.Popen([find("srun"), "--mpi=pmix", "-n2", "--overcommit", "--no-kill",
                                 "--kill-on-bad-exit=0", *command],
                                env=self.environment, **more)


def train(slurm, options, labels, name, steps, more=()):
    """Begins a job; its folder of checkpoints, and the process of srun."""
    folder = f"{options.out}/{name}"
    os.makedirs(folder)
    cluster = {"devices": [{"name": f"/job:worker/task:{i}/device:CPU:0"} for i in range(2)],
               "tasks": [{"name": f"worker:{i}"} for i in range(2)],
               "timing": {"heartbeat": 0.1, "timeout": 1, "connect": 3}}
    with open(f"{folder}/c.json", "w") as file:
        json.dump(cluster, file)
    log = open(f"{folder}/log", "ab")
    return folder, slurm.srun(
        options.run, options.program, f"--cluster={folder}/c.json",
        f"--input=image={options.digits}/samples.npy", f"--input=labels={labels}", "--batch=40",
        "--shuffle=3", f"--steps={steps}", "--threads=1", f"--save={folder}/saved/m", *more,
        stdout=log, stderr=log)


def weights(prefix):
    with open(f"{prefix}.data-00000-of-00001", "rb") as data:
        return data.read()


def children(name):
    """Processes of `name`, by what they were started with."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/cmdline", "rb") as line:
                    arguments = line.read().split(b"\0")
                with open(f"/proc/{entry}/environ", "rb") as variables:
                    environment = variables.read().split(b"\0")
                if os.path.basename(arguments[0]).decode() == name:
                    rank = [v for v in environment if v.startswith(b"SLURM_PROCID=")]
                    if rank:
                        found[int(rank[0].split(b"=")[1])] = (int(entry), arguments)
        except OSError:
            pass
    return found


def finish(process, folder, slurm, seconds=180):
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        with open(f"{folder}/log", errors="replace") as log:
            sys.exit(f"the job does not end\n{log.read()[-2000:]}\n{slurm.logs()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--digits", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    options.run = find(options.run) or options.run
    if why := missing():
        print(f"slurm: skipped, {why}")
        return
    os.makedirs(options.out, exist_ok=True)
    labels = f"{options.out}/labels.npy"
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "Inputs", "labels.py"),
                    f"{options.digits}/samples.u8", labels], check=True)
    subprocess.run([options.run, options.program, f"--input=image={options.digits}/samples.npy",
                    f"--input=labels={labels}", "--batch=40", "--shuffle=3",
                    f"--steps={options.steps}", "--threads=1", f"--save={options.out}/alone/m"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    alone = weights(f"{options.out}/alone/m")
    with Slurm(f"{options.out}/slurm") as slurm:
        folder, process = train(slurm, options, labels, "quiet", options.steps)
        if code := finish(process, folder, slurm):
            with open(f"{folder}/log", errors="replace") as log:
                sys.exit(f"srun ended with {code}\n{log.read()[-2000:]}\n{slurm.logs()}")
        if weights(f"{folder}/saved/m") != alone:
            sys.exit("the weights differ from those of one process")
        print("srun --mpi=pmix: the same bits as one process")
        for kill in range(options.kills):
            folder, process = train(
                slurm, options, labels, f"kill{kill}", options.steps,
                ("--save-every=20", "--recover=100", "--elastic"))
            end = time.time() + 60
            while not os.path.exists(f"{folder}/saved/checkpoint") and time.time() < end:
                time.sleep(0.05)
            time.sleep(random.uniform(0, 0.5))
            victim = children("weir-run").get(kill % 2)
            if not victim:
                sys.exit(f"no task to kill\n{slurm.logs()}")
            os.kill(victim[0], signal.SIGKILL)
            finish(process, folder, slurm)
            if weights(f"{folder}/saved/m-{options.steps}") != alone:
                sys.exit("the weights differ from those of an undisturbed training")
            with open(f"{folder}/log", errors="replace") as log:
                went = "goes on without task" in log.read()
            print(f"task {kill % 2} killed: the same bits" + (", by one task" if went else ""))


if __name__ == "__main__":
    main()
