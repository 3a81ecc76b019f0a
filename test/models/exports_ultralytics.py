# ===- exports_ultralytics.py - detectors as their own tool exports them -------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""ultralytics' YOLO, of random weights; `open`: batch, height and width are. What to compare with
is ONNX Runtime on the exported file."""
import logging
import os
import tempfile

os.environ["YOLO_OFFLINE"] = "1"
import numpy as np  # noqa: E402
import real_models  # noqa: E402
import torch  # noqa: E402
from ultralytics import YOLO  # noqa: E402
from ultralytics.utils import LOGGER  # noqa: E402

SIZE = 160


def make(name, opset, is_open, nms):
    def export(path):
        torch.manual_seed(7)
        # The tool writes into the current folder, and a lot on the terminal.
        LOGGER.setLevel(logging.ERROR)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                made = YOLO(name + ".yaml").export(
                    format="onnx", imgsz=SIZE, opset=opset, dynamic=is_open, nms=nms, simplify=False,
                    device="cpu", verbose=False)
                os.replace(os.path.abspath(made), path + ".onnx")
            finally:
                os.chdir(before)
        random = np.random.default_rng(1)
        shapes = [(1, 3, SIZE, SIZE)] + ([(2, 3, 192, 224)] if is_open else [])
        cases = [{"images": random.random(shape, dtype=np.float32)} for shape in shapes]
        return path + ".onnx", cases, real_models.onnx_oracle(path + ".onnx")
    return export


EXPORTS = [(name, "own %d %s%s" % (opset, "open" if is_open else "fixed", " nms" if nms else ""),
            make(name, opset, is_open, nms)) for name, opset, is_open, nms in [
                ("yolov5n", 17, True, False), ("yolov8n", 18, True, False),
                ("yolov8n-seg", 17, True, False), ("yolov9t", 17, True, False),
                ("yolov10n", 17, False, False), ("yolo11n", 19, False, True),
                ("yolo11n", 20, True, False), ("yolo11n-pose", 20, True, False),
                ("yolo11n-obb", 17, True, False), ("yolo11n-cls", 17, True, False),
                ("yolo12n", 17, True, False), ("yolo26n", 18, True, False)]]
