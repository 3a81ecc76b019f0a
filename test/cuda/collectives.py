#!/usr/bin/env python3
#===- collectives.py - what GPUs reduce together -----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""collectives.py WEIRC WEIR_RUN RECORDER NCCL FOLDER

Writes a model for two and for four GPUs of the recording driver, and runs it with the
stand-in of NCCL and without: results must agree as far as their type allows, whatever
stream goes first, with nothing wrong and nothing left. Prints a line for each number
of GPUs and entry, and exits 1 where anything is wrong.
"""
import json
import os
import re
import struct
import subprocess
import sys
import zipfile

weirc, weir_run, recorder, nccl, folder = sys.argv[1:6]
wrong = 0

# What an element's last digit is worth, 0: none is lost.
ROUNDING = {"f64": 2 ** -53, "f32": 2 ** -24, "f16": 2 ** -11, "bf16": 2 ** -8,
            "i8": 0, "ui8": 0, "i32": 0, "ui32": 0, "i64": 0, "ui64": 0}
KINDS = ["sum", "prod", "max", "min"]
ENTRIES = [*ROUNDING, "chain", "one", "open", "turns"]


def check(good, what):
    global wrong
    if not good:
        wrong += 1
        print(f"wrong: {what}", flush=True)


class Entry:
    """Writes a function; notes where its nodes are to be."""

    def __init__(self, name, gpus, placement, shape="30x50"):
        self.name, self.gpus, self.placement, self.shape = name, gpus, placement, shape
        self.lines, self.results, self.count = [], [], 0

    def op(self, gpu, text):
        """A value by an operation on a GPU."""
        self.count += 1
        node = f"{self.name}.{self.count}"
        self.placement[node] = f"/device:GPU:{gpu}"
        self.lines.append(f'    %{self.count} = {text} loc("{node}")')
        return f"%{self.count}"

    def type(self, element="f32"):
        return f"tensor<{self.shape}x{element}>"

    def cast(self, gpu, value, source, target):
        if source == target:
            return value
        return self.op(gpu, f"weir.cast {value} {{saturate = false}} : ({self.type(source)}) -> "
                            f"{self.type(target)}")

    def scale(self, gpu, value, factor):
        """Another multiple on each GPU."""
        constant = f"%c{gpu}_{self.count}"
        self.lines.append(f"    {constant} = weir.constant dense<{factor}> : tensor<f32>")
        return self.op(gpu, f"weir.mul {value}, {constant} : ({self.type()}, tensor<f32>) -> "
                            f"{self.type()}")

    def parts(self, value, least=0.5, step=0.37):
        return [self.scale(gpu, value, least + step * gpu) for gpu in range(self.gpus)]

    def reduce(self, values, kind, element="f32"):
        types = ", ".join([self.type(element)] * len(values))
        return self.op(0, f'weir.all_reduce {", ".join(values)} {{kind = "{kind}"}} : ({types}) -> '
                          f"{self.type(element)}")

    def give(self, gpu, value, own, element="f32"):
        """What each GPU makes of it is another value: equal ones would be one."""
        t = self.type(element)
        value = self.op(gpu, f"weir.add {value}, {own} : ({t}, {t}) -> {t}")
        self.results.append(self.cast(gpu, value, element, "f32"))

    def text(self):
        results = ", ".join(f'{self.type()} {{weir.name = "out{i}"}}'
                            for i in range(len(self.results)))
        types = ", ".join([self.type()] * len(self.results))
        return "\n".join([
            f'  func.func @{self.name}(%a: {self.type()} {{weir.name = "a"}}) -> ({results}) '
            f'attributes {{weir.entry = "{self.name}"}} {{', *self.lines,
            f'    return {", ".join(self.results)} : {types}', "  }"])


def typed(element, gpus, placement):
    """Each kind of reduction of tensors of one type, independent of each other."""
    entry = Entry(element, gpus, placement)
    # Integers need something to be whole of.
    parts = entry.parts("%a") if ROUNDING[element] else [
        entry.op(gpu, f"weir.abs {value} : ({entry.type()}) -> {entry.type()}")
        for gpu, value in enumerate(entry.parts("%a", 3, 1.5))]
    parts = [entry.cast(gpu, value, "f32", element) for gpu, value in enumerate(parts)]
    for kind in KINDS:
        reduced = entry.reduce(parts, kind, element)
        for gpu in range(gpus):
            entry.give(gpu, reduced, parts[gpu], element)
    return entry.text()


def chain(gpus, placement):
    """Reductions of what was reduced before, and one of GPU 0 and the last alone."""
    entry = Entry("chain", gpus, placement)
    values = entry.parts("%a")
    for _ in range(3):
        reduced = entry.reduce(values, "sum")
        values = entry.parts(reduced)
        values = [entry.op(gpu, f"weir.tanh {value} : ({entry.type()}) -> {entry.type()}")
                  for gpu, value in enumerate(values)]
    pair = entry.reduce([values[0], values[-1]], "max")
    for gpu in range(gpus):
        entry.give(gpu, pair if gpu in (0, gpus - 1) else reduced, values[gpu])
    return entry.text()


def to_one(gpus, placement):
    """Reductions that one GPU alone uses: the last one, the first one."""
    entry = Entry("one", gpus, placement)
    parts = entry.parts("%a")
    for kind, gpu in (("sum", gpus - 1), ("max", 0)):
        entry.give(gpu, entry.reduce(parts, kind), parts[gpu])
    return entry.text()


def open_sizes(gpus, placement):
    entry = Entry("open", gpus, placement, "?x50")
    parts = entry.parts("%a")
    reduced = entry.reduce(parts, "sum")
    for gpu in range(gpus):
        entry.give(gpu, reduced, parts[gpu])
    return entry.text()


def turns(gpus, placement):
    """In a loop, each time it comes by."""
    inner = Entry("turns", gpus, placement)
    reduced = inner.reduce(inner.parts("%x"), "sum")
    tanh = inner.op(1, f"weir.tanh {reduced} : ({inner.type()}) -> {inner.type()}")
    other = inner.op(0, f"weir.exp {reduced} : ({inner.type()}) -> {inner.type()}")
    both = inner.op(0, f"weir.div {tanh}, {other} : ({inner.type()}, {inner.type()}) -> {inner.type()}")
    t = inner.type()
    outer = Entry("turns", gpus, placement)
    outer.lines = [
        "    %zero = weir.constant dense<0> : tensor<i32>",
        "    %one = weir.constant dense<1> : tensor<i32>",
        "    %three = weir.constant dense<3> : tensor<i32>",
        f"    %end:2 = weir.while %three, %a : (tensor<i32>, {t}) -> (tensor<i32>, {t}) while {{",
        f"    ^bb0(%i: tensor<i32>, %x: {t}):",
        '      %go = weir.compare %i, %zero {predicate = "gt"} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("go")',
        "      weir.yield %go : tensor<i1>", "    } do {", f"    ^bb0(%i: tensor<i32>, %x: {t}):",
        '      %next = weir.sub %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("next")',
        *inner.lines, f"      weir.yield %next, {both} : tensor<i32>, {t}", '    } loc("turns.loop")']
    outer.results = ["%end#1"]
    return outer.text()


def write_model(gpus, name, entries):
    placement = {}
    texts = {"chain": chain, "one": to_one, "open": open_sizes, "turns": turns}
    body = "\n".join(texts[entry](gpus, placement) if entry in texts
                     else typed(entry, gpus, placement) for entry in entries)
    model, placed, cluster = (os.path.join(folder, name + suffix)
                              for suffix in (".mlir", ".placement.json", ".cluster.json"))
    with open(model, "w") as file:
        file.write("module {\n" + body + "\n}\n")
    with open(placed, "w") as file:
        json.dump({"nodes": placement}, file)
    with open(cluster, "w") as file:
        json.dump({"devices": [{"name": "/device:CPU:0"}] +
                   [{"name": f"/device:GPU:{gpu}"} for gpu in range(gpus)]}, file)
    return [model, "--cuda=sm_90", "--devices=" + cluster, "--placement=" + placed]


def array(rows):
    """A file of that many rows."""
    path = os.path.join(folder, f"rows{rows}.npy")
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 50), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{rows * 50}f", *(i % 97 / 97 for i in range(rows * 50))))
    return path


def run(program, gpus, entry, what, **settings):
    """Results, and how often the record says what."""
    record, out = os.path.join(folder, "record"), os.path.join(folder, "out.npz")
    if os.path.exists(record):
        os.remove(record)
    given = "a=" + array(40) if entry == "open" else "random:1"
    command = [weir_run, program, "--run=" + entry, "--input=" + given, "--output=" + out,
               "--repeat=3"]
    environment = dict(os.environ, WEIR_CUDA="require", WEIR_CUDA_DRIVER=recorder,
                       WEIR_CUDA_RECORD=record, WEIR_RECORDER_DEVICES=str(gpus), WEIR_NCCL=nccl)
    environment.update(settings)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode:
        check(False, f"{what}: {done.stderr}")
        return {}, {}
    text = ""
    if os.path.exists(record):
        with open(record) as file:
            text = file.read()
        check("problems 0" in text and
              "allocations 0, pinned 0, streams 0, events 0" in text, f"{what}: {text}")
    results = {}
    with zipfile.ZipFile(out) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            body = data[10 + struct.unpack("<H", data[8:10])[0]:]
            results[name] = struct.unpack(f"<{len(body) // 4}f", body)
    return results, {name: int(number)
                     for name, number in re.findall(r"^(\w[\w ]*?) (\d+)$", text, re.M)}


def agree(got, want, rounding, gpus, what):
    """Inputs are below 1 and factors below 2: so are products of parts' magnitudes,
    and sums are below twice the number of GPUs. Each step but the last rounds
    once in either order; behind a sum stand at most two sums of it."""
    bound = 2 * gpus * rounding * 2 * gpus * (gpus if "chain" in what or "turns" in what else 1) ** 2
    if got.keys() != want.keys():
        return check(False, f"{what}: other results")
    for name in want:
        worst = max((abs(a - b) for a, b in zip(got[name], want[name])), default=0)
        check(len(got[name]) == len(want[name]) and worst <= bound,
              f"{what}, {name}: {worst} apart, {bound} are allowed")
        check(any(want[name]), f"{what}, {name}: all zeros")


def calls(counts):
    return counts.get("ncclAllReduce", 0) + counts.get("ncclReduce", 0)


def main():
    for gpus in (2, 4):
        program = os.path.join(folder, f"of{gpus}.so")
        arguments = write_model(gpus, f"of{gpus}", ENTRIES)
        subprocess.run([weirc, *arguments, "-o", program], check=True)
        for entry in ENTRIES:
            what = f"{gpus} GPUs, {entry}"
            rounding = ROUNDING.get(entry, 2 ** -24)
            # f16 and bf16 are also rounded when they become results.
            want, counts = run(program, gpus, entry, what + " without NCCL", WEIR_NCCL="off")
            check(not calls(counts), what + ": the library was off")
            alone, _ = run(program, gpus, entry, what + " on the host", WEIR_CUDA="off")
            agree(want, alone, 2 ** -24, gpus, what + ", host")
            for seed in (1, 2):
                got, counts = run(program, gpus, entry, f"{what}, seed {seed}",
                                  WEIR_RECORDER_SEED=str(seed))
                agree(got, want, rounding, gpus, what)
            got, _ = run(program, gpus, entry, what + ", waiting", WEIR_CUDA_SYNC="1")
            agree(got, want, rounding, gpus, what + ", waiting")
            got, missing = run(program, gpus, entry, what + " without a library",
                               WEIR_NCCL="no-such-library.so")
            check(got == want and not calls(missing), what + " without a library")
            got, refused = run(program, gpus, entry, what + " without communicators",
                               WEIR_RECORDER_FAIL="ncclCommInitAll:1")
            if gpus == 2:  # of four there is another set of GPUs
                check(got == want and not calls(refused),
                      what + " without communicators")
            print(f"{what}: {calls(counts) // 3} calls a run, "
                  f"{counts.get('ncclCommInitAll', 0)} cliques, "
                  f"{counts.get('ncclCommDestroy', 0)} destroyed, "
                  f"{counts.get('copies to peers', 0) // 3} copies to peers", flush=True)
    for rows in (0, 3, 4):  # for others
        array(rows)
    print(f"{wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
