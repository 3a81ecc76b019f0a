#!/usr/bin/env python3
# ===- searches.py - searches for tokens against ONNX Runtime -----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs com.microsoft's GreedySearch, Sampling, BeamSearch and WhisperBeamSearch with weir and with
ONNX Runtime, on decoders with random weights whose graphs have the inputs and outputs that
onnxruntime's convert_generation gives them.

  searches.py [--weir-run=PATH] [--seeds=N] [--keep=FOLDER] [NAME...]

Needs onnx, onnxruntime and numpy. Sequences have to be equal; scores may differ by 1e-4. Of what
comes behind the end of the longest sequence, ONNX Runtime writes nothing. --keep writes each case
as one of weir-conformance's. Prints what differs, and ends with the number of cases and of those
that differ or fail.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT, FLOAT = TensorProto.INT32, TensorProto.FLOAT
VOCABULARY, WIDTH, HEADS = 20, 8, 2
END, PAD = 3, 1


class Graph:
    """A graph under construction; weights of one name are the same in all graphs of `weights`."""

    def __init__(self, rng, weights):
        self.rng, self.weights = rng, weights
        self.nodes, self.initializers, self.inputs, self.outputs = [], {}, [], []

    def node(self, op, inputs, output, domain="", **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def constant(self, name, value):
        self.initializers[name] = numpy_helper.from_array(value, name)
        return name

    def weight(self, name, rows, columns, scale=1.5):
        if name not in self.weights:
            self.weights[name] = self.rng.standard_normal((rows, columns)) * scale / rows**0.5
        return self.constant(name, self.weights[name].astype(np.float32))

    def input(self, name, kind, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, *shape):
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, shape))
        return name

    def linear(self, x, name, rows, columns, **scale):
        return self.node("MatMul", [x, self.weight(name, rows, columns, **scale)], name + ".y")

    def made(self, name):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs,
                                 list(self.initializers.values()))


