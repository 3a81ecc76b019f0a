#!/usr/bin/env python3
#===- judge.py - a plan's makespan by the corpus' own evaluator -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: judge.py FOLDER PLAN GRAPH MOST; exits 1 when the makespan is more."""
import subprocess
import sys

folder, plan, graph, most = sys.argv[1:]
line = subprocess.run([sys.executable, f"{folder}/evaluate.py", f"{folder}/{graph}.json", plan],
                      capture_output=True, text=True, check=True).stdout
print(graph, line)
sys.exit(float(line.split()[1]) > float(most) + 0.005)
