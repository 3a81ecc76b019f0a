# ===- exports_keras.py - Keras 3 in its ways of saving -----------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Keras 3 models saved by model.export, by tf.saved_model.save, and frozen into a GraphDef."""
import numpy as np
import tensorflow as tf
from keras import applications, layers, models, utils
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def images():
    given = x = layers.Input((32, 32, 3), name="x")
    x = layers.Conv2D(16, 3, 2, "same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("swish")(x)
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    x = layers.Add()([x, layers.ReLU(6.0)(y)])
    x = layers.MaxPooling2D(3, 2, "same")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return models.Model(given, layers.Dense(10, "softmax")(x)), lambda b, r: r.standard_normal(
        (b, 32, 32, 3)).astype(np.float32)


def sequence(cell):
    def build():
        given = x = layers.Input((None,), dtype="int32", name="x")
        x = layers.Embedding(40, 16, mask_zero=True)(x)
        x = layers.Bidirectional(cell(12))(x)
        return models.Model(given, layers.Dense(3)(x)), lambda b, r: r.integers(
            1, 40, (b, 9)).astype(np.int32)
    return build


def attention():
    given = x = layers.Input((8, 24), name="x")
    y = layers.MultiHeadAttention(3, 8)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    x = layers.Dense(24, "gelu")(x)
    return models.Model(given, layers.Flatten()(x)), lambda b, r: r.standard_normal(
        (b, 8, 24)).astype(np.float32)


def upscaling():
    given = x = layers.Input((8, 8, 4), name="x")
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = layers.Conv2DTranspose(6, 3, 2, "same", activation="relu")(x)
    x = layers.SeparableConv2D(5, 3, padding="same")(x)
    return models.Model(given, layers.Cropping2D(1)(x)), lambda b, r: r.standard_normal(
        (b, 8, 8, 4)).astype(np.float32)


def application():
    """A network of usual size: filters are worth being arranged ahead of time."""
    given = layers.Input((224, 224, 3), name="x")
    model = applications.MobileNetV3Small(input_tensor=given, include_top=False, pooling="avg",
                                          weights=None)
    return model, lambda b, r: r.standard_normal((b, 224, 224, 3)).astype(np.float32)


def quantized(kind):
    def build():
        given = x = layers.Input((512,), name="x")
        x = layers.Dense(1024, "relu")(x)
        model = models.Model(given, layers.Dense(256)(x))
        model.quantize(kind)
        return model, lambda b, r: r.standard_normal((b, 512)).astype(np.float32)
    return build


def save(build, way):
    def export(path):
        utils.set_random_seed(3)
        model, draw = build()
        random = np.random.default_rng(4)
        cases = [{"x": draw(b, random)} for b in (2, 3)]
        if way == "export":
            model.export(path, verbose=False)
        elif way == "saved_model":
            tf.saved_model.save(model, path)
            served = tf.saved_model.load(path).signatures["serving_default"]
            name = next(iter(served.structured_input_signature[1]))
            compiled = tf.function(model)
            return (path, [{name: case["x"]} for case in cases],
                    lambda case: [model(case[name]).numpy()], lambda case: compiled(case[name]))
        else:
            path += ".pb"
            shape = [None] + list(model.inputs[0].shape[1:])
            call = tf.function(lambda x: model(x)).get_concrete_function(
                tf.TensorSpec(shape, model.inputs[0].dtype, name="x"))
            frozen = convert_variables_to_constants_v2(call)
            tf.io.write_graph(frozen.graph, "/", path, as_text=False)
        compiled = tf.function(model)
        return path, cases, lambda case: [model(case["x"]).numpy()], lambda case: compiled(case["x"])
    return export


MODELS = {"images": images, "lstm": sequence(layers.LSTM), "gru": sequence(layers.GRU),
          "attention": attention, "upscaling": upscaling, "mobilenet_v3_small": application,
          "weights-int8": quantized("int8"), "weights-int4": quantized("int4")}
EXPORTS = [(name, way, save(build, way)) for name, build in MODELS.items()
           for way in ("export", "saved_model", "frozen")]
