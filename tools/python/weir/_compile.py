# ===- _compile.py - weirc from Python ---------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles models with the weirc of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from ._abi import Code, Error
from ._program import Program, load

PathLike = Union[str, "os.PathLike[str]"]


def weirc_path() -> str:
    """$WEIRC, the package's own, or the one on the PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "weirc")
    for path in (os.environ.get("WEIRC"), own, shutil.which("weirc")):
        if path and os.path.exists(path):
            return path
    raise Error(Code.NOT_FOUND, "there is no weirc; expected the package's, one on the PATH, or "
                                "$WEIRC")


def run_weirc() -> None:
    """The console script `weirc`."""
    path = weirc_path()
    os.execv(path, [path] + sys.argv[1:])


def _shape(dims: Iterable[Optional[int]]) -> str:
    text = "x".join("?" if size is None or size < 0 else str(size) for size in dims)
    return text or "scalar"


def _dimension(size: Union[int, Sequence[int]]) -> str:
    return str(size) if isinstance(size, int) else f"{size[0]}..{size[1]}"


def compile(model: Any, *, output: Optional[PathLike] = None, cpu: Optional[str] = None,
            shapes: Optional[Mapping[str, Iterable[Optional[int]]]] = None,
            dims: Optional[Mapping[str, Union[int, Sequence[int]]]] = None,
            precision: Optional[str] = None, options: Sequence[str] = (),
            threads: int = 0) -> Program:
    """Compiles a model and loads it.

    model      a path (.onnx, .pb, .pbtxt, a SavedModel's folder), bytes of an ONNX file, or
               an onnx.ModelProto
    output     where the shared object goes, for weir.load; left out: it goes with the process
    cpu        as weirc's --cpu; left out: this machine's
    shapes     fixes shapes of inputs, by name; None is a size that stays open
    dims       fixes named dimensions (5), or bounds them ((1, 64))
    precision  "bf16" or "tf32", as weirc's --precision
    options    further flags of weirc
    threads    of a run, the machine's where 0
    """
    folder = tempfile.mkdtemp(prefix="weir-")
    try:
        if isinstance(model, (str, os.PathLike)):
            source = os.fspath(model)
        else:
            data = model if isinstance(model, (bytes, bytearray)) else model.SerializeToString()
            source = os.path.join(folder, "model.onnx")
            with open(source, "wb") as file:
                file.write(data)
        # A name of its own: the loader keeps libraries apart by theirs.
        target = os.fspath(output) if output else os.path.join(folder, "model.so")
        command = [weirc_path(), source, "-o", target]
        command += [f"--cpu={cpu}"] if cpu else []
        command += [f"--shape={name}={_shape(sizes)}" for name, sizes in (shapes or {}).items()]
        command += [f"--dim={name}={_dimension(size)}" for name, size in (dims or {}).items()]
        command += [f"--precision={precision}"] if precision else []
        done = subprocess.run(command + list(options), stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Error(Code.INVALID_ARGUMENT, done.stderr.strip())
        if done.stderr:
            sys.stderr.write(done.stderr)
        return load(target, threads=threads)
    finally:
        # Pages that are mapped stay.
        shutil.rmtree(folder, ignore_errors=True)
