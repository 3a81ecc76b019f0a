#===- keras3.py - a model of Keras 3, saved by TensorFlow ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Saves a network by tf.saved_model.save, whose variables then lie below Keras' own lists.

usage: keras3.py FOLDER      (FOLDER/in.npz and out.npz: an input and what Keras makes of it)
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

layers = tf.keras.layers
folder = sys.argv[1]
tf.keras.utils.set_random_seed(3)
net = tf.keras.Sequential([
    layers.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(),
    layers.Flatten(), layers.Dense(500), layers.Dense(5, activation="softmax")])
image = np.random.default_rng(0).normal(size=(2, 8, 8, 1)).astype(np.float32)
tf.saved_model.save(net, folder)
signature = tf.saved_model.load(folder).signatures["serving_default"]
fed, = signature.structured_input_signature[1]
fetched, = signature.structured_outputs
np.savez(folder + "/in.npz", **{fed: image})
np.savez(folder + "/out.npz", **{fetched: np.asarray(net(image))})
