#!/usr/bin/env python3
#===- tensorflow_test.py - The same checkpoints as TensorFlow's -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Compares checkpoints with TensorFlow's, in both directions.

usage: tensorflow_test.py WEIR_RUN FOLDER     (in a Python that has TensorFlow)

The same graphs save with TensorFlow and with weir-run: files are equal, byte by byte, and
each restores what the other has saved.
"""
import os
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
raw = tf.raw_ops
run_tool, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
TYPES = ("float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool "
         "complex64 complex128 string float8_e5m2 float8_e4m3fn").split()
OLD_TYPES = [t for t in TYPES if t not in ("bfloat16", "uint32", "uint64", "float8_e5m2",
                                           "float8_e4m3fn")]


def fail(text):
    sys.exit("tensorflow_test.py: " + text)


def constant(kind, shape):
    count = int(np.prod(shape))
    if kind == "string":
        texts = [b"", b"a", b"\x00\xff", "\u00e4\u20ac".encode(), b"x" * 300, b"z"]
        return tf.constant([texts[i % 6] for i in range(count)], tf.string, shape)
    values = (np.arange(count) * 7 + 3) % 100
    if kind == "bool":
        return tf.constant(values % 2 == 0, tf.bool, shape)
    if kind.startswith("float8"):
        return tf.constant(values.reshape(shape), tf.as_dtype(kind), shape)
    return tf.cast(tf.constant(values, tf.int32, shape), tf.as_dtype(kind))


def tensors(kinds):
    """Of each type a matrix, a scalar and nothing; names that are not only ASCII."""
    made = {}
    for kind in kinds:
        for name, shape in [("matrix", [2, 3]), ("scalar", []), ("nothing", [0, 2])]:
            made[f"{kind}/{name}\u00e4"] = constant(kind, shape)
    made["deep/" + "/".join(f"layer{i}" for i in range(40))] = constant("float32", [1, 2, 1, 2])
    return made


def graph_of(build):
    """Builds a graph, and writes it."""
    graph = tf.Graph()
    with graph.as_default():
        targets = build()
    with open("graph.pb", "wb") as out:
        out.write(graph.as_graph_def().SerializeToString())
    return graph, targets


def both(build):
    """Runs the targets with TensorFlow, in tf/, and with weir-run, in weir/."""
    for place in ("tf", "weir"):
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
    graph, targets = graph_of(build)
    os.chdir("tf")
    with v1.Session(graph=graph) as session:
        for target in targets:
            session.run(graph.get_operation_by_name(target))
    os.chdir("../weir")
    for target in targets:
        ran = subprocess.run([run_tool, "../graph.pb", "--fetch=^" + target], capture_output=True,
                             text=True)
        if ran.returncode:
            fail(ran.stderr)
    os.chdir("..")


def files(place):
    return sorted(os.path.relpath(os.path.join(at, name), place)
                  for at, _, names in os.walk(place) for name in names)


def same_bytes(what):
    if files("tf") != files("weir"):
        fail(f"{what}: TensorFlow wrote {files('tf')}, weir {files('weir')}")
    for name in files("tf"):
        with open("tf/" + name, "rb") as one, open("weir/" + name, "rb") as other:
            if one.read() != other.read():
                fail(f"{what}: {name} differs")
    print(f"{what}: the same bytes in {len(files('tf'))} files")


def save(prefix, values, slices=None):
    names = list(values)
    return raw.SaveV2(prefix=prefix, tensor_names=[n.split("#")[0] for n in names],
                      shape_and_slices=slices or [""] * len(names), tensors=list(values.values()))


def check_bytes():
    def all_types():
        return [save("p", tensors(TYPES)).name]
    both(all_types)
    same_bytes("all types")

    def slices():
        whole = {"t#0": constant("float32", [3, 4]), "t#1": constant("float32", [2, 4]),
                 "t#2": constant("float32", [2, 4]), "u": constant("int64", [2]),
                 "w#0": constant("float32", [70, 2]), "w#1": constant("float32", [70, 3])}
        specs = ["7 4 0,3:-", "7 4 5,2:-", "7 4 3,2:-", "2 -", "70 5 0,70:0,2", "70 5 -:2,3"]
        return [save("out/p", whole, specs).name]
    both(slices)
    same_bytes("slices")

    def merged():
        parts = [save("parts/p0", {"b": constant("float32", [5]), "s#0": constant("int32", [2])},
                      ["", "4 0,2"]),
                 save("parts/p1", {"a": constant("string", [3]), "s#0": constant("int32", [2])},
                      ["", "4 2,2"]),
                 save("parts/p2", {"c": constant("float64", [])})]
        merge = raw.MergeV2Checkpoints(
            checkpoint_prefixes=["parts/p2", "parts/p0", "parts/p1"], destination_prefix="all")
        return [part.name for part in parts] + [merge.name]
    both(merged)
    same_bytes("merged shards")

    def many():
        values = {f"model/layer_{i % 97}/block_{i}/weights_with_a_long_name_{i * i}":
                  tf.constant(float(i)) for i in range(1200)}
        return [save("p", values).name]
    both(many)
    same_bytes("many tensors")


def expect_equal(what, found, wanted):
    for name, value in wanted.items():
        if name not in found:
            fail(f"{what}: {name} is missing")
        one, other = np.asarray(found[name]), np.asarray(value)
        if other.dtype.kind == "V" or str(other.dtype) in ("bfloat16",) or "float8" in str(other.dtype):
            one, other = one.astype(np.float32), other.astype(np.float32)
        if one.shape != other.shape or not (one == other).all():
            fail(f"{what}: {name}: found {one}, expected {other}")


def check_restoring():
    values = tensors(TYPES)
    shutil.rmtree("tf", ignore_errors=True)
    save("tf/p", values)
    # What weir has read from TensorFlow's file, TensorFlow reads from weir's.
    def copy():
        names = list(values)
        restored = raw.RestoreV2(prefix="../tf/p", tensor_names=names,
                                 shape_and_slices=[""] * len(names),
                                 dtypes=[v.dtype for v in values.values()])
        return [save("p", dict(zip(names, restored))).name]
    shutil.rmtree("weir", ignore_errors=True)
    os.makedirs("weir")
    with open("graph.pb", "wb") as out:
        graph = tf.Graph()
        with graph.as_default():
            target = copy()[0]
        out.write(graph.as_graph_def().SerializeToString())
    os.chdir("weir")
    ran = subprocess.run([run_tool, "../graph.pb", "--fetch=^" + target], capture_output=True,
                         text=True)
    os.chdir("..")
    if ran.returncode:
        fail(ran.stderr)
    same_bytes("restored and saved again")


def check_old_format():
    values = tensors(OLD_TYPES)
    parts = {"s#0": constant("float32", [2, 3]), "s#1": constant("float32", [2, 3])}

    def old():
        return [raw.Save(filename="v1", tensor_names=list(values),
                         data=[constant_of(v) for v in values.values()]).name,
                raw.SaveSlices(filename="slices", tensor_names=["s", "s"],
                               shapes_and_slices=["4 3 0,2:-", "4 3 2,2:-"],
                               data=[constant_of(v) for v in parts.values()]).name]
    both(old)
    same_bytes("old format")
    for place in ("tf", "weir"):
        found = {name: raw.Restore(file_pattern=place + "/v1", tensor_name=name, dt=value.dtype)
                 for name, value in values.items()}
        expect_equal("old format, " + place, found, values)
        whole = raw.Restore(file_pattern=place + "/slices", tensor_name="s", dt=tf.float32)
        expect_equal("old slices, " + place, {"s": whole},
                     {"s": tf.concat(list(parts.values()), 0)})
    # The other way round: weir reads TensorFlow's.
    shutil.rmtree("weir")
    os.makedirs("weir")
    graph = tf.Graph()
    with graph.as_default():
        names = list(values)
        restored = [raw.Restore(file_pattern="../tf/v?", tensor_name=name, dt=values[name].dtype)
                    for name in names]
        target = save("p", dict(zip(names, restored))).name
    with open("graph.pb", "wb") as out:
        out.write(graph.as_graph_def().SerializeToString())
    os.chdir("weir")
    ran = subprocess.run([run_tool, "../graph.pb", "--fetch=^" + target], capture_output=True,
                         text=True)
    os.chdir("..")
    if ran.returncode:
        fail(ran.stderr)
    shutil.rmtree("tf")
    save("tf/p", values)
    same_bytes("from the old format to the new one")


def constant_of(value):
    return tf.constant(value.numpy(), value.dtype)


def check_sessions():
    """weir_session_save and _restore with Saver and tf.train.Checkpoint."""
    def variables(start):
        graph = tf.Graph()
        with graph.as_default():
            made = [v1.get_variable("layer/w", initializer=start + constant("float32", [3, 2])),
                    v1.get_variable("step", initializer=tf.cast(start, tf.int64)),
                    v1.get_variable("names", initializer=constant("string", [2]))]
            for i, variable in enumerate(made):
                tf.identity(variable.read_value(), name=f"read{i}")
            init = v1.global_variables_initializer().name
            saver = v1.train.Saver(made)
        return graph, made, init, saver

    graph, made, init, saver = variables(5.0)
    with open("graph.pb", "wb") as out:
        out.write(graph.as_graph_def().SerializeToString())
    shutil.rmtree("saver", ignore_errors=True)
    with v1.Session(graph=graph) as session:
        session.run(graph.get_operation_by_name(init))
        saver.save(session, "saver/m", global_step=7)
        wanted = session.run({v.op.name: v.read_value() for v in made})
    entries = ["--entry=read"] + [f"--fetch=read{i}" for i in range(3)]
    ran = subprocess.run([run_tool, "graph.pb", "--restore=saver", "--save=again/m", "--output=o.npz"]
                         + entries, capture_output=True, text=True)
    if ran.returncode:
        fail(ran.stderr)
    found = np.load("o.npz", allow_pickle=True)
    expect_equal("Saver to weir", {"layer/w": found["read0"], "step": found["read1"]},
                 {"layer/w": wanted["layer/w"], "step": wanted["step"]})
    with v1.Session(graph=graph) as session:
        saver.restore(session, tf.train.latest_checkpoint("again"))
        expect_equal("weir to Saver", session.run({v.op.name: v.read_value() for v in made}), wanted)
    print("Saver: both ways")

    model = tf.Module()
    model.w = tf.Variable(constant("float32", [3, 2]) * 2, name="layer/w")
    model.steps = [tf.Variable(tf.constant(11, tf.int64), name="step")]
    model.names = tf.Variable(constant("string", [2]), name="names")
    tf.train.Checkpoint(model=model).write("objects/c")
    ran = subprocess.run([run_tool, "graph.pb", "--restore=objects/c", "--save=third/m",
                          "--output=o.npz"] + entries, capture_output=True, text=True)
    if ran.returncode:
        fail(ran.stderr)
    found = np.load("o.npz", allow_pickle=True)
    expect_equal("Checkpoint to weir", {"w": found["read0"], "step": found["read1"]},
                 {"w": model.w, "step": 11})
    reader = tf.train.load_checkpoint("third")
    expect_equal("weir to load_checkpoint", {"w": reader.get_tensor("layer/w")}, {"w": model.w})
    print("tf.train.Checkpoint: restored")


def main():
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    check_bytes()
    check_restoring()
    check_old_format()
    check_sessions()


main()
