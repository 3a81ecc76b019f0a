#!/usr/bin/env python3
#===- run.py - Cases drawn from definitions, judged by oracles ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws cases from ONNX's schemas or TensorFlow's registry, asks the oracles, and compares
what weir computes. docs/oracle.md is the manual."""
import argparse
import collections
import concurrent.futures
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402

import cases  # noqa: E402
import pool  # noqa: E402

# Words of libraries that a message to a user has no place for.
INNER = re.compile(r"LLVM|MLIR|llvm\.|mlir|W0199|'weir\.|weir_plan\.|builtin\.|%\d|failed to (legal|verif)"
                   r"|unregistered|operand #")


# weir refuses operands: when it compiles, or when it runs.
STRICTER = re.compile(r"^run: INVALID_ARGUMENT|^error W0\d+: node ")
# An operand out of range may ask for memory that nobody has, before anything looks at others.
TOO_LARGE = re.compile(r"found RESOURCE_EXHAUSTED: out of memory")
# weir gives numbers where the oracle refuses the operands.
SUCCEEDS = "succeeds; expected "
# Elements, not shapes or types.
DIFFERS = re.compile(r"elements? differ")


def never(oracle, case):
    """Of other sources, rounding is known when cases are drawn."""
    return False


def source_of(given):
    if given.suite == "onnx":
        if given.kind == "single":
            from onnx_source import Singles as Source
        elif given.kind == "graph":
            from onnx_graphs import Graphs as Source
        elif given.kind == "error":
            from onnx_errors import Errors as Source
        else:
            raise SystemExit("--kind=%s is TensorFlow's; ONNX has single, graph and error" %
                             given.kind)
    else:
        from tf_source import source
        return source(given)
    return Source(given)


def expects_error(case):
    return bool(case.error) or case.suite == "tf" and any(isinstance(r, tuple) for r in case.results)


def classify(case, outcome, reason):
    """Right, refused by name, wrong, crashed, message, silent."""
    if outcome == "passed":
        return "right"
    if outcome == "crashed":
        return "crashed"
    if INNER.search(reason):
        return "message"
    if outcome == "unsupported":
        return "refused"
    if reason.startswith(SUCCEEDS):
        return "silent"
    if expects_error(case) and TOO_LARGE.search(reason):
        return "refused"
    # Oracles take some operands that do not fit.
    if case.given and not case.error and STRICTER.search(reason):
        return "refused"
    return "wrong"


class Table:
    """Operation x type x form x open or fixed."""
    COLUMNS = ["right", "refused", "wrong", "crashed", "message", "silent"]

    def __init__(self):
        self.cells = collections.defaultdict(collections.Counter)

    def add(self, case, outcome):
        self.cells[(case.operation,) + tuple(case.cell)][outcome] += 1

    def read(self, path):
        """Adds a table's counts."""
        with open(path) as lines:
            for line in list(lines)[1:]:
                fields = line.rstrip("\n").split("\t")
                self.cells[tuple(fields[:4])].update(
                    {c: int(n) for c, n in zip(self.COLUMNS, fields[5:]) if n != "0"})

    def write(self, path):
        with open(path, "w") as out:
            out.write("\t".join(["operation", "type", "operands", "sizes", "tried"] + self.COLUMNS)
                      + "\n")
            for key, counts in sorted(self.cells.items()):
                row = list(key) + [sum(counts.values())] + [counts[c] for c in self.COLUMNS]
                out.write("\t".join(map(str, row)) + "\n")

    def totals(self):
        return sum(self.cells.values(), collections.Counter())


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=["onnx", "tf"], default="onnx")
    parser.add_argument("--kind", choices=["single", "graph", "script", "gradient", "error"],
                        default="single")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000, help="that an oracle has answered")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="after which no further case is drawn")
    parser.add_argument("--only", default="", help="a regular expression of operations")
    parser.add_argument("--weir", default=os.environ.get("WEIR_BUILD") or
                        os.path.join(pool.ROOT, "build", "release"), help="the build folder")
    parser.add_argument("--batch", type=int, default=64, help="cases that a process takes")
    parser.add_argument("--jobs", type=int, default=1, help="such processes at once")
    parser.add_argument("--fast", type=float, default=0, metavar="SHARE",
                        help="of the cases, compiled with -O0: a third of the time")
    parser.add_argument("--coverage", metavar="FILE.tsv", help="the table; - for standard output")
    parser.add_argument("--add", action="store_true", help="to the table that is there")
    parser.add_argument("--keep", metavar="DIR", help="what differs is kept there, made small")
    parser.add_argument("--why", action="store_true", help="what oracles and weir refuse most")
    parser.add_argument("--no-shrink", action="store_true")
    return parser.parse_args()


