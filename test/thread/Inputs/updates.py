#===- updates.py - variables that runs count in --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# usage: updates.py FOLDER
#
# Writes FOLDER/updates.pbtxt, where each form of an update adds 1 to each element of a variable
# of its own, and FOLDER/entries, weirc's flags: an entry for each form, of the variable's name.
# One that ends in _N adds N.
#
#===----------------------------------------------------------------------===#

import sys

nodes, library, flags = [], [], []
F, I, B = "DT_FLOAT", "DT_INT64", "DT_BOOL"


def attribute(key, value):
    if isinstance(value, str) and value.startswith("DT_"):
        text = f"type: {value}"
    elif isinstance(value, str):
        text = value
    else:
        text = "shape { %s }" % " ".join("dim { size: %d }" % d for d in value)
    return 'attr { key: "%s" value { %s } }' % (key, text)


def text(name, op, inputs=(), kind="node", device="", **attributes):
    places = " ".join(f'input: "{i}"' for i in inputs)
    at = f'device: "/device:CPU:{device}"' if device else ""
    all_of = " ".join(attribute(k, v) for k, v in attributes.items())
    return f'{kind} {{ name: "{name}" op: "{op}" {places} {at} {all_of} }}'


def node(name, op, *inputs, **attributes):
    nodes.append(text(name, op, inputs, **attributes))
    return name


def constant(dtype, shape, value):
    field = {F: "float_val", I: "int64_val", "DT_INT32": "int_val", B: "bool_val"}[dtype]
    dims = " ".join("dim { size: %d }" % d for d in shape)
    tensor = "tensor { dtype: %s tensor_shape { %s } %s: %s }" % (dtype, dims, field, value)
    return dict(dtype=dtype, value=tensor)


def const(name, dtype, shape, value):
    return node(name, "Const", **constant(dtype, shape, value))


def variable(name, dtype, shape, initial=0, stored=None, device=""):
    node(name, "VarHandleOp", dtype=dtype, shape=shape, shared_name=f's: "{name}"', device=device)
    const(name + "/initial", dtype, shape if stored is None else stored, initial)
    starts.append(node(name + "/start", "AssignVariableOp", name, name + "/initial", dtype=dtype,
                       device=device))


def entry(name, *fetches):
    flags.append("--entry=" + name + "".join(" --fetch=" + f for f in fetches))


starts = []
const("one", F, [], 1)
const("one_i", I, [], 1)
const("ones", F, [5], 1)
const("ones_wide", F, [70000], 1)
const("zero_rows", I, [5], "0 int64_val: 1 int64_val: 2 int64_val: 3 int64_val: 4")
variable("limit", F, [], 1)
variable("limit_i", I, [], 1)
variable("size_ones", F, [-1], 1, [5])
node("limit/read", "ReadVariableOp", "limit", dtype=F)
node("limit_i/read", "ReadVariableOp", "limit_i", dtype=I)
node("size_ones/read", "ReadVariableOp", "size_ones", dtype=F)
node("yes", "Greater", "limit/read", "const_half", T=F)
const("const_half", F, [], 0.5)


def add(name, target, by, *after, op="AssignAddVariableOp", dtype=F, **where):
    return node(name, op, target, by, *after, dtype=dtype, **where)


def read(name, target, *after, dtype=F):
    return node(name, "ReadVariableOp", target, *after, dtype=dtype)


for name, dtype, shape, by in (("integer", I, [], "one_i"), ("scalar", F, [], "one"),
                               ("vector", F, [5], "ones"), ("wide", F, [70000], "ones_wide")):
    variable(name, dtype, shape)
    entry(name, add(name + "/add", name, by, dtype=dtype))
    for form in ("new", "old", "beside"):
        own = f"{name}_{form}"
        variable(own, dtype, shape)
        if form == "new":
            add(own + "/add", own, by, dtype=dtype)
            read(own + "/read", own, f"^{own}/add", dtype=dtype)
        elif form == "old":
            read(own + "/read", own, dtype=dtype)
            add(own + "/add", own, by, f"^{own}/read", dtype=dtype)
        else:
            read(own + "/read", own, dtype=dtype)
            add(own + "/add", own, by, dtype=dtype)
        entry(own, own + "/read", own + "/add")

