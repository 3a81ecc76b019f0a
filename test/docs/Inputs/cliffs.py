#===- cliffs.py - the sweep's table gives reasons ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: cliffs.py TABLE: fails where a ratio above 2.0 has nothing in the last column."""
import csv
import math
import sys

with open(sys.argv[1]) as file:
    rows = list(csv.DictReader(file, delimiter="\t"))
ratios = [max(float(row["ratio"]), 0.005) for row in rows if row["ratio"] != "-"]
for row in rows:
    if row["ratio"] != "-" and float(row["ratio"]) > 2.0 and not row["note"]:
        sys.exit("no reason: " + " ".join(list(row.values())[:6]))
mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
print(f"{len(ratios)} cells with a peer, geometric mean {mean:.2f}, "
      f"{100 * sum(r <= 1 for r in ratios) / len(ratios):.0f} % at most 1.0, "
      f"{sum(r > 2 for r in ratios)} above 2.0")
