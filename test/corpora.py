#===- corpora.py - Where the corpora are ------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Where WEIR_CORPORA says, else beside the checkout."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def folder():
    """Where they would be, there or not."""
    return os.path.realpath(
        os.environ.get("WEIR_CORPORA", os.path.join(ROOT, "..", "shared", "corpora")))


def found():
    """The folder; None: there is none."""
    return folder() if os.path.isdir(folder()) else None
