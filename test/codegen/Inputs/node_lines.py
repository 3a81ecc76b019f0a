#===- node_lines.py - lines of a kernel with --debug-info ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Prints, for a node, the text of the lines that its kernels' instructions have.

usage: node_lines.py [--debugger=lldb] [--break=NODE] OBJECT NODES
--break: commands of gdb, or of lldb, that stop at the node's line instead, and step.
"""
import re
import subprocess
import sys


def main(arguments):
    node, isLldb = "conv2", arguments[0] == "--debugger=lldb"
    if isLldb:
        arguments.pop(0)
    if arguments[0].startswith("--break="):
        node = arguments.pop(0)[len("--break="):]
        commands = True
    else:
        commands = False
    obj, path = arguments
    lines = open(path).read().splitlines()
    wanted = [i + 1 for i, text in enumerate(lines) if node in re.split(", | and ", text)]
    if commands and isLldb:
        # Address randomisation is not what is asked about, and not all machines let it be turned off.
        print("settings set target.disable-aslr false")
        print("breakpoint set --file digits.nodes --line %d" % wanted[0])
        print("run\nthread backtrace -c 3\nnext")
        return
    if commands:
        print("set breakpoint pending on")
        print("break digits.nodes:%d" % wanted[0])
        print("run\ninfo source\nbacktrace 2\nnext")
        return
    table = subprocess.run(["/usr/lib/llvm-22/bin/llvm-dwarfdump", "--debug-line", obj],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    used = {int(m[1]) for m in re.finditer(r"^0x[0-9a-f]+ +(\d+) +", table, re.M)}
    found = sorted(used & set(wanted))
    print(node + ":", "; ".join(lines[i - 1] for i in found))


main(sys.argv[1:])
