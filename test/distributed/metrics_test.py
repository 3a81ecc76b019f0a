#!/usr/bin/env python3
#===- metrics_test.py - What a monitor is told --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Asks a training for its figures while it runs.

usage: metrics_test.py COMMAND...      (--metrics=PORT is added)
"""
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import tasks


def ask(port, path):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        text = b""
        while more := s.recv(4096):
            text += more
    head, _, body = text.decode().partition("\r\n\r\n")
    return head.split()[1], body


def main():
    port = tasks.free_ports(1)[0]
    process = subprocess.Popen(sys.argv[1:] + [f"--metrics={port}"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        seen = []
        for _ in range(600):
            time.sleep(0.05)
            try:
                code, text = ask(port, "/metrics")
            except OSError:
                continue
            steps = re.search(r"^weir_steps_total (\d+)$", text, re.M)
            if steps:
                seen.append(int(steps.group(1)))
            if len(seen) > 2 and seen[-1] > seen[0]:
                break
        for line in text.splitlines():
            if not re.fullmatch(r'# (HELP|TYPE) weir_\w+ .+|weir_\w+(\{\w+="\d+"\})? [-+.e0-9]+', line):
                sys.exit(f"no line of the format: {line}")
        # Who asks nothing keeps nobody from an answer.
        silent = socket.create_connection(("127.0.0.1", port))
        print(code, "steps grow" if seen[-1] > seen[0] else "steps stay",
              *sorted(set(re.findall(r"^weir_\w+", text, re.M))))
        print(*ask(port, "/healthz"))
        print(ask(port, "/other")[0])
        silent.close()
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
