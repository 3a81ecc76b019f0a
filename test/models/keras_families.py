#!/usr/bin/env python3
# ===- keras_families.py - SavedModels by Keras ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Each function trains a small network, saves it and returns its node count,
inputs to try it on, and the saved model itself as the oracle."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def oracle_of(path):
    """What the saved model itself says, and how many nodes it has."""
    loaded = tf.saved_model.load(path)
    serve = loaded.signatures["serving_default"]

    def oracle(case):
        return {name: value.numpy() for name, value in serve(
            **{key: tf.constant(value) for key, value in case.items()}).items()}

    graph = serve.graph.as_graph_def()
    nodes = len(graph.node) + sum(len(f.node_def) for f in graph.library.function)
    return nodes, oracle, loaded


def sequence_model(path, layer):
    """Classifies sequences by a recurrent layer over an embedding, with masks."""
    tf.keras.utils.set_random_seed(1)
    random = np.random.default_rng(1)
    words, length = 50, 24
    net = tf.keras.Sequential([
        tf.keras.Input((None,), dtype="int32"),
        tf.keras.layers.Embedding(words, 16, mask_zero=True),
        tf.keras.layers.Bidirectional(layer(24, return_sequences=True)),
        layer(16),
        tf.keras.layers.Dense(3, activation="softmax")])
    net.compile("adam", "sparse_categorical_crossentropy")
    x = random.integers(1, words, (64, length)).astype(np.int32)
    x[:, 16:] *= random.integers(0, 2, (64, 1)).astype(np.int32)
    net.fit(x, (x[:, 0] % 3), epochs=1, verbose=0)

    archive = tf.keras.export.ExportArchive()
    archive.track(net)
    archive.add_endpoint("serve", lambda words: {"classes": net(words, training=False)},
                         [tf.TensorSpec([None, None], tf.int32, name="words")])
    archive.write_out(path, verbose=False)
    cases = [{"words": x[:n, :l]} for n, l in ((1, 24), (5, 24), (3, 9))]
    nodes, oracle, _ = oracle_of(path)
    return nodes, cases, oracle


def lstm(path):
    return sequence_model(path, tf.keras.layers.LSTM)


def gru(path):
    return sequence_model(path, tf.keras.layers.GRU)


class TextClassifier(tf.Module):
    """Words by a vocabulary table, averaged embeddings, two dense layers."""

    def __init__(self):
        random = np.random.default_rng(2)
        words = ["good", "bad", "fine", "poor", "great", "awful", "film", "book", "the", "a"]
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
            tf.constant(words), tf.range(1, len(words) + 1, dtype=tf.int64)), 0)
        size = len(words) + 1
        self.embedding = tf.Variable(random.standard_normal((size, 8)).astype(np.float32))
        self.hidden = tf.Variable(random.standard_normal((8, 16)).astype(np.float32))
        self.out = tf.Variable(random.standard_normal((16, 2)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string, name="words")])
    def serve(self, words):
        ids = self.table.lookup(words)
        vectors = tf.gather(self.embedding, ids)
        known = tf.cast(ids > 0, tf.float32)[..., None]
        mean = tf.reduce_sum(vectors * known, 1) / (tf.reduce_sum(known, 1) + 1e-6)
        hidden = tf.nn.relu(tf.matmul(mean, self.hidden))
        return {"scores": tf.nn.softmax(tf.matmul(hidden, self.out)), "ids": ids}


def text_classifier(path):
    module = TextClassifier()
    tf.saved_model.save(module, path, signatures=module.serve.get_concrete_function())
    text = np.array([[b"the", b"film", b"good"], [b"a", b"book", b"unknown"]])
    nodes, oracle, _ = oracle_of(path)
    return nodes, [{"words": text}, {"words": text[:1, :2]}], oracle


FAMILIES = {"lstm": lstm, "gru": gru, "text_classifier": text_classifier}
