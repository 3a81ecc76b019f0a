# ===- _abi.py - weir/weir.h and weir/plugin.h in ctypes ---------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Structures and the table of functions, as the C headers have them."""

from __future__ import annotations

import ctypes
import enum
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int32,
                    c_int64, c_uint32, c_void_p, sizeof)

MAX_RANK = 16


class Code(enum.IntEnum):
    """How a call ended; TensorFlow's (and absl's) canonical codes."""
    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Error(RuntimeError):
    """A status other than OK. `code` tells which; the text names node or feed."""

    def __init__(self, code: int, message: str):
        self.code = Code(code) if code in Code._value2member_map_ else Code.UNKNOWN
        super().__init__(f"{self.code.name}: {message}")


class WeirTensor(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_int64), ("dtype", c_int32), ("rank", c_int32),
                ("dims", c_int64 * MAX_RANK)]


class WeirString(Structure):
    _fields_ = [("data", c_void_p), ("size", c_int64)]


class Status(Structure):
    _fields_ = [("size", c_uint32), ("code", c_int32), ("message", c_char * 1016)]

    def __init__(self):
        super().__init__(sizeof(Status), 0, b"")

    def check(self, code: int) -> None:
        if code:
            raise Error(code, self.message.decode("utf-8", "replace"))


class TensorInfo(Structure):
    _fields_ = [("size", c_uint32), ("dtype", c_int32), ("rank", c_int32), ("over_feed", c_int32),
                ("name", c_char_p), ("dims", POINTER(c_int64)), ("lower", POINTER(c_int64)),
                ("upper", POINTER(c_int64)), ("symbols", POINTER(c_int32))]


class TraceEvent(Structure):
    _fields_ = [("size", c_uint32), ("kind", c_int32), ("step", c_int64), ("name", c_char_p),
                ("nodes", c_char_p), ("device", c_char_p), ("flops", c_int64), ("bytes", c_int64),
                ("part_begin", c_int64), ("part_end", c_int64), ("thread", c_int32),
                ("reserved", c_int32)]


TraceFunction = CFUNCTYPE(None, c_void_p, POINTER(TraceEvent))


class Trace(Structure):
    _fields_ = [("size", c_uint32), ("reserved", c_uint32), ("self", c_void_p),
                ("begin", TraceFunction), ("end", TraceFunction), ("span", c_void_p)]


class SessionOptions(Structure):
    _fields_ = [("size", c_uint32), ("threads", c_int32), ("pool_kind", c_int32),
                ("function_count", c_int32), ("pool_name", c_char_p), ("pool", c_void_p),
                ("allocator", c_void_p), ("memory_limit", c_int64),
                ("allocation_wait_ms", c_int64), ("weights_file", c_char_p), ("trace", c_void_p),
                ("functions", c_void_p), ("transport", c_void_p)]


class RunOptions(Structure):
    _fields_ = [("size", c_uint32), ("threads", c_int32), ("timeout_ns", c_int64),
                ("cancellation", c_void_p), ("trace", c_void_p), ("feeds_on_gpu", c_void_p),
                ("fetches_on_gpu", c_void_p), ("cuda_stream", c_void_p)]


class CheckpointOptions(Structure):
    _fields_ = [("size", c_uint32), ("partial", c_int32), ("keep", c_int32),
                ("reserved", c_int32)]


class MemoryStats(Structure):
    _fields_ = [("size", c_uint32), ("regions", c_int32)] + [
        (name, c_int64) for name in
        ("limit", "reserved", "in_use", "requested", "peak_in_use", "allocations", "live",
         "largest", "largest_free", "waits", "collected")] + [("fragmentation", c_double)]


RunDone = CFUNCTYPE(None, c_void_p, POINTER(Status))

_P, _I, _L, _S = c_void_p, c_int32, c_int64, c_char_p
_RUN = [_P, _I, _P, _I, _P, _I, _P]
_ROWS = [
    ("session_create", _I, [_P, _P, _P, _P]),
    ("session_destroy", None, [_P]),
    ("session_run", _I, _RUN + [_P]),
    ("session_release", None, [_P, _P]),
    ("session_reset", _I, [_P, _P]),
    ("session_get_variable", _I, [_P, _S, _P, _P]),
    ("session_set_variable", _I, [_P, _S, _P, _P]),
    ("session_memory", _I, [_P, _I, _P]),
    ("session_memory_report", _L, [_P, _I, _P, _L]),
    ("session_threads", _I, [_P]),
    ("session_save", _I, [_P, _S, _P, _P]),
    ("session_save_async", _I, [_P, _S, _P, RunDone, _P, _P]),
    ("session_restore", _I, [_P, _S, _P, _P]),
    ("latest_checkpoint", _I, [_S, _P, _L, _P]),
    ("session_run_async", _I, _RUN + [RunDone, _P, _P]),
    ("session_program", _P, [_P]),
    ("session_find_entry", _I, [_P, _S]),
    ("session_trim", None, [_P]),
    ("cancellation_create", _P, []),
    ("cancellation_destroy", None, [_P]),
    ("cancellation_cancel", None, [_P]),
    ("cancellation_reset", None, [_P]),
    ("cancellation_is_cancelled", _I, [_P]),
    ("program_name", _S, [_P]),
    ("program_compiler", _S, [_P]),
    ("program_entry_count", _I, [_P]),
    ("program_entry_name", _S, [_P, _I]),
    ("program_feed_count", _I, [_P, _I]),
    ("program_fetch_count", _I, [_P, _I]),
    ("program_feed", _I, [_P, _I, _I, _P]),
    ("program_fetch", _I, [_P, _I, _I, _P]),
    ("program_variable_count", _I, [_P]),
    ("program_variable", _I, [_P, _I, _P]),
    ("program_device_count", _I, [_P]),
    ("program_device_name", _S, [_P, _I]),
    ("program_arena_bytes", _L, [_P, _I]),
    ("dtype_size", _L, [_I]),
    ("dtype_name", _S, [_I]),
    ("code_name", _S, [_I]),
    ("runtime_version", _S, []),
    ("custom_alloc", _P, [_P, _L]),
    ("custom_error", _I, [_P, _I, _S]),
]


class Plugin(Structure):
    """weir_plugin: the functions of a shared object's own runtime."""
    _fields_ = [("size", c_uint32), ("abi_version", c_uint32), ("program", c_void_p)] + [
        (name, CFUNCTYPE(result, *arguments)) for name, result, arguments in _ROWS]


def open_library(path: str):
    """The library and its table."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Error(Code.NOT_FOUND, str(error)) from None
    try:
        table = Plugin.in_dll(library, "weir_plugin")
    except ValueError:
        raise Error(Code.INVALID_ARGUMENT,
                    f"{path} is no shared object of weirc's: it has no table weir_plugin") from None
    if table.size < sizeof(Plugin):
        raise Error(Code.FAILED_PRECONDITION,
                    f"{path} was written by an older weirc; compile the model anew")
    return library, table


__all__ = ["byref", "CheckpointOptions", "Code", "Error", "MAX_RANK", "MemoryStats", "Plugin",
           "RunDone", "RunOptions", "SessionOptions", "Status", "TensorInfo", "Trace",
           "TraceEvent", "TraceFunction", "WeirString", "WeirTensor", "open_library", "sizeof"]
