#!/usr/bin/env python3
#===- questions.py - the answers of docs/questions.md -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs every command of the page in a folder with the models that it names, and looks for the
lines under it, in their order, in what it prints.

usage: questions.py ROOT FOLDER
"""
import os
import re
import shutil
import subprocess
import sys

NAN_MODEL = """ONNX: opset 13
ONNX: input x f32 4
ONNX: init one f32 scalar = 1
ONNX: minus: m = Sub(x, one)
ONNX: log: l = Log(m)
ONNX: more: y = Add(l, x)
ONNX: output y
"""


def prepare(root, folder):
    os.makedirs(folder, exist_ok=True)
    digits = os.path.join(root, "test", "digits")
    for name in ("digits.onnx", "digits.pb"):
        shutil.copy(os.path.join(digits, name), folder)
    inputs = os.path.join(root, "test", "tools", "Inputs")
    shutil.copy(os.path.join(inputs, "unsupported.pbtxt"), folder)
    text = os.path.join(folder, "nan.txt")
    with open(text, "w") as f:
        f.write(NAN_MODEL)
    subprocess.run([sys.executable, os.path.join(root, "test/frontend/onnx/Inputs/model.py"), text,
                    os.path.join(folder, "nan.onnx")], check=True)
    subprocess.run([sys.executable, os.path.join(inputs, "npz.py"), "ramp",
                    os.path.join(folder, "nan.npz"), "x", "4"], check=True)


def main():
    root, folder = sys.argv[1:3]
    prepare(root, folder)
    with open(os.path.join(root, "docs", "questions.md")) as f:
        page = f.read()
    answers = re.findall(r"\*\*(.*?)\*\*[^\n]*\n```\n\$ (.*?)\n(.*?)```", page, re.S)
    wrong = 0
    for question, command, lines in answers:
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True,
                              errors="replace")
        rest = done.stdout + done.stderr
        for line in lines.splitlines():
            at = rest.find(line)
            if at < 0:
                print(f"{question}\n  $ {command}\n  lacks: {line}\n  printed: {rest[:600]}")
                wrong += 1
                break
            rest = rest[at + len(line):]
    print(f"{len(answers)} questions, {wrong} not answered")
    sys.exit(1 if wrong or len(answers) < 50 else 0)


main()
