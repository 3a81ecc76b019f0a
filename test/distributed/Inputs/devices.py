#!/usr/bin/env python3
#===- devices.py - Devices that are alike, as a file ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: devices.py FILE.json COUNT [bandwidth=BYTES/S] [latency=S] [memory=BYTES] [flops=N/S]

A CPU a task; `bandwidth` and `latency` are those of all links.
"""
import json
import sys

given = dict(text.split("=") for text in sys.argv[3:])
own = {name: float(given[name]) for name in ("flops",) if name in given}
if "memory" in given:
    own["memory"] = int(given["memory"])
devices = [{"name": f"/job:worker/task:{i}/device:CPU:0", **own} for i in range(int(sys.argv[2]))]
link = {name: float(given[name]) for name in ("bandwidth", "latency") if name in given}
with open(sys.argv[1], "w") as file:
    json.dump({"devices": devices, "links": [{"from": "*", "to": "*", **link}] if link else []}, file)
