#!/usr/bin/env python3
#===- trace.py - arrows and counters of a trace -----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: trace.py TRACE.json"""
import json
import sys


def main():
    with open(sys.argv[1]) as file:
        events = json.load(file)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    sends = [e for e in slices if e["cat"] == "send"]
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    wrong = 0
    for number, begin in begins.items():
        end = ends.get(number)
        # An arrow binds to slices that hold its ends: the send, and the receive on another device.
        at = [e for e in sends if e["name"] == begin["name"] and e["pid"] == begin["pid"]
              and e["ts"] <= begin["ts"] <= e["ts"] + e["dur"]]
        to = [e for e in slices if end and e["cat"] == "receive" and e["name"] == end["name"]
              and e["pid"] == end["pid"] and e["ts"] <= end["ts"] <= e["ts"] + max(e["dur"], 1e-3)]
        good = at and to and end["pid"] != begin["pid"] and end["ts"] >= begin["ts"] - 1e-3
        wrong += not good
    same = len(begins) == len(ends) == len(sends)
    print(f"{len(sends)} sends, {'as many' if same else f'{len(begins)} and {len(ends)}'} arrows, "
          f"{wrong or 'none'} without a receive")
    counters = [e for e in events if e["ph"] == "C"]
    alive = [e["args"]["bytes"] for e in counters if e["name"] == "bytes alive"]
    print(f"bytes alive: {len(alive)} counts, {'none' if min(alive) >= 0 else 'some'} below 0, "
          f"{'some' if max(alive) > 0 else 'none'} above")
    rates = [e for e in counters if e["name"] == "bandwidth of kernels"]
    last = {e["pid"]: e["args"]["GB/s"] for e in rates}
    print(f"bandwidth: {len(rates)} counts, ends at {max(last.values()):g} on each device")


main()
