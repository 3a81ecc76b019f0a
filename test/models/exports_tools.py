# ===- exports_tools.py - what other tools make of models, and JAX's exporter --===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Models that tools rewrite between exporter and deployment: NNCF and Brevitas quantise them,
onnxconverter-common makes halves of them, onnxslim, onnxsim and ONNX Runtime's optimizer fuse
them, torchao keeps weights as bytes; and functions of JAX by jax2onnx. Tools that are missing are
left out. What a file computes is what ONNX Runtime makes of it."""
import importlib.util
import os
import tempfile

import numpy as np
import onnx
import torch
from exports import session

RANDOM = np.random.default_rng(9)
LENGTHS = ((1, 16), (2, 48))


def words(batch, length):
    return {"input_ids": RANDOM.integers(0, 1000, (batch, length)),
            "attention_mask": np.ones((batch, length), np.int64)}


def images(batch):
    return {"pixels": RANDOM.standard_normal((batch, 3, 224, 224)).astype(np.float32)}


def resnet(path):
    import torchvision
    torch.manual_seed(3)
    torch.onnx.export(torchvision.models.resnet18().eval(), (torch.randn(1, 3, 224, 224),), path,
                      opset_version=17, dynamo=False, input_names=["pixels"],
                      dynamic_axes={"pixels": {0: "batch"}})
    return [images(1), images(2)]


def bert(path):
    from transformers import BertConfig, BertModel
    torch.manual_seed(3)
    inner = BertModel(BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                 intermediate_size=1024), add_pooling_layer=False).eval()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, input_ids, attention_mask):
            return self.inner(input_ids=input_ids,
                              attention_mask=attention_mask).last_hidden_state

    example = torch.ones(1, 16, dtype=torch.int64)
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(Encoder().eval(), (example, example), path, opset_version=17, dynamo=False,
                      input_names=names, dynamic_axes={n: {0: "batch", 1: "length"} for n in names})
    return [words(*size) for size in LENGTHS]


def oracle(path):
    return path, lambda case: session(path).run(None, case)


def rewritten(source, rewrite):
    """`rewrite`: from a path, and cases, to a model."""
    def export(path):
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain.onnx")
            cases = source(plain)
            onnx.save(rewrite(plain, cases), path + ".onnx")
        where, answer = oracle(path + ".onnx")
        return where, cases, answer
    return export


def nncf_quantised(path, cases):
    import nncf
    kind = {} if "pixels" in cases[0] else {"model_type": nncf.ModelType.TRANSFORMER}
    return nncf.quantize(onnx.load(path), nncf.Dataset(cases[:1]), subset_size=1, **kind)


def nncf_weights(mode, **options):
    def rewrite(path, cases):
        import nncf
        return nncf.compress_weights(onnx.load(path),
                                     mode=getattr(nncf.CompressWeightsMode, mode), **options)
    return rewrite


def halves(path, cases):
    from onnxconverter_common import float16
    return float16.convert_float_to_float16(onnx.load(path), keep_io_types=True)


def slim(path, cases):
    import onnxslim
    return onnxslim.slim(onnx.load(path))


def simplified(path, cases):
    import onnxsim
    return onnxsim.simplify(onnx.load(path))[0]


def optimized(is_half):
    def rewrite(path, cases):
        from onnxruntime.transformers import optimizer
        made = optimizer.optimize_model(path, model_type="bert", num_heads=4, hidden_size=256)
        if is_half:
            made.convert_float_to_float16(keep_io_types=True)
        return made.model
    return rewrite


def brevitas(path):
    import brevitas.nn as qnn
    from brevitas.export import export_onnx_qcdq
    from brevitas.quant import Int8ActPerTensorFloat
    torch.manual_seed(3)
    made = torch.nn.Sequential(
        qnn.QuantConv2d(3, 32, 3, padding=1, weight_bit_width=8,
                        input_quant=Int8ActPerTensorFloat),
        qnn.QuantReLU(bit_width=8, return_quant_tensor=True),
        qnn.QuantConv2d(32, 64, 3, padding=1, stride=2, weight_bit_width=4),
        qnn.QuantReLU(bit_width=4), torch.nn.Flatten(),
        qnn.QuantLinear(64 * 16 * 16, 10, bias=True, weight_bit_width=4))
    made(torch.randn(4, 3, 32, 32))  # statistics of the activations
    export_onnx_qcdq(made.eval(), torch.randn(1, 3, 32, 32), path + ".onnx", opset_version=17)
    where, answer = oracle(path + ".onnx")
    name = onnx.load(where, load_external_data=False).graph.input[0].name
    return where, [{name: RANDOM.standard_normal((1, 3, 32, 32)).astype(np.float32)}], answer


def torchao(path):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_
    torch.manual_seed(3)
    made = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.GELU(),
                               torch.nn.Linear(512, 128)).eval()
    quantize_(made, Int8WeightOnlyConfig())
    torch.onnx.export(made, (torch.randn(4, 128),), path + ".onnx", dynamo=True, opset_version=20,
                      input_names=["x"])
    where, answer = oracle(path + ".onnx")
    return where, [{"x": RANDOM.standard_normal((4, 128)).astype(np.float32)}], answer


def jax_functions():
    import jax
    import jax.numpy as jnp
    w = [jax.random.normal(jax.random.PRNGKey(i), (256, 256)) / 16 for i in range(8)]

    def normed(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5)

    def block(x):
        heads = [(normed(x) @ w[i]).reshape(*x.shape[:2], 4, 64) for i in range(3)]
        scores = jnp.einsum("bqhd,bkhd->bhqk", heads[0], heads[1]) / 8
        seen = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), heads[2])
        x = x + seen.reshape(x.shape) @ w[3]
        return x + jax.nn.gelu(normed(x) @ w[4]) @ w[5]

    def recurrent(x):
        def step(carried, now):
            carried = jnp.tanh(now @ w[6] + carried @ w[7])
            return carried, carried
        begin = jnp.zeros((x.shape[0], 256))
        return jnp.swapaxes(jax.lax.scan(step, begin, jnp.swapaxes(x, 0, 1))[1], 0, 1)

    window = jax.random.normal(jax.random.PRNGKey(0), (3, 3, 3, 32))

    def convolved(x):
        return jax.nn.relu(jax.lax.conv_general_dilated(
            x, window, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))

    def repeated(x):
        return jax.lax.while_loop(lambda c: c[1] < 5,
                                  lambda c: (jnp.sin(c[0]) * 1.1, c[1] + 1), (x, 0))[0]

    def chosen(x):
        return jax.lax.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, x)

    return {"block": (block, ("B", "S", 256), (2, 128, 256)),
            "scan": (recurrent, ("B", 16, 256), (2, 16, 256)),
            "convolution": (convolved, ("B", 64, 64, 3), (2, 64, 64, 3)),
            "while": (repeated, ("B", 64), (3, 64)), "cond": (chosen, (4, 64), (4, 64))}


def jax_export(name):
    def export(path):
        from jax2onnx import to_onnx
        function, shape, sizes = jax_functions()[name]
        onnx.save(to_onnx(function, [shape]), path + ".onnx")
        where, answer = oracle(path + ".onnx")
        feed = onnx.load(where, load_external_data=False).graph.input[0].name
        return where, [{feed: RANDOM.standard_normal(sizes).astype(np.float32)}], answer
    return export


ALL = [
    ("resnet18", "nncf", rewritten(resnet, nncf_quantised)),
    ("bert", "nncf", rewritten(bert, nncf_quantised)),
    ("bert-w8", "nncf", rewritten(bert, nncf_weights("INT8_ASYM"))),
    ("bert-w4", "nncf", rewritten(bert, nncf_weights("INT4_SYM", group_size=64))),
    ("resnet18-f16", "onnxconverter_common", rewritten(resnet, halves)),
    ("bert-f16", "onnxconverter_common", rewritten(bert, halves)),
    ("bert", "onnxslim", rewritten(bert, slim)),
    ("bert", "onnxsim", rewritten(bert, simplified)),
    ("bert", "onnxruntime", rewritten(bert, optimized(is_half=False))),
    ("bert-f16", "onnxruntime", rewritten(bert, optimized(is_half=True))),
    ("convolutions", "brevitas", brevitas),
    ("layers-w8", "torchao", torchao),
] + [(name, "jax2onnx", jax_export(name))
     for name in ("block", "scan", "convolution", "while", "cond")]
EXPORTS = [row for row in ALL if importlib.util.find_spec(row[1])]
