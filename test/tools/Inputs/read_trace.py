"""Says what a trace and a profile hold: read_trace.py TRACE.json PROFILE.json"""
import json
import sys

trace = json.load(open(sys.argv[1]))["traceEvents"]
profile = json.load(open(sys.argv[2]))["kernels"]
runs = [e for e in trace if e.get("cat") == "run"]
kernels = [e for e in trace if e.get("cat") == "kernel"]
inside = [k for k in kernels
          if any(r["ts"] <= k["ts"] and k["ts"] + k["dur"] <= r["ts"] + r["dur"] + 0.01 for r in runs)]
print("runs", len(runs))
print("kernels outside of runs", len(kernels) - len(inside))
print("conv1 is there", any("conv1" in k["args"].get("nodes", "").split(";") for k in kernels))
print("three calls each", bool(profile) and all(k["calls"] == 3 for k in profile))
