# ===- _program.py - programs, their entries and variables --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A shared object of weirc's as an object of callables."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections import namedtuple
from concurrent.futures import Future
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _abi
from ._abi import Code, Error, Status, TensorInfo, WeirTensor, byref, sizeof
from ._arrays import SEQUENCE, STRING, dtype_name, fill, numpy_dtype, taken

try:
    from ._fast import Caller  # type: ignore
except ImportError:  # a Python before 3.11, or a wheel that was built without Python.h
    Caller = None

PathLike = Union[str, "os.PathLike[str]"]
# Elements as the buffer protocol names them, by weir's number.
_FORMATS = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "l", 9: "?", 10: "e", 11: "d",
            12: "I", 13: "L", 14: "Zf", 15: "Zd"}


def _fits(shape: Tuple[int, ...], wanted: Optional[Tuple[Optional[int], ...]]) -> bool:
    """Whether an array may be offered for an output, whose open sizes are None."""
    return wanted is None or (len(shape) == len(wanted) and
                              all(b is None or a == b for a, b in zip(shape, wanted)))


def _shaped(array: np.ndarray, made: WeirTensor) -> np.ndarray:
    """What the run has made in the array's memory."""
    shape = tuple(made.dims[:made.rank])
    if array.shape == shape:
        return array
    return array.reshape(-1)[:np.prod(shape, dtype=np.int64)].reshape(shape)


class Tensor:
    """An input, an output or a variable. `shape` has None for sizes that are open, and is
    None where the rank is. `over` is the name of the input whose array an output may have
    (`out=` of `Entry.run`), None if there is none."""

    __slots__ = ("name", "dtype", "shape", "bounds", "number", "over")

    def __init__(self, info: TensorInfo):
        self.name: str = info.name.decode()
        self.number: int = info.dtype
        self.dtype: str = dtype_name(info.dtype)
        self.over: Optional[str] = None
        self.shape: Optional[Tuple[Optional[int], ...]] = None
        self.bounds: Tuple[Tuple[int, Optional[int]], ...] = ()
        if info.rank >= 0:
            dims = [info.dims[i] for i in range(info.rank)]
            self.shape = tuple(None if size < 0 else size for size in dims)
            self.bounds = tuple(
                (info.lower[i] if info.lower else 0,
                 info.upper[i] if info.upper and info.upper[i] >= 0 else None)
                for i in range(info.rank))

    def __repr__(self) -> str:
        if self.shape is None:
            return f"<{self.name}: {self.dtype} of any rank>"
        text = "x".join("?" if size is None else str(size) for size in self.shape)
        return f"<{self.name}: {self.dtype} {text or 'scalar'}>"


class _State:
    """What one call needs and the next one uses again. Of one call at a time."""

    __slots__ = ("feeds", "fetches", "status", "arguments")

    def __init__(self, entry: "Entry"):
        inputs, outputs = entry.inputs, entry.outputs
        self.feeds = (WeirTensor * max(1, len(inputs)))()
        self.fetches = (WeirTensor * max(1, len(outputs)))()
        self.status = Status()
        self.arguments = (entry._session, ctypes.c_int32(entry._index), byref(self.feeds),
                          ctypes.c_int32(len(inputs)), byref(self.fetches),
                          ctypes.c_int32(len(outputs)), None, byref(self.status))


