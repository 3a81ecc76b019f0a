#!/usr/bin/env python3
# ===- linking_test.py - the archive in other people's programs -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""What libweir_runtime.a may ask of a program that links it.

usage: linking_test.py libweir_runtime.a INCLUDE_DIR
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = INCLUDE = None

# What a C program has anyway (functions of unwinders are weak, and used where they are): the C library with its threads, numbers as text and
# mathematics (which kernels use), and the compiler's own helpers for 128-bit
# division.
LIBC = set("""
calloc close clock_gettime dlopen dlsym fstat free getenv madvise malloc memchr memcmp memcpy
memmove memset mmap munmap nanosleep open posix_memalign qsort read realloc
fclose fdopen ferror fflush fopen fprintf fputc fwrite stderr stdout __getdelim getline getpid mkdir rename unlink strncmp strstr
sched_getaffinity __sched_cpucount sigfillset strchr strcmp strcpy strdup strlen
strrchr strtol strtoll strtoull syscall
snprintf strtod strtof newlocale uselocale freelocale
access closedir gethostname time __errno_location fnmatch fsync link opendir pread qsort_r readdir rmdir stat strcspn
strerror_r strndup write getrandom
ceil cos cosf exp expf floor floorf fmod fmodf hypot ilogb ldexp lgamma log log1p log1pf log2 logf lrintf pow powf sin
sinf sqrt sqrtf expm1 expm1f cabs cabsf cacos cacosf cacosh cacoshf casin casinf casinh casinhf
catan catanf catanh catanhf ccos ccosf ccosh ccoshf cexp cexpf clog clogf cpow cpowf csin csinf
csinh csinhf csqrt csqrtf ctan ctanf ctanh ctanhf
pthread_create pthread_join pthread_self pthread_setname_np pthread_sigmask
_Unwind_SetGR _Unwind_SetIP _Unwind_DeleteException __cxa_begin_catch __cxa_end_catch
__divti3 __divdc3 __divsc3 __muldc3 __mulsc3 bcmp __isoc23_strtoll __isoc23_strtoull _GLOBAL_OFFSET_TABLE_
""".split())

TEXT_LIMIT = 100 * 1024


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


class Archive(unittest.TestCase):
    def test_has_no_global_constructors(self):
        sections = run("readelf", "-SW", ARCHIVE)
        self.assertIn(".text", sections)
        for name in (".init_array", ".ctors", ".fini_array", ".tdata", ".tbss"):
            self.assertNotIn(name, sections)

    def test_asks_for_the_c_library_alone(self):
        defined, wanted = set(), set()
        for line in run("nm", ARCHIVE).splitlines():
            match = re.match(r"(?:[0-9a-f]+)?\s*(\w) (\S+)$", line)
            if match:
                kind, name = match.groups()
                (wanted if kind in "Uw" else defined).add(name)
        self.assertEqual(wanted - defined - LIBC, set())

    def test_shows_only_its_own_names(self):
        shown = set()
        for line in run("readelf", "-sW", ARCHIVE).splitlines():
            fields = line.split()
            if (len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK")
                    and fields[5] == "DEFAULT" and fields[6] != "UND"):
                shown.add(fields[7])
        self.assertIn("weir_session_run", shown)
        self.assertEqual({s for s in shown if not s.startswith("weir_")}, set())


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-link-")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def at(self, name):
        return os.path.join(self.folder, name)

    def model(self, name, factor, *flags, compiler="cc"):
        path = self.at(name + ".o")
        run(compiler, "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror",
            "-I", INCLUDE, f"-DMODEL={name}", f"-DFACTOR={factor}", *flags,
            "-c", os.path.join(HERE, "model.c"), "-o", path)
        return path

    def test_link_in_every_form(self):
        forms = {
            "pie": ["-fPIE", "-pie"],
            "fixed": ["-fno-pie", "-no-pie"],
            "static": ["-static"],
        }
        compilers = [c for c in ("gcc", "clang", "clang-22")
                     if shutil.which(c)]
        self.assertTrue(compilers, "no C compiler")
        for compiler in compilers:
            for form, flags in forms.items():
                with self.subTest(compiler=compiler, form=form):
                    program = self.at(f"{compiler}-{form}")
                    run(compiler, *flags, os.path.join(HERE, "main.c"),
                        self.model("first", 2, *[f for f in flags
                                                 if f.startswith("-f")],
                                   compiler=compiler),
                        ARCHIVE, "-lpthread", "-lm", "-o", program)
                    self.assertEqual(run(program), "right\n")

    def test_link_two_models_from_cxx(self):
        compilers = [c for c in ("g++", "clang++", "clang++-22")
                     if shutil.which(c)]
        self.assertTrue(compilers, "no C++ compiler")
        for compiler in compilers:
            with self.subTest(compiler=compiler):
                program = self.at(compiler)
                run(compiler, "-fno-exceptions", "-fno-rtti", "-DTWO",
                    "-x", "c++", os.path.join(HERE, "main.c"), "-x", "none",
                    self.model("first", 2, "-fPIE"),
                    self.model("second", 3, "-fPIE"),
                    ARCHIVE, "-lpthread", "-o", program)
                self.assertEqual(run(program), "right\n")

    def test_static_program_is_small(self):
        map_file = self.at("map")
        run("gcc", "-static", "-Wl,--gc-sections", f"-Wl,-Map={map_file}",
            os.path.join(HERE, "main.c"), self.model("first", 2), ARCHIVE,
            "-lpthread", "-o", self.at("program"))
        total = 0
        with open(map_file) as lines:
            # Before this line the linker lists what it has left out.
            text = lines.read().split("Linker script and memory map")[1]
        for match in re.finditer(
                r"^ \.text\S*\s+0x[0-9a-f]+\s+(0x[0-9a-f]+) (\S+)", text,
                re.MULTILINE):
            if "libweir_runtime" in match.group(2):
                total += int(match.group(1), 16)
        print(f"{total} bytes of .text from the runtime", file=sys.stderr)
        self.assertGreater(total, 10 * 1024, "the map was not understood")
        self.assertLessEqual(total, TEXT_LIMIT)

    def test_plugins_come_and_go(self):
        # Each plugin has a runtime of its own inside, which is two at a time.
        for name, factor in (("first", 2), ("second", 3)):
            run("gcc", "-shared", self.model(name, factor, "-fPIC"), ARCHIVE,
                "-Wl,--exclude-libs,ALL", "-lpthread", "-o",
                self.at(name + ".so"))
            exported = run("nm", "-D", "--defined-only", self.at(name + ".so"))
            self.assertNotIn("weir_session_run", exported)
        run("gcc", "-Wall", os.path.join(HERE, "plugin_host.c"), "-ldl", "-o",
            self.at("host"))
        self.assertEqual(
            run(self.at("host"), self.at("first.so"), self.at("second.so"),
                "1000"), "right\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    INCLUDE, ARCHIVE = sys.argv.pop(2), sys.argv.pop(1)
    unittest.main()
