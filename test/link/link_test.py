#!/usr/bin/env python3
#===- link_test.py - Linking what weirc writes ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Links the digits network into programs in every way people do, and runs them.

usage: link_test.py --build=build/release --source=. [-k PATTERN]
C and C++, gcc and clang, as PIE, non-PIE and static; two models in a program; a
model in a plugin; beside another LLVM and protobuf; by CMake's package, by
pkg-config, by hand. A compiler that is not installed is skipped with a line.
"""
import argparse
import array
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGS = None
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "digits"))
import wire  # noqa: E402


def inputs(name):
    return os.path.join(HERE, "Inputs", name)


def tool(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise unittest.SkipTest("none of " + ", ".join(names) + " is installed")


class Linking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="weir-link-")
        build, source = os.path.abspath(ARGS.build), os.path.abspath(ARGS.source)
        cls.weirc = os.path.join(build, "bin", "weirc")
        cls.build = build
        cls.include = os.path.join(source, "runtime", "include")
        cls.runtime = os.path.join(build, "lib", "libweir_runtime.a")
        cls.digits = os.path.join(source, "test", "digits")
        cls.samples = [os.path.join(cls.digits, "samples.f32"),
                       os.path.join(cls.digits, "probabilities.npy")]
        cls.compile("digits.onnx", "digits.o")
        cls.compile("digits.onnx", "second.o")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def run_command(cls, command, **kwargs):
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.STDOUT, cwd=cls.folder, **kwargs)
        if result.returncode != 0:
            raise AssertionError("%s\nexits %d:\n%s" % (
                " ".join(command), result.returncode, result.stdout))
        return result.stdout

    @classmethod
    def compile(cls, model, output, *flags):
        cls.run_command([cls.weirc, os.path.join(cls.digits, model), "-o",
                         cls.path(output), "--cpu=x86-64-v3", *flags])
        return cls.path(output)

    def link(self, compiler, source, name, *flags, models=("digits.o",), runtime=True):
        """Builds a program without a single warning."""
        self.run_command(
            [compiler, "-Wall", "-Wextra", "-pedantic", "-Werror", "-I" + self.folder,
             "-I" + self.include, inputs(source), *map(self.path, models)]
            + ([self.runtime] if runtime else [])
            + [*flags, "-lpthread", "-lm", "-o", self.path(name)])
        return self.path(name)

    def expect_ok(self, program, *arguments):
        output = self.run_command([program, *(arguments or self.samples)])
        self.assertEqual(output.split("\n")[-2], "ok", output)

    def each_kind(self, compiler, source, *flags, **kwargs):
        for kind in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"], ["-static"]):
            with self.subTest(kind=kind[0], flags=flags):
                program = self.link(compiler, source, "program" + kind[0], *kind,
                                    *flags, **kwargs)
                self.expect_ok(program)

    def test_c_gcc(self):
        self.each_kind(tool("gcc"), "program.c", "-std=c99")

    def test_c_clang(self):
        self.each_kind(tool("clang-22", "clang"), "program.c", "-std=c17")

    def test_cxx_gcc(self):
        self.each_kind(tool("g++"), "program.cpp", "-std=c++11")

    def test_cxx_clang(self):
        self.each_kind(tool("clang++-22", "clang++"), "program.cpp", "-std=c++20")

    def test_no_exceptions(self):
        for compiler in (tool("g++"), tool("clang++-22", "clang++")):
            self.each_kind(compiler, "program.cpp", "-fno-exceptions", "-fno-rtti")

    def test_two_models(self):
        self.each_kind(tool("g++"), "program.cpp", "-DSECOND",
                       models=("digits.o", "second.o"))

    def test_other_linkers(self):
        for linker in ("bfd", "gold", "lld-22"):
            if not shutil.which("ld." + linker):
                continue
            with self.subTest(linker=linker):
                self.expect_ok(self.link(tool("clang-22", "clang"), "program.c",
                                         "by-" + linker, "-fuse-ld=" + linker))

    def test_archive(self):
        self.compile("digits.onnx", "in_archive.a", "--name=digits")
        self.expect_ok(self.link(tool("gcc"), "program.c", "archived",
                                 models=("in_archive.a",)))

    def test_weights_beside(self):
        """The constants lie in a file beside the program, wherever both go."""
        folder = self.path("beside")
        os.mkdir(folder)
        weights = os.path.join(folder, "digits.weights")
        self.compile("digits.onnx", "beside/digits.o", "--weights=" + weights)
        program = self.link(tool("gcc"), "program.c", "beside/program",
                            models=("beside/digits.o",))
        self.expect_ok(program)
        moved = self.path("elsewhere")
        os.rename(folder, moved)
        program = os.path.join(moved, "program")
        self.expect_ok(program)
        # A file of another compilation is refused.
        self.compile("digits.pb", "other.o",
                     "--weights=" + os.path.join(moved, "digits.weights"))
        result = subprocess.run([program, *self.samples], stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("was not written together with program", result.stdout)

    def shown(self, library):
        """Names that a shared object exports."""
        listing = self.run_command([tool("nm"), "-D", "--defined-only", library])
        return {line.split()[-1] for line in listing.splitlines()}

    def test_shared_object(self):
        """A .so needs neither the runtime nor anything else, and shows little."""
        shared = self.compile("digits.onnx", "libdigits.so", "--name=digits")
        program = self.link(tool("gcc"), "program.c", "dynamic", "-Wl,-rpath," + self.folder,
                            models=("libdigits.so",), runtime=False)
        self.expect_ok(program)
        self.assertEqual(self.shown(shared), {"weir_plugin", "digits_program", "digits_create",
                                 "digits_destroy", "digits_release", "digits_functions",
                                 "digits_run", "digits_main"})
        # All of the interface by the table alone: with the header no other function is there.
        host = self.path("table-host")
        self.run_command([tool("gcc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-I" + self.folder,
                          inputs("table.c"), "-ldl", "-lpthread", "-o", host])
        self.expect_ok(host, shared)

    def product(self):
        """y = x w of 16 MiB of numbers, which move x by a place and double it."""
        width = 2048
        rows = array.array("f", bytes(4 * width * width))
        for row in range(width):
            rows[row * width + (row + 1) % width] = 2

        def value(name):
            sizes = b"".join(wire.data(1, wire.integer(1, size)) for size in (1, width))
            return wire.data(1, name) + wire.data(
                2, wire.data(1, wire.integer(1, 1) + wire.data(2, sizes)))
        graph = wire.data(1, wire.data(1, "x") + wire.data(1, "w") + wire.data(2, "y")
                          + wire.data(3, "product") + wire.data(4, "MatMul"))
        graph += wire.data(2, "g") + wire.data(11, value("x")) + wire.data(12, value("y"))
        graph += wire.data(5, wire.integer(1, width) + wire.integer(1, width) + wire.integer(2, 1)
                           + wire.data(8, "w") + wire.data(9, rows.tobytes()))
        path = self.path("product.onnx")
        with open(path, "wb") as out:
            out.write(wire.integer(1, 8) + wire.data(8, wire.integer(2, 17)) + wire.data(7, graph))
        return path

    def test_constants_of_a_shared_object(self):
        """Large constants come into a .so behind LLVM's linker, and run as they do elsewhere."""
        model, bare = self.product(), self.path("path")
        os.mkdir(bare)
        for name in ("gcc", "ld", "as"):
            os.symlink(tool(name), os.path.join(bare, name))
        ways = {"beside": ([], os.environ["PATH"]), "by_gnu": ([], bare),
                # The strings of such names end behind where constants begin.
                "behind": (["--name=" + "m" * 60000], os.environ["PATH"])}
        results = {}
        for way, (flags, path) in ways.items():
            shared = self.path(way + ".so")
            self.run_command([self.weirc, model, "-o", shared, "--cpu=x86-64-v3", *flags],
                             env={**os.environ, "PATH": path})
            self.run_command([os.path.join(self.build, "bin", "weir-run"), shared,
                              "--input=random:1", "--output=" + self.path(way + ".npz")])
            with open(self.path(way + ".npz"), "rb") as read:
                results[way] = read.read()
            sections = self.run_command([tool("readelf"), "-SW", shared])
            _, _, own = sections.partition(" .weir.rodata ")
            clang = shutil.which("clang-22") or shutil.which("clang")
            if way == "by_gnu" or not (clang and shutil.which("ld.lld-22")):
                self.assertEqual(own, "")
            else:
                kind, _, offset, size = own.split()[:4]
                self.assertEqual((kind, int(size, 16)), ("PROGBITS", 1 << 24))
                self.assertEqual(int(offset, 16), 0x40000 if way == "beside" else 0x80000)
            stripped = self.path("stripped.so")
            self.run_command([tool("strip"), shared, "-o", stripped])
            self.run_command([os.path.join(self.build, "bin", "weir-run"), stripped,
                              "--input=random:1", "--output=" + self.path("stripped.npz")])
            with open(self.path("stripped.npz"), "rb") as read:
                self.assertEqual(read.read(), results[way])
        self.assertEqual(results["beside"], results["by_gnu"])
        self.assertEqual(results["beside"], results["behind"])

    def test_one_of_two(self):
        """A session of another program, or of another shared object, is refused."""
        program = self.link(tool("gcc"), "strangers.c", "strangers",
                            models=("digits.o", "second.o"))
        self.expect_ok(program)

    def test_a_header_that_is_not_ours(self):
        header = self.path("own.h")
        with open(header, "w") as file:
            file.write("int mine;\n")
        done = subprocess.run([self.weirc, os.path.join(self.digits, "digits.onnx"), "-o",
                               self.path("own.o")], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error W0105: found " + header + " where the header is to be written", done.stderr)
        with open(header) as file:
            self.assertEqual(file.read(), "int mine;\n")
        self.assertFalse(os.path.exists(self.path("own.o")))

    def test_shared_runtime(self):
        """Without a runtime of its own a .so takes that of the program."""
        self.compile("digits.onnx", "libbare.so", "--name=digits", "--shared-runtime")
        listing = self.run_command([tool("nm"), "-D", "--undefined-only", self.path("libbare.so")])
        self.assertIn("weir_session_run", listing)
        program = self.link(tool("gcc"), "program.c", "providing", "-Wl,-rpath," + self.folder,
                            "-rdynamic", "-Wl,--whole-archive", self.runtime,
                            "-Wl,--no-whole-archive", models=("libbare.so",), runtime=False)
        self.expect_ok(program)

    def test_plugin(self):
        """1,000 times in and out, by hand and by weirc's own shared object."""
        host = self.path("host")
        self.run_command([tool("gcc"), "-I" + self.include, inputs("host.c"), "-ldl", "-o", host])
        self.link(tool("gcc"), "plugin.c", "plugin.so", "-shared", "-fPIC",
                  "-fvisibility=hidden", "-Wl,--no-undefined")
        self.expect_ok(host, self.path("plugin.so"), "plugin_run")
        shared = self.compile("digits.onnx", "libplugin.so", "--name=digits")
        self.expect_ok(host, shared, "weir_plugin")

    def test_beside_llvm_and_protobuf(self):
        configs = [c for c in ("llvm-config-15", "llvm-config-14", "llvm-config-22",
                               "/usr/lib/llvm-22/bin/llvm-config") if shutil.which(c)]
        if not configs or not os.path.isdir("/usr/include/google/protobuf"):
            raise unittest.SkipTest("no LLVM or protobuf to link with")
        llvm = self.run_command([configs[0], "--cppflags", "--ldflags"]).split()
        libraries = self.run_command([configs[0], "--libs"]).split()
        llvm = [("-isystem" + f[2:]) if f.startswith("-I") else f for f in llvm]
        program = self.link(tool("g++"), "crowded.cpp", "crowded", "-std=c++17", *llvm,
                            *libraries, "-lprotobuf")
        self.expect_ok(program)

    def test_what_an_object_shows(self):
        listing = self.run_command([tool("nm"), self.path("digits.o")])
        defined, undefined = set(), set()
        for line in listing.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                undefined.add(name)
            elif kind.isupper():
                defined.add(name)
        self.assertEqual(defined, {"digits_program", "digits_create", "digits_destroy",
                                   "digits_release", "digits_run", "digits_main"})
        self.assertTrue(undefined)
        for name in undefined:
            # libm's and libc's functions beside the runtime's.
            self.assertRegex(name, "^(weir_|exp|log|tanh|erf|pow|mem)")
        sections = self.run_command([tool("readelf"), "-SW", self.path("digits.o")])
        for constructor in (".init_array", ".ctors", ".preinit_array"):
            self.assertNotIn(constructor, sections)

    def test_sanitized(self):
        """Instrumented code, in a program that brings the sanitizer."""
        self.compile("digits.onnx", "sanitized.o", "--name=digits", "--sanitize=address")
        listing = self.run_command([tool("nm"), self.path("sanitized.o")])
        self.assertIn("U __asan_report_load", listing)
        for compiler in (tool("gcc"), tool("clang-22", "clang")):
            with self.subTest(compiler=compiler):
                self.expect_ok(self.link(compiler, "program.c", "sanitized",
                                         "-fsanitize=address", models=("sanitized.o",)))

    def test_same_bytes(self):
        self.compile("digits.onnx", "first.o", "--name=digits")
        again = self.compile("digits.onnx", "again.o", "--name=digits")
        self.assertTrue(filecmp.cmp(self.path("first.o"), again, shallow=False))
        for suffix in (".a", ".so"):
            self.compile("digits.onnx", "first" + suffix, "--name=digits")
            os.rename(self.path("first" + suffix), self.path("kept" + suffix))
            self.compile("digits.onnx", "first" + suffix, "--name=digits")
            self.assertTrue(filecmp.cmp(self.path("first" + suffix),
                                        self.path("kept" + suffix), shallow=False), suffix)

    def test_installed(self):
        """find_package(weir) and pkg-config, from an installation that was moved."""
        self.run_command([tool("cmake"), "--install", self.build, "--prefix", self.path("staged")])
        prefix = self.path("prefix")
        os.rename(self.path("staged"), prefix)

        with self.subTest("pkg-config"):
            for folder, _, files in os.walk(prefix):
                if "weir.pc" in files:
                    found = folder
            environment = dict(os.environ, PKG_CONFIG_PATH=found)
            flags = self.run_command([tool("pkg-config"), "--cflags", "--libs", "weir"],
                                     env=environment).split()
            self.run_command([tool("gcc"), inputs("program.c"), self.path("digits.o"),
                              "-I" + self.folder, *flags, "-o", self.path("by-pkg-config")])
            self.expect_ok(self.path("by-pkg-config"))
            # A library does not show the runtime that it links.
            library = self.path("by-pkg-config.so")
            self.run_command([tool("gcc"), "-shared", "-fPIC", "-fvisibility=hidden",
                              inputs("plugin.c"), self.path("digits.o"), "-I" + self.folder,
                              *flags, "-o", library])
            shown = self.shown(library)
            self.assertIn("plugin_run", shown)
            self.assertFalse([name for name in shown if name.startswith("weir_")])

        with self.subTest("weir-run"):
            # Started by a link from another folder: what compiles lies in the tree that it leads to.
            run = self.path("run-by-link")
            os.symlink(os.path.join(prefix, "bin", "weir-run"), run)
            library = self.compile("digits.onnx", "installed.so")
            model = os.path.join(self.digits, "digits.onnx")
            lines = [self.run_command([run, given, "--input=random:1"])
                     for given in (library, model)]
            self.assertIn("probabilities", lines[0])
            self.assertEqual(lines[0], lines[1])

        with self.subTest("find_package"):
            consumer = self.path("consumer")
            self.run_command([tool("cmake"), "-S", inputs("cmake"), "-B", consumer,
                              "-DCMAKE_PREFIX_PATH=" + prefix, "-DSOURCES=" + inputs(""),
                              "-DDIGITS=" + self.digits])
            self.run_command([tool("cmake"), "--build", consumer])
            self.expect_ok(os.path.join(consumer, "program"))
            self.expect_ok(os.path.join(consumer, "two"))
            again = self.run_command([tool("cmake"), "--build", consumer])
            self.assertNotIn("Compiling model", again)
            shown = self.shown(os.path.join(consumer, "libplugin.so"))
            self.assertIn("plugin_run", shown)
            self.assertFalse([name for name in shown if name.startswith("weir_")])
            # A file that only the options name.
            touched = os.path.join(consumer, "ops.json")
            with open(touched, "w") as file:
                file.write('{"operations": []} ')
            again = self.run_command([tool("cmake"), "--build", consumer])
            self.assertIn("Compiling model digits", again)
            self.assertNotIn("Compiling model second_model", again)
            self.run_command([tool("cmake"), "--install", consumer, "--prefix",
                              self.path("installed")])
            self.assertTrue(os.path.exists(self.path("installed/bin/second.weights")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True, help="the build folder")
    parser.add_argument("--source", required=True, help="the repository")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
