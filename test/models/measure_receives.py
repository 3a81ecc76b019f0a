#!/usr/bin/env python3
#===- measure_receives.py - What late receives save, and what they cost ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs models over CPU devices with --receives=early and --receives=late.

  measure_receives.py BIN [--devices=N] [--rounds=N] [--flag=FLAG]... MODEL...

BIN holds weirc and weir-run, which both get the further flags (--flag=--dim=N=4). Each model is placed twice: by the search, on devices
whose memory is the smallest that the model fits into, which makes it cut; and at
random. Prints a Markdown table: the simulated step, the time of a real one (both
ways in turn, fastest of 15 runs, medians of rounds, one thread a device), and the most bytes that each
device's allocator had handed out. Exits 1 where results differ, or where late is
slower in the simulated step.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile


def cluster(path, devices, memory=None):
    one = {} if memory is None else {"memory": memory}
    with open(path, "w") as f:
        json.dump({"devices": [{"name": f"/cpu:{i}", **one} for i in range(devices)]}, f)
    return path


def fits(tools, model, file, flags):
    done = subprocess.run([f"{tools}/weirc", model, *flags, f"--devices={file}", "--stop-after=place",
                           "-o", file + ".mlir"], capture_output=True, text=True)
    return done.returncode == 0


def tightest(tools, model, devices, file, flags):
    """Writes the file of the devices with least memory (to a sixteenth)."""
    memory = 1 << 20
    while not fits(tools, model, cluster(file, devices, memory), flags):
        memory *= 2
        if memory > 1 << 40:
            sys.exit(f"{model} is not placed")
    least = memory // 2
    for _ in range(4):
        middle = (least + memory) // 2
        if fits(tools, model, cluster(file, devices, middle), flags):
            memory = middle
        else:
            least = middle
    return cluster(file, devices, memory)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tools")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--flag", action="append", default=[])
    arguments = parser.parse_args()
    tools = arguments.tools
    wrong = 0
    print("| model | placed | tensors cross | late (asked for) | step by the model, us: early | late "
          "| measured, ms: early | late | KiB on the devices: early | late |")
    print("|---" * 10 + "|")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "cluster.json")
        for model in arguments.models:
            name = os.path.splitext(os.path.basename(model))[0]
            for placer in ("search", "random:1"):
                if placer == "search":
                    tightest(tools, model, arguments.devices, file, arguments.flag)
                else:
                    cluster(file, arguments.devices)
                flags = [model, *arguments.flag, f"--devices={file}", f"--placer={placer}", "--cpu=x86-64-v3"]
                step, times, peaks, results = {}, {}, {}, {}
                for how in ("early", "late"):
                    report = os.path.join(folder, how)
                    subprocess.run([f"{tools}/weirc", *flags, f"--receives={how}",
                                    f"--report={report}", "-o", os.path.join(folder, "m.o")],
                                   check=True, capture_output=True)
                    with open(os.path.join(report, "report.json")) as f:
                        step[how] = json.load(f)["placement"]
                    times[how] = []
                for _ in range(arguments.rounds):
                    for how in ("early", "late"):
                        out = os.path.join(folder, how + ".npz")
                        done = subprocess.run(
                            [f"{tools}/weir-run", *flags, f"--receives={how}", "--threads=1",
                             "--input=random:1", "--memory", "--repeat=15", f"--output={out}"],
                            check=True, capture_output=True, text=True)
                        times[how].append(float(re.search(r"min_ms=([\d.]+)", done.stdout)[1]))
                        peaks[how] = [int(b) for b in re.findall(r"peak_bytes=(\d+)", done.stdout)]
                        results[how] = contents(out)
                late = step["late"]
                wrong += results["early"] != results["late"]
                wrong += late["makespan_us"] > step["early"]["makespan_us"] * (1 + 1e-9)
                cells = [name, placer.split(":")[0], str(late["transfers"] - late["asked"]),
                         f"{late['delayed']} ({late['asked']})"]
                cells += [f"{step[h]['makespan_us']:,.0f}" for h in ("early", "late")]
                cells += [f"{statistics.median(times[h]):.2f}" for h in ("early", "late")]
                cells += [" + ".join(f"{b / 1024:,.0f}" for b in peaks[h])
                          for h in ("early", "late")]
                print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
