#===- workers.py - A TensorFlow graph with workers and a parameter server -----===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""A graph as TensorFlow writes it, as text: variables on /job:ps/task:0, workers on /job:worker.

async_I    of worker I: reads w, moves it a tenth of the way to a target (figure 7 of the white paper), counts its step and
           keeps, in lag_I, by how many steps it has been ahead of the slowest worker; gives w, the lag and the count
sync_I     of worker I, as SyncReplicasOptimizer's: takes a token, whose number t is its local step, and gives an
           accumulator the gradient t + 1; gives, too, how often the step was a later one by then
update     of worker 0, which has no sync_0: waits for the mean of the first NEEDED gradients of this step, takes it off w,
           and lets as many tokens go as there are other workers. Of step t all gradients that count are t + 1: after T
           updates w is -T (T + 1) / 2, unless one of an earlier step has counted
"""

PS = "/job:ps/task:0"


class Graph:
    """Nodes as text."""

    def __init__(self):
        self.text = ""

    def node(self, name, op, inputs, device, **attributes):
        lines = [f'  name: "{name}"', f'  op: "{op}"', f'  device: "{device}"']
        lines += [f'  input: "{each}"' for each in inputs]
        lines += [f'  attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attributes.items()]
        self.text += "node {\n" + "\n".join(lines) + "\n}\n"
        return name

    def constant(self, name, kind, values, device, shape=None):
        field = {"DT_FLOAT": "float_val", "DT_INT64": "int64_val", "DT_INT32": "int_val"}[kind]
        dims = "".join(f"dim {{ size: {d} }} " for d in shape or [])
        data = " ".join(f"{field}: {v}" for v in values)
        return self.node(name, "Const", [], device, dtype=f"type: {kind}",
                         value=f"tensor {{ dtype: {kind} tensor_shape {{ {dims}}} {data} }}")

    def variable(self, name, kind, shape):
        dims = "".join(f"dim {{ size: {d} }} " for d in shape)
        return self.node(name, "VarHandleOp", [], PS, dtype=f"type: {kind}", shape=f"shape {{ {dims}}}",
                         container='s: ""', shared_name=f's: "{name}"')

    def read(self, name, variable, kind, after=()):
        return self.node(name, "ReadVariableOp", [variable] + [f"^{a}" for a in after], PS,
                         dtype=f"type: {kind}")

    def change(self, name, op, variable, value, kind, after=()):
        return self.node(name, op, [variable, value] + [f"^{a}" for a in after], PS,
                         dtype=f"type: {kind}")

    def binary(self, name, op, left, right, kind, device):
        return self.node(name, op, [left, right], device, T=f"type: {kind}")

    def identity(self, name, value, kind, device, after=()):
        return self.node(name, "Identity", [value] + [f"^{a}" for a in after], device,
                         T=f"type: {kind}")


WIDTH = 4
F, I = "DT_FLOAT", "DT_INT64"


def write(path, workers, needed):
    """Writes the graph; returns weirc's flags for its entries."""
    g = Graph()
    g.variable("w", F, [WIDTH])
    g.variable("step", I, [])
    zeros = g.constant("zeros", F, [0.0] * WIDTH, PS, [WIDTH])
    one = g.constant("one", I, [1], PS)
    zero = g.constant("zero", I, [0], PS)
    starts = [g.change("w_init", "AssignVariableOp", "w", zeros, F),
              g.change("step_init", "AssignVariableOp", "step", zero, I)]
    for i in range(workers):
        for name in (f"count_{i}", f"lag_{i}", f"late_{i}"):
            g.variable(name, I, [])
            starts.append(g.change(f"{name}_init", "AssignVariableOp", name, zero, I))
    g.node("tokens", "FIFOQueueV2", [], PS, component_types=f"list {{ type: {I} }}",
           shapes="list { shape { } }", capacity="i: -1", container='s: ""',
           shared_name='s: "tokens"')
    dims = f"shape {{ dim {{ size: {WIDTH} }} }}"
    g.node("gradients", "ConditionalAccumulator", [], PS, dtype=f"type: {F}", shape=dims,
           container='s: ""', shared_name='s: "gradients"', reduction_type='s: "MEAN"')
    first = g.constant("first_tokens", I, [0] * (workers - 1), PS, [workers - 1])
    starts.append(g.node("first_tokens_in", "QueueEnqueueManyV2", ["tokens", first], PS,
                         Tcomponents=f"list {{ type: {I} }}", timeout_ms="i: -1"))
    g.identity("inited", zero, I, PS, starts)
    flags = ["--entry=init", "--fetch=inited"]
    for i in range(workers):
        own = f"/job:worker/task:{i}"
        target = g.constant(f"target_{i}", F, [1.0, 2.0, 3.0, 4.0], own, [WIDTH])
        rate = g.constant(f"rate_{i}", F, [0.1], own)
        g.read(f"w_{i}", "w", F)
        g.binary(f"off_{i}", "Sub", f"w_{i}", target, F, own)
        g.binary(f"move_{i}", "Mul", f"off_{i}", rate, F, own)
        g.change(f"moved_{i}", "AssignSubVariableOp", "w", f"move_{i}", F)
        g.change(f"counted_{i}", "AssignAddVariableOp", f"count_{i}", one, I, [f"moved_{i}"])
        g.read(f"mine_{i}", f"count_{i}", I, [f"counted_{i}"])
        worst = g.read(f"lag_before_{i}", f"lag_{i}", I)
        for j in range(workers):
            if j == i:
                continue
            g.read(f"other_{i}_{j}", f"count_{j}", I, [f"counted_{i}"])
            ahead = g.binary(f"ahead_{i}_{j}", "Sub", f"mine_{i}", f"other_{i}_{j}", I, PS)
            worst = g.binary(f"worst_{i}_{j}", "Maximum", worst, ahead, I, PS)
        g.change(f"noted_{i}", "AssignVariableOp", f"lag_{i}", worst, I)
        g.read(f"w_after_{i}", "w", F, [f"noted_{i}"])
        g.identity(f"lag_after_{i}", worst, I, own)
        flags += [f"--entry=async_{i}", f"--fetch=w_after_{i}=w", f"--fetch=lag_after_{i}=lag",
                  f"--fetch=mine_{i}=count"]
        if i == 0:
            continue
        token = g.node(f"token_{i}", "QueueDequeueV2", ["tokens"], own,
                       component_types=f"list {{ type: {I} }}", timeout_ms="i: -1")
        more = g.constant(f"more_{i}", F, [1.0] * WIDTH, own, [WIDTH])
        g.node(f"number_{i}", "Cast", [token], own, SrcT=f"type: {I}", DstT=f"type: {F}")
        g.binary(f"gradient_{i}", "AddV2", f"number_{i}", more, F, own)
        g.node(f"given_{i}", "AccumulatorApplyGradient", ["gradients", token, f"gradient_{i}"], PS,
               dtype=f"type: {F}")
        g.read(f"step_{i}", "step", I, [f"number_{i}"])
        g.node(f"is_late_{i}", "Greater", [f"step_{i}", token], PS, T=f"type: {I}")
        g.node(f"late_one_{i}", "Cast", [f"is_late_{i}"], PS, SrcT="type: DT_BOOL", DstT=f"type: {I}")
        g.change(f"late_noted_{i}", "AssignAddVariableOp", f"late_{i}", f"late_one_{i}", I, [f"given_{i}"])
        g.read(f"late_now_{i}", f"late_{i}", I, [f"late_noted_{i}"])
        flags += [f"--entry=sync_{i}", f"--fetch=late_now_{i}=late"]
    enough = g.constant("enough", "DT_INT32", [needed], PS)
    g.node("mean", "AccumulatorTakeGradient", ["gradients", enough], PS, dtype=f"type: {F}")
    g.change("applied", "AssignSubVariableOp", "w", "mean", F)
    g.change("next", "AssignAddVariableOp", "step", one, I, ["applied"])
    now = g.read("now", "step", I, ["next"])
    g.node("set_step", "AccumulatorSetGlobalStep", ["gradients", now], PS)
    count = g.constant("workers", "DT_INT32", [workers - 1], PS, [1])
    tokens = g.node("all_tokens", "Fill", [count, now], PS, T=f"type: {I}", index_type="type: DT_INT32")
    g.node("let_go", "QueueEnqueueManyV2", ["tokens", tokens, "^set_step"], PS,
           Tcomponents=f"list {{ type: {I} }}", timeout_ms="i: -1")
    g.read("w_updated", "w", F, ["let_go"])
    flags += ["--entry=update", "--fetch=w_updated=w"]
    with open(path, "w") as file:
        file.write(g.text)
    return flags