variable("subtract", F, [5])
const("minus", F, [5], -1)
entry("subtract", add("subtract/add", "subtract", "minus", op="AssignSubVariableOp"))

variable("assigned", F, [5])
read("assigned/read", "assigned")
node("assigned/sum", "AddV2", "assigned/read", "ones", T=F)
entry("assigned", node("assigned/assign", "AssignVariableOp", "assigned", "assigned/sum", dtype=F))

# By reference.
node("reference", "VariableV2", dtype=F, shape=[5])
const("reference/initial", F, [5], 0)
starts.append(node("reference/start", "Assign", "reference", "reference/initial", T=F))
entry("reference", node("reference/add", "AssignAdd", "reference", "ones", T=F))
node("reference_locks", "VariableV2", dtype=I, shape=[])
const("reference_locks/initial", I, [], 0)
starts.append(node("reference_locks/start", "Assign", "reference_locks", "reference_locks/initial", T=I))
entry("reference_locks", node("reference_locks/add", "AssignAdd", "reference_locks", "one_i", T=I,
                              use_locking="b: true"))

# Twice, and two of them in both orders.
variable("twice_2", F, [5])
add("twice/add", "twice_2", "ones")
entry("twice_2", add("twice/more", "twice_2", "ones", "^twice/add"))
variable("halves_2", F, [5])
add("halves/add", "halves_2", "ones")
read("halves/read", "halves_2", "^halves/add")
entry("halves_2", add("halves/more", "halves_2", "ones", "^halves/read"), "halves/read")
variable("left_2", F, [5])
variable("right_2", F, [5])
add("left/add", "left_2", "ones")
add("left/other", "right_2", "ones", "^left/add")
entry("left_2", "left/add", "left/other")
add("right/add", "right_2", "ones")
add("right/other", "left_2", "ones", "^right/add")
entry("right_2", "right/add", "right/other")

# Scatters and optimizers.
variable("scatter", F, [5])
entry("scatter", node("scatter/add", "ResourceScatterAdd", "scatter", "zero_rows", "ones", dtype=F,
                      Tindices=I))
variable("descent", F, [5])
entry("descent", node("descent/add", "ResourceApplyGradientDescent", "descent", "one", "minus", T=F,
                      use_locking="b: true"))
variable("momentum", F, [5])
variable("momentum/m", F, [5])
const("zero", F, [], 0)
entry("momentum", node("momentum/add", "ResourceApplyMomentum", "momentum", "momentum/m", "one",
                       "minus", "zero", T=F, use_locking="b: true"))
variable("momentum_old", F, [5])
variable("momentum_old/m", F, [5])
read("momentum_old/read", "momentum_old")
entry("momentum_old", node("momentum_old/add", "ResourceApplyMomentum", "momentum_old", "momentum_old/m",
                           "one", "minus", "zero", "^momentum_old/read", T=F, use_locking="b: true"),
      "momentum_old/read")

# Where what is added is made of other variables, or of itself.
variable("computed", F, [])
entry("computed", add("computed/add", "computed", "limit/read"))
variable("checked", I, [])
node("checked/by", "FloorDiv", "limit_i/read", "limit_i/read", T=I)
entry("checked", add("checked/add", "checked", "checked/by", dtype=I))
variable("itself", F, [5])
read("itself/read", "itself")
node("itself/none", "Mul", "itself/read", "zero", T=F)
node("itself/by", "AddV2", "itself/none", "one", T=F)
entry("itself", add("itself/add", "itself", "itself/by"))
variable("open", F, [-1], 0, [5])
entry("open", add("open/add", "open", "size_ones/read"))
variable("open_old", F, [-1], 0, [5])
read("open_old/read", "open_old")
entry("open_old", add("open_old/add", "open_old", "size_ones/read", "^open_old/read"), "open_old/read")
variable("open_scatter", F, [-1], 0, [5])
entry("open_scatter", node("open_scatter/add", "ResourceScatterAdd", "open_scatter", "zero_rows", "ones",
                           dtype=F, Tindices=I))

