#!/usr/bin/env python3
#===- peaks.py - What stages of a pipeline hold -------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: peaks.py FEW MANY ALONE: outputs of weir-run --memory, of one network.

FEW and MANY are stages that few and many micro-batches of one size went through: each holds about the same. ALONE
is the batch of MANY at once, which takes more than all stages together. What a stage has received and not yet read hangs on
the moment; activations of four times as many micro-batches would be four times as many bytes.
"""
import re
import sys


def peaks(name):
    with open(name) as text:
        return [int(number) for number in re.findall(r"device=\d+ peak_bytes=(\d+)", text.read())]


few, many, alone = (peaks(name) for name in sys.argv[1:4])
print(few, many, alone)
sys.exit(len(few) < 2 or any(b > 1.5 * a for a, b in zip(few, many)) or alone[0] < 2 * sum(many))
