# ===- exports_quantised.py - models that ONNX Runtime's tools quantised ------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A convolutional network and a transformer in three ways: dynamic, static with
QuantizeLinear and DequantizeLinear, static with operators on integers; and weights of four bits.
Where torchvision, timm and transformers are installed, networks of theirs, too, of fixed and open
batch. What is right is what ONNX Runtime computes of the same file."""
import os

import numpy as np
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_dynamic, quantize_static)

import onnx_families


def images(seed, batch=2):
    return {"x": np.random.default_rng(seed).standard_normal((batch, 3, 32, 32)).astype(np.float32)}


def convolutions(path):
    import onnx
    from onnx import helper, numpy_helper
    random = np.random.default_rng(5)

    def weights(name, *shape):
        scale = np.sqrt(2 / np.prod(shape[1:]))
        return numpy_helper.from_array((random.standard_normal(shape) * scale).astype(np.float32), name)
    held = [weights("w0", 16, 3, 3, 3), weights("b0", 16), weights("w1", 16, 1, 3, 3),
            weights("w2", 32, 16, 1, 1), weights("w3", 10, 32)]
    nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["a"], pads=[1] * 4, strides=[2, 2]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w1"], ["c"], pads=[1] * 4, group=16),
             helper.make_node("Add", ["b", "c"], ["d"]),
             helper.make_node("Conv", ["d", "w2"], ["e"]), helper.make_node("Sigmoid", ["e"], ["f"]),
             helper.make_node("Mul", ["e", "f"], ["g"]),
             helper.make_node("GlobalAveragePool", ["g"], ["h"]),
             helper.make_node("Flatten", ["h"], ["i"]),
             helper.make_node("Gemm", ["i", "w3"], ["y"], transB=1)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["batch", 3, 32, 32])],
        [helper.make_tensor_value_info("y", 1, ["batch", 10])], held)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)
    return [images(20), images(21, 3)]


def transformer(path):
    made = onnx_families.bert(path, hidden=64, heads=4, blocks=2)
    return made[1][:2]


def exported(build, operands, is_open):
    """A network of PyTorch's with batch normalisation folded, as the quantiser wants it."""
    def network(path):
        import torch
        from onnxruntime.quantization.shape_inference import quant_pre_process
        torch.manual_seed(7)
        module, shown = build().eval(), operands(2)
        names = ["x%d" % i for i in range(len(shown))]
        axes = {n: {0: "batch"} for n in names} if is_open else None
        torch.onnx.export(module, shown, path + ".raw", input_names=names, output_names=["y"],
                          opset_version=17, dynamo=False, dynamic_axes=axes)
        quant_pre_process(path + ".raw", path, skip_symbolic_shape=True)
        os.remove(path + ".raw")
        return [dict(zip(names, (o.numpy() for o in operands(2)))) for _ in range(2)]
    return network


def libraries():
    """Networks of PyTorch's libraries by name: what builds them, and operands."""
    try:
        import timm
        import torch
        import torchvision
        import transformers
    except ImportError:
        return {}

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.BertModel(transformers.BertConfig(
                vocab_size=200, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                intermediate_size=256, max_position_embeddings=64))

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask)[0]

    def classifier(name, size):
        return (lambda: timm.create_model(name, pretrained=False) if "vit" in name
                else torchvision.models.get_model(name, weights=None),
                lambda batch: (torch.randn(batch, 3, size, size),))
    return {"mobilenet_v2": classifier("mobilenet_v2", 96),
            "mobilenet_v3_small": classifier("mobilenet_v3_small", 96),
            "resnet18": classifier("resnet18", 96),
            "vit_tiny_patch16_224": classifier("vit_tiny_patch16_224", 224),
            "bert": (Bert, lambda batch: (torch.randint(0, 200, (batch, 24)),
                                          torch.ones(batch, 24, dtype=torch.int64)))}


class Samples(CalibrationDataReader):
    def __init__(self, cases):
        self.cases = iter(cases)

    def get_next(self):
        return next(self.cases, None)


def quantised(network, way):
    def export(path):
        import exports
        plain, made = path + ".float.onnx", path + ".onnx"
        cases = network(plain)
        if way == "dynamic":
            quantize_dynamic(plain, made, weight_type=QuantType.QInt8)
        elif way == "4 bits":
            from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
            import onnx
            worker = MatMulNBitsQuantizer(onnx.load(plain), block_size=32, is_symmetric=True)
            worker.process()
            worker.model.save_model_to_file(made)
        else:
            static, signed = way.split()
            quantize_static(plain, made, Samples(cases), per_channel=signed == "channels",
                            quant_format=QuantFormat.QDQ if static == "QDQ" else QuantFormat.QOperator,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        os.remove(plain)
        engine = exports.session(made)
        return made, cases, lambda case: engine.run(None, case)
    return export


WAYS = ("dynamic", "QDQ tensors", "QDQ channels", "QOperator tensors", "QOperator channels", "4 bits")
NO_PRODUCTS = ("convolutions", "mobilenet_v2", "mobilenet_v3_small", "resnet18")
NETWORKS = [("convolutions", "", convolutions), ("transformer", "", transformer)]
NETWORKS += [(name, " open" if is_open else " fixed", exported(*network, is_open))
             for name, network in libraries().items() for is_open in (False, True)]


def is_comparable(name, way):
    """Layers of a ViT of random weights make one byte's step 0.02 to 0.25 of the result. With operators
    on integers by tensors the first is one of block 0's softmax, 1.6e-8 of a step from the middle
    of two: weir's is what f64 rounds to. In the other ways ONNX Runtime is 0.02 to 0.08 from itself
    where its LayerNormalization and Softmax compute in f64. Fed the same, the other nodes of the
    first blocks have equal bytes."""
    return way == "4 bits" if name.startswith("vit") else way != "4 bits" or name not in NO_PRODUCTS


EXPORTS = [(name, way + size, quantised(network, way)) for name, size, network in NETWORKS
           for way in WAYS if is_comparable(name, way)]
