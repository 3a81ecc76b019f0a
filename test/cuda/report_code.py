#!/usr/bin/env python3
#===- report_code.py - what a report says of GPU kernels' code --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: report_code.py REPORT IR              a report beside --dump-ir of the same compilation
       report_code.py machine REPORT FUNCTION  the machine code that the report has of a function
       report_code.py toolkit CUDA OUT TOOL    a toolkit with a stand-in for TOOL, cuobjdump or
                                               nvdisasm, which says what these say of two functions
"""
import base64
import glob
import json
import os
import re
import sys
import zlib

CUOBJDUMP = """
	code for sm_80
		Function : k1_tanh_64_1000_f32
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        /*0000*/                   NOP ;                          /* 0x0000000000007918 */
                                                                  /* 0x000fc00000000000 */
		..........
		Function : k6_transpose_2_33_40_f32
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        /*0000*/                   MOV R1, c[0x0][0x28] ;         /* 0x00000a0000017a02 */
                                                                  /* 0x000fe40000000f00 */
        /*0010*/               @P0 EXIT ;                         /* 0x000000000000094d */
                                                                  /* 0x000fea0003800000 */
		..........
"""
NVDISASM = """	.target	sm_80
//--------------------- .text.k1_tanh_64_1000_f32       --------------------------
	.section	.text.k1_tanh_64_1000_f32,"ax",@progbits
.text.k1_tanh_64_1000_f32:
        /*0000*/                   NOP ;
//--------------------- .text.k6_transpose_2_33_40_f32  --------------------------
	.section	.text.k6_transpose_2_33_40_f32,"ax",@progbits
.text.k6_transpose_2_33_40_f32:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/               @P0 EXIT ;
"""


def toolkit(cuda, out, tool):
    os.makedirs(out + "/bin")
    os.symlink(os.path.join(cuda, "nvvm"), out + "/nvvm")
    for name in ("ptxas", "fatbinary"):
        os.symlink(os.path.join(cuda, "bin", name), f"{out}/bin/{name}")
    for name in ("cuobjdump", "nvdisasm"):  # the other one fails, wherever else it is
        with open(f"{out}/bin/{name}", "w") as file:
            text = CUOBJDUMP if name == "cuobjdump" else NVDISASM
            file.write(f"#!/bin/sh\ncat <<'END'\n{text}END\n" if name == tool else "#!/bin/sh\nexit 1\n")
        os.chmod(f"{out}/bin/{name}", 0o755)


def machine(folder, function):
    with open(folder + "/code.json") as file:
        texts = json.load(file)
    print(next(f["machine"] for t in texts.values() for f in t.get("device", [])
               if f["function"] == function))


def said(folder):
    """What ptxas said: registers, shared memory and spilt bytes by architecture and function."""
    with open(glob.glob(folder + "/*-codegen-ptxas.txt")[0]) as file:
        parts = re.split(r"Compiling entry function '(\w+)' for '(\w+)'", file.read())
    found = {}
    for name, architecture, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        shared = re.search(r"(\d+) bytes smem", text)
        found[architecture, name] = (int(re.search(r"Used (\d+) registers", text)[1]),
                                     int(shared[1]) if shared else 0,
                                     int(re.search(r"(\d+) bytes spill stores", text)[1]))
    return found


def compare(folder, ir):
    with open(folder + "/report.json") as file:
        kernels = json.load(file)["kernels"]
    with open(folder + "/code.json") as file:
        texts = json.load(file)
    with open(folder + "/index.html") as file:
        packed = json.loads(re.search(r'<script id="packed"[^>]*>(.*?)</script>', file.read(), re.S)[1])
    known, problems, functions = said(ir), [], set()
    ptx = {}
    for path in glob.glob(ir + "/*-codegen-sm_*.ptx"):
        with open(path) as file:
            ptx[re.search(r"sm_\w+", path)[0]] = re.findall(r"[ \t.\w]*\.entry \w+\(.*?\n}\n", file.read(), re.S)
    for kernel in kernels:
        name, own = kernel["name"], kernel.get("device_code", [])
        if not own:
            problems.append(f"{name} has no code")
        unpacked = [zlib.decompress(base64.b64decode(text)).decode() for text in packed["kernels"][name]]
        if unpacked[2:] != [f[form] for f in texts[name].get("device", []) for form in ("assembly", "machine")]:
            problems.append(f"the page has another code of {name}")
        for figures, code in zip(own, texts[name]["device"]):
            architecture, function = figures["architecture"], figures["function"]
            functions.add((architecture, function))
            if (figures["registers"], figures["shared_bytes"], figures["spill_store_bytes"]) != known[architecture, function]:
                problems.append(f"{function}: found {figures}, ptxas says {known[architecture, function]}")
            lines = [line.rstrip() for line in code["assembly"].splitlines()]
            if not any(lines == [line.rstrip() for line in text.splitlines() if line.strip()]
                       for text in ptx[architecture]):
                problems.append(f"{function}: PTX of {architecture} is not as it was written")
        for function in sorted({f["function"] for f in own}):
            of = [f for f in own if f["function"] == function]
            print(f"{name}: {function} for {' and '.join(f['architecture'] for f in of)}, "
                  f"{' and '.join(str(f['registers']) for f in of)} registers, {of[0]['shared_bytes']} bytes shared")
    print(*problems, sep="\n")
    print(f"{len(kernels)} kernels, {len(functions)} functions, {len(problems)} problems")


if sys.argv[1] == "toolkit":
    toolkit(*sys.argv[2:])
elif sys.argv[1] == "machine":
    machine(*sys.argv[2:])
else:
    compare(*sys.argv[1:])
