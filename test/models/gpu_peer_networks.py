#===- gpu_peer_networks.py - Benchmarks as other engines write them ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""The networks of gpu_models.py as functions of an engine's operations, with the same weights."""
import re

import numpy as np

import gpu_models as models


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
