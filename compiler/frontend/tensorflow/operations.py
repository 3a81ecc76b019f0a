#!/usr/bin/env python3
# Writes operations.txt: the signatures of TensorFlow's operations, one a line,
# from one or more registries. A registry is a text-format OpList, or the word
# `installed` for the tensorflow package at hand; later ones win.
#
#   python3 operations.py ops.pbtxt installed > operations.txt
#
# Needed only to take in a newer TensorFlow; the result is checked in. Both ways
# of reading need the tensorflow package.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from google.protobuf import text_format
from tensorflow.core.framework import op_def_pb2, types_pb2

# Kinds of operations that describe input pipelines, compilers or fabrics of
# TensorFlow's own: they cannot mean anything in a compiled program.
SKIP = re.compile(
    r"^_|TPU|Xla|Mlir|Nccl|BoostedTrees|Tpu|^Collective|"
    r"^TFRT|TensorRT|TRTEngine|DTensor|^Mkl|^Onednn|Bigtable|Kafka|^BigQuery|"
    r"^Dummy(?!SeedGenerator|MemoryCache)|^DefaultAttrs|^Test|^Kernel|^BatchKernel|^RiscAdd"
)

HEADER = """\
# TensorFlow's operations: names, inputs -> outputs | attributes | flags.
# Written by operations.py; facts of the public registry, 1.15 and later.
# Argument: name:type, & before the type of a reference, N* before that of a
# sequence, @ before the attribute that lists a mixed sequence's types.
# Attribute: name:kind, {…/…} the types that are allowed, =default where it has one. Flags: s stateful,
# c commutative, a aggregate.
"""

# What graphs hold without it being in the public registry.
EXTRA = """\
_Arg -> output:T | T:type index:int | s
_Retval input:T -> | T:type index:int | s
_SwitchN data:T output_index:int32 -> outputs:num_outs*T | num_outs:int T:type |
_ListToArray input:@Tin -> output:N*T | Tin:list(type) T:type N:int |
_ArrayToList input:N*T -> output:@out_types | T:type N:int out_types:list(type) |
_ParallelConcatStart -> output:dtype | shape:shape dtype:type | s
_ParallelConcatUpdate value:T update:T -> output:T | T:type loc:int |
_HostCast x:SrcT -> y:DstT | SrcT:type DstT:type Truncate:bool=false |
_FusedConv2D input:T filter:T args:num_args*T -> output:T | T:type num_args:int strides:list(int) padding:string explicit_paddings:list(int)=[] data_format:string="NHWC" dilations:list(int)=[1,1,1,1] use_cudnn_on_gpu:bool=true fused_ops:list(string)=[] epsilon:float=0.0001 leakyrelu_alpha:float=0.2 |
_FusedMatMul a:T b:T args:num_args*T -> product:T | transpose_a:bool=false transpose_b:bool=false T:type num_args:int fused_ops:list(string)=[] epsilon:float=0.0001 leakyrelu_alpha:float=0.2 |
NcclAllReduce input:T -> data:T | reduction:string T:type num_devices:int shared_name:string |
NcclReduce input:num_devices*T -> data:T | reduction:string T:type num_devices:int |
NcclBroadcast input:T -> output:T | T:type shape:shape |
CollectiveReduce input:T -> data:T | T:type group_size:int group_key:int instance_key:int merge_op:string final_op:string subdiv_offsets:list(int) wait_for:list(int)=[] communication_hint:string="auto" timeout_seconds:float=0 |
"""


def type_name(number):
    name = types_pb2.DataType.Name(number % 100 if number > 100 else number)
    return name[3:].lower()


def arg(a):
    if a.type_list_attr:
        return f"{a.name}:@{a.type_list_attr}"
    kind = a.type_attr or type_name(a.type)
    ref = "&" if a.is_ref or a.type > 100 else ""
    number = f"{a.number_attr}*" if a.number_attr else ""
    return f"{a.name}:{ref}{number}{kind}"


def quote(raw):
    out = ""
    for byte in raw:
        char = chr(byte)
        out += char if 32 < byte < 127 and char not in '"\\' else f"\\x{byte:02x}"
    return f'"{out}"'


def shape(s):
    if s.unknown_rank:
        return "?"
    return "{" + ",".join(str(d.size) for d in s.dim) + "}"


def default(value):
    kind = value.WhichOneof("value")
    if kind == "s":
        return quote(value.s)
    if kind == "i":
        return str(value.i)
    if kind == "f":
        return f"{value.f:.9g}"
    if kind == "b":
        return "true" if value.b else "false"
    if kind == "type":
        return type_name(value.type)
    if kind == "shape":
        return shape(value.shape)
    if kind == "func":
        return f"fn({value.func.name})"
    if kind == "tensor":
        return "tensor"
    items = value.list
    parts = [quote(x) for x in items.s] + [str(x) for x in items.i]
    parts += [f"{x:.9g}" for x in items.f]
    parts += ["true" if x else "false" for x in items.b]
    parts += [type_name(x) for x in items.type]
    parts += [shape(x) for x in items.shape]
    return "[" + ",".join(parts) + "]"


def line(op):
    attrs = []
    for a in op.attr:
        text = f"{a.name}:{a.type}"
        if a.type in ("type", "list(type)") and a.allowed_values.list.type:
            text += "{" + "/".join(map(type_name, a.allowed_values.list.type)) + "}"
        if a.HasField("default_value"):
            text += "=" + default(a.default_value)
        attrs.append(text)
    flags = "".join(
        flag
        for flag, on in (
            ("s", op.is_stateful),
            ("c", op.is_commutative),
            ("a", op.is_aggregate),
        )
        if on
    )
    parts = [op.name] + [arg(a) for a in op.input_arg] + ["->"]
    parts += [arg(a) for a in op.output_arg] + ["|"] + attrs + ["|"]
    return " ".join(parts + ([flags] if flags else []))


def registry(source):
    if source == "installed":
        import tensorflow  # noqa: F401  registers what it has
        from tensorflow.python.framework import op_def_registry  # noqa: F401
        from tensorflow.python.client import pywrap_tf_session

        ops = op_def_pb2.OpList()
        ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(
            pywrap_tf_session.TF_GetAllOpList()))
        return ops.op
    ops = op_def_pb2.OpList()
    with open(source, encoding="utf-8") as file:
        text_format.Parse(file.read(), ops, allow_unknown_field=True)
    return ops.op


def main():
    lines = {}
    for source in sys.argv[1:]:
        for op in registry(source):
            if not SKIP.search(op.name):
                lines[op.name] = line(op)
    sys.stdout.write(HEADER + EXTRA)
    for name in sorted(lines):
        print(lines[name])


if __name__ == "__main__":
    main()
