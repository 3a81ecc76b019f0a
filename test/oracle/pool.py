#===- pool.py - Oracles and weir, asked in batches ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Long-lived processes that answer: they may crash or hang, which loses one question."""
import itertools
import os
import pickle
import select
import shutil
import struct
import subprocess
import sys

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


NORMAL_LEVEL = 3  # of optimisation


class Oracle:
    def __init__(self, suite, seconds=300):
        self.suite, self.seconds, self.process = suite, seconds, None
        named = os.environ.get("WEIR_ORT_PYTHON" if suite == "onnx" else "WEIR_TF_PYTHON")
        self.python = named or sys.executable

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, request):
        """("results", …), ("refused", reason), ("split", …) or ("crashed", reason)."""
        if not self.process:
            self.process = subprocess.Popen(
                [self.python, os.path.join(HERE, "worker.py"), self.suite],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        data = pickle.dumps(request)
        try:
            self.process.stdin.write(struct.pack("<q", len(data)) + data)
            self.process.stdin.flush()
            length = struct.unpack("<q", self.read(8))[0]
            return pickle.loads(self.read(length))
        except (OSError, EOFError) as error:
            self.close()
            return "crashed", str(error) or type(error).__name__

    def read(self, count):
        parts = b""
        while len(parts) < count:
            ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
            if not ready:
                raise OSError("no answer in time")
            part = os.read(self.process.stdout.fileno(), count - len(parts))
            if not part:
                raise EOFError("the process ended")
            parts += part
        return parts


class Weir:
    """weir-conformance, on folders of cases. Threads may ask at once."""

    def __init__(self, tool, folder):
        self.tool, self.folder, self.numbers = tool, folder, itertools.count()

    def judge(self, batch):
        """A pair (passed, failed, unsupported or crashed; reason) a case, all of one level."""
        verdicts = self.ask(batch, 300)
        for i, (_, reason) in enumerate(verdicts):
            if reason.startswith("not finished"):  # on a busy machine, maybe
                verdicts[i] = self.ask([batch[i]], 1800)[0]
        return verdicts

    def ask(self, batch, seconds):
        if not batch:
            return []
        folder = os.path.join(self.folder, "batch%d" % next(self.numbers))
        os.makedirs(folder)
        open(os.path.join(folder, "doubtful.tsv"), "w").close()  # here ids begin
        for i, case in enumerate(batch):
            cases.write(case, os.path.join(folder, "case%04d" % i))
        table = os.path.join(folder, "verdicts.tsv")
        subprocess.run([self.tool, folder, "--jobs=1", "--tsv=" + table,
                        "-O%d" % getattr(batch[0], "level", NORMAL_LEVEL),
                        "--max-seconds-per-case=%d" % seconds],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = {}
        if os.path.exists(table):
            with open(table, errors="replace") as lines:
                for line in lines:
                    name, outcome, reason = (line.rstrip("\n").split("\t") + ["", ""])[:3]
                    found[name] = (outcome, reason)
        verdicts = [found.get("case%04d" % i, ("crashed", "weir-conformance gave no verdict"))
                    for i in range(len(batch))]
        shutil.rmtree(folder)
        return verdicts
