#!/usr/bin/env python3
#===- sound.py - tones for the example of keywords --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes samples of 16 bits, 8000 a second, of HERTZ:SAMPLES ...; 0 is silence."""
import math
import struct
import sys

for tone in sys.argv[1:]:
    hertz, count = map(int, tone.split(":"))
    for i in range(count):
        value = int(8000 * math.sin(2 * math.pi * hertz * i / 8000))
        sys.stdout.buffer.write(struct.pack("<h", value))
