# ===- exports_torchvision.py - detection, segmentation, video, flow ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""torchvision's models beyond plain classification. Detectors of random weights give all boxes nearly
the same score, and which of equals comes first the framework decides otherwise than the operators
that it exports: they are compared with ONNX Runtime."""
import torch
import torchvision
from exports_torch import row


class Detector(torch.nn.Module):
    """One image's boxes, scores and labels, and what else the model says of them."""

    def __init__(self, name, **options):
        super().__init__()
        self.detector = torchvision.models.get_model(name, weights=None, weights_backbone=None,
                                                     **options)

    def forward(self, image):
        return tuple(self.detector([image])[0].values())


class Segmenter(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.segmenter = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    def forward(self, images):
        return self.segmenter(images)["out"]


class Flow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.flow = torchvision.models.optical_flow.raft_small(weights=None)

    def forward(self, first, second):
        return self.flow(first, second, num_flow_updates=3)[-1]


def plain(name, *shape):
    return (lambda: torchvision.models.get_model(name, weights=None),
            lambda batch: (torch.randn(batch, *shape),), ({0: "batch"},))


def detector(name, **options):
    return lambda: Detector(name, **options), lambda _: (torch.rand(3, 320, 320),), ({},)


BATCH = {0: "batch"}
SCRIPT, DYNAMO, LATEST = (False, 17, True), (True, 18, True), (True, 23, True)
# Scores of random weights are low; images are not enlarged to what photographs have.
SMALL = {"min_size": 320, "max_size": 320}
KEPT = {"box_score_thresh": 0.0, "box_detections_per_img": 20, **SMALL}
EXPORTS = [
    row("googlenet", plain("googlenet", 3, 224, 224), *SCRIPT),
    row("shufflenet_v2_x0_5", plain("shufflenet_v2_x0_5", 3, 224, 224), *LATEST),
    row("regnet_x_400mf", plain("regnet_x_400mf", 3, 224, 224), *DYNAMO),
    row("swin_v2_t", plain("swin_v2_t", 3, 224, 224), *LATEST),
    row("r3d_18", plain("r3d_18", 3, 8, 64, 64), *SCRIPT),
    row("mvit_v1_b", plain("mvit_v1_b", 3, 16, 224, 224), *DYNAMO),
    row("deeplabv3_mobilenet_v3_large", (lambda: Segmenter("deeplabv3_mobilenet_v3_large"),
                                         lambda b: (torch.randn(b, 3, 160, 192),), (BATCH,)), *SCRIPT),
    row("lraspp_mobilenet_v3_large", (lambda: Segmenter("lraspp_mobilenet_v3_large"),
                                      lambda b: (torch.randn(b, 3, 160, 192),), (BATCH,)), *DYNAMO),
    row("raft_small", (Flow, lambda b: (torch.rand(b, 3, 128, 160), torch.rand(b, 3, 128, 160)),
                       (BATCH, BATCH)), False, 17, False),
] + [row(name, detector(name, **options), False, 17, False, by_runtime=True) for name, options in [
    ("ssdlite320_mobilenet_v3_large", {}), ("ssd300_vgg16", {}),
    ("fasterrcnn_mobilenet_v3_large_320_fpn", KEPT), ("retinanet_resnet50_fpn", SMALL),
    ("fcos_resnet50_fpn", SMALL), ("maskrcnn_resnet50_fpn", KEPT),
    ("keypointrcnn_resnet50_fpn", KEPT)]]