def gpt(rng, layers=2, vocabulary=VOCABULARY):
    """A decoder alone, with positions and caches of keys and values in one."""
    g = Graph(rng, {})
    ids, places, mask = (g.input(name, INT, "batch", length) for name, length in (
        ("input_ids", "length"), ("position_ids", "length"), ("attention_mask", "total")))
    words = g.node("Gather", [g.weight("words", vocabulary, WIDTH, scale=4), ids], "word")
    at = g.node("Gather", [g.weight("places", 64, WIDTH, scale=6), places], "place")
    x = g.node("Add", [words, at], "x")
    g.output("logits", "batch", "length", vocabulary)
    ones, zeros = g.constant("ones", np.ones(WIDTH, np.float32)), g.constant(
        "zeros", np.zeros(3 * WIDTH, np.float32))
    for i in range(layers):
        past = g.input("past_%d" % i, FLOAT, 2, "batch", HEADS, "past", WIDTH // HEADS)
        present = g.output("present_%d" % i, 2, "batch", HEADS, "total", WIDTH // HEADS)
        y = g.node("LayerNormalization", [x, ones], "norm%d" % i, axis=-1)
        g.node("Attention", [y, g.weight("qkv%d" % i, WIDTH, 3 * WIDTH), zeros, mask, past],
               ["seen%d" % i, present], "com.microsoft", num_heads=HEADS, unidirectional=1)
        x = g.node("Add", [x, g.linear("seen%d" % i, "mix%d" % i, WIDTH, WIDTH)], "mixed%d" % i)
        y = g.node("Tanh", [g.linear(x, "wide%d" % i, WIDTH, 2 * WIDTH)], "bent%d" % i)
        x = g.node("Add", [x, g.linear(y, "narrow%d" % i, 2 * WIDTH, WIDTH)], "out%d" % i)
    g.node("MatMul", [x, g.weight("scores", WIDTH, vocabulary)], "logits")
    return g.made("decoder")


def heads(g, x):
    shape = g.constant("split", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    y = g.node("Reshape", [x, shape], x + ".split")
    return g.node("Transpose", [y], x + ".heads", perm=[0, 2, 1, 3])


def attention(g, name, q, k, v, bias=None):
    turned = g.node("Transpose", [k], name + ".kt", perm=[0, 1, 3, 2])
    scores = g.node("MatMul", [q, turned], name + ".qk")
    if bias:
        scores = g.node("Add", [scores, bias], name + ".masked")
    weights = g.node("Softmax", [scores], name + ".weights", axis=-1)
    y = g.node("MatMul", [weights, v], name + ".v")
    y = g.node("Transpose", [y], name + ".back", perm=[0, 2, 1, 3])
    return g.node("Reshape", [y, g.constant("join", np.array([0, 0, WIDTH], np.int64))], name)


def decoder_of(g, ids, own, encoded, bias, layers, vocabulary):
    """The decoder's layers: caches `own` (or none) grow, those of the encoder do not."""
    x = g.node("Gather", [g.weight("words", vocabulary, WIDTH, scale=4), ids], "word")
    for i in range(layers):
        made = []
        for j, part in enumerate(("key", "value")):
            new = heads(g, g.linear(x, "own_%s%d" % (part, i), WIDTH, WIDTH))
            present = "present_%s_self_%d" % (part, i)
            made.append(g.node("Concat", [own[2 * i + j], new], present, axis=2) if own else
                        g.node("Identity", [new], present))
        q = heads(g, g.linear(x, "own_query%d" % i, WIDTH, WIDTH))
        y = attention(g, "own%d" % i, q, *made)
        x = g.node("Add", [x, g.linear(y, "own_mix%d" % i, WIDTH, WIDTH)], "first%d" % i)
        q = heads(g, g.linear(x, "query%d" % i, WIDTH, WIDTH))
        y = attention(g, "looked%d" % i, q, encoded[2 * i], encoded[2 * i + 1], bias)
        x = g.node("Add", [x, g.linear(y, "mix%d" % i, WIDTH, WIDTH)], "second%d" % i)
    g.node("MatMul", [x, g.weight("scores", WIDTH, vocabulary, scale=1)], "logits")


def names(kind, of, layers):
    return ["%s_%s_%s_%d" % (kind, part, of, i) for i in range(layers) for part in ("key", "value")]


def with_encoder(rng, layers=2, calls_first=True, features=0, wants_states=False,
                 vocabulary=VOCABULARY):
    """An encoder of tokens, or of features, and its decoder."""
    weights, size = {}, WIDTH // HEADS
    length = "start" if features else 1

    def bias_of(g):
        mask = g.input("encoder_attention_mask", INT, "batch", "encoded")
        y = g.node("Cast", [mask], "mask.f", to=FLOAT)
        y = g.node("Sub", [y, g.constant("one", np.float32(1))], "mask.less")
        y = g.node("Mul", [y, g.constant("much", np.float32(10000))], "mask.bias")
        return g.node("Unsqueeze", [y, g.constant("axes", np.array([1, 2], np.int64))], "bias")

    g = Graph(rng, weights)
    if features:
        x = g.input("encoder_input_ids", FLOAT, "batch", features, "encoded")
        x = g.linear(g.node("Transpose", [x], "turned", perm=[0, 2, 1]), "see", features, WIDTH)
    else:
        ids = g.input("encoder_input_ids", INT, "batch", "encoded")
        x = g.node("Gather", [g.weight("read", vocabulary, WIDTH, scale=4), ids], "read.y")
    bias = None if features else bias_of(g)
    states = g.node("Tanh", [g.linear(x, "encode", WIDTH, WIDTH)], "encoder_hidden_states")
    cross = names("present", "cross", layers)
    for i, name in enumerate(cross):
        g.node("Identity", [heads(g, g.linear(states, "far%d" % i, WIDTH, WIDTH))], name)
    if calls_first:
        ids = g.input("decoder_input_ids", INT, "batch", length)
        decoder_of(g, ids, None, cross, bias, layers, vocabulary)
        g.output("logits", "batch", length, vocabulary)
        g.output(states, "batch", "encoded", WIDTH)
        for name in names("present", "self", layers):
            g.output(name, "batch", HEADS, length, size)
    for name in cross:
        g.output(name, "batch", HEADS, "encoded", size)
    encoder = g.made("encoder")

    g = Graph(rng, weights)
    ids = g.input("input_ids", INT, "batch", 1)
    bias = None if features else bias_of(g)
    if wants_states:
        g.input(states, FLOAT, "batch", "encoded", WIDTH)
    own = [g.input(name, FLOAT, "batch", HEADS, "past", size)
           for name in names("past", "self", layers)]
    encoded = [g.input(name, FLOAT, "batch", HEADS, "encoded", size)
               for name in names("past", "cross", layers)]
    g.output("logits", "batch", 1, vocabulary)
    for name in names("present", "self", layers):
        g.output(name, "batch", HEADS, "total", size)
    decoder_of(g, ids, own, encoded, bias, layers, vocabulary)
    return encoder, g.made("decoder")


def search(op, graphs, inputs, outputs, **attributes):
    """A model of one search; `inputs` are (name, value, names of its sizes) or None."""
    node = helper.make_node(op, [i[0] if i else "" for i in inputs], outputs, "search",
                            domain="com.microsoft", eos_token_id=END, pad_token_id=PAD,
                            **attributes)
    for name, graph in graphs.items():
        node.attribute.append(helper.make_attribute(name, graph))
    fed = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), sizes)
           for name, value, sizes in filter(None, inputs)]
    given = [helper.make_tensor_value_info(name, FLOAT if i else INT, None)
             for i, name in enumerate(outputs)]
    graph = helper.make_graph([node], "searches", fed, given)
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    return model, {name: value for name, value, _ in filter(None, inputs)}


