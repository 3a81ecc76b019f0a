#!/usr/bin/env python3
#===- archives_test.py - Which library of passes needs which ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Reads the archives of passes/ and fails where one needs a symbol of another stage.

archives_test.py BUILD NM. Static archives do not care for circles, as linkers read them
until nothing is missing: so what each defines and what it lacks is compared here.
"""
import glob
import os
import subprocess
import sys

# What an archive may need beside the dialects, which know no passes.
NEEDS = {
    "weir_pass_analysis": {"weir_placement", "weir_memory"},
    "weir_gradient": set(),
    "weir_pass_training": {"weir_gradient", "weir_pass_analysis"},
    "weir_pass_raise": set(),
    "weir_pass_simplify": set(),
    "weir_pass_redundancy": set(),
    "weir_pass_layout": {"weir_pass_analysis"},
    "weir_pass_partition": {"weir_pass_analysis", "weir_placement"},
    "weir_pass_kernelize": {"weir_pass_analysis"},
    "weir_pass_plan": {"weir_pass_analysis", "weir_memory"},
    "weir_pass_verify": {"weir_pass_analysis"},
    "weir_memory": set(),
    "weir_placement": set(),
}


def symbols(nm, archive, kind):
    listing = subprocess.run([nm, "--quiet", "--format=posix", f"--{kind}", archive], check=True,
                             capture_output=True, text=True).stdout
    # Strong definitions alone: inline functions are everyone's.
    return {line.split()[0] for line in listing.splitlines()
            if len(line.split()) > 1 and line.split()[1] in ("T", "D", "B", "R", "U")
            and "4weir" in line}


def main():
    build, nm = sys.argv[1:3]
    archives = {os.path.basename(path)[3:-2]: path
                for path in glob.glob(os.path.join(build, "lib/libweir_*.a"))}
    archives = {name: path for name, path in archives.items()
                if name in NEEDS or name.startswith("weir_pass_")}
    problems = [f"{name}: no such archive" for name in NEEDS if name not in archives]
    problems += [f"{name}: an archive that this test has no row for" for name in archives
                 if name not in NEEDS]
    home = {symbol: name for name in archives
            for symbol in symbols(nm, archives[name], "defined-only")}
    for name, allowed in NEEDS.items():
        for symbol in sorted(symbols(nm, archives[name], "undefined-only")
                             if name in archives else ()):
            other = home.get(symbol, name)
            if other != name and other not in allowed:
                problems.append(f"{name} needs {symbol} of {other}; possible: "
                                + (", ".join(sorted(allowed)) or "none"))
    # The table itself goes in one direction.
    below = dict(NEEDS)
    while below:
        lowest = [name for name in below if not below[name] & set(below)]
        if not lowest:
            problems.append("a circle: " + ", ".join(sorted(below)))
            break
        for name in lowest:
            del below[name]
    for problem in problems:
        print(problem)
    print(f"archives: {len(archives)} read, {len(home)} symbols, {len(problems)} offences")
    return 1 if problems or not home else 0


if __name__ == "__main__":
    sys.exit(main())
