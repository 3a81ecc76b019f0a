#===- peers.py - A model in another engine ----------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Runs models in another engine, for weir-bench.

usage: peers.py ENGINE THREADS

Speaks JSON lines: first {}; then, for each line {"model": ..., "inputs": X.npz,
"outputs": Y.npz} on stdin, {"ready": true, "version": ..., "load_ms": ...} (results
of a first run lie in Y.npz then) or {"error": ...}; for each line `N`,
{"ms": [N times of the last model]}.
"""
import json
import os
import sys
import time


def say(**facts):
    sys.__stdout__.write(json.dumps(facts) + "\n")
    sys.__stdout__.flush()


def start_ort(model, inputs, threads):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run():
        return dict(zip(names, session.run(names, inputs)))

    return run, ort.__version__


def start_openvino(model, inputs, threads):
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(
        model,
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": os.environ.get("WEIR_BENCH_PRECISION", "f32"),
        },
    )
    request = compiled.create_infer_request()
    names = [output.any_name for output in compiled.outputs]

    def run():
        request.infer(inputs)
        return {name: request.get_output_tensor(i).data for i, name in enumerate(names)}

    return run, openvino.__version__


def start_iree(model, inputs, threads):
    import subprocess
    import tempfile

    import iree.compiler as compiler
    import iree.runtime as runtime
    import onnx

    folder = tempfile.mkdtemp()
    imported = os.path.join(folder, "model.mlir")
    subprocess.run(
        [sys.executable, "-m", "iree.compiler.tools.import_onnx", model, "-o", imported],
        check=True,
        capture_output=True,
    )
    module = compiler.compile_file(
        imported,
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"],
    )
    flag = "local-sync" if threads == 1 else "local-task"
    if threads > 1:
        runtime.flags.parse_flags("--task_topology_group_count=%d" % threads)
    config = runtime.Config(flag)
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, module))
    graph = onnx.load(model, load_external_data=False).graph
    function = getattr(context.modules.module, graph.name or "main_graph")
    initializers = {tensor.name for tensor in graph.initializer}
    order = [value.name for value in graph.input if value.name not in initializers]
    names = [value.name for value in graph.output]

    def run():
        results = function(*[inputs[name] for name in order])
        if not isinstance(results, (list, tuple)):
            results = [results]
        return {name: result.to_host() for name, result in zip(names, results)}

    return run, getattr(compiler.version, "VERSION", "?")


def start_tf(model, inputs, threads):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if os.path.isdir(model):
        loaded = tf.saved_model.load(model)
        function = loaded.signatures["serving_default"]
        constants = {name: tf.constant(value) for name, value in inputs.items()}

        def run():
            return {name: value.numpy() for name, value in function(**constants).items()}

        return run, tf.__version__
    graph = tf.compat.v1.GraphDef()
    with open(model, "rb") as file:
        graph.ParseFromString(file.read())
    used = {name.lstrip("^").split(":")[0] for node in graph.node for name in node.input}
    sinks = [node.name for node in graph.node if node.name not in used and node.op != "NoOp"]
    wrapped = tf.compat.v1.wrap_function(
        lambda: tf.import_graph_def(graph, name=""), []
    )
    feeds = [name if ":" in name else name + ":0" for name in inputs]
    pruned = wrapped.prune(feeds, [name + ":0" for name in sinks])
    constants = [tf.constant(value) for value in inputs.values()]

    def run():
        return {name: value.numpy() for name, value in zip(sinks, pruned(*constants))}

    return run, tf.__version__


def load(engine, threads, model, inputs, outputs):
    """The function that runs the model, or None; says which."""
    start = {"ort": start_ort, "openvino": start_openvino, "iree": start_iree, "tf": start_tf}
    begin = time.perf_counter()
    try:
        import numpy

        with numpy.load(inputs) as archive:
            fed = {name: archive[name] for name in archive.files}
        run, version = start[engine](model, fed, threads)
        load_ms = (time.perf_counter() - begin) * 1e3
        numpy.savez(outputs, **run())
    except ImportError as error:
        say(error="not installed: %s" % error)
        return None
    except Exception as error:  # an engine's own refusal, whatever its type
        say(error=" ".join(str(error).split())[:300])
        return None
    say(ready=True, version=version, load_ms=load_ms)
    return run


def main():
    engine, threads = sys.argv[1], int(sys.argv[2])
    # Engines print to stdout as they like; the protocol keeps it to itself.
    sys.stdout = sys.stderr
    say()
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        if isinstance(request, dict):
            run = load(engine, threads, **request)
            continue
        clock = time.process_time if os.environ.get("WEIR_BENCH_CLOCK") == "cpu" else time.perf_counter
        times = []
        for _ in range(request if run else 0):
            begin = clock()
            run()
            times.append((clock() - begin) * 1e3)
        say(ms=times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
