#!/usr/bin/env python3
#===- layering_test.py - Who may know whom ----------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Reads the include graph and fails where a folder knows one that it may not.

Run it from anywhere; it reads the repository that it lies in. Prints every
offence as `file:line: ...` and a closing line; exits 1 if there was one.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = (".c", ".cc", ".cpp", ".h", ".hpp", ".cu", ".td", ".inc", ".py")
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "compiler", "dialects", "passes",
             "runtime", "tools", "test", "docs", "README.md", "LICENSE"}
LONGEST = 800

MLIR = ("mlir/", "mlir-c/")
LLVM = ("llvm/", "llvm-c/", "lld/", "clang/")
PROTOBUF = ("google/protobuf/",)
CUDA = ("cuda", "cublas", "cudnn", "nccl", "nvrtc", "nvToolsExt")

# Where a file lies (longest prefix decides), what it must not include, and the
# files below such a prefix that it may include nevertheless.
# Declarations that generated code shares with the runtime: numbers of types and
# codes, layouts, prototypes. Nothing behind them.
ABI = ("runtime/include/", "weir/abi.h", "weir/weir.h", "weir/plugin.h")
RULES = [
    ("runtime/", MLIR + LLVM + PROTOBUF
     + ("dialects/", "passes/", "compiler/", "tools/", "test/"), ()),
    ("dialects/", PROTOBUF + CUDA
     + ("passes/", "compiler/", "runtime/", "weir/", "tools/", "test/"), ABI),
    # The planners are arithmetic, which a tool can use without MLIR.
    ("passes/memory/", MLIR + LLVM + PROTOBUF + CUDA
     + ("dialects/", "passes/", "compiler/", "runtime/", "weir/", "tools/", "test/"),
     ("passes/memory/",)),
    ("passes/placement/", MLIR + LLVM + PROTOBUF + CUDA
     + ("dialects/", "passes/", "compiler/", "runtime/", "weir/", "tools/", "test/"),
     ("passes/placement/",)),
    ("passes/", PROTOBUF + CUDA
     + ("compiler/", "runtime/", "weir/", "tools/", "test/"), ABI),
    # Each format's folder is the only one that knows its protobuf classes. What
    # both formats read and build with lies above them, and knows neither.
    ("compiler/frontend/onnx/", CUDA
     + ("compiler/frontend/tensorflow/", "compiler/codegen/", "compiler/emit/",
        "compiler/driver/", "passes/", "runtime/", "weir/", "tools/", "test/"),
     # Gradient is an operator.
     ("passes/gradient/Gradient.h",)),
    ("compiler/frontend/tensorflow/", CUDA
     + ("compiler/frontend/onnx/", "compiler/codegen/", "compiler/emit/",
        "compiler/driver/", "passes/", "runtime/", "weir/", "tools/", "test/"),
     # SymbolicGradient and MaxPoolGrad are gradients that a file asks for; checkpoints are read
     # at compile time as in a run.
     ("passes/gradient/Gradient.h", "passes/gradient/PoolGradients.h", "runtime/checkpoint/")),
    ("compiler/frontend/", PROTOBUF + CUDA
     + ("compiler/codegen/", "compiler/emit/", "compiler/driver/", "passes/",
        "runtime/", "weir/", "tools/", "test/"), ()),
    # What a kind of device shares with its part of the runtime is its own.
    ("compiler/codegen/cuda/", PROTOBUF
     + ("compiler/frontend/", "compiler/driver/", "runtime/", "weir/", "tools/", "test/"),
     ABI + ("weir/cuda.h",)),
    ("compiler/codegen/", PROTOBUF
     + ("compiler/frontend/", "compiler/driver/", "runtime/", "weir/", "tools/", "test/"),
     ABI),
    ("compiler/emit/", PROTOBUF + CUDA
     + ("compiler/frontend/", "compiler/driver/", "runtime/", "weir/", "tools/", "test/"),
     ABI),
    ("compiler/", PROTOBUF + CUDA + ("runtime/", "weir/", "tools/", "test/"), ABI),
    ("tools/", CUDA + ("test/",), ()),
]

# A kind of device is its folders, which register it: nothing else in the
# program says its name, but for what users' programs say, and tables of
# TensorFlow's operations, which have their own.
KINDS = re.compile(r"gpu|cuda|nvidia|cublas|cudnn", re.IGNORECASE)
KIND_FOLDERS = ("compiler/codegen/cuda/", "runtime/cuda/", "runtime/include/weir/cuda.h",
                "runtime/include/weir/weir.h",
                "compiler/frontend/tensorflow/operations.py")
