#!/usr/bin/env python3
# ===- models.py - small models for the examples ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Writes text.pbtxt with vocabulary.txt, keyword.pbtxt and chat.pbtxt into a folder.

usage: models.py FOLDER
"""
import math
import os
import sys

from graph_text import FLOAT, INT, Graph


def text(folder):
    """Naive Bayes: numbers of words to probabilities of [negative, positive]."""
    sentences = [("a dull and boring film", 0), ("bad acting and a weak plot", 0),
                 ("i hated it", 0), ("what a waste of time", 0), ("a wonderful film", 1),
                 ("i loved it", 1), ("great acting and a clever plot", 1), ("what a joy", 1)]
    words = ["?"] + sorted({word for line, _ in sentences for word in line.split()})
    counts = [[1.0, 1.0] for _ in words]  # row 0 is for words that are not known
    for line, label in sentences:
        for word in line.split():
            counts[words.index(word)][label] += 1
    with open(os.path.join(folder, "vocabulary.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words) + "\n")
    g = Graph()
    table = g.const("table", [math.log(count / sum(row)) for row in counts for count in row],
                    [len(words), 2], FLOAT)
    rows = g.op("rows", "GatherV2", table, g.feed("words", INT, -1), g.const("axis", [0]),
                Tparams=FLOAT, Tindices=INT, Taxis=INT)
    evidence = g.op("evidence", "Sum", rows, "axis", T=FLOAT, Tidx=INT)
    row = g.op("row", "ExpandDims", evidence, "axis", T=FLOAT, Tdim=INT)
    g.op("probabilities", "Softmax", row)
    return g.text


def keyword(_):
    """160 samples of 8000 Hz: how much of 2000 Hz is heard soon after 500 Hz."""
    g = Graph()
    waves = [wave(2 * math.pi * hertz * i / 8000) / 80
             for i in range(160) for hertz in (500, 2000) for wave in (math.cos, math.sin)]
    frame = g.op("frame", "ExpandDims", g.feed("samples", FLOAT, 160), g.const("axis", [0]),
                 T=FLOAT, Tdim=INT)
    parts = g.op("parts", "MatMul", frame, g.const("waves", waves, [160, 4], FLOAT))
    pairs = g.op("pairs", "Reshape", g.op("power", "Square", parts),
                 g.const("two_by_two", [2, 2], [2]), T=FLOAT, Tshape=INT)
    energy = g.op("energy", "Sum", pairs, g.const("one", [1]), T=FLOAT, Tidx=INT)
    faded = g.op("faded", "Mul", g.feed("state", FLOAT, 2), g.const("fade", [0.9], (), FLOAT))
    g.op("next_state", "Maximum", faded, energy)
    gather = {"Tparams": FLOAT, "Tindices": INT, "Taxis": INT}
    before = g.op("before", "GatherV2", faded, g.const("low", [0]), "axis", **gather)
    now = g.op("now", "GatherV2", energy, g.const("high", [1]), "axis", **gather)
    g.op("score", "Mul", before, now)
    return g.text


def chat(_, size=128, length=256):
    """One head of attention over what was read: keys are characters, values what followed.

    Each call adds one pair to the caches, and asks for what follows the last character.
    """
    g = Graph()

    def character(name):
        g.const(name + "_depth", [size])
        g.feed(name, INT, 1)
        return g.op(name + "_vector", "OneHot", name, name + "_depth", "on", "off", T=FLOAT, TI=INT)

    g.const("on", [1.0], (), FLOAT)
    g.const("off", [0.0], (), FLOAT)
    key, value = character("previous"), character("last")
    place = g.op("place", "ExpandDims", g.feed("position", INT, 1), g.const("axis", [1]),
                 T=INT, Tdim=INT)
    for cache, new in (("keys", key), ("values", value)):
        g.op("next_" + cache, "TensorScatterUpdate", g.feed(cache, FLOAT, length, size), place, new,
             T=FLOAT, Tindices=INT)
    query = g.op("query", "Mul", value, g.const("sharpness", [30.0], (), FLOAT))
    flags = {"T": f"type: {FLOAT}", "transpose_b": "b: true"}
    scores = g.node("scores", "MatMul", [query, "next_keys"], flags)
    seen = g.op("seen", "MatMul", g.op("weights", "Softmax", scores), "next_values")
    g.op("logits", "Mul", seen, g.const("scale", [10.0], (), FLOAT))
    return g.text


for model in (text, keyword, chat):
    with open(os.path.join(sys.argv[1], model.__name__ + ".pbtxt"), "w", encoding="utf-8") as out:
        out.write(model(sys.argv[1]))
