#!/usr/bin/env python3
#===- sanitizers.py - How programs with sanitizers are run ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""What the environment of a program of the presets asan and tsan says.

    test/sanitizers.py COMMAND…    runs one so: ctest --test-dir build/asan, lit, weirc
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

ENVIRONMENT = {
    # Debian's libMLIR is not instrumented: its inlined bump allocators poison memory that it then
    # hands over, and ThreadSanitizer does not see what orders its threads.
    # LLVM gives threads stacks for signals in place of the sanitizer's, which then frees them.
    "ASAN_OPTIONS": "allow_user_poisoning=0:detect_leaks=0:use_sigaltstack=0",
    # Tasks of a conformance case are forked where threads are, and begin some of their own.
    "TSAN_OPTIONS": "die_after_fork=0 suppressions=" + os.path.join(ROOT, "test", "tsan.supp"),
    # UCX writes its hooks over the first bytes of mmap and its like, which the sanitizer has
    # replaced already.
    "UCX_MEM_MMAP_HOOK_MODE": "none",
}


def environment():
    """This process's, with the above where it does not say otherwise."""
    return {**ENVIRONMENT, **os.environ}


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        os.execvpe(sys.argv[1], sys.argv[1:], environment())
    except OSError as error:
        sys.exit("sanitizers.py: %s: %s" % (sys.argv[1], error.strerror))
