# ===- exports_torch.py - PyTorch's two exporters -----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Modules of the kinds that people write, exported by both exporters at opsets 17 to 23, with
fixed and with open sizes."""
import inspect
import warnings

import numpy as np
import real_models
import torch
from torch import nn
from torch.nn import functional as F

warnings.simplefilter("ignore")


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU6(),
                                   nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.BatchNorm2d(16))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        x = F.silu(x + self.block(x))
        x = F.max_pool2d(x, 3, 2, 1)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.deep = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.GELU())
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.last = nn.Conv2d(24, 4, 1)

    def forward(self, x):
        first = F.leaky_relu(self.down(x), 0.1)
        deep = self.deep(first)
        wide = F.interpolate(deep, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.last(torch.cat([first, self.up(deep), wide[:, :8]], 1)).softmax(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True,
                                           dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(32)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device).float()
        x = self.words(ids) + torch.sin(places[None, :, None] * 0.1)
        return self.norm(self.layers(x)).mean(1)


class Attention(nn.Module):
    """Causal attention over a cache of keys and values."""

    def __init__(self):
        super().__init__()
        self.joined, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x, keys, values):
        batch, length, _ = x.shape
        q, k, v = self.joined(x).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, length, 32)), k, v


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = kind(12, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        y, _ = self.cell(x)
        return self.head(y[:, -1])


class Sampler(nn.Module):
    def forward(self, x, grid):
        sampled = F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=True)
        best, places = torch.topk(sampled.flatten(1), 3)
        return best, places, torch.where(sampled > 0, sampled, torch.zeros_like(sampled)).cumsum(-1)


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds = nn.EmbeddingBag(20, 8, mode="mean")
        self.layers = nn.Sequential(nn.Linear(13, 32), nn.BatchNorm1d(32), nn.PReLU(),
                                    nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, numbers, kinds):
        return self.layers(torch.cat([numbers, self.kinds(kinds)], 1)).squeeze(-1)


class Mixer(nn.Module):
    """Einsum, roll, unfold, masks and indexing."""

    def forward(self, x):
        turned = torch.einsum("bchw,bkhw->bck", x, torch.roll(x, 1, 2))
        windows = F.unfold(x, 2, stride=2)
        mask = torch.tril(torch.ones(x.shape[-2], x.shape[-1], dtype=torch.bool))
        masked = x.masked_fill(~mask, -1e4).log_softmax(-1)
        return turned, windows, masked[:, ::2], x.std(dim=(2, 3)), torch.clamp(x, -0.5, 0.5).argmax(1)


def floats(*shape):
    return torch.randn(*shape)


# Name -> the module, operands of two cases, and which dimensions may be open.
MODELS = {
    "residual": (Residual, lambda b: (floats(b, 3, 32, 32),), ({0: "batch"},)),
    "unet": (UNet, lambda b: (floats(b, 3, 16, 16),), ({0: "batch"},)),
    "encoder": (Encoder, lambda b: (torch.randint(0, 50, (b, 9)),), ({0: "batch"},)),
    "attention": (Attention, lambda b: (floats(b, 3, 32), floats(b, 4, 5, 8), floats(b, 4, 5, 8)),
                  ({0: "batch"}, {0: "batch", 2: "past"}, {0: "batch", 2: "past"})),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda b: (floats(b, 7, 12),), ({0: "batch"},)),
    "gru": (lambda: Recurrent(nn.GRU), lambda b: (floats(b, 7, 12),), ({0: "batch"},)),
    "sampler": (Sampler, lambda b: (floats(b, 2, 6, 6), torch.rand(b, 5, 4, 2) * 2 - 1),
                ({0: "batch"}, {0: "batch"})),
    "tabular": (Tabular, lambda b: (floats(b, 5), torch.randint(0, 20, (b, 6))),
                ({0: "batch"}, {0: "batch"})),
    "mixer": (Mixer, lambda b: (floats(b, 4, 6, 6),), ({0: "batch"},)),
}


def make(model, dynamo, opset, is_open, by_runtime=False):
    """A function that exports `model`, a triple as in MODELS, to a path, and gives a row's parts.
    `by_runtime`: results are compared with ONNX Runtime's on the file."""
    def export(path):
        build, operands, dynamic = model
        torch.manual_seed(7)
        module = build().eval()
        shown = operands(2)
        names = ["x%d" % i for i in range(len(shown))]
        with torch.no_grad():
            results = module(*shown)
        count = len(results) if isinstance(results, tuple) else 1
        outputs = ["y%d" % i for i in range(count)]
        options = {}
        if is_open and dynamo:
            symbols = {s: torch.export.Dim(s, min=1, max=64)
                       for d in dynamic for s in d.values()}
            shapes = tuple({a: symbols[s] for a, s in d.items()} for d in dynamic)
            named = [p for p in inspect.signature(module.forward).parameters.values()
                     if p.kind != p.VAR_POSITIONAL]
            rest = shapes[len(named):]  # of *operands, which the exporter wants as one
            options["dynamic_shapes"] = (*shapes[:len(named)], rest) if rest else shapes
        elif is_open:
            options["dynamic_axes"] = dict(zip(names, dynamic))
        torch.onnx.export(module, shown, path + ".onnx", input_names=names, output_names=outputs,
                          opset_version=opset, dynamo=dynamo, verbose=False, **options)
        torch.manual_seed(11)
        batches = (2, 3) if is_open else (2,)
        cases = [dict(zip(names, (o.numpy() for o in operands(b)))) for b in batches]

        if by_runtime:
            return path + ".onnx", cases, real_models.onnx_oracle(path + ".onnx")

        def oracle(case):
            with torch.no_grad():
                made = module(*(torch.from_numpy(case[n]) for n in names))
            return [np.asarray(t) for t in (made if isinstance(made, tuple) else (made,))]
        return path + ".onnx", cases, oracle
    return export


def row(name, model, dynamo, opset, is_open, by_runtime=False):
    """An export: the name of the model, how it is exported, and what exports it."""
    way = "%s %d %s" % ("dynamo" if dynamo else "script", opset, "open" if is_open else "fixed")
    return name, way, make(model, dynamo, opset, is_open, by_runtime)


WAYS = [(False, 17, False), (False, 17, True), (False, 20, True), (True, 18, True), (True, 21, False),
        (True, 23, True)]
EXPORTS = [row(name, model, *way) for name, model in MODELS.items() for way in WAYS]
