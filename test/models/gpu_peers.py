#!/usr/bin/env python3
#===- gpu_peers.py - Benchmarks in turn with other engines -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""peers.py [--rounds=N] [--engines=torch,jax,ort] [--seconds=N] [--out=peers.txt] [NAME...]

Times the benchmarks of the bundle that it lies in (`tools/gpu-check`) in turn with the
same networks, weights and types of PyTorch (torch.compile, max-autotune, in a CUDA
graph), JAX (jit) and ONNX Runtime (CUDA provider, tensors in the GPU's memory). An
engine that is missing or fails is said, and left out. A figure is the median over
rounds of the time a step, of steps put one after the other; the table ends with our
time as a share of each. Batch normalisations of the peers are folded before. With
--seconds no network begins later; --append adds to the file.

With --device=cpu --small nothing is timed: networks of few elements run, without a
compiler and without our own; --save=DIR keeps their results as DIR/ENGINE-NAME.npz.
"""
import argparse
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "models"), HERE]
import numpy as np  # noqa: E402

import gpu_models as models  # noqa: E402
from gpu_peer_networks import Network, Weights  # noqa: E402

BATCH = 20  # steps between two readings of the clock


#===-------------------------------------------------------------------------===#
# Engines: `prepare` gives a function that puts a step, and `seconds` times steps
#===-------------------------------------------------------------------------===#


class Torch:
    name = "torch"

    def __init__(self, device):
        import torch

        self.torch, self.device, self.F = torch, device, torch.nn.functional
        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no GPU")
        self.version = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"

    def layer_norm(self, x, weight, bias):
        return self.F.layer_norm(x, weight.shape, weight, bias, 1e-12)

    def gelu(self, x, tanh=False):
        return self.F.gelu(x, approximate="tanh" if tanh else "none")

    def attention(self, q, k, v, mask, causal=False):
        shared = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
        return self.F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, **shared)

    def rms_norm(self, x, weight):
        return self.F.rms_norm(x, weight.shape, weight, 1e-6)

    def silu(self, x):
        return self.F.silu(x)

    def conv(self, x, weights, bias, stride, pad):
        return self.F.conv2d(x, weights, bias, stride, pad)

    def max_pool(self, x):
        return self.F.max_pool2d(x, 3, 2, 1)

    def image(self, x):
        return x.contiguous(memory_format=self.torch.channels_last)

    def mean_of_image(self, x):
        return x.mean((2, 3))

    def swap(self, x, a, b):
        return x.transpose(a, b)

    def join(self, a, b, axis=2):
        return self.torch.cat([a, b], axis)

    def relu(self, x):
        return self.F.relu(x)

    def tanh(self, x):
        return self.torch.tanh(x)

    def softmax(self, x):
        return self.F.softmax(x, -1)

    def prepare(self, network):
        torch = self.torch
        kind = torch.float16 if network.type == "f16" else torch.bfloat16

        def tensor(array):
            made = torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
            return made.to(kind) if made.is_floating_point() else made

        def parameter(array):
            made = tensor(array)
            made = made.contiguous(memory_format=torch.channels_last) if made.dim() == 4 else made
            return torch.nn.Parameter(made, requires_grad=False)

        weights, engine = Weights(parameter), self
        inputs = [tensor(array) for array in network.inputs.values()]
        with torch.inference_mode(False), torch.no_grad():
            results = network.run(self, weights, *inputs)
            if self.device == "cpu":
                return lambda: results

            class Module(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.kept = torch.nn.ParameterDict(weights.kept)

                def forward(self, *given):
                    known = Weights(None)
                    known.kept = self.kept
                    return network.run(engine, known, *given)

            # Its kernels as in mode max-autotune; the graph is captured here, without
            # what that mode does around each replay.
            compiled = torch.compile(Module(), mode="max-autotune-no-cudagraphs", fullgraph=True)
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(3):
                    compiled(*inputs)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                self.results = compiled(*inputs)
            return graph.replay

    def seconds(self, step):
        torch = self.torch
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(BATCH):
            step()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / BATCH

    def arrays(self, results):
        return [result.float().cpu().numpy() for result in results]


class Jax:
    name = "jax"

    def __init__(self, device):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        self.jax, self.np, self.nn = jax, jax.numpy, jax.nn
        self.version = f"JAX {jax.__version__} on {jax.devices()[0].device_kind}"
        if device == "cuda" and jax.default_backend() != "gpu":
            raise RuntimeError("JAX finds no GPU")

    def layer_norm(self, x, weight, bias):
        wide = x.astype(self.np.float32)
        wide = wide - wide.mean(-1, keepdims=True)
        wide = wide * self.jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-12)
        return wide.astype(x.dtype) * weight + bias

    def gelu(self, x, tanh=False):
        return self.nn.gelu(x, approximate=tanh)

    def attention(self, q, k, v, mask, causal=False):
        q, k, v = (self.swap(x, 1, 2) for x in (q, k, v))
        # cuDNN's where it can: XLA's own writes all scores.
        heads = {"mask": mask, "is_causal": causal}
        if self.jax.default_backend() == "gpu" and q.shape[1] > 1:
            try:
                return self.swap(self.nn.dot_product_attention(q, k, v, implementation="cudnn", **heads), 1, 2)
            except (NotImplementedError, RuntimeError, ValueError):
                pass
        return self.swap(self.nn.dot_product_attention(q, k, v, **heads), 1, 2)

    def conv(self, x, weights, bias, stride, pad):
        return self.jax.lax.conv_general_dilated(
            x, weights, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "OIHW", "NHWC")) + bias

    def max_pool(self, x):
        low = np.array(-np.inf, x.dtype)
        return self.jax.lax.reduce_window(x, low, self.jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                                          ((0, 0), (1, 1), (1, 1), (0, 0)))

    def image(self, x):
        return x.transpose(0, 2, 3, 1)

    def mean_of_image(self, x):
        return x.mean((1, 2))

    def swap(self, x, a, b):
        return self.np.swapaxes(x, a, b)

    def join(self, a, b, axis=2):
        return self.np.concatenate([a, b], axis)

    def rms_norm(self, x, weight):
        wide = x.astype(self.np.float32)
        wide = wide * self.jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)
        return wide.astype(x.dtype) * weight

    def silu(self, x):
        return self.nn.silu(x)

    def relu(self, x):
        return self.nn.relu(x)

    def tanh(self, x):
        return self.np.tanh(x)

    def softmax(self, x):
        return self.nn.softmax(x, -1)

    def prepare(self, network):
        kind = self.np.float16 if network.type == "f16" else self.np.bfloat16

        def array(value):
            return self.np.asarray(value, kind if value.dtype == np.float32 else None)

        weights = Weights(array)
        inputs = [array(value) for value in network.inputs.values()]
        network.run(self, weights, *inputs)

        def function(kept, *given):
            known = Weights(None)
            known.kept = kept
            return network.run(self, known, *given)

        compiled = self.jax.jit(function)
        step = lambda: compiled(weights.kept, *inputs)  # noqa: E731
        for _ in range(3):
            self.jax.block_until_ready(step())
        return step

    def seconds(self, step):
        begin = time.perf_counter()
        for _ in range(BATCH):
            results = step()
        self.jax.block_until_ready(results)
        return (time.perf_counter() - begin) / BATCH

    def arrays(self, results):
        return [np.asarray(result.astype(self.np.float32)) for result in results]


class OnnxRuntime:
    name = "ort"

    def __init__(self, device):
        import onnxruntime

        self.ort, self.device = onnxruntime, device
        self.version = f"ONNX Runtime {onnxruntime.__version__}"
        if device == "cpu":
            raise RuntimeError("the CPU provider does not compute bf16")
        if hasattr(onnxruntime, "preload_dlls"):
            onnxruntime.preload_dlls()
        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise RuntimeError("ONNX Runtime has no CUDA provider")

    def prepare(self, network):
        ort = self.ort
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            models.MODELS[network.name](network.small).write(path)
            provider = ("CUDAExecutionProvider", {"enable_cuda_graph": "1"})
            session = ort.InferenceSession(path, providers=[provider])
        if "CUDAExecutionProvider" not in session.get_providers():
            raise RuntimeError("the CUDA provider does not load")
        binding, self.kept = session.io_binding(), []
        half = models.F16 if network.type == "f16" else models.BF16
        for given in session.get_inputs():
            value = network.inputs[given.name]
            if value.dtype == np.int64:
                there = ort.OrtValue.ortvalue_from_numpy(value, "cuda", 0)
            elif half == models.F16:
                there = ort.OrtValue.ortvalue_from_numpy(value.astype(np.float16), "cuda", 0)
            else:  # what lies there does not matter to time
                there = ort.OrtValue.ortvalue_from_shape_and_type(value.shape, half, "cuda", 0)
            self.kept.append(there)
            binding.bind_ortvalue_input(given.name, there)
        for made in session.get_outputs():
            there = ort.OrtValue.ortvalue_from_shape_and_type(made.shape, half, "cuda", 0)
            self.kept.append(there)
            binding.bind_ortvalue_output(made.name, there)
        options = ort.RunOptions()
        options.add_run_config_entry("disable_synchronize_execution_providers", "1")

        def step(wait=False):
            session.run_with_iobinding(binding, None if wait else options)

        for _ in range(3):
            step(True)
        return step

    def seconds(self, step):
        begin = time.perf_counter()
        for i in range(BATCH):
            step(i == BATCH - 1)
        return (time.perf_counter() - begin) / BATCH


class Ours:
    name = "weir"

    def __init__(self, bundle, repeat):
        self.bundle, self.repeat = bundle, repeat

    def prepare(self, network):
        return network.name

    def seconds(self, name):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "result")
            done = subprocess.run([os.path.join(self.bundle, "run"), "--bench=" + name,
                                   f"--repeat={self.repeat}", result],
                                  capture_output=True, text=True)
            with open(result) as file:
                text = file.read()
        found = re.search(r"^passed bench .* ?gpu_us=([\d.]+)", text, re.M)
        if not found:
            failed = re.search(r"^failed .*", text, re.M)
            raise RuntimeError(failed[0] if failed else done.stderr.strip() or "no result")
        return float(found[1]) / 1e6


@contextlib.contextmanager
def bounded(until):
    """Raises TimeoutError in what is inside at a time of time.monotonic(); None: never. An engine that
    compiles a network may take minutes, and a call that is ended from outside leaves no table."""
    def end(*_):
        raise TimeoutError("time is over")

    before = signal.signal(signal.SIGALRM, end)
    try:
        if until is not None:
            signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 1e-3))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def time_all(engines, names, small, rounds, say, seconds=None):
    """Medians in microseconds: {network: {engine: time}}. No network begins after `seconds`, and no
    engine goes on after a quarter more."""
    times, began = {}, time.monotonic()
    until = began + 1.25 * seconds if seconds else None
    for i, name in enumerate(names):
        if seconds and time.monotonic() - began > seconds:
            say(f"left out {len(names) - i} networks of peers: time is over")
            break
        network, steps = Network(name, small), {}
        network.small = small

        def attempt(engine, what):
            try:
                with bounded(until):
                    return what()
            except Exception as error:  # whatever an engine throws: it is left out
                say(f"{engine.name} {name}: {' '.join(str(error).split())[:200] or type(error).__name__}")

        for engine in engines:
            if step := attempt(engine, lambda: engine.prepare(network)):
                steps[engine] = step
        figures = {engine: [] for engine in steps}
        for _ in range(rounds):
            for engine in list(steps):
                if (taken := attempt(engine, lambda: engine.seconds(steps[engine]))) is not None:
                    figures[engine].append(taken)
                else:
                    del steps[engine], figures[engine]
        times[name] = {engine.name: 1e6 * statistics.median(taken) for engine, taken in figures.items()}
        say(f"{name}: " + ", ".join(f"{engine} {taken:.1f} us" for engine, taken in times[name].items()))
    return times


def table(times, engines):
    """A line a network; a dash stands for a time that there is not."""
    yield "| network | weir us | " + " | ".join(f"{peer} us | weir/{peer}" for peer in engines) + " |"
    yield "|---|---|" + "---|---|" * len(engines)
    for name, taken in times.items():
        def cell(engine):
            return f"{taken[engine]:.1f}" if engine in taken else "-"

        def ratio(engine):
            both = engine in taken and "weir" in taken
            return f"{taken['weir'] / taken[engine]:.2f}" if both else "-"

        yield f"| {name} | {cell('weir')} | " + " | ".join(f"{cell(p)} | {ratio(p)}" for p in engines) + " |"


def main():
    benchmarks = [name for name in models.MODELS if not name.startswith(("copy_", "product_")) and name != "memory"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(benchmarks)} (default: all)")
    parser.add_argument("--engines", default="torch,jax,ort")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=100, help="of our steps a round (100)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--save", metavar="DIR", help="results of a trial on the CPU")
    parser.add_argument("--seconds", type=float, help="no network begins later")
    parser.add_argument("--append", action="store_true")
    parser.add_argument("--out", default=os.path.join(HERE, "peers.txt"))
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in benchmarks]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(benchmarks)}")
    warnings.filterwarnings("ignore")
    with open(options.out, "a" if options.append else "w") as out:
        def say(text):
            print(text, flush=True)
            print(text, file=out, flush=True)

        asked = [kind for kind in (Torch, Jax, OnnxRuntime) if kind.name in options.engines.split(",")]
        engines = [] if options.device == "cpu" else [Ours(HERE, options.repeat)]
        for kind in asked:
            try:
                engines.append(kind(options.device))
                say(f"{kind.name}: {engines[-1].version}")
            except Exception as error:  # an import may fail in any way
                say(f"{kind.name}: not here: {' '.join(str(error).split())[:200]}")
        if options.device == "cuda":
            times = time_all(engines, options.names or benchmarks, options.small, options.rounds, say, options.seconds)
            for line in table(times, [kind.name for kind in asked]):
                say(line)
            return
        for name in options.names or benchmarks:
            network = Network(name, options.small)
            for engine in engines:
                results = engine.arrays(engine.prepare(network)())
                finite = all(np.isfinite(result).all() for result in results)
                say(f"{engine.name} {name}: {len(results)} results, {'finite' if finite else 'not finite'}")
                if options.save:
                    np.savez(os.path.join(options.save, f"{engine.name}-{name}.npz"), *results)


if __name__ == "__main__":
    main()
