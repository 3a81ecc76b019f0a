#===- wire.py - Protocol buffer encoding ------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""The wire format of protocol buffers, as far as writing needs it.

The digits models are written without the frameworks that define their formats,
so that anyone can make them again with numpy alone. Every function returns the
bytes of one field; a message is the concatenation of its fields.
"""
import struct


def varint(value):
    """Base-128, low group first; negative numbers as 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value)


def fixed32(field, value):
    return varint(field << 3 | 5) + struct.pack("<I", value)


def data(field, value):
    """A string, bytes, or an embedded message."""
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def packed(field, values):
    return data(field, b"".join(varint(v) for v in values))


def entry(field, key, value):
    """One entry of a map from strings to messages."""
    return data(field, data(1, key) + data(2, value))
