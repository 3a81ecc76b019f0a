#!/usr/bin/env python3
#===- variants.py - one object for several processors ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: variants.py WEIR-RUN SAMPLES.npy ALL.so

In a folder with 2.so, 3.so and 4.so, for x86-64-v2 … alone, and ALL.so for all
of them: ALL.so made to take one of them computes its bits, or refuses as it
does; left alone it takes the last that the machine has.
"""
import os
import subprocess
import sys


def run(library, output, **environment):
    """The bytes of the result, or None where the processor was refused."""
    got = subprocess.run(
        [sys.argv[1], library, "--input=image=" + sys.argv[2], "--output=" + output],
        env={**os.environ, **environment}, text=True, stderr=subprocess.PIPE)
    if got.returncode == 0:
        with open(os.path.join(output, "probabilities.npy"), "rb") as file:
            return file.read()
    if got.returncode != 1 or "FAILED_PRECONDITION" not in got.stderr:
        sys.exit(f"{library} {environment} exits {got.returncode}: {got.stderr}")
    return None


best = None
for level in "234":
    alone = run(f"./{level}.so", "expected-" + level)
    one_of_all = run("./" + sys.argv[3], "got-" + level, WEIR_CPU="x86-64-v" + level)
    if alone != one_of_all:
        sys.exit(f"x86-64-v{level}: another result than the object for it alone has")
    best = alone or best
if run("./" + sys.argv[3], "got") != best:
    sys.exit("the processor's best code was not taken")