# On several devices.
variable("other", F, [5], device="1")
node("other/by", "ReadVariableOp", "size_ones", dtype=F)
entry("other", add("other/add", "other", "other/by", device="1"))


def function(name, inputs, outputs, rets, lines, control=()):
    arguments = " ".join('input_arg { name: "%s" type: %s }' % a for a in inputs)
    results = " ".join('output_arg { name: "%s" type: %s }' % a for a in outputs)
    named = " ".join('control_output: "%s"' % c for c in control)
    rows = " ".join('ret { key: "%s" value: "%s" }' % r for r in rets)
    rows += " ".join(' control_ret { key: "%s" value: "%s" }' % (c, c) for c in control)
    library.append("function { signature { name: \"%s\" is_stateful: true %s %s %s } %s %s }" % (
        name, arguments, results, named, " ".join(lines), rows))


R = "DT_RESOURCE"
one = text("one", "Const", kind="node_def", **constant(F, [5], 1))
adds = text("add", "AssignAddVariableOp", ("v", "one:output:0"), "node_def", dtype=F)
same = text("same", "Const", kind="node_def", **constant(F, [], 1))
function("AddsOne", [("v", R)], [("r", F)], [("r", "same:output:0")], [one, adds, same], ["add"])
function("AddsNone", [("v", R)], [("r", F)], [("r", "same:output:0")], [same])
for name, op in (("called", "PartitionedCall"), ("called_stateful", "StatefulPartitionedCall")):
    variable(name, F, [5])
    entry(name, node(name + "/call", op, name, f='func { name: "AddsOne" }',
                     Tin="list { type: DT_RESOURCE }", Tout="list { type: DT_FLOAT }"))
variable("condition", F, [5])
entry("condition", node("condition/if", "If", "yes", "condition", Tcond=B, Tin="list { type: DT_RESOURCE }",
                        Tout="list { type: DT_FLOAT }", then_branch='func { name: "AddsOne" }',
                        else_branch='func { name: "AddsNone" }'))

step = text("step", "Const", kind="node_def", **constant("DT_INT32", [], 1))
upto = text("upto", "Const", kind="node_def", **constant("DT_INT32", [], 3))
more = text("more", "Less", ("i", "upto:output:0"), "node_def", T="DT_INT32")
nxt = text("next", "AddV2", ("i", "step:output:0"), "node_def", T="DT_INT32")
looped = text("looped", "ReadVariableOp", ("v", "^add"), "node_def", dtype=F)
old = text("old", "ReadVariableOp", ("v",), "node_def", dtype=F)
late = text("add", "AssignAddVariableOp", ("v", "one:output:0", "^old"), "node_def", dtype=F)
T32 = "DT_INT32"
function("More", [("i", T32), ("v", R), ("s", F)], [("go", B)], [("go", "more:z:0")], [upto, more])
for name, body, value in (("Adds", [one, adds, step, nxt], "s"),
                          ("AddsReads", [one, adds, step, nxt, looped], "looped:value:0"),
                          ("ReadsAdds", [one, old, late, step, nxt], "old:value:0")):
    function(name, [("i", T32), ("v", R), ("s", F)], [("i2", T32), ("v2", R), ("s2", F)],
             [("i2", "next:z:0"), ("v2", "v"), ("s2", value)], body, ["add"])
const("first", T32, [], 0)
for name, body in (("loop_3", "Adds"), ("loop_new_3", "AddsReads"), ("loop_old_3", "ReadsAdds")):
    variable(name, F, [5])
    entry(name, node(name + "/while", "While", "first", name, "ones",
                     T="list { type: DT_INT32 type: DT_RESOURCE type: DT_FLOAT }",
                     cond='func { name: "More" }', body='func { name: "%s" }' % body) + ":2")

flags.insert(0, "--entry=start" + "".join(" --fetch=" + s for s in starts))
with open(sys.argv[1] + "/updates.pbtxt", "w") as file:
    file.write("\n".join(nodes) + "\nlibrary {\n" + "\n".join(library) + "\n}\nversions { producer: 1395 }\n")
with open(sys.argv[1] + "/entries", "w") as file:
    file.write("\n".join(flags) + "\n")
