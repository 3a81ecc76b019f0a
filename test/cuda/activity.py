#===- activity.py - a trace by CUPTI as text --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""What a trace by CUPTI says, as text: activity.py TRACE.json"""

import json
import sys

events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if "ts" in e]
kernels = [e for e in events if e.get("cat") == "kernel"]
runs = [e for e in events if e.get("cat") == "run"]
print("nodes", *sorted({e["args"]["nodes"] for e in kernels}))
print("kernels", len(kernels), "runs", len(runs))
# By the host's clock each lies within a run.
inside = all(any(r["ts"] <= e["ts"] and e["ts"] + e["dur"] <= r["ts"] + r["dur"] for r in runs)
             for e in kernels)
print("inside", inside)
print("alone", all(a["ts"] + a["dur"] <= b["ts"] + 1e-3
                   for a, b in zip(kernels, kernels[1:]) if a["pid"] == b["pid"]))
copies = [e for e in events if e.get("cat") == "copy" and "bytes" in e["args"]]
for name, thread in (("in", 1), ("out", 2)):
    own = [e for e in copies if e["tid"] == thread]
    timed = all(e["dur"] > 0 and e["args"]["gigabytes_per_second"] > 0 and
                any(r["ts"] <= e["ts"] and e["ts"] + e["dur"] <= r["ts"] + r["dur"] for r in runs)
                for e in own)
    print("copies", name, len(own), "bytes", sum(e["args"]["bytes"] for e in own), "timed", timed,
          *sorted({e["name"] for e in own}))
for note in sorted({e["name"] for e in events if e.get("cat") == "copy" and "bytes" not in e["args"]
                    and " " in e["name"]}):
    print("note", note)
