#!/usr/bin/env python3
#===- step_times.py - How long a training step takes ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Times training steps of weir in turn with TensorFlow's (graphs, XLA) and PyTorch's
(eager, torch.compile).

usage: step_times.py WEIRC FOLDER [--tensorflow=PYTHON] [--torch=PYTHON] [--engines=A,B]
         [--batches=1,32,128] [--threads=1,2] [--rounds=3] [--seconds=1] [--clock=wall|cpu]
         [--before=WEIRC] [--optimizer=SPEC] [--tsv=FILE] [NETWORK...]

The networks are those of step_models.py; --tensorflow and --torch name a Python that has
the package (this one, where left out; without --torch PyTorch is not asked). weir compiles
Keras's own train_step as it is (`weir`), and the model that infers with --train
(`weir-train`). Every engine is a process of its own, kept warm; a round asks each once for
`seconds`, one after the other. Figures are medians over rounds; with --clock=cpu processor
time, which other work on a machine changes less. --tsv appends rows to a file: date,
processor, network, batch, threads, engine, version, milliseconds of both clocks, peak of
memory in MiB, seconds until it was compiled. Models that FOLDER has are not exported anew.
--before names another weirc, which takes its turn with --train as `weir-before`; --optimizer is
what both train with (the networks' own, where left out), and stands behind the engine's name then.
"""
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ("date\tprocessor\tnetwork\tbatch\tthreads\tengine\tversion\twall_ms\tcpu_ms\t"
           "peak_mib\tcompile_s\n")


def option(name, otherwise):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), otherwise)


def processor():
    with open("/proc/cpuinfo") as file:
        return next(l.split(":", 1)[1].strip() for l in file if l.startswith("model name"))


class Peer:
    def __init__(self, python, engine, *arguments, env):
        self.engine = engine
        self.process = subprocess.Popen(
            [python, os.path.join(HERE, "step_peer.py"), engine, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=env)
        self.figures, self.error = [], None
        self.compiled = self.read().get("compile")

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                found = json.loads(line)
                self.error = found.get("error")
                return found
        self.error = self.error or f"ended with status {self.process.wait()}"
        return {}

    def ask(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        found = self.read()
        if found and not self.error:
            self.figures.append(found)

    def median(self, key):
        return statistics.median(f[key] for f in self.figures)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def versions(pythons):
    found = {}
    for python, module in {(p, m) for p, m in pythons.values() if m}:
        code = f"from importlib.metadata import version as v; print(v('{module}'))"
        for package in (module, module + "-cpu"):
            done = subprocess.run([python, "-c", code.replace(module, package)],
                                  capture_output=True, text=True)
            if done.returncode == 0:
                found[module] = done.stdout.strip()
    return found


def measure(network, batch, threads, pythons, env, folder):
    rounds, seconds = int(option("rounds", "3")), float(option("seconds", "1"))
    if not os.path.isdir(f"{folder}/{network}-{batch}-forward"):
        exporter = Peer(pythons["tensorflow"][0], "export", network, batch, threads, folder,
                        env=env)
        exporter.end()
        if exporter.error:
            sys.exit(f"{network}: {exporter.error}")
    peers = []
    for engine, (python, _) in pythons.items():
        peer = Peer(python, engine, network, batch, threads, folder, env=env)
        if peer.error:
            print(f"{engine}, {network}: {peer.error}", file=sys.stderr, flush=True)
            peer.end()
        else:
            peers.append(peer)
    for _ in range(rounds):
        for peer in peers:
            peer.ask(seconds)
    for peer in peers:
        peer.end()
    return [p for p in peers if p.figures]


def main():
    weirc, folder, *networks = [a for a in sys.argv[1:] if not a.startswith("--")]
    os.makedirs(folder, exist_ok=True)
    env = dict(os.environ, WEIRC=shutil.which(weirc) or os.path.abspath(weirc))
    tensorflow, torch = option("tensorflow", sys.executable), option("torch", "")
    before, optimizer = option("before", ""), option("optimizer", "")
    env.update(WEIRC_BEFORE=before, WEIR_OPTIMIZER=optimizer)
    pythons = {"weir-before": (tensorflow, "")} if before else {}
    pythons |= {"weir": (tensorflow, ""), "weir-train": (tensorflow, ""),
               "tensorflow": (tensorflow, "tensorflow"), "xla": (tensorflow, "tensorflow")}
    if torch:
        pythons.update({"torch": (torch, "torch"), "torch-compile": (torch, "torch")})
    wanted = option("engines", ",".join(pythons)).split(",")
    pythons = {e: p for e, p in pythons.items() if e in wanted or e == "tensorflow"}
    known, clock = versions(pythons), option("clock", "wall")
    engines = [e for e in pythons if e in wanted]
    print(f"| network | batch | threads | {' | '.join(engines)} | weir / best peer |\n"
          + "|---" * (len(engines) + 4) + "|", flush=True)
    from step_models import NAMES
    for network in networks or NAMES:
        for batch in map(int, option("batches", "1,32,128").split(",")):
            for threads in map(int, option("threads", "1,2").split(",")):
                asked = {e: p for e, p in pythons.items() if e in wanted}
                asked.setdefault("tensorflow", pythons["tensorflow"])
                peers = [p for p in measure(network, batch, threads, asked, env, folder)
                         if p.engine in wanted]
                times = {p.engine: p.median(clock) for p in peers}
                mine = [t for e, t in times.items() if e.startswith("weir")]
                others = [t for e, t in times.items() if not e.startswith("weir")]
                share = f"{min(mine) / min(others):.2f}" if mine and others else ""
                cells = [f"{times[e]:.3g}" if e in times else "" for e in engines]
                print(f"| {network} | {batch} | {threads} | {' | '.join(cells)} | {share} |",
                      flush=True)
                if option("tsv", ""):
                    write(option("tsv", ""), network, batch, threads, peers, pythons, known)


def write(path, network, batch, threads, peers, pythons, known):
    is_new = not os.path.exists(path)
    with open(path, "a") as file:
        if is_new:
            file.write(COLUMNS)
        for peer in peers:
            version = known.get(pythons[peer.engine][1], "0.1.0")
            trains = option("optimizer", "") if peer.engine.startswith("weir-") else ""
            engine = f"{peer.engine} {trains}" if trains else peer.engine
            file.write("\t".join(map(str, (
                datetime.date.today(), processor(), network, batch, threads, engine, version,
                f"{peer.median('wall'):.4g}", f"{peer.median('cpu'):.4g}",
                f"{peer.median('peak'):.4g}", f"{peer.compiled:.3g}"))) + "\n")


if __name__ == "__main__":
    main()
