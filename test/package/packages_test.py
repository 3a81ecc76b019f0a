#!/usr/bin/env python3
#===- packages_test.py - packages, made and used ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Makes the packages of a build tree twice, compares the bytes, and looks into them: Debian's,
or of a tree with WEIR_STATIC_LLVM the archive that works without an installation.

usage: packages_test.py --build=build/release [--chroot=FOLDER [--mirror=URL]]

--chroot, as root and with debootstrap: makes a clean Debian 12 in FOLDER (kept if it is one
already), and in it goes through weirc, manual pages, completion, pkg-config, a CMake project,
and Python; or unpacks the archive, compiles and runs a model, and says how long that took.
Without, what needs an installation is left out.
"""
import argparse
import filecmp
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = {"weir", "weir-dev", "libweir1", "python3-weir"}
OPTIONS = argparse.Namespace()
IN_CHROOT = r"""
set -e
cd /root && rm -rf t && mkdir t && cd t
digits=/usr/share/doc/weir/examples/digits
weirc --version
weirc --explain=W0301 | head -1
man -w weirc weirc-show weir-run >/dev/null
man weirc | grep -q -- --max-memory
bash -c '. /usr/share/bash-completion/completions/weirc; COMP_WORDS=(weirc --max-m) COMP_CWORD=1; _weirc 2>/dev/null; [[ "${COMPREPLY[*]}" == *--max-memory=* ]]'
test -s /usr/share/zsh/vendor-completions/_weirc -a -s /usr/share/fish/vendor_completions.d/weirc.fish
for p in weir weir-dev libweir1 python3-weir; do test -s /usr/share/doc/$p/copyright; done
weirc $digits/digits.onnx -o digits.o
c++ -std=c++20 $digits/classify.cpp digits.o -I. $(pkg-config --cflags --libs weir) -o classify
./classify $digits/samples.f32 $digits/samples.u8
c++ -std=c++20 $digits/classify.cpp digits.o -I. -lweir -o shared && ldd shared | grep libweir.so.1
./shared $digits/samples.f32 $digits/samples.u8
weirc $digits/digits.onnx -o digits.so
weir-run digits.so --input=random:1
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(weir REQUIRED)
weir_add_model(digits /usr/share/doc/weir/examples/digits/digits.onnx CPU portable)
add_executable(example /usr/share/doc/weir/examples/digits/classify.cpp)
target_link_libraries(example PRIVATE digits)
END
cmake -S . -B build >/dev/null && cmake --build build >/dev/null
build/example $digits/samples.f32 $digits/samples.u8
python3 -c 'import numpy, weir; print(weir.load("./digits.so")(numpy.zeros((2, 1, 8, 8), numpy.float32)).shape)'
echo all is well
"""


# What a newcomer does with the archive, on a system that has nothing but the C library.
IN_BARE_CHROOT = r"""
set -e
cd /root && rm -rf weir-* moved && tar xzf /root/weir.tar.gz
mkdir moved && mv weir-* moved/weir && cd moved
digits=weir/share/doc/weir/examples/digits
weir/bin/weirc --version
weir/bin/weirc --explain=W0301 | head -1
weir/bin/weirc $digits/digits.onnx -o digits.o
weir/bin/weirc show digits.o | grep 'input *image'
weir/bin/weir-run $digits/digits.onnx --input=random:1
echo all is well
"""


def needed(path):
    """Names of the shared libraries that a file asks for."""
    said = subprocess.run(["objdump", "-p", path], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[1] for line in said.stdout.splitlines() if "NEEDED" in line}


def is_static():
    with open(os.path.join(OPTIONS.build, "CMakeCache.txt"), encoding="utf-8") as file:
        return "WEIR_STATIC_LLVM:BOOL=ON" in file.read()


def pack(generator, folder, umask):
    """Files of all packages, made in a folder."""
    environment = dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
    before = os.umask(umask)
    try:
        run("cpack", "-G", generator, "-B", folder, cwd=OPTIONS.build, env=environment)
    finally:
        os.umask(before)
    return sorted(glob.glob(os.path.join(folder, "*.deb")) +
                  glob.glob(os.path.join(folder, "*.tar.gz")))


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    if done.returncode:
        raise AssertionError("%s\n%s" % (" ".join(command), done.stdout[-4000:]))
    return done.stdout


class Made(unittest.TestCase):
    """What holds of any packages."""
    generator = ""

    @classmethod
    def setUpClass(cls):
        if is_static() != (cls.generator == "TGZ"):
            raise unittest.SkipTest("of another kind of build tree")
        cls.folder = tempfile.mkdtemp(prefix="weir-packages-")
        cls.files = pack(cls.generator, os.path.join(cls.folder, "first"), 0o022)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def equal_bytes(self):
        again = pack(self.generator, os.path.join(self.folder, "second"), 0o077)
        self.assertEqual(len(again), len(self.files))
        self.assertTrue(self.files)
        for one, other in zip(self.files, again):
            self.assertTrue(filecmp.cmp(one, other, shallow=False), one)


class Archive(Made):
    generator = "TGZ"

    def test_equal_bytes(self):
        self.equal_bytes()

    def test_works_where_it_is_unpacked(self):
        archive, = self.files
        folder = os.path.join(self.folder, "unpacked", "moved here")
        os.makedirs(folder)
        run("tar", "xzf", archive, "-C", folder)
        root, = glob.glob(os.path.join(folder, "weir-*"))
        for tool in ("bin/weirc", "bin/weir-run", "libexec/weir/weir-run-model"):
            self.assertLessEqual(needed(os.path.join(root, tool)), {
                "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2",
                "libgcc_s.so.1", "libzip.so.4"}, tool)
            found = run("ldd", os.path.join(root, tool))
            self.assertRegex(found, r"libzip\.so\.4 => .*/moved here/.*/lib/weir/", tool)
        digits = os.path.join(root, "share", "doc", "weir", "examples", "digits")
        run(os.path.join(root, "bin", "weirc"), os.path.join(digits, "digits.onnx"), "-o",
            "digits.o", cwd=folder)
        run("c++", "-std=c++20", os.path.join(digits, "classify.cpp"), "digits.o", "-I.",
            os.path.join(root, "lib", "libweir_runtime.a"), "-pthread", "-o", "classify",
            cwd=folder)
        said = run(os.path.join(folder, "classify"), os.path.join(digits, "samples.f32"),
                   os.path.join(digits, "samples.u8"))
        self.assertIn("353 of 360", said)

    def test_in_a_bare_debian(self):
        if not OPTIONS.chroot:
            self.skipTest("no --chroot")
        chroot = clean_debian()
        shutil.copy(self.files[0], os.path.join(chroot, "root", "weir.tar.gz"))
        began = time.monotonic()
        said = run("chroot", chroot, "sh", "-c", IN_BARE_CHROOT)
        took = time.monotonic() - began
        self.assertIn("all is well", said)
        self.assertLess(took, 60)
        print("unpacked, compiled and run in %.1f s" % took)


def clean_debian():
    chroot = os.path.abspath(OPTIONS.chroot)
    if not os.path.exists(os.path.join(chroot, "usr/bin/apt-get")):
        run("debootstrap", "--variant=minbase", "bookworm", chroot, OPTIONS.mirror)
        with open(os.path.join(chroot, "etc/apt/sources.list"), "w", encoding="utf-8") as file:
            file.write(f"deb {OPTIONS.mirror} bookworm main\n"
                       f"deb {OPTIONS.mirror}-security bookworm-security main\n")
    return chroot


class Packages(Made):
    generator = "DEB"

    def test_equal_bytes(self):
        self.equal_bytes()

    def test_names_and_fields(self):
        found = {run("dpkg-deb", "-f", deb, "Package").strip() for deb in self.files}
        self.assertEqual(found, NAMES)
        for deb in self.files:
            fields = run("dpkg-deb", "-f", deb)
            self.assertIn("Architecture: amd64", fields)
            self.assertIn("Description: ", fields)
            # What weir is only measured against is no one's to install.
            self.assertNotIn("dnnl", fields)
            if "/weir_" in deb:
                self.assertRegex(fields, r"Depends: .*libmlir-22")

    def test_contents(self):
        lists = {os.path.basename(deb).split("_")[0]: run("dpkg-deb", "-c", deb)
                 for deb in self.files}
        for package, files in {
                "weir": ["bin/weirc", "bin/weir-run", "libexec/weir/weir-run-model", "man/man1/weirc.1", "man/man1/weirc-show.1",
                         "bash-completion/completions/weirc", "doc/weir/guide.md",
                         "doc/weir/copyright"],
                "weir-dev": ["lib/libweir_runtime.a", "include/weir/weir.h",
                             "cmake/weir/weirConfig.cmake", "pkgconfig/weir.pc"],
                "libweir1": ["libweir.so.1"], "python3-weir": ["weir/__init__.py"]}.items():
            for file in files:
                self.assertIn(file, lists[package], package)

    def test_in_a_clean_debian(self):
        if not OPTIONS.chroot:
            self.skipTest("no --chroot")
        chroot = clean_debian()
        for deb in self.files:
            shutil.copy(deb, os.path.join(chroot, "root"))
        apt = "DEBIAN_FRONTEND=noninteractive apt-get -qq --no-install-recommends install -y "
        run("chroot", chroot, "sh", "-ec", "apt-get -qq update && " + apt +
            "g++ cmake make pkg-config man-db bash-completion /root/*.deb && man --version")
        said = run("chroot", chroot, "sh", "-c", IN_CHROOT)
        self.assertIn("all is well", said)
        self.assertEqual(said.count("353 of 360"), 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--chroot", default="")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    OPTIONS = parser.parse_args()
    good = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result.wasSuccessful()
    print("packages: " + ("passed" if good else "failed"))
    sys.exit(0 if good else 1)