class Judge:
    """Weir's word on batches, while others are drawn. Cases of two levels of optimisation are
    not of one batch."""

    def __init__(self, given, weir, table, lacks, found, settle):
        self.given, self.weir, self.table = given, weir, table
        self.lacks, self.found, self.settle = lacks, found, settle
        self.unsteady = 0  # cases whose last bits decide
        self.batches = collections.defaultdict(list)
        self.threads = concurrent.futures.ThreadPoolExecutor(given.jobs)
        self.asked = collections.deque()

    def add(self, case):
        batch = self.batches[case.level]
        batch.append(case)
        if len(batch) == self.given.batch:
            self.ask(batch)
            self.batches[case.level] = []

    def ask(self, batch):
        self.asked.append((batch, self.threads.submit(self.weir.judge, batch)))
        while len(self.asked) > 2 * self.given.jobs or self.asked and self.asked[0][1].done():
            self.take(*self.asked.popleft())

    def finish(self):
        for batch in self.batches.values():
            self.ask(batch)
        while self.asked:
            self.take(*self.asked.popleft())
        self.threads.shutdown()

    def take(self, batch, verdicts):
        for case, (outcome, reason) in zip(batch, verdicts.result()):
            kind = classify(case, outcome, reason)
            if kind == "wrong" and outcome == "failed" and DIFFERS.search(reason):
                if self.settle(case):
                    self.unsteady += 1
                    continue
                if getattr(case, "noise", 0):
                    outcome, reason = self.weir.judge([case])[0]
                    kind = classify(case, outcome, reason)
            self.table.add(case, kind)
            if kind == "refused":
                self.lacks["%s: %s" % (case.operation, reason[:250])] += 1
            if kind in ("wrong", "crashed", "message", "silent"):
                self.found.append((case, kind, reason))
                print("%s %s %s [%s] -O%d: %s\n    %s" %
                      (kind, case.name, case.operation, " ".join(case.cell), case.level,
                       reason[:400], cases.describe(case)), flush=True)
        if self.given.coverage and self.given.coverage != "-":
            self.table.write(self.given.coverage)


def main():
    given = parse()
    table, split = Table(), collections.Counter()
    if given.add and given.coverage and os.path.exists(given.coverage):
        table.read(given.coverage)
    before = table.totals()
    refusals, lacks, found = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="weir-oracle-") as folder:
        # One process for all questions: to start TensorFlow takes longer than a hundred answers.
        # ONNX Runtime hangs on some operands that do not fit, as on filters without elements.
        is_spoilt = given.suite == "onnx" and given.kind == "error"
        oracle = given.oracle = pool.Oracle(given.suite, 30 if is_spoilt else 300)
        weir = pool.Weir(os.path.join(given.weir, "bin", "weir-conformance"), folder)
        source = source_of(given)
        judge = Judge(given, weir, table, lacks, found,
                      lambda case: getattr(source, "settle", never)(oracle, case))
        answered = drawn = 0
        start = time.monotonic()
        while answered < given.cases and drawn < given.cases * 12 and \
                time.monotonic() - start < given.seconds:
            random = np.random.default_rng([given.seed, drawn])
            drawn += 1
            try:
                case = source.draw(random)
            except cases.Reject as why:
                refusals["not drawn: " + str(why)] += 1
                continue
            case.name = "seed%d-%d" % (given.seed, drawn - 1)
            case.level = 0 if np.random.default_rng([given.seed, drawn, 1]).random() < given.fast \
                else pool.NORMAL_LEVEL
            answer = source.ask(oracle, case)
            if answer[0] == "split":
                split[case.operation] += 1
                continue
            if answer[0] != "results":
                refusals["%s: %s" % (case.operation, answer[1][:150])] += 1
                continue
            answered += 1
            judge.add(case)
        judge.finish()
        seconds = time.monotonic() - start
        if found and given.keep:
            import shrink
            shrink.keep(given, source, oracle, weir, found, classify)
        oracle.close()
    if given.coverage:
        table.write("/dev/stdout" if given.coverage == "-" else given.coverage)
    if given.why:
        for reason, count in refusals.most_common(60):
            print("%6d  %s" % (count, reason))
        for reason, count in lacks.most_common(60):
            print("%6d  weir: %s" % (count, reason))
    if split:
        print("oracles differ:", ", ".join("%s %d" % s for s in split.most_common(40)))
    totals = table.totals()
    totals.subtract(before)
    if judge.unsteady:
        print("last bits decide: %d" % judge.unsteady)
    print("%d drawn, %d answered: " % (drawn, answered) +
          ", ".join("%d %s" % (totals[c], c) for c in Table.COLUMNS) +
          "; %.1f cases a second" % (answered / seconds))
    # A generator that draws nothing finds nothing.
    faults = sum(totals[c] for c in ("wrong", "crashed", "message", "silent"))
    sys.exit(1 if faults or not answered else 0)


if __name__ == "__main__":
    main()
