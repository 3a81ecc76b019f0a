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

BATCH = 20  # steps between two readings of the clock


#===-------------------------------------------------------------------------===#
# Networks, over an engine's operations `o` and its weights `w`
#===-------------------------------------------------------------------------===#


def linear(o, w, x, name, inputs, outputs, transposed=False):
    shape = (outputs, inputs) if transposed else (inputs, outputs)
    weights = w.normal(f"{name}.weight", shape, inputs**-0.5)
    bias = w.normal(f"{name}.bias", (outputs,), 0.1 if name == "fc" else 0.02)
    return x @ (weights.T if transposed else weights) + bias


def layer_norm(o, w, x, name, width):
    return o.layer_norm(x, w.uniform(f"{name}.weight", (width,), 0.8, 1.2),
                        w.normal(f"{name}.bias", (width,), 0.02))


def heads_of(o, x, heads):
    batch, length, width = x.shape
    return o.swap(x.reshape(batch, length, heads, width // heads), 1, 2)


def joined(o, x):
    batch, heads, length, size = x.shape
    return o.swap(x, 1, 2).reshape(batch, length, heads * size)


def bert(o, w, ids, mask, types, batch, layers, width, heads, length, vocabulary):
    x = w.normal("embeddings.word.weight", (vocabulary, width), 0.5)[ids]
    x = x + w.normal("embeddings.type.weight", (2, width), 0.5)[types]
    x = x + w.normal("embeddings.position.weight", (512, width), 0.5)[:length]
    x = layer_norm(o, w, x, "embeddings.norm", width)
    seen = (mask != 0)[:, None, None, :]
    for i in range(layers):
        name = f"layer.{i}.attention"
        q, k, v = (heads_of(o, linear(o, w, x, f"{name}.{part}", width, width), heads)
                   for part in ("query", "key", "value"))
        y = linear(o, w, joined(o, o.attention(q, k, v, seen)), f"{name}.output", width, width)
        x = layer_norm(o, w, x + y, f"{name}.norm", width)
        name = f"layer.{i}"
        y = o.gelu(linear(o, w, x, f"{name}.intermediate", width, 4 * width))
        x = layer_norm(o, w, x + linear(o, w, y, f"{name}.output", 4 * width, width), f"{name}.norm", width)
    return x, o.tanh(linear(o, w, x[:, 0], "pooler", width, width, transposed=True))


def gpt2(o, w, ids, *cache, length, past, layers, width, heads, vocabulary):
    words = w.normal("wte", (vocabulary, width), 0.1)
    x = words[ids] + w.normal("wpe", (1024, width), 0.05)[past:past + length]
    results = []
    for i in range(layers):
        block = f"h.{i}"
        y = linear(o, w, layer_norm(o, w, x, f"{block}.ln_1", width), f"{block}.attn.c_attn", width, 3 * width)
        q, k, v = (heads_of(o, y[..., part * width:(part + 1) * width], heads) for part in range(3))
        if past:
            k, v = o.join(cache[2 * i], k), o.join(cache[2 * i + 1], v)
        results += [k, v]
        y = joined(o, o.attention(q, k, v, None, causal=length > 1))
        x = x + linear(o, w, y, f"{block}.attn.c_proj", width, width)
        y = linear(o, w, layer_norm(o, w, x, f"{block}.ln_2", width), f"{block}.mlp.c_fc", width, 4 * width)
        x = x + linear(o, w, o.gelu(y, tanh=True), f"{block}.mlp.c_proj", 4 * width, width)
    return *results, layer_norm(o, w, x, "ln_f", width) @ words.T


def decoder(o, w, ids, *cache, length, past, batch, layers, width, heads, groups, inner, vocabulary):
    size = width // heads
    angles = np.arange(past, past + length)[:, None] * 1e6 ** (-np.arange(0, size, 2) / size)
    angles = np.concatenate([angles, angles], axis=1)[None, None]
    cosine, sine = (w.keep(name, lambda: f(angles).astype(np.float32)) for name, f in (("cosine", np.cos), ("sine", np.sin)))

    def norm(x, name):
        return o.rms_norm(x, w.uniform(f"{name}.weight", (width,), 0.5, 1.5))

    def rotated(x):
        return x * cosine + o.join(-x[..., size // 2:], x[..., :size // 2], -1) * sine

    words = w.normal("embed", (vocabulary, width), 0.1)
    x, results = words[ids], []
    for i in range(layers):
        block = f"layers.{i}"
        y = norm(x, f"{block}.norm1")
        q, k, v = (heads_of(o, linear(o, w, y, f"{block}.{part}_proj", width, count * size), count)
                   for part, count in (("q", heads), ("k", groups), ("v", groups)))
        q, k = rotated(q), rotated(k)
        if past:
            k, v = o.join(cache[2 * i], k), o.join(cache[2 * i + 1], v)
        results += [k, v]
        y = joined(o, o.attention(q, k, v, None, causal=length > 1))
        x = x + linear(o, w, y, f"{block}.o_proj", width, width)
        y = norm(x, f"{block}.norm2")
        gate, up = (linear(o, w, y, f"{block}.{part}_proj", width, inner) for part in ("gate", "up"))
        x = x + linear(o, w, o.silu(gate) * up, f"{block}.down_proj", inner, width)
    return *results, norm(x[:, -1:], "norm") @ words.T


def resnet(o, w, image, batch, size, base):
    def conv(x, name, channels, out, kernel, stride=1, scale=1.0):
        weights, bias = w.folded(name, (out, channels, kernel, kernel), scale)
        return o.conv(x, weights, bias, stride, kernel // 2)

    x = o.max_pool(o.relu(conv(o.image(image), "conv1", 3, base, 7, 2)))
    channels = base
    for stage, blocks in enumerate([3, 4, 6, 3], 1):
        width = base << stage - 1
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if block == 0 and stage > 1 else 1
            y = o.relu(conv(x, f"{name}.conv1", channels, width, 1))
            y = o.relu(conv(y, f"{name}.conv2", width, width, 3, stride))
            y = conv(y, f"{name}.conv3", width, 4 * width, 1, scale=0.3)
            if block == 0:
                x = conv(x, f"{name}.downsample", channels, 4 * width, 1, stride)
            x, channels = o.relu(x + y), 4 * width
    return (linear(o, w, o.mean_of_image(x), "fc", channels, 1000, transposed=True),)


def elementwise(o, w, x):
    for i in range(8):
        name = f"block.{i}"
        y = o.softmax(x * w.normal(f"{name}.scale", x.shape[-1:], 1.0)) * o.gelu(x, tanh=True)
        x = layer_norm(o, w, x + y, f"{name}.norm", x.shape[-1])
    return (x,)


def tiny(o, w, x, side, steps):
    for i in range(steps):
        x = layer_norm(o, w, o.tanh(x @ w.normal(f"{i}.weight", (side, side), side**-0.5)), f"{i}.norm", side)
    return (x,)


class Network:
    """A benchmark: a function of (o, w, *inputs), and its inputs as numpy's arrays."""

    def __init__(self, name, small):
        self.name, self.type = name, "f16" if name.endswith("_f16") else "bf16"
        random = np.random.default_rng(1)
        numbers = [int(n) for n in re.findall(r"_(\d+)", name)]
        if name.startswith("bert"):
            sizes = models.bert_sizes(numbers[0], small)
            shape, function = (sizes["batch"], sizes["length"]), bert
            ids, types = random.integers(0, 2, (2, *shape))
            self.inputs = {"input_ids": ids, "attention_mask": np.ones(shape, np.int64), "token_type_ids": types}
        elif name.startswith("gpt2"):
            length, past = (512, 0) if "prefill" in name else (1, 512)
            sizes, function = models.gpt2_sizes(length, past, small), gpt2
            shape = (1, sizes["heads"], sizes["past"], sizes["width"] // sizes["heads"])
            self.inputs = {"input_ids": random.integers(0, 2, (1, sizes["length"]))}
            for i in range(sizes["layers"] if past else 0):
                for part in ("key", "value"):
                    self.inputs[f"past_{part}.{i}"] = random.random(shape, np.float32)
        elif name.startswith("decoder"):
            length, past = (2048, 0) if "prefill" in name else (1, 2048)
            batch = 16 if name.endswith("_16") else 1
            sizes, function = models.decoder_sizes(length, past, batch, small), decoder
            shape = (sizes["batch"], sizes["groups"], sizes["past"], sizes["width"] // sizes["heads"])
            self.inputs = {"input_ids": random.integers(0, 2, (sizes["batch"], sizes["length"]))}
            for i in range(sizes["layers"] if past else 0):
                for part in ("key", "value"):
                    self.inputs[f"past_{part}.{i}"] = random.random(shape, np.float32)
        elif name.startswith("resnet50"):
            sizes, function = models.resnet_sizes(numbers[0], small), resnet
            self.inputs = {"image": random.random((sizes["batch"], 3, sizes["size"], sizes["size"]), np.float32)}
        elif name == "elementwise":
            sizes, function = {}, elementwise
            self.inputs = {"x": random.random(models.elementwise_shape(small), np.float32)}
        else:
            sizes, function = models.tiny_sizes(small), tiny
            self.inputs = {"x": random.random((sizes["side"], sizes["side"]), np.float32)}
        self.run = lambda o, w, *inputs: function(o, w, *inputs, **sizes)


class Weights:
    """Made when they are first asked for; `array` brings numpy's to the engine."""

    def __init__(self, array):
        self.array, self.kept = array, {}

    def keep(self, name, make):
        name = name.replace(".", "_")
        if name not in self.kept:
            self.kept[name] = self.array(make())
        return self.kept[name]

    def normal(self, name, shape, deviation):
        return self.keep(name, lambda: models.normal(name, shape, deviation))

    def uniform(self, name, shape, low, high):
        return self.keep(name, lambda: models.uniform(shape, low, high))

    def folded(self, name, shape, scale):
        """A convolution's, and its bias, of one that is normalised behind."""
        def made():
            fan_in = int(np.prod(shape[1:]))
            weights, out = models.normal(f"{name}.weight", shape, (2 / fan_in) ** 0.5), shape[:1]
            gain = models.uniform(out, 0.8 * scale, 1.2 * scale) / np.sqrt(models.uniform(out, 0.8, 1.2) + 1e-5)
            shift, mean = (models.normal(f"{name}.bn.{part}", out, 0.1) for part in ("bias", "running_mean"))
            return weights * gain[:, None, None, None], shift - mean * gain
        return self.keep(f"{name}.weight", lambda: made()[0]), self.keep(f"{name}.bias", lambda: made()[1])


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
