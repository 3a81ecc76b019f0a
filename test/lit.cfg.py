#===- lit.cfg.py - Configuration of the lit tests ---------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""What every lit test of weir sees: its file types, tools and features.

Corpora are found by WEIR_CORPORA, or beside the checkout; tests that need them
say `REQUIRES: corpora` and are unsupported elsewhere.
"""
import os
import shutil
import subprocess
import tempfile

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "weir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".pbtxt"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.weir_obj_root, "test")

config.substitutions.append(("%weir_root", config.weir_src_root))
config.substitutions.append(("%digits", os.path.join(config.test_source_root, "digits")))
config.substitutions.append(("%weir_build", config.weir_obj_root))
config.substitutions.append(("%weir_lib", os.path.join(config.weir_obj_root, "lib")))
config.substitutions.append(("%weir_include", os.path.join(config.weir_src_root, "runtime", "include")))
# Built once a build tree: what tests of other machines link.
config.substitutions.append(("%aarch64_runtime", os.path.join(config.test_exec_root, "aarch64-runtime")))
# Programs that link an instrumented runtime are instrumented, too. `asan` and `tsan` are for
# tests that such a build cannot run.
sanitize = f" -fsanitize={config.weir_sanitize} -fno-sanitize=vptr" if config.weir_sanitize else ""
for sanitizer, feature in [("address", "asan"), ("thread", "tsan")]:
    if sanitizer in config.weir_sanitize:
        config.available_features.add(feature)
config.substitutions.append(("%cxx", config.cxx_compiler + sanitize))
config.substitutions.append(("%cc", config.c_compiler + sanitize))
config.substitutions.append(("%python", config.python))

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.weir_tools_dir, append_path=True)
llvm_config.with_system_environment(["HOME", "WEIR_CORPORA", "UCX_MEM_MMAP_HOOK_MODE"])

# The C library fills memory that is new or given back, or a read of it gives the right value nearly
# always: LLVM's libraries, which do most of them, are not instrumented by the sanitizers.
config.environment["MALLOC_PERTURB_"] = os.environ.get("MALLOC_PERTURB_", "165")
# Machine code that tests keep is not the user's.
# Stand-ins are asked for by name, where a test wants a library.
config.environment["WEIR_CUBLASLT"] = "off"
config.environment["WEIR_CUDNN"] = "off"
config.environment["WEIR_NCCL"] = "off"
config.environment["WEIR_CUDA_CACHE"] = "off"
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

config.substitutions.append(("%llc", os.path.join(config.llvm_tools_dir, "llc")))
for tool in ["weirc", "weir-opt", "weir-run", "weir-conformance", "weir-bench"]:
    # A tool that this build left out turns its tests off, rather than failing
    # them one by one with the shell's own words.
    if os.access(os.path.join(config.weir_tools_dir, tool), os.X_OK):
        config.available_features.add(tool)
llvm_config.add_tool_substitutions(
    [ToolSubst(tool, unresolved="ignore")
     for tool in ["weirc", "weir-opt", "weir-run", "weir-conformance", "weir-bench"]],
    [config.weir_tools_dir])

# What starts often has no shared library of LLVM.
if config.weir_llvm_archives == "ON":
    config.available_features.add("llvm-archives")

# Programs over several processes, where UCX was there to build with.
if os.path.exists(os.path.join(config.weir_obj_root, "lib", "libweir_cluster.so")):
    config.available_features.add("cluster")
# Kernels over RE2 and LAPACK, where they were there to build with.
if all(os.path.exists(os.path.join(config.weir_obj_root, "lib", f"libweir_runtime_{name}.a"))
       for name in ("text", "linalg")):
    config.available_features.add("runtime-archives")
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
# Matrix tiles of bf16, and a system that lets programs use them.
try:
    with open("/proc/cpuinfo") as info:
        words = set(info.read().split())
    if {"amx_bf16", "amx_tile", "avx512_bf16"} <= words:
        config.available_features.add("amx")
    # Vectors that multiply bytes, and all else of the processors that tests name.
    if {"avx512vl", "avx512bw", "avx512dq", "avx512cd"} <= words:
        config.available_features.add("avx512")
        if "avx512_vnni" in words:
            config.available_features.add("avx512vnni")
        # And all else of the Zen 4 that tests name.
        if {"avx512_bf16", "avx512_vnni", "avx512_vbmi2", "avx512_bitalg", "avx512_vpopcntdq",
                "avx512ifma", "gfni"} <= words:
            config.available_features.add("avx512bf16")
    if {"avx_vnni", "gfni", "bmi2", "f16c", "movbe", "abm"} <= words:
        config.available_features.add("avxvnni")
except OSError:
    pass

# A compiler for 64-bit Arm and a machine to run what it makes.
if shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64"):
    config.available_features.add("aarch64")
else:
    lit_config.note("no aarch64-linux-gnu-g++ and qemu-aarch64: cross-compilation is not tested"
                    " (Debian: g++-aarch64-linux-gnu qemu-user)")
# What some of docs/examples are written with.
for feature, header in [("jpeg", "jpeglib.h"), ("httplib", "httplib.h")]:
    if os.path.exists("/usr/include/" + header):
        config.available_features.add(feature)
# Its library is built with flags that programs must repeat.
flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cpp-httplib"], capture_output=True,
                       text=True).stdout if shutil.which("pkg-config") else ""
config.substitutions.append(("%httplib", flags.strip() or "-lcpp-httplib"))
if shutil.which("mkdocs"):
    config.available_features.add("mkdocs")
if shutil.which("gdb"):
    config.available_features.add("gdb")
lldb = shutil.which("lldb-22") or shutil.which("lldb")
if lldb:
    config.available_features.add("lldb")
    config.substitutions.append(("%lldb", lldb))
else:
    lit_config.note("no lldb: that it stops at nodes is not tested (Debian: lldb-22)")
# Where the kernel lets it count. Not into /dev/null, which perf moves aside if it can.
with tempfile.TemporaryDirectory() as folder:
    if shutil.which("perf") and subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock", "-o", os.path.join(folder, "data"), "true"],
            capture_output=True).returncode == 0:
        config.available_features.add("perf")
if shutil.which("rustc"):
    config.available_features.add("rustc")
# What assembles code for GPUs, and a driver that runs it on the host.
cuda_home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
if os.access(os.path.join(cuda_home, "bin", "ptxas"), os.X_OK):
    config.available_features.add("ptxas")
    config.substitutions.append(("%cuda_home", cuda_home))
    for header, feature in [("cublasLt.h", "cuda-headers"), ("../lib64/libcublasLt.so.13", "cublaslt"),
                            ("../lib64/libcudnn.so.9", "cudnn")]:
        if os.path.exists(os.path.join(cuda_home, "include", header)):
            config.available_features.add(feature)
    # It finds GPUs by itself, and would not know those of a stand-in.
    if os.path.exists(os.path.join(cuda_home, "lib64", "libnccl.so.2")) and not os.path.exists("/dev/nvidia0"):
        config.available_features.add("nccl-without-gpu")
else:
    lit_config.note("no ptxas: tests of GPU code are skipped")
recorder = os.path.join(config.weir_obj_root, "test", "cuda", "libcuda-recorder.so")
config.substitutions.append(("%cuda_recorder", recorder))
for library in ["cublaslt", "cudnn", "nccl", "cupti"]:
    config.substitutions.append(("%%%s_recorder" % library, recorder.replace("cuda-recorder", library + "-recorder")))
config.substitutions.append(("%driver_without_gpu", os.path.join(os.path.dirname(recorder), "no-gpu")))
if os.path.exists(recorder):
    config.available_features.add("cuda-recorder")

# A browser without a screen, for pages.
for browser in ["chromium", "chromium-browser", "google-chrome"]:
    if shutil.which(browser):
        config.available_features.add("chromium")
        config.substitutions.append(("%chromium", shutil.which(browser)))
        break

# Python environments with other frameworks, which models are compared with.
for framework in ["ort", "tf", "torch", "kserve"]:
    python = os.environ.get("WEIR_%s_PYTHON" % framework.upper())
    if python:
        config.available_features.add(framework + "-python")
        config.substitutions.append(("%%{%s_python}" % framework, python))

corpora = os.environ.get(
    "WEIR_CORPORA", os.path.join(config.weir_src_root, "..", "shared", "corpora"))
if os.path.isdir(corpora):
    config.available_features.add("corpora")
    config.substitutions.append(("%corpora", os.path.realpath(corpora)))
else:
    lit_config.note("no corpora at " + corpora + ": tests that need them are skipped")
