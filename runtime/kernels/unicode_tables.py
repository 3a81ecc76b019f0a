#!/usr/bin/env python3
#===- unicode_tables.py - Write the tables of Unicode's properties ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
#
# Writes unicode_tables.inc and code_pages.inc beside this file: general
# categories and case mappings as Python has them, scripts as ICU has them (the
# library is opened here only; nothing of the product needs it), and single-byte
# encodings. Run it when a new version of Unicode matters.
#
import ctypes
import ctypes.util
import glob
import os
import sys
import unicodedata

LAST = 0x110000
BANNER = """//===- %s - %s
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Written by unicode_tables.py.

"""


def runs(value_of):
    """[(first code point, value)] of each run of one value."""
    found = []
    for code in range(LAST):
        value = value_of(code)
        if not found or found[-1][1] != value:
            found.append((code, value))
    return found


def write_rows(out, rows):
    line = ""
    for row in rows:
        if len(line) + len(row) + 1 > 118:
            out.write(line + "\n")
            line = ""
        line += row
    out.write(line + "\n")


def icu():
    for path in sorted(glob.glob("/usr/lib/*/libicuuc.so.*")):
        version = path.rsplit(".so.", 1)[1]
        if version.isdigit():
            return ctypes.CDLL(path), version
    sys.exit("unicode_tables.py: no ICU library found")


def write_categories(out):
    names = sorted({unicodedata.category(chr(c)) for c in range(LAST)})
    out.write("const char categoryNames[][3] = {%s};\n" %
              ", ".join('"%s"' % n for n in names))
    rows = runs(lambda c: names.index(unicodedata.category(chr(c))))
    out.write("const uint32_t categoryRuns[] = { // code point << 8 | category\n")
    write_rows(out, ["0x%x," % (c << 8 | v) for c, v in rows])
    out.write("};\n\n")


def write_scripts(out):
    library, version = icu()
    get = getattr(library, "uscript_getScript_" + version)
    name = getattr(library, "uscript_getName_" + version)
    name.restype = ctypes.c_char_p
    error = ctypes.c_int(0)
    script = lambda c: get(ctypes.c_uint32(c), ctypes.byref(error))
    rows = runs(script)
    out.write("const uint32_t scriptRuns[] = { // code point << 8 | ICU's number\n")
    write_rows(out, ["0x%x," % (c << 8 | v) for c, v in rows])
    out.write("};\n\n")
    out.write("const ScriptName scriptNames[] = {\n")
    write_rows(out, ['{%d, "%s"},' % (v, name(v).decode())
                     for v in sorted({v for _, v in rows})])
    out.write("};\n\n")


def write_case(out, title, convert):
    """Runs of (first, last, step) that move by the same distance, and the
    mappings to several code points."""
    moves, special = [], []
    for code in range(LAST):
        if 0xD800 <= code < 0xE000:
            continue
        to = convert(chr(code))
        if to == chr(code):
            continue
        if len(to) > 1:
            special.append((code, to))
            continue
        delta = ord(to) - code
        if moves and moves[-1][3] == delta:
            first, last, step, _ = moves[-1]
            if code - last == step or (first == last and code - last <= 2):
                moves[-1] = (first, code, code - last, delta)
                continue
        moves.append((code, code, 1, delta))
    out.write("const CaseRun %sRuns[] = {\n" % title)
    write_rows(out, ["{0x%x,0x%x,%d,%d}," % m for m in moves])
    out.write("};\n")
    out.write("const CaseExpansion %sExpansions[] = {\n" % title)
    write_rows(out, ["{0x%x,{%s}}," % (c, ",".join("0x%x" % ord(t) for t in to))
                     for c, to in special])
    out.write("};\n\n")


CODE_PAGES = [("iso-8859-%d" % i, ["latin%d" % i] if i < 5 else [])
              for i in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)]
CODE_PAGES += [("windows-125%d" % i, ["cp125%d" % i]) for i in range(9)]
CODE_PAGES += [("koi8-r", []), ("koi8-u", []), ("ibm437", ["cp437"]),
               ("ibm850", ["cp850"]), ("ibm866", ["cp866"]),
               ("macintosh", [])]


def write_code_pages(out):
    out.write("const CodePage codePages[] = {\n")
    for name, more in CODE_PAGES:
        codec = {"ibm437": "cp437", "ibm850": "cp850", "ibm866": "cp866",
                 "macintosh": "mac_roman"}.get(name, name)
        upper = []
        for byte in range(128, 256):
            try:
                upper.append(ord(bytes([byte]).decode(codec)))
            except UnicodeDecodeError:
                upper.append(0)  # not assigned
        out.write('{"%s", "%s", {\n' % (name, more[0] if more else ""))
        write_rows(out, ["0x%x," % u for u in upper])
        out.write("}},\n")
    out.write("};\n")


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "unicode_tables.inc"), "w") as out:
        out.write(BANNER % ("unicode_tables.inc",
                            "categories, scripts, case ------------*- C++ -*-===//"))
        write_categories(out)
        write_scripts(out)
        write_case(out, "lower", str.lower)
        write_case(out, "upper", str.upper)
    with open(os.path.join(folder, "code_pages.inc"), "w") as out:
        out.write(BANNER % ("code_pages.inc",
                            "single-byte encodings --------------------*- C++ -*-===//"))
        write_code_pages(out)


main()
