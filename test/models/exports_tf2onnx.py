# ===- exports_tf2onnx.py - functions of TensorFlow as ONNX --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Keras models of exports_keras.py, and functions, through tf2onnx, with an open batch."""
import numpy as np
import tensorflow as tf
import tf2onnx
from exports_keras import MODELS

RANDOM = np.random.default_rng(5)


def convert(path, function, signature, opset, feeds):
    proto, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=opset)
    with open(path + ".onnx", "wb") as out:
        out.write(proto.SerializeToString())

    def oracle(case):
        made = function(*(tf.constant(case[s.name]) for s in signature))
        return [np.asarray(t) for t in tf.nest.flatten(made)]
    return path + ".onnx", feeds, oracle


def keras(name, opset):
    def export(path):
        tf.keras.utils.set_random_seed(3)
        model, draw = MODELS[name]()
        signature = [tf.TensorSpec([None, *model.inputs[0].shape[1:]], model.inputs[0].dtype, name="x")]
        feeds = [{"x": draw(batch, RANDOM)} for batch in (2, 3)]
        return convert(path, tf.function(lambda x: model(x)), signature, opset, feeds)
    return export


def function(call, opset, *shapes):
    def export(path):
        signature = [tf.TensorSpec([None, *shape], tf.float32, name="x%d" % i)
                     for i, shape in enumerate(shapes)]
        feeds = [{s.name: RANDOM.standard_normal([batch, *s.shape[1:]]).astype(np.float32)
                  for s in signature} for batch in (2, 5)]
        return convert(path, tf.function(call), signature, opset, feeds)
    return export


def loop(x):
    """Powers of a matrix until they are small, in a loop whose length the values decide."""
    return tf.while_loop(lambda i, y: tf.logical_and(i < 9, tf.reduce_max(tf.abs(y)) > 0.5),
                         lambda i, y: (i + 1, 0.3 * y @ tf.ones([4, 4])), [0, x])[1]


def pictures(x):
    y = tf.image.resize(x, [24, 32], method="bilinear")
    y = tf.image.per_image_standardization(y)
    return tf.nn.depth_to_space(tf.concat([y, tf.nn.avg_pool2d(y, 3, 1, "SAME"), y, -y], -1), 2)


def strange(x, y):
    z = tf.einsum("bij,bjk->bik", x, y)
    z = tf.where(z > 0, tf.math.cumsum(z, 1), tf.reverse(z, [2]))
    best = tf.math.top_k(tf.reshape(z, [-1, 20]), 3)
    return best.values, tf.one_hot(best.indices, 20), tf.linalg.band_part(z, 1, 1)


# Of a Gelu tf2onnx writes an operator that ONNX does not have.
EXPORTS = [(name, "tf2onnx %d" % opset, keras(name, opset)) for name, opset in [
    ("images", 13), ("lstm", 15), ("gru", 17), ("upscaling", 18)]]
EXPORTS += [("loop", "tf2onnx 17", function(loop, 17, (4,))),
            ("pictures", "tf2onnx 18", function(pictures, 18, (12, 16, 3))),
            ("strange", "tf2onnx 15", function(strange, 15, (4, 3), (3, 5)))]
