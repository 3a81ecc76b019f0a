#===- bundle.py - TensorFlow's tensor bundle, version 2 ---------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes variables as a tensor bundle of one shard.

The index is a sorted string table as LevelDB defines it: data blocks, an empty
metaindex block, an index block, a footer of 48 bytes; every block is followed
by its compression (0, none) and a masked CRC-32C. The data file holds the
tensors one after another.
"""
import struct

from wire import data, fixed32, integer, varint

FLOAT = 1
TABLE_MAGIC = 0xDB4775248B80FB57


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def masked_crc32c(content):
    """CRC-32C, rotated and offset: a CRC stored beside data that holds CRCs."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _block(entries):
    """Keys share prefixes with their predecessors; one restart point is enough here."""
    out, previous = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(key), len(previous)) and key[shared] == previous[shared]:
            shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value))
        out += key[shared:] + value
        previous = key
    return out + struct.pack("<II", 0, 1)


def _table(entries):
    out = b""

    def append(block):
        nonlocal out
        handle = varint(len(out)) + varint(len(block))
        out += block + b"\0" + struct.pack("<I", masked_crc32c(block + b"\0"))
        return handle

    content = append(_block(entries))
    metaindex = append(_block([]))
    index = append(_block([(entries[-1][0], content)]))
    footer = (metaindex + index).ljust(40, b"\0") + struct.pack("<Q", TABLE_MAGIC)
    return out + footer


def write(prefix, tensors):
    """tensors: name to a little-endian float32 array."""
    entries = [(b"", integer(1, 1) + data(3, integer(1, 1)))]
    offset = 0
    with open(prefix + ".data-00000-of-00001", "wb") as f:
        for name in sorted(tensors):
            content = tensors[name].tobytes()
            shape = b"".join(data(2, integer(1, d)) for d in tensors[name].shape)
            value = integer(1, FLOAT) + data(2, shape)
            value += (integer(4, offset) if offset else b"") + integer(5, len(content))
            entries.append((name.encode(), value + fixed32(6, masked_crc32c(content))))
            f.write(content)
            offset += len(content)
    with open(prefix + ".index", "wb") as f:
        f.write(_table(entries))