class Entry:
    """One function of a program. Called with its inputs, in order or by name; returns its
    output, or a named tuple of them. From any number of threads at once."""

    def __init__(self, program: "Program", index: int, name: str):
        table, desc = program._table, program._desc
        self.name = name
        self._program, self._index, self._session = program, index, program._session

        def tensors(count, ask):
            info = TensorInfo()
            found = []
            for i in range(count):
                info.size = sizeof(TensorInfo)
                if ask(desc, index, i, byref(info)) == 0:
                    found.append(Tensor(info))
                    if info.over_feed:
                        found[-1].over = self.inputs[info.over_feed - 1].name
            return found

        self.inputs: List[Tensor] = tensors(table.program_feed_count(desc, index),
                                            table.program_feed)
        self.outputs: List[Tensor] = tensors(table.program_fetch_count(desc, index),
                                             table.program_fetch)
        self._positions = {tensor.name: i for i, tensor in enumerate(self.inputs)}
        self._result = namedtuple("Outputs", [t.name for t in self.outputs], rename=True)
        self._states: List[_State] = []
        # The table's function without conversions: what it is given has its types already.
        address = ctypes.cast(table.session_run, ctypes.c_void_p).value
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32)(address)
        self._fast = self._fast_caller(address)

    def _fast_caller(self, run: int):
        """The same call in C, where types allow; None: there is none."""
        numbers = [tensor.number for tensor in self.inputs]
        given = [tensor.number for tensor in self.outputs]
        if (Caller is None or max(len(numbers), len(given)) > 16 or
                any(number not in _FORMATS for number in numbers) or
                any(number in (STRING, SEQUENCE) for number in given)):
            return None
        shapes = [t.shape if t.shape is not None and None not in t.shape else None
                  for t in self.outputs]
        release = ctypes.cast(self._program._table.session_release, ctypes.c_void_p).value
        return Caller(run, release, self._session.value, self._index,
                      tuple((number, _FORMATS[number]) for number in numbers),
                      tuple((shape, numpy_dtype(n)) for shape, n in zip(shapes, given)),
                      np.empty, Error, self._result)

    def __repr__(self) -> str:
        return f"<entry {self.name}: {self.inputs} -> {self.outputs}>"

    def _ordered(self, args, kwargs) -> List[Any]:
        values: List[Any] = list(args) + [None] * (len(self.inputs) - len(args))
        if len(args) > len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} inputs, not {len(args)}")
        given = len(args)
        for name, value in kwargs.items():
            at = self._positions.get(name)
            if at is None or at < len(args):
                names = ", ".join(self._positions)
                raise TypeError(f"{self.name}: found input {name!r}, expected one of {names}, once")
            values[at] = value
            given += 1
        if given != len(self.inputs):
            missing = [t.name for t, v in zip(self.inputs, values) if v is None]
            raise TypeError(f"{self.name}: no input {', '.join(missing)} given")
        return values

    def _feed(self, state: _State, values, kept: List[Any]) -> None:
        for i, value in enumerate(values):
            fill(state.feeds[i], value, self.inputs[i].number, f"input {self.inputs[i].name!r}",
                 kept)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = self._ordered(args, kwargs)
        if self._fast is not None:
            outcome = self._fast(*args)
            if outcome is not NotImplemented:
                return outcome
        if len(args) != len(self.inputs):
            args = self._ordered(args, {})
        try:
            state = self._states.pop()
        except IndexError:
            state = _State(self)
        kept: List[Any] = []
        self._feed(state, args, kept)
        return self._finish(state, self._run(*state.arguments))

    def _place(self, state: _State, out: Mapping[str, np.ndarray],
               values: Sequence[Any]) -> Dict[int, np.ndarray]:
        """Offers the arrays of `out` to the run; by number. `values` are its inputs."""
        if not isinstance(out, Mapping):
            raise TypeError(f"out: found {type(out).__name__}, expected arrays by outputs' names")
        numbers = {tensor.name: i for i, tensor in enumerate(self.outputs)}
        placed = {}
        for name, array in out.items():
            if name not in numbers:
                raise TypeError(f"{self.name}: found output {name!r}, expected one of "
                                f"{', '.join(numbers)}")
            i = numbers[name]
            tensor = self.outputs[i]
            if tensor.number in (STRING, SEQUENCE):
                raise TypeError(f"output {name!r} is a {tensor.dtype} {tensor.shape}: it is made by "
                                "the run")
            wanted = numpy_dtype(tensor.number)
            if (not isinstance(array, np.ndarray) or array.dtype != wanted or
                    not _fits(array.shape, tensor.shape) or not array.flags.c_contiguous or
                    not array.flags.writeable):
                found = (f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray)
                         else type(array).__name__)
                raise TypeError(f"output {name!r}: found {found}, expected a contiguous array "
                                f"of {wanted} {tensor.shape} that may be written")
            state.fetches[i].data = array.ctypes.data
            state.fetches[i].bytes = array.nbytes
            placed[i] = array
        self._refuse_shared(placed, values)
        return placed

    def _refuse_shared(self, placed: Mapping[int, np.ndarray], values: Sequence[Any]) -> None:
        """Of arrays that outputs are placed in: an error where one overlaps another, or an input
        but the one that it may lie over. Sorted: a decoder has a hundred, and runs a step of them
        in milliseconds."""
        below = {self.outputs[i].over: array.ctypes.data for i, array in placed.items()}
        spans = [(array.ctypes.data, array.nbytes, True, self.outputs[i].name)
                 for i, array in placed.items()]
        for tensor, value in zip(self.inputs, values):
            # What is not contiguous is copied before the run.
            if isinstance(value, np.ndarray) and value.flags.c_contiguous:
                begin = value.ctypes.data
                if below.get(tensor.name) != begin:
                    spans.append((begin, value.nbytes, False, tensor.name))
        ends = {True: (0, ""), False: (0, "")}  # the farthest of outputs, and of inputs
        for begin, size, is_output, name in sorted(spans):
            for other in (True, False) if is_output else (True,):
                if size and begin < ends[other][0]:
                    output, owner = (name, ends[other][1]) if is_output else (ends[True][1], name)
                    kind = "output" if is_output and other else "input"
                    raise ValueError(f"output {output!r}: found the memory of {kind} {owner!r}, "
                                     "expected an array of its own")
            ends[is_output] = max(ends[is_output], (begin + size, name))

    def _finish(self, state: _State, code: int,
                placed: Optional[Dict[int, np.ndarray]] = None) -> Any:
        """Results that lie in the runtime's memory, which is given back, but for `placed`."""
        release = self._program._table.session_release
        placed = placed or {}
        try:
            state.status.check(code)
            for i, array in list(placed.items()):
                # Of an open size it may not have fitted.
                if state.fetches[i].data != array.ctypes.data:
                    del placed[i]
                else:
                    placed[i] = _shaped(array, state.fetches[i])
            outputs = [placed[i] if i in placed else taken(state.fetches[i])
                       for i in range(len(self.outputs))]
        finally:
            for i in range(len(self.outputs)):
                if i not in placed:
                    release(self._session, byref(state.fetches[i]))
                state.fetches[i].data = None
                state.fetches[i].bytes = 0
            self._states.append(state)
        return outputs[0] if len(outputs) == 1 else self._result(*outputs)

    def _run_with(self, options: _abi.RunOptions, args, kwargs,
                  out: Optional[Mapping[str, np.ndarray]] = None) -> Any:
        state = _State(self)
        kept: List[Any] = []
        values = self._ordered(args, kwargs)
        self._feed(state, values, kept)
        placed = self._place(state, {} if out is None else out, values)
        arguments = list(state.arguments)
        arguments[6] = byref(options)
        return self._finish(state, self._run(*arguments), placed)

    def run(self, *args: Any, timeout: Optional[float] = None, threads: int = 0,
            out: Optional[Mapping[str, np.ndarray]] = None, **kwargs: Any) -> Any:
        """The same with options of the run: seconds after which it ends with
        DEADLINE_EXCEEDED, threads at most, and arrays that outputs are written into (one of
        an open size is made by the run where it does not fit). An output may have the array
        of the input that its `over` names: what a decoder keeps is updated in place then,
        and lost where the run fails. An input that is called like an option is given by its
        place."""
        options = _abi.RunOptions(sizeof(_abi.RunOptions), threads,
                                  int(timeout * 1e9) if timeout else 0)
        return self._run_with(options, args, kwargs, out)

    def run_async(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Begins a run. The inputs must stay as they are until the future is done; cancelling
        it ends the run soon."""
        program, table = self._program, self._program._table
        state = _State(self)
        kept: List[Any] = []
        self._feed(state, self._ordered(args, kwargs), kept)
        future: "Future[Any]" = _RunFuture(table)
        options = _abi.RunOptions(sizeof(_abi.RunOptions))
        options.cancellation = future._cancellation

        def done(_, status):
            try:
                state.status.code = status.contents.code
                state.status.message = status.contents.message
                result = self._finish(state, status.contents.code)
            except BaseException as error:  # of whatever kind: the future tells it
                future.set_exception(error)
            else:
                future.set_result(result)
            program._pending.pop(key, None)

        callback = _abi.RunDone(done)
        key = id(callback)
        # What the run uses, until it has ended.
        program._pending[key] = (callback, options, kept, state, future)
        future.set_running_or_notify_cancel()
        code = table.session_run_async(
            self._session, self._index, ctypes.addressof(state.feeds), len(self.inputs),
            ctypes.addressof(state.fetches), len(self.outputs), ctypes.addressof(options),
            callback, None, ctypes.addressof(state.status))
        if code:
            program._pending.pop(key, None)
            state.status.check(code)
        return future

    def trace(self, *args: Any, **kwargs: Any) -> Tuple[Any, List[Dict[str, Any]]]:
        """Runs and tells what ran when: the results, and events as dicts with kind, name,
        nodes, device, thread, begin and end (seconds on the monotonic clock)."""
        recorder = _Recorder()
        options = _abi.RunOptions(sizeof(_abi.RunOptions))
        options.trace = ctypes.addressof(recorder.hooks)
        results = self._run_with(options, args, kwargs)
        return results, recorder.events


class _RunFuture(Future):
    """A future whose run ends soon when it is cancelled."""

    def __init__(self, table):
        super().__init__()
        self._table = table
        self._cancellation = table.cancellation_create()

    def cancel(self) -> bool:
        if self.done():
            return False
        self._table.cancellation_cancel(self._cancellation)
        return True

    def __del__(self):
        self._table.cancellation_destroy(self._cancellation)


class _Recorder:
    """Collects events of a run; called on the threads where things happen."""

    KINDS = ("run", "kernel", "receive", "custom", "copy")

    def __init__(self):
        self.events: List[Dict[str, Any]] = []
        self._open: Dict[Tuple[int, bytes], List[Tuple[float, Dict[str, Any]]]] = {}
        self._lock = threading.Lock()
        self.hooks = _abi.Trace(sizeof(_abi.Trace), 0, None, _abi.TraceFunction(self._begin),
                                _abi.TraceFunction(self._end), None)

    def _begin(self, _, event) -> None:
        one = event.contents
        kind = self.KINDS[one.kind] if 0 <= one.kind < len(self.KINDS) else "?"
        nodes = (one.nodes or b"").decode()
        told = {"kind": kind, "name": (one.name or b"").decode(),
                "nodes": nodes.split(";") if nodes else [],
                "device": (one.device or b"").decode(), "thread": one.thread,
                "flops": one.flops, "bytes": one.bytes}
        with self._lock:
            self._open.setdefault((one.kind, one.name), []).append((time.monotonic(), told))

    def _end(self, _, event) -> None:
        one, now = event.contents, time.monotonic()
        with self._lock:
            begun = self._open.get((one.kind, one.name))
            if not begun:
                return
            # The same kernel may run in parts on several threads.
            at = next((i for i in range(len(begun) - 1, -1, -1)
                       if begun[i][1]["thread"] == one.thread), len(begun) - 1)
            begin, told = begun.pop(at)
            self.events.append({**told, "begin": begin, "end": now})


class Variables(Mapping):
    """Variables by name: read with [], assigned with []."""

    def __init__(self, program: "Program"):
        self._program = program
        table, desc = program._table, program._desc
        self.tensors: Dict[str, Tensor] = {}
        info = TensorInfo()
        for i in range(table.program_variable_count(desc)):
            info.size = sizeof(TensorInfo)
            if table.program_variable(desc, i, byref(info)) == 0:
                tensor = Tensor(info)
                self.tensors[tensor.name] = tensor

    def _check(self, name: str) -> None:
        """Raises KeyError where there is no such variable."""
        if name not in self.tensors:
            frozen = "" if self.tensors else (": the weights of a program that only infers are "
                                              "constants without options=['--freeze=none']")
            raise KeyError(name + frozen)

    def __getitem__(self, name: str) -> Any:
        self._check(name)
        program, status, value = self._program, Status(), WeirTensor()
        status.check(program._table.session_get_variable(program._session, name.encode(),
                                                         byref(value), byref(status)))
        try:
            return taken(value)
        finally:
            program._table.session_release(program._session, byref(value))

    def __setitem__(self, name: str, value: Any) -> None:
        self._check(name)
        program, status, tensor = self._program, Status(), WeirTensor()
        kept: List[Any] = []
        fill(tensor, value, self.tensors[name].number, f"variable {name!r}", kept)
        status.check(program._table.session_set_variable(program._session, name.encode(),
                                                         byref(tensor), byref(status)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


class Program:
    """A compiled model with a session of its own: entries, variables, checkpoints. Called, it
    runs its only entry, or serving_default."""

    def __init__(self, path: PathLike, threads: int = 0, memory_limit: int = 0,
                 weights: Optional[PathLike] = None):
        name = os.fspath(path)
        # Without a slash the loader would look in the system's folders.
        self._library, self._table = _abi.open_library(
            name if os.sep in name else os.path.join(".", name))
        self._desc = self._table.program
        self._pending: Dict[int, Any] = {}
        options = _abi.SessionOptions(sizeof(_abi.SessionOptions), threads)
        options.memory_limit = memory_limit
        options.weights_file = os.fsencode(weights) if weights else None
        session, status = ctypes.c_void_p(), Status()
        self._session = session
        status.check(self._table.session_create(self._desc, byref(options), byref(session),
                                                byref(status)))
        self.name: str = self._table.program_name(self._desc).decode()
        self.entries: Dict[str, Entry] = {}
        for i in range(self._table.program_entry_count(self._desc)):
            entry = self._table.program_entry_name(self._desc, i).decode()
            self.entries[entry] = Entry(self, i, entry)
        self.variables = Variables(self)
        self.default: Optional[Entry] = self.entries.get("serving_default")
        if len(self.entries) == 1:
            self.default = next(iter(self.entries.values()))

    def __repr__(self) -> str:
        return f"<program {self.name}: {', '.join(self.entries)}>"

    def __getitem__(self, entry: str) -> Entry:
        return self.entries[entry]

    def _default(self) -> Entry:
        if self.default is None:
            raise Error(Code.INVALID_ARGUMENT,
                        f"program {self.name} has several entries and no serving_default; call "
                        f"one of program[{'], program['.join(map(repr, self.entries))}]")
        return self.default

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self.default or self._default())(*args, **kwargs)

    def run_async(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        return self._default().run_async(*args, **kwargs)

    def save(self, prefix: PathLike, keep: int = 0) -> None:
        """Saves the variables as a checkpoint of TensorFlow's format."""
        status = Status()
        options = _abi.CheckpointOptions(sizeof(_abi.CheckpointOptions), 0, keep)
        status.check(self._table.session_save(self._session, os.fsencode(prefix), byref(options),
                                              byref(status)))

    def restore(self, prefix: PathLike, partial: bool = False) -> None:
        """Gives the variables the values of a checkpoint."""
        status = Status()
        options = _abi.CheckpointOptions(sizeof(_abi.CheckpointOptions), int(partial))
        status.check(self._table.session_restore(self._session, os.fsencode(prefix),
                                                 byref(options), byref(status)))

    def reset(self) -> None:
        """Gives the variables their initial values."""
        status = Status()
        status.check(self._table.session_reset(self._session, byref(status)))

    def memory(self, device: int = 0) -> Dict[str, Any]:
        """The state of a device's allocator, in bytes unless the names say otherwise."""
        stats = _abi.MemoryStats(sizeof(_abi.MemoryStats))
        if self._table.session_memory(self._session, device, byref(stats)):
            raise Error(Code.OUT_OF_RANGE, f"there is no device {device}")
        return {name: getattr(stats, name) for name, _ in _abi.MemoryStats._fields_[1:]}

    def close(self) -> None:
        """Ends the session, once asynchronous runs have ended. Later calls are errors."""
        for _, _, _, _, future in list(self._pending.values()):
            try:
                future.exception()
            except BaseException:
                pass
        self._table.session_destroy(self._session)

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_session", None):
            self.close()


def load(path: PathLike, *, threads: int = 0, memory_limit: int = 0,
         weights: Optional[PathLike] = None) -> Program:
    """Opens a shared object that weirc wrote. `threads`: of a run, the machine's where 0;
    `memory_limit`: bytes a device, 0 for none; `weights`: the file of --weights, where it does
    not lie beside the library."""
    return Program(path, threads, memory_limit, weights)