def one(name, value):
    return name, np.array([value], np.float32 if isinstance(value, float) else np.int32), [1]


def prompts(rng, batch, length):
    ids = rng.integers(4, VOCABULARY, (batch, length)).astype(np.int32)
    if batch > 1 and length > 1:
        ids[-1, 0] = PAD
    return "input_ids", ids, ["batch", "length"]


def masks(rng, batch):
    words = (rng.random(VOCABULARY) > 0.2).astype(np.int32)
    words[END] = 1
    first = (rng.random((batch, VOCABULARY)) > 0.5).astype(np.int32)
    return [("vocab_mask", words, [VOCABULARY]), ("prefix_vocab_mask", first,
                                                  ["batch", VOCABULARY])]


def attended(batch, length):
    mask = np.ones((batch, length), np.int32)
    mask[0, length // 2] = 0
    return "attention_mask", mask, ["batch", "length"]


def one_sequence(rng, op="GreedySearch", batch=2, length=3, most=14, least=0, penalty=1.0,
                 masked=False, first=False, seed=None, **attributes):
    decoder = gpt(rng)
    graphs = {"decoder": decoder, "init_decoder": decoder} if first else {"decoder": decoder}
    inputs = [prompts(rng, batch, length), one("max_length", most), one("min_length", least),
              one("repetition_penalty", float(penalty))]
    if masked:
        inputs += masks(rng, batch) + [attended(batch, length)]
    if seed is not None:
        inputs += [None] * (8 - len(inputs)) + [one("seed", seed)]
    return search(op, graphs, inputs, ["sequences"], **attributes)


def beams(rng, kind="gpt", batch=2, length=3, most=12, least=0, count=3, returned=2, over=1.0,
          penalty=1.0, masked=False, steps=True, **attributes):
    graphs = {}
    if kind == "gpt":
        graphs["decoder"] = gpt(rng)
    elif kind == "gpt and first":
        graphs["decoder"] = graphs["init_decoder"] = gpt(rng)
    else:
        graphs["encoder"], graphs["decoder"] = with_encoder(
            rng, calls_first=kind != "encoder alone", wants_states=kind == "encoder with states")
        attributes.update(model_type=1, decoder_start_token_id=0)
    inputs = [prompts(rng, batch, length), one("max_length", most), one("min_length", least),
              one("num_beams", count), one("num_return_sequences", returned),
              one("length_penalty", float(over)), one("repetition_penalty", float(penalty))]
    if masked:
        inputs += masks(rng, batch) + [attended(batch, length)]
    return search("BeamSearch", graphs, inputs,
                  ["sequences", "sequences_scores"] + ["scores"] * steps, **attributes)


def audio(rng, batch=1, start=(30, 36), most=16, count=2, returned=1, timed=1, temperature=None,
          **attributes):
    vocabulary = 60
    encoder, decoder = with_encoder(rng, features=5, vocabulary=vocabulary)
    features = rng.standard_normal((batch, 5, 7)).astype(np.float32)
    inputs = [("input_features", features, ["batch", 5, "frames"]), one("max_length", most),
              one("min_length", 0), one("num_beams", count), one("num_return_sequences", returned),
              one("length_penalty", 1.0), one("repetition_penalty", 1.0), None, None, None,
              ("decoder_input_ids", np.array([start] * batch, np.int32), ["batch", "start"])
              if start else None, one("logits_processor", timed)]
    if temperature is not None:
        inputs += [None, None, one("temperature", temperature)]
    return search("WhisperBeamSearch", {"encoder": encoder, "decoder": decoder}, inputs,
                  ["sequences", "sequences_scores", "scores"], model_type=2,
                  decoder_start_token_id=30, beginning_timestamp_token_id=40,
                  no_timestamps_token_id=39, start_of_lm_token_id=38, translate_token_id=35,
                  transcribe_token_id=36, **attributes)


CASES = {
    "greedy": (one_sequence, {}),
    "greedy-of-one-token": (one_sequence, dict(batch=1, length=1)),
    "greedy-of-one-step": (one_sequence, dict(most=4)),
    "greedy-by-rules": (one_sequence, dict(length=5, most=20, least=9, penalty=1.3, masked=True,
                                           no_repeat_ngram_size=2)),
    "greedy-each-word-once": (one_sequence, dict(no_repeat_ngram_size=1)),
    "greedy-with-first-decoder": (one_sequence, dict(batch=3, length=6, first=True)),
    "sampling": (one_sequence, dict(op="Sampling", batch=3, most=24, seed=7, top_p=0.9)),
    "sampling-custom": (one_sequence, dict(op="Sampling", least=6, penalty=1.2, seed=2147483646,
                                           top_p=0.8, temperature=0.7, custom=1)),
    "sampling-kept": (one_sequence, dict(op="Sampling", seed=0, top_p=0.4, min_tokens_to_keep=3)),
    "beams": (beams, {}),
    "beams-one": (beams, dict(count=1, returned=1)),
    "beams-of-several": (beams, dict(batch=4, length=5, most=20, count=5, over=-1)),
    "beams-early": (beams, dict(count=4, returned=4, over=2, penalty=1.3, early_stopping=1)),
    "beams-by-rules": (beams, dict(most=18, least=6, penalty=1.2, masked=True,
                                   no_repeat_ngram_size=2)),
    "beams-with-first-decoder": (beams, dict(kind="gpt and first", steps=False)),
    "beams-encoder": (beams, dict(kind="encoder", most=16, over=0.5)),
    "beams-encoder-with-states": (beams, dict(kind="encoder with states", masked=True)),
    "beams-encoder-alone": (beams, dict(kind="encoder alone", batch=3, early_stopping=1)),
    "audio-timed": (audio, dict(batch=2, most=20, count=3, returned=2)),
    "audio-untimed": (audio, dict(timed=0, early_stopping=1)),
    "audio-timed-before": (audio, dict(start=(30, 36, 41), temperature=0.7)),
    "audio-without-start": (audio, dict(start=None, count=1, temperature=0.0)),
}


def ended(sequences):
    """The place behind which all sequences are padding."""
    used = np.flatnonzero((sequences != PAD).any(axis=tuple(range(sequences.ndim - 1))))
    return used[-1] + 2 if len(used) else 1


def wrong(got, want, op):
    if got[0].shape != want[0].shape:
        return "shape %s, expected %s" % (got[0].shape, want[0].shape)
    # Sequences of which all have ended are not written to their end.
    count = ended(got[0]) if op in ("GreedySearch", "Sampling") else got[0].shape[-1]
    if not np.array_equal(got[0][..., :count], want[0][..., :count]):
        return "sequences\n%s, expected\n%s" % (got[0], want[0])
    for i, (ours, theirs) in enumerate(zip(got[1:], want[1:])):
        if i == 1:  # steps behind the last one
            done = np.flatnonzero(ours.any(axis=(1, 2, 3)))
            ours, theirs = ours[:len(done)], theirs[:len(done)]
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-4, atol=1e-4):
            return "scores %s, expected %s" % (ours.ravel()[:9], theirs.ravel()[:9])
    return None


