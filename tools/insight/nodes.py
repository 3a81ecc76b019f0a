#===- nodes.py - The values of a model's nodes in another engine ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs a model in another engine, with all of its values fetched.

usage: nodes.py ort|tf MODEL INPUTS.npz VALUES.json OUT.npz [TAG...]

VALUES.json is a list of names; OUT.npz holds those that the engine has, and that
numpy has a type for. Prints one line: the engine and its version.
"""
import json
import sys

import numpy as np


def widened(value, kind):
    """Numbers that NumPy has no type for come as their codes: as f32 they are numbers again."""
    kind = kind.removeprefix("tensor(").removesuffix(")")
    if kind != "bfloat16" and not kind.startswith("float8"):
        return value
    import ml_dtypes
    type = getattr(ml_dtypes, kind.replace("float8", "float8_"))
    return np.asarray(value).view(type).astype(np.float32)


def run_ort(model, inputs, values, tags):
    import onnx
    import onnxruntime as ort

    loaded = onnx.load(model)
    known = {output.name for output in loaded.graph.output}
    made = {output for node in loaded.graph.node for output in node.output}
    wanted = [v for v in values if v in made or v in known]
    loaded.graph.output.extend(
        onnx.ValueInfoProto(name=v) for v in wanted if v not in known)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(
        loaded.SerializeToString(), options, providers=["CPUExecutionProvider"])
    takes = {i.name for i in session.get_inputs()}
    feeds = {k: v for k, v in inputs.items() if k in takes}
    types = {o.name: o.type for o in session.get_outputs()}
    made = {name: widened(value, types[name])
            for name, value in zip(wanted, session.run(wanted, feeds))}
    return made, "onnxruntime " + ort.__version__


def run_tf(model, inputs, values, tags):
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        names = {}
        if os.path.isdir(model):
            meta = v1.saved_model.load(session, tags or ["serve"], model)
            for signature in meta.signature_def.values():
                names.update({k: t.name for k, t in signature.inputs.items()})
        else:
            definition = v1.GraphDef()
            with open(model, "rb") as f:
                content = f.read()
            if model.endswith("txt"):
                from google.protobuf import text_format

                text_format.Parse(content, definition)
            else:
                definition.ParseFromString(content)
            tf.import_graph_def(definition, name="")

        def tensor(name):
            return graph.get_tensor_by_name(name if ":" in name else name + ":0")

        feeds = {tensor(names.get(k, k)): v for k, v in inputs.items()}
        results = {}
        wanted = []
        for value in values:
            try:
                wanted.append((value, tensor(value)))
            except (KeyError, ValueError):
                pass
        try:
            results = dict(zip([w[0] for w in wanted],
                               session.run([w[1] for w in wanted], feeds)))
        except Exception:
            # Some cannot be fetched together, or at all.
            for value, fetched in wanted:
                try:
                    results[value] = session.run(fetched, feeds)
                except Exception:
                    pass
    return results, "TensorFlow " + tf.__version__


def main():
    engine, model, source, names, target, *tags = sys.argv[1:]
    with np.load(source) as archive:
        inputs = {key: archive[key] for key in archive.files}
    with open(names) as f:
        values = json.load(f)
    results, version = {"ort": run_ort, "tf": run_tf}[engine](model, inputs, values, tags)
    plain = {k: np.asarray(v) for k, v in results.items()
             if isinstance(v, (np.ndarray, np.generic)) and np.asarray(v).dtype.kind in "fiub"}
    np.savez(target, **plain)
    print(version)


main()
