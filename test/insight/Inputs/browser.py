#!/usr/bin/env python3
#===- browser.py - a report's page in a browser without a screen ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: browser.py CHROMIUM FOLDER NODE

Opens FOLDER/index.html at NODE, with --timeline at the timeline of a measured step, or with
--machine=KERNEL at the kernel's code. Prints the text about it, and whether the page was there within
1.5 s; exits 1 for an error of the page's script.
"""
import os
import re
import subprocess
import sys
import tempfile


def main():
    chromium, folder, node = sys.argv[1:4]
    url = "file://" + os.path.abspath(os.path.join(folder, "index.html")) + ("#timeline" if node == "--timeline" else "#" + node[2:] if node.startswith("--machine=") else "#node=" + node)
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
             "--enable-logging=stderr", "--window-size=1400,900", "--virtual-time-budget=4000", "--dump-dom", url],
            capture_output=True, text=True, timeout=120)
    page = done.stdout
    errors = re.findall(r'CONSOLE.*(?:Uncaught|Error).*', done.stderr)
    if errors:
        sys.exit("the page's script says: " + errors[0])
    ready = re.search(r'data-ready="(\d+)"', page)
    pattern = ('<div id="path">(.*?)</div>' if node == "--timeline"
               else '<section id="code">(.*?)</section>' if node.startswith("--machine=")
               else '<aside id="detail">(.*?)</aside>')
    detail = re.search(pattern, page, re.S)
    if not ready or not detail:
        sys.exit("the page did not come to its end: " + done.stderr[-400:])
    print("found:", " ".join(re.sub(r"<[^>]*>", " ", detail[1]).split()))
    print("opened in time" if int(ready[1]) < 1500 else f"opened in {ready[1]} ms")


main()