def oracle(path, feeds):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def keep(folder, model, feeds, results):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, values in (("input", feeds.values()), ("output", results)):
        for i, value in enumerate(values):
            with open(os.path.join(data, "%s_%d.pb" % (kind, i)), "wb") as out:
                out.write(numpy_helper.from_array(value).SerializeToString())
    with open(os.path.join(folder, "options.txt"), "w") as out:
        out.write("epsilons 400\n")


def check(tool, folder, name, seed, kept):
    make, arguments = CASES[name]
    model, feeds = make(np.random.default_rng(seed), **arguments)
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    wanted = oracle(path, feeds)
    np.savez(os.path.join(folder, "in.npz"), **feeds)
    done = subprocess.run([tool, path, "--input=" + os.path.join(folder, "in.npz"),
                           "--output=" + os.path.join(folder, "out.npz")],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or "ended with %d" % done.returncode
    with np.load(os.path.join(folder, "out.npz")) as results:
        got = [results[value.name] for value in model.graph.output]
    found = wrong(got, wanted, model.graph.node[0].op_type)
    if kept and not found:
        keep(os.path.join(kept, name), model, feeds, got)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir-run", default="weir-run")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    ran = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in given.names or CASES:
            for seed in range(given.seeds):
                ran += 1
                found = check(given.weir_run, folder, name, seed, given.keep)
                if found:
                    bad += 1
                    print(name, "of seed", seed, ":", found, flush=True)
    print("%d searches ran, %d of them differ or fail" % (ran, bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
