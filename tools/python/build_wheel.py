#!/usr/bin/env python3
# ===- build_wheel.py - the Python package from a build tree ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Builds the wheel: the package's modules, weirc, and the runtime that it links.

usage: build_wheel.py [--build=BUILD] [--out=FOLDER] [--fast=FILE]

Needs no network and nothing but Python. It is a build backend, too (PEP 517), so that
`pip install tools/python` does the same; $WEIR_BUILD then names the build tree, which
is build/release of the repository otherwise. Equal inputs give equal bytes.
"""

import argparse
import base64
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BINARIES = ("bin/weirc", "lib/libweir_runtime.a", "lib/libweir_runtime_images.a")
# Built where RE2 and LAPACK are.
OPTIONAL = ("lib/libweir_runtime_text.a", "lib/libweir_runtime_linalg.a")


def project():
    """Fields of pyproject.toml that the wheel repeats, without a parser of TOML."""
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    return {key: re.search(rf'^{key} = "(.*)"$', text, re.M).group(1)
            for key in ("name", "version", "description", "requires-python")}


def digest(data):
    hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={hashed},{len(data)}"


class Wheel:
    """A zip with a list of what is in it."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        mode = 0o755 if executable else 0o644
        info.external_attr = (stat.S_IFREG | mode) << 16
        self.zip.writestr(info, data)
        self.record.append(f"{name},{digest(data)}")

    def finish(self, folder):
        name = f"{folder}/RECORD"
        self.record.append(f"{name},,")
        data = ("\n".join(self.record) + "\n").encode()
        info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        self.zip.writestr(info, data)
        self.zip.close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def compile_fast():
    """The bytes of _fast.c as a module; None, with a note, where it cannot be compiled: calls
    go by ctypes then."""
    compiler = next(filter(None, map(shutil.which, ("clang-22", "clang", "gcc", "cc"))), None)
    include = sysconfig.get_path("include")
    if not compiler or not os.path.exists(os.path.join(include, "Python.h")):
        print("build_wheel: no C compiler or no Python.h, so calls take longer", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "_fast.abi3.so")
        done = subprocess.run([compiler, "-O2", "-fPIC", "-shared", "-Wall", "-Wextra",
                               "-fvisibility=hidden", "-I" + include,
                               "-I" + os.path.join(ROOT, "runtime", "include"),
                               "_fast.c", "-o", target], cwd=os.path.join(HERE, "weir"))
        if done.returncode:
            sys.exit("build_wheel: _fast.c does not compile")
        return read(target)


def make(build, out):
    """Writes the wheel into folder `out`; returns its file name."""
    facts = project()
    tag = f"py3-none-linux_{platform.machine()}"
    stem = f"{facts['name']}-{facts['version']}"
    name = f"{stem}-{tag}.whl"
    for one in BINARIES:
        if not os.path.exists(os.path.join(build, one)):
            sys.exit(f"build_wheel: {build} has no {one}; expected a build tree with weirc, "
                     "by --build or $WEIR_BUILD")
    os.makedirs(out, exist_ok=True)
    wheel = Wheel(os.path.join(out, name))
    package = os.path.join(HERE, "weir")
    for file in sorted(os.listdir(package)):
        if file.endswith((".py", ".pyi", ".typed")):
            wheel.add(f"weir/{file}", read(os.path.join(package, file)))
    fast = compile_fast()
    if fast:
        wheel.add("weir/_fast.abi3.so", fast, executable=True)
    optional = tuple(one for one in OPTIONAL if os.path.exists(os.path.join(build, one)))
    for one in BINARIES + optional:
        wheel.add(f"weir/{one}", read(os.path.join(build, one)), one.startswith("bin/"))
    info = f"{stem}.dist-info"
    wheel.add(f"{info}/LICENSE", read(os.path.join(ROOT, "LICENSE")))
    wheel.add(f"{info}/METADATA", "\n".join([
        "Metadata-Version: 2.1", f"Name: {facts['name']}", f"Version: {facts['version']}",
        f"Summary: {facts['description']}", "License: Apache-2.0 WITH LLVM-exception",
        f"Requires-Python: {facts['requires-python']}", "Requires-Dist: numpy>=1.22", ""]).encode())
    wheel.add(f"{info}/WHEEL", "\n".join([
        "Wheel-Version: 1.0", "Generator: weir", "Root-Is-Purelib: false", f"Tag: {tag}",
        ""]).encode())
    wheel.add(f"{info}/entry_points.txt",
              b"[console_scripts]\nweirc = weir._compile:run_weirc\n")
    wheel.finish(info)
    return name


def default_build():
    return os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build", "release")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make(default_build(), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the package holds compiled tools; build the wheel")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=default_build(), help="the build tree")
    parser.add_argument("--out", default=".", help="where the wheel goes")
    parser.add_argument("--fast", metavar="FILE", help="writes the module in C alone, if it can")
    arguments = parser.parse_args()
    if arguments.fast:
        module = compile_fast()
        if module:
            os.makedirs(os.path.dirname(arguments.fast) or ".", exist_ok=True)
            with open(arguments.fast, "wb") as file:
                file.write(module)
        sys.exit(0)
    print(os.path.join(arguments.out, make(arguments.build, arguments.out)))
