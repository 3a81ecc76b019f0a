# ===- exports_timm.py - image models of timm ---------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Families of image classifiers, each by one of PyTorch's exporters, with an open batch."""
import timm
import torch
from exports_torch import row

# Convolutions, of all kinds; attention over patches, windows and channels; what mixes them.
NAMES = """resnet18 mobilenetv3_small_100 efficientnet_b0 convnext_atto vit_tiny_patch16_224
swin_tiny_patch4_window7_224 regnetx_002 mobilevit_xxs ghostnet_100 eva02_tiny_patch14_224 levit_128s
poolformer_s12 fastvit_t8 hrnet_w18_small xcit_nano_12_p16_224 edgenext_xx_small repvgg_a0
tf_efficientnetv2_b0 dla34 davit_tiny halonet26t pvt_v2_b0 resnest14d nextvit_small""".split()
WAYS = [(False, 17, True), (True, 18, True), (True, 23, True)]


def model(name):
    size = timm.get_pretrained_cfg(name).input_size[-1]
    return (lambda: timm.create_model(name, pretrained=False),
            lambda batch: (torch.randn(batch, 3, size, size),), ({0: "batch"},))


# PyTorch's older exporter knows no attention whose mask depends on the data.
EXPORTS = [row(name, model(name), *WAYS[1 if name.startswith("eva02") else i % len(WAYS)])
           for i, name in enumerate(NAMES)]
