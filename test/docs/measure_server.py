#!/usr/bin/env python3
#===- measure_server.py - how much of two cores a server puts to use --------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Serves a model by docs/examples/server.cpp and asks it from several connections.

usage: measure_server.py MODEL.onnx [--build=build/release] [--seconds=20] [--clients=8]
                         [--rows=4] [--table=docs/results/serving.tsv]

Useful work is what the model's own runs take: rows a second, times the processor's seconds that
a row takes in a run of 64 rows on one thread and nothing else (weir-run, before and after), as
a share of all cores. What is left is HTTP, copies, clients, and cores that wait. Needs what
server.cpp needs, and `pip install tritonclient[http]`. --table adds a row.
"""
import argparse
import datetime
import os
import re
import socket
import subprocess
import tempfile
import threading
import time

import numpy as np
import tritonclient.http as kserve

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH = 64  # of batches.h


def seconds_a_row(tools, library, name, shape):
    """The processor's, of a run on one thread."""
    text = subprocess.run(
        [tools + "/weir-run", library, "--threads=1", "--repeat=5", "--shape=%s=%s" % (
            name, "x".join(map(str, [BATCH] + shape))), "--input=random:1"],
        check=True, capture_output=True, text=True).stdout
    return float(re.search(r"median_ms=([0-9.]+)", text)[1]) / 1000 / BATCH


def processor():
    with open("/proc/cpuinfo") as file:
        names = re.findall(r"model name\s*: (.*)", file.read())
    return "%s, %d cores" % (names[0] if names else "unknown", os.cpu_count())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--table")
    args = parser.parse_args()
    tools = os.path.join(args.build, "bin")
    with tempfile.TemporaryDirectory() as folder:
        library, server = folder + "/model.so", folder + "/server"
        subprocess.run([tools + "/weirc", args.model, "-o", library], check=True)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cpp-httplib"],
                               capture_output=True, text=True).stdout.split()
        subprocess.run(["c++", "-std=c++17", "-O2", "-I" + ROOT + "/runtime/include",
                        ROOT + "/docs/examples/server.cpp", "-o", server, "-pthread", *flags],
                       check=True)
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen([server, library, str(port)])
        try:
            measure(args, tools, library, port)
        finally:
            process.terminate()
            process.wait()


def measure(args, tools, library, port):
    client = kserve.InferenceServerClient("localhost:%d" % port)
    for _ in range(100):
        try:
            if client.is_server_ready():
                break
        except OSError:
            time.sleep(0.1)
    about = client.get_model_metadata("model")
    name, shape = about["inputs"][0]["name"], about["inputs"][0]["shape"][1:]
    before = seconds_a_row(tools, library, name, shape)
    answered = [0] * args.clients
    until = time.monotonic() + args.seconds

    def ask(number):
        own = kserve.InferenceServerClient("localhost:%d" % port, network_timeout=300)
        values = np.random.default_rng(number).random((args.rows, *shape), np.float32)
        feed = kserve.InferInput(name, list(values.shape), "FP32")
        feed.set_data_from_numpy(values)
        while time.monotonic() < until:
            own.infer("model", [feed])
            answered[number] += args.rows

    began, own = time.monotonic(), time.process_time()
    threads = [threading.Thread(target=ask, args=(n,)) for n in range(args.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, own = time.monotonic() - began, time.process_time() - own
    after = seconds_a_row(tools, library, name, shape)
    row = min(before, after)
    rate = sum(answered) / wall
    share = rate * row / os.cpu_count()
    print("%.1f rows a second; %.3f ms a row alone (%.3f before, %.3f after); useful work: "
          "%.1f %% of %d cores; clients: %.1f %%" % (
              rate, row * 1000, before * 1000, after * 1000, 100 * share, os.cpu_count(),
              100 * own / wall / os.cpu_count()))
    if args.table:
        new = not os.path.exists(args.table)
        with open(args.table, "a") as file:
            if new:
                file.write("date\tprocessor\tmodel\tclients\trows\trows_per_s\tms_per_row_alone\t"
                           "useful_share\tclients_share\n")
            file.write("%s\t%s\t%s\t%d\t%d\t%.1f\t%.3f\t%.3f\t%.3f\n" % (
                datetime.date.today().isoformat(), processor(),
                os.path.basename(args.model).removesuffix(".onnx"), args.clients, args.rows, rate,
                row * 1000, share, own / wall / os.cpu_count()))


main()
