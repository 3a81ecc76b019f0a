#===- columns.py - columns of a tool's help --------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Counts lines of --help whose text does not begin in the column of the others.

usage: columns.py FILE
"""
import re
import sys

wrong = []
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    flag = re.match(r"  -\S.*?\S(  +)\S", line)
    if (flag and flag.end() - 1 != 34) or len(line) > 100:
        wrong.append(line)
print(*wrong, "%d lines out of their column" % len(wrong), sep="\n")