KIND_PUBLIC = re.compile(r"\b(feeds_on_gpu|fetches_on_gpu|cuda_stream)\b")
KIND_FREE = ("compiler/", "passes/", "dialects/", "runtime/", "tools/")

# A format of models is its folder, which registers it. What reads its files for
# other ends than to compile them, and tests of it, know it too.
FORMATS = re.compile(r"compiler/frontend/(onnx|tensorflow|mlir)/")
FORMAT_ROOMS = ("compiler/frontend/", "compiler/insight/",
                "tools/weir-conformance/", "test/")

# Rooms of one floor, in the order in which they may know each other: a file includes
# nothing of a later one. Rooms in one line do not know each other at all.
FLOORS = [
    [("compiler/codegen/kernel/",), ("compiler/codegen/host/",), ("compiler/codegen/device/",),
     ("compiler/codegen/cpu/", "compiler/codegen/cuda/")],
]

# Stages of passes do not know each other. What several ask lies in analysis, the planners
# are arithmetic, and gradients are rules that importers apply, too.
STAGES = ("passes/training/", "passes/raise/", "passes/simplify/", "passes/redundancy/",
          "passes/layout/", "passes/partition/", "passes/kernelize/", "passes/plan/",
          "passes/verify/", "passes/gradient/", "passes/analysis/")
SHARED = {"passes/training/": ("passes/analysis/", "passes/gradient/"),
          "passes/gradient/": (),
          "passes/analysis/": ("passes/placement/", "passes/memory/")}
SHARED_BY_ALL = ("passes/analysis/", "passes/placement/", "passes/memory/")

# What is a device's inside is said by its back end, and by no source of passes.
INSIDES = re.compile(r"(?i:(?<!hardware-)accelerat|\bwarps?\b|register tiles?\b|vector registers?\b|tensor cores?\b)"
                     r"|::(?:Threads|Vectors|Lanes|Warps)\b|[a-z](?:Threads|Vectors|Lanes|Warps)\b")

INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*[<"]([^>"]+)[>"]')


def tracked():
    """Files that git knows or would add; every file where git is not at hand."""
    try:
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
        return sorted(f for f in listing.decode().split("\0")
                      if f and os.path.exists(os.path.join(ROOT, f)))
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [d for d in folders if d != "build" and not d.startswith(".")]
            found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
        return sorted(found)


def rule_of(path):
    below = [r for r in RULES if path.startswith(r[0])]
    return max(below, key=lambda r: len(r[0]), default=None)


def check_includes(path, lines):
    rule = rule_of(path)
    if not rule:
        return
    folder, forbidden, allowed = rule
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        # `weir/` is the runtime's; below it only headers have that prefix.
        included = match.group(1)
        if included.startswith(allowed) and allowed:
            continue
        for prefix in forbidden:
            if included.startswith(prefix):
                yield f"{path}:{number}: {folder} may not know {prefix}: includes {included}"


def check_floors(path, lines):
    for floor in FLOORS:
        mine = next((i for i, rooms in enumerate(floor) if path.startswith(rooms)), None)
        if mine is None:
            continue
        own = next(room for room in floor[mine] if path.startswith(room))
        closed = tuple(room for rooms in floor[mine:] for room in rooms if room != own)
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match and closed and match.group(1).startswith(closed):
                yield f"{path}:{number}: {own} comes before it: includes {match.group(1)}"


def check_stages(path, lines):
    own = next((stage for stage in STAGES if path.startswith(stage)), None)
    if not own:
        return
    open_to = (own,) + SHARED.get(own, SHARED_BY_ALL)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if (match and match.group(1).startswith("passes/")
                and not match.group(1).startswith(open_to)):
            yield (f"{path}:{number}: {own} is a stage of its own: includes {match.group(1)}; "
                   f"possible: {', '.join(open_to)}")


def check_kinds(path, lines):
    if not path.startswith(KIND_FREE) or path.startswith(KIND_FOLDERS):
        return
    for number, line in enumerate(lines, 1):
        found = KINDS.search(KIND_PUBLIC.sub("", line))
        if found:
            yield (f"{path}:{number}: names a kind of device ({found.group()}); possible: in its "
                   "own folders")


def check_formats(path, lines):
    if path.startswith(FORMAT_ROOMS):
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match and FORMATS.match(match.group(1)):
            yield (f"{path}:{number}: includes a format of models ({match.group(1)}); possible: "
                   "compiler/frontend/Frontend.h")


def check_insides(path, lines):
    if not path.startswith("passes/"):
        return
    for number, line in enumerate(lines, 1):
        found = INSIDES.search(line)
        if found:
            yield (f"{path}:{number}: names a device's inside ({found.group()}); possible: what "
                   "its kind is asked (passes/analysis/DeviceKind.h)")


PASS = re.compile(r'^def \w+ : Pass<"([\w-]+)".*?^}', re.MULTILINE | re.DOTALL)
ANSWERS = {"what it does": r"What( holds)?:", "why it stands here": r"Why here:",
           "what holds before": r"Before( and after)?:", "and after it": r"(After|Before and after):",
           "what breaks if it moves": r"What breaks if it moves:"}


def check_passes(path, text):
    """Each pass says what it is for, and has a test of its name, test/passes/STAGE/PASS."""
    for match in PASS.finditer(text):
        name, line = match.group(1), text.count("\n", 0, match.start()) + 1
        for question, answer in ANSWERS.items():
            if not re.search(answer, match.group(0)):
                yield f"{path}:{line}: the description of {name} does not say {question}"
        test = os.path.join(ROOT, "test/passes", os.path.basename(os.path.dirname(path)),
                            name.removeprefix("weir-"))
        if not os.path.exists(test + ".mlir"):
            yield f"{path}:{line}: {name} has no {os.path.relpath(test, ROOT)}.mlir"


def check_file(path):
    with open(os.path.join(ROOT, path), errors="replace") as f:
        lines = f.read().split("\n")
    yield from check_includes(path, lines)
    yield from check_floors(path, lines)
    yield from check_stages(path, lines)
    yield from check_kinds(path, lines)
    yield from check_formats(path, lines)
    yield from check_insides(path, lines)
    if path.startswith("passes/") and path.endswith("Passes.td"):
        yield from check_passes(path, "\n".join(lines))
    if len(lines) - 1 > LONGEST:
        yield f"{path}:1: {len(lines) - 1} lines; past {LONGEST} a file is two"
    banner = "\n".join(lines[:15])
    # Tables are made by scripts; what is embedded goes into generated headers;
    # what tests read are data.
    if (path.endswith(".inc") or "/Inputs/" in path
            or path.startswith("compiler/emit/embed/")):
        return
    if "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" not in banner:
        yield f"{path}:1: the banner with the licence is missing"


def self_check():
    """The rules find what they are for."""
    offences = [
        ("runtime/bfc/bfc.cpp", '#include "mlir/IR/Value.h"'),
        ("runtime/x.cpp", "#  include <google/protobuf/message.h>"),
        ("dialects/weir/Ops.td", 'include "passes/simplify/Passes.td"'),
        ("passes/plan/Plan.cpp", '#include "compiler/driver/Driver.h"'),
        ("passes/memory/X.cpp", '#include "llvm/ADT/STLExtras.h"'),
        ("passes/placement/X.cpp", '#include "passes/memory/Sections.h"'),
        ("compiler/frontend/onnx/Model.cpp", '#include "compiler/frontend/tensorflow/X.h"'),
        ("compiler/emit/Object.cpp", '#include "runtime/pool/pool.h"'),
    ]
    fine = [
        ("runtime/bfc/bfc.cpp", '#include "weir/abi.h"'),
        ("passes/memory/X.cpp", '#include "passes/memory/Sections.h"'),
        ("passes/plan/Plan.cpp", '#include "passes/memory/OffsetPlanner.h"'),
        ("compiler/codegen/cpu/X.cpp", '#include "weir/abi.h"'),
        ("compiler/frontend/onnx/Model.cpp", '#include "google/protobuf/message.h"'),
    ]
    missed = [o for o in offences if not list(check_includes(o[0], [o[1]]))]
    wrong = [o for o in fine if list(check_includes(o[0], [o[1]]))]
    floors = [("compiler/codegen/kernel/X.h", '#include "compiler/codegen/cpu/Tiles.h"'),
              ("compiler/codegen/cuda/X.h", '#include "compiler/codegen/cpu/Tiles.h"'),
              ("compiler/codegen/host/X.cpp", '#include "compiler/codegen/device/X.h"')]
    missed += [o for o in floors if not list(check_floors(o[0], [o[1]]))]
    open_doors = [("compiler/codegen/cpu/X.h", '#include "compiler/codegen/kernel/X.h"'),
                  ("compiler/codegen/cpu/X.h", '#include "compiler/codegen/cpu/Tiles.h"')]
    wrong += [o for o in open_doors if list(check_floors(o[0], [o[1]]))]
    stages = [("passes/kernelize/X.cpp", '#include "passes/layout/ByteOperands.h"'),
              ("passes/analysis/X.cpp", '#include "passes/kernelize/SkinnyGemm.h"'),
              ("passes/gradient/X.cpp", '#include "passes/analysis/Clusters.h"'),
              ("passes/raise/X.cpp", '#include "passes/Passes.h"')]
    missed += [s for s in stages if not list(check_stages(s[0], [s[1]]))]
    shared = [("passes/kernelize/X.cpp", '#include "passes/analysis/Clusters.h"'),
              ("passes/kernelize/X.cpp", '#include "passes/kernelize/Passes.h"'),
              ("passes/training/X.cpp", '#include "passes/gradient/Gradient.h"'),
              ("passes/plan/X.h", '#include "passes/memory/Recompute.h"')]
    wrong += [s for s in shared if list(check_stages(s[0], [s[1]]))]
    kinds = [("passes/partition/X.cpp", 'return name.type == "GPU";'),
             ("runtime/session/x.cpp", "weir_cuda_launch(ctx);"),
             ("runtime/session/x.cpp", "bool hasGpu = options.feeds_on_gpu;")]
    missed += [k for k in kinds if not list(check_kinds(k[0], [k[1]]))]
    free = [("runtime/session/x.cpp", "run->feeds = options.feeds_on_gpu;"),
            ("runtime/cuda/x.cpp", "weir_cuda_launch(ctx);"),
            ("docs/cuda.md", "GPU")]
    wrong += [k for k in free if list(check_kinds(k[0], [k[1]]))]
    insides = [("passes/analysis/X.cpp", "if (unit == AttentionUnit::Vectors)"),
               ("passes/kernelize/X.cpp", "bool isOnThreads = true;"),
               ("passes/plan/Passes.td", "keeps it in vector registers")]
    missed += [i for i in insides if not list(check_insides(i[0], [i[1]]))]
    outside = [("passes/plan/X.cpp", "/// From any thread; std::vector<int> lanes; threads"),
               ("compiler/codegen/cpu/X.cpp", "bool isOnVectors = true;")]
    wrong += [o for o in outside if list(check_insides(o[0], [o[1]]))]
    formats = [("compiler/driver/Compilation.cpp",
                '#include "compiler/frontend/onnx/OnnxFrontend.h"'),
               ("tools/weirc/main.cpp", '#include "compiler/frontend/tensorflow/Graph.h"')]
    missed += [f for f in formats if not list(check_formats(f[0], [f[1]]))]
    room = ("compiler/insight/CutOnnx.cpp", formats[0][1])
    wrong += [room] if list(check_formats(room[0], [room[1]])) else []
    insides = [("passes/kernelize/X.cpp", "// a warp reduces a row"),
               ("passes/layout/X.cpp", "// what register tiles read"),
               ("passes/plan/X.h", "bool isOnAccelerator(Operation *op);"),
               ("passes/layout/Passes.td", "What: on accelerated devices,")]
    missed += [i for i in insides if not list(check_insides(i[0], [i[1]]))]
    bare = 'def P : Pass<"weir-nameless", "X"> {\n  let description = [{What: nothing.}];\n}'
    if len(list(check_passes("passes/plan/Passes.td", bare))) != 5:
        missed.append(("passes/plan/Passes.td", bare))
    for path, line in missed:
        yield f"layering_test.py: did not find {line} in {path}"
    for path, line in wrong:
        yield f"layering_test.py: wrongly found {line} in {path}"


def main():
    files = tracked()
    problems = list(self_check())
    checked = 0
    for path in files:
        top = path.split("/")[0]
        if not top.startswith(".") and top not in TOP_LEVEL:
            problems.append(f"{path}:1: {top} does not belong to the top level")
        if path.endswith(SOURCES):
            checked += 1
            problems += check_file(path)
    for problem in problems:
        print(problem)
    print(f"layering: {checked} files read, {len(problems)} offences")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
