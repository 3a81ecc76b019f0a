#!/usr/bin/env python3
#===- disturbed_plans.py - Programs made of others, planned ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Plans programs that are made by disturbing given ones.

usage: disturbed_plans.py --bench=weir-bench [--seeds=N] [--kind=NAME...] FILE.CAPACITY.csv...

A plan of each file is made, and moved along with everything that is done to its
buffers: so every program is known to fit within the capacity of the file that it
comes from. Prints a line for each that the tool does not fit, and how many were
fitted in which time; exit status 1 unless all were.
"""
import argparse
import collections
import csv
import os
import random
import subprocess
import sys
import tempfile

Placed = collections.namedtuple("Placed", "lower upper size offset")
GRAIN = 1024  # of sizes and times in the files


def overlap(a, b):
    return (a.lower < b.upper and b.lower < a.upper and a.offset < b.offset + b.size
            and b.offset < a.offset + a.size)


def cut(rng, low, high):
    """A multiple of the grain strictly between, or None."""
    first, last = low // GRAIN + 1, (high - 1) // GRAIN
    return rng.randint(first, last) * GRAIN if first <= last else None


def cut_in_time(rng, plan, capacity, share=0.2):
    for b in plan:
        at = cut(rng, b.lower, b.upper) if rng.random() < share else None
        if at is None:
            yield b
        else:
            yield b._replace(upper=at)
            yield b._replace(lower=at)


def cut_in_space(rng, plan, capacity, share=0.2):
    for b in plan:
        size = cut(rng, 0, b.size) if rng.random() < share else None
        if size is None:
            yield b
        else:
            yield b._replace(size=size)
            yield b._replace(offset=b.offset + size, size=b.size - size)


def cut_both(rng, plan, capacity):
    return cut_in_time(rng, list(cut_in_space(rng, plan, capacity)), capacity)


def cut_most(rng, plan, capacity):
    return cut_in_time(rng, list(cut_in_space(rng, plan, capacity, 0.5)), capacity, 0.5)


def leave_out(rng, plan, capacity):
    return (b for b in plan if rng.random() < 0.9)


def shorten(rng, plan, capacity):
    for b in plan:
        at = cut(rng, b.lower, b.upper) if rng.random() < 0.3 else None
        if at is None:
            yield b
        else:
            yield b._replace(**{rng.choice(["lower", "upper"]): at})


def shrink(rng, plan, capacity):
    for b in plan:
        size = cut(rng, 0, b.size) if rng.random() < 0.3 else None
        yield b if size is None else b._replace(size=size)


def grow(rng, plan, capacity):
    """Into the free room of the plan, in size or in time, until it touches others."""
    plan = list(plan)
    for i in rng.sample(range(len(plan)), len(plan)):
        others = plan[:i] + plan[i + 1:]
        lengths = max(b.upper for b in plan)
        b = plan[i]
        for field in rng.sample(["size", "offset", "lower", "upper"], 4):
            if field == "size":
                top = min([o.offset for o in others if o.offset >= b.offset + b.size and
                           o.lower < b.upper and b.lower < o.upper], default=capacity)
                b = b._replace(size=top - b.offset)
            elif field == "offset":
                low = max([o.offset + o.size for o in others if o.offset + o.size <= b.offset and
                           o.lower < b.upper and b.lower < o.upper], default=0)
                b = b._replace(offset=low, size=b.size + b.offset - low)
            else:
                near = [o for o in others if o.offset < b.offset + b.size
                        and b.offset < o.offset + o.size]
                if field == "upper":
                    b = b._replace(upper=min([o.lower for o in near if o.lower >= b.upper],
                                             default=lengths))
                else:
                    b = b._replace(lower=max([o.upper for o in near if o.upper <= b.lower],
                                             default=0))
        plan[i] = b
    return plan


def jitter(rng, plan, capacity):
    """Sizes and lifetimes change in both directions: some shrink, others fill the room."""
    return grow(rng, list(shorten(rng, list(shrink(rng, plan, capacity)), capacity)), capacity)


def replace(rng, plan, capacity):
    """A tenth of the buffers makes room for others."""
    plan = list(leave_out(rng, plan, capacity))
    return cut_in_space(rng, list(cut_in_time(rng, grow(rng, plan, capacity), capacity)), capacity)


def as_given(rng, plan, capacity):
    return plan


def turn_around(rng, plan, capacity):
    end = max(b.upper for b in plan)
    return (b._replace(lower=end - b.upper, upper=end - b.lower) for b in plan)


KINDS = {"shuffled": as_given, "reversed": turn_around, "cut in time": cut_in_time,
         "cut in space": cut_in_space, "cut in both": cut_both, "half cut in both": cut_most,
         "left out": leave_out, "shortened": shorten, "shrunk": shrink, "grown": grow,
         "jittered": jitter, "replaced": replace}


def read_plan(path):
    with open(path) as f:
        return [Placed(*(int(row[k]) for k in Placed._fields)) for row in csv.DictReader(f)]


def write_program(path, plan):
    with open(path, "w") as f:
        f.write("id,lower,upper,size\n")
        for i, b in enumerate(plan):
            f.write(f"{i},{b.lower},{b.upper},{b.size}\n")


def check(plan, capacity):
    """A line over lifetimes: only neighbours in time are compared."""
    live = []
    for b in sorted(plan):
        live = [o for o in live if o.upper > b.lower]
        assert 0 <= b.offset and 0 < b.size and b.offset + b.size <= capacity
        assert b.lower < b.upper and not any(overlap(b, o) for o in live), "not a plan"
        live.append(b)


def run(bench, program, capacity, steps, output=None):
    """Whether it fits, and the milliseconds that planning took."""
    done = subprocess.run([bench, "memory-plan", program, f"--capacity={capacity}"]
                          + ([f"--steps={steps}"] if steps else [])
                          + (["-o", output] if output else []),
                          capture_output=True, text=True)
    return done.returncode == 0, float(done.stdout.split("ms=")[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", default="build/release/bin/weir-bench")
    parser.add_argument("--seeds", type=int, default=3, help="programs of each kind")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--kind", action="append", choices=KINDS, help="all where none is given")
    parser.add_argument("--steps", type=int, help="the tool's where it is not given")
    parser.add_argument("--keep", help="folder for the programs")
    parser.add_argument("files", nargs="+", metavar="FILE.CAPACITY.csv")
    arguments = parser.parse_args()

    times, missed = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = arguments.keep or folder
        os.makedirs(folder, exist_ok=True)
        for file in arguments.files:
            name, capacity = os.path.basename(file).split(".")[:2]
            capacity = int(capacity)
            output = os.path.join(folder, name + ".plan")
            fits, _ = run(arguments.bench, file, capacity, arguments.steps, output)
            if not fits:
                print(f"{name}: does not fit as it is given")
                missed["as given"] += 1
                continue
            plan = read_plan(output)
            for kind in arguments.kind or KINDS:
                for seed in range(arguments.first, arguments.first + arguments.seeds):
                    rng = random.Random(f"{name} {kind} {seed}")
                    made = list(KINDS[kind](rng, plan, capacity))
                    check(made, capacity)
                    rng.shuffle(made)
                    program = os.path.join(
                        folder, f"{name}-{kind.replace(' ', '-')}-{seed}.{capacity}.csv")
                    write_program(program, made)
                    fits, ms = run(arguments.bench, program, capacity, arguments.steps)
                    if fits:
                        times.append(ms)
                    else:
                        missed[kind] += 1
                        print(f"{name}, {kind}, seed {seed}: {len(made)} buffers do not fit "
                              f"({ms:.0f} ms)", flush=True)
    times.sort()
    total = len(times) + sum(missed.values())
    print(f"{len(times)} of {total} fit; ms: " + ", ".join(
        f"{share} of 100 within {times[min(len(times) - 1, len(times) * share // 100)]:.0f}"
        for share in (50, 90, 99, 100)))
    for kind, count in missed.items():
        print(f"  {kind}: {count} do not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
