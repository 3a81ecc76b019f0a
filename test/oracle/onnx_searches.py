#===- onnx_searches.py - Searches for tokens, around small decoders -----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""com.microsoft's GreedySearch, Sampling, BeamSearch and WhisperBeamSearch, whose decoders
test/models/searches.py makes."""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

from cases import Reject
from onnx_decoders import Whole, integers, maybe, one
from values import pick

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import searches  # noqa: E402


class Tokens:
    """A vocabulary, and what searches of all kinds are given."""

    def __init__(self, random, vocabulary, is_alone=False):
        """`is_alone`: the decoder's scores are one row. Of several, ONNX Runtime takes each for as
        long as vocab_size."""
        self.random, self.vocabulary = random, vocabulary
        self.end = int(random.integers(vocabulary))
        self.padding = pick(random, [self.end, int(random.integers(vocabulary))])
        self.never = random.random() < 0.2
        if self.never:
            self.end = vocabulary + int(random.integers(3))
        self.attributes = {"eos_token_id": self.end, "pad_token_id": self.padding}
        if random.random() < 0.4:
            self.attributes["no_repeat_ngram_size"] = pick(random, [0, 1, 2, 3, 7])
        if random.random() < 0.3:
            self.attributes["vocab_size"] = max(vocabulary - 2 * is_alone, 2)
        self.scored = self.attributes.get("vocab_size", vocabulary)
        self.never &= self.end >= self.scored

    def prompts(self, batch, length):
        ids = integers(self.random, 0, self.vocabulary - 1, batch, length)
        for row in ids:
            if self.random.random() < 0.4:  # padded in front, but for the last one
                row[:int(self.random.integers(length))] = self.padding
        return ids

    def masks(self, batch):
        """vocab_mask and prefix_vocab_mask, which leave a token."""
        def mask(*shape):
            made = integers(self.random, 0, 1, *shape)
            # Of tokens that are all forbidden none is the likeliest: one is left beside the end.
            left = [t for t in range(self.scored) if t not in (self.end, self.padding)]
            if not left:
                raise Reject("no token beside the end")
            made[..., pick(self.random, left)] = 1
            return made
        words = maybe(self.random, 0.3, lambda: mask(self.scored))
        if not self.never and self.padding != self.end:  # so that padding is an end (filled())
            words = mask(self.scored) if words is None else words
            words[self.end] = 1
            words[self.padding:self.padding + 1] = 0
        return words, maybe(self.random, 0.3, lambda: mask(batch, self.scored))

    def attended(self, batch, length):
        def mask():
            made = integers(self.random, 0, 1, batch, length)
            made[:, -1] = 1
            return made
        return maybe(self.random, 0.2, mask)

    def least(self, most):
        return maybe(self.random, 0.5, lambda: one(int(self.random.integers(0, most + 3))))

    def penalty(self):
        return maybe(self.random, 0.5, lambda: one(pick(self.random, [1.0, 1.3, 0.7, 2.5])))


def sizes(random):
    """Prompts, tokens of each, and tokens that sequences may have."""
    length = pick(random, [1, 1, 2, 3, 5, 9])
    return pick(random, [1, 1, 2, 3]), length, length + pick(random, [1, 1, 2, 3, 7, 12])


# Where an encoder has called the decoder, ONNX Runtime calls it again without operands if a single
# token is wanted; of_beams and of_audio ask for two.


def decoders(random, tokens):
    decoder = searches.gpt(random, pick(random, [1, 2]), tokens.vocabulary)
    return {"decoder": decoder, "init_decoder": decoder} if random.random() < 0.3 else {"decoder": decoder}


def of_one(random, draws=False):
    batch, length, most = sizes(random)
    # Of few tokens rules may forbid all, and what is drawn of equals hangs on their order.
    tokens = Tokens(random, pick(random, [20, 33] if draws else [2, 3, 5, 20, 33]), batch * length == 1)
    inputs = [tokens.prompts(batch, length), one(most), tokens.least(most), tokens.penalty(),
              *tokens.masks(batch), tokens.attended(batch, length)]
    attributes = {**tokens.attributes, **decoders(random, tokens)}
    if draws:
        inputs += [None, one(pick(random, [0, 1, 7, 12345, 2147483646, 2147483647]))]
        attributes["top_p"] = pick(random, [0.1, 0.5, 0.8, 0.9, 1.0])
        for name, options in (("temperature", [0.5, 1.0, 2.0]), ("min_tokens_to_keep", [0, 1, 3]),
                              ("filter_value", [-1e20, -5.0]), ("custom", [0, 1])):
            if random.random() < 0.4:
                attributes[name] = pick(random, options)
        if attributes.get("min_tokens_to_keep", 0) >= tokens.scored:
            del attributes["min_tokens_to_keep"]
    return Whole(inputs, attributes)


def of_beams(random):
    tokens = Tokens(random, pick(random, [5, 9, 20, 33]))
    batch, length, most = sizes(random)
    kind = pick(random, ["gpt", "gpt", "encoder", "encoder alone", "encoder with states"])
    if kind == "gpt":
        graphs = decoders(random, tokens)
    else:
        encoder, decoder = searches.with_encoder(
            random, pick(random, [1, 2]), calls_first=kind != "encoder alone",
            wants_states=kind == "encoder with states", vocabulary=tokens.vocabulary)
        graphs = {"encoder": encoder, "decoder": decoder, "model_type": 1,
                  "decoder_start_token_id": int(random.integers(tokens.vocabulary))}
        most = most - length + 1  # of the decoder, which begins with one token
        if kind != "encoder alone":
            most = max(most, 3)
    return beams(random, tokens, tokens.prompts(batch, length), most, graphs,
                 tokens.attended(batch, length), is_short=most == (1 if kind != "gpt" else length) + 1)


def beams(random, tokens, first, most, graphs, attended, is_short):
    count = pick(random, [1, 2, 2, 3, 4])
    returned = int(random.integers(1, count + 1))
    # ONNX Runtime asks for min_length and length_penalty.
    inputs = [first, one(most), one(int(random.integers(0, most + 3))), one(count), one(returned),
              one(pick(random, [1.0, 0.0, 2.0, -1.0, 0.5])), tokens.penalty(),
              *tokens.masks(len(first)), attended]
    attributes = {**tokens.attributes, **graphs}
    if random.random() < 0.5:
        attributes["early_stopping"] = int(random.integers(2))
    # Scores of steps that never come ONNX Runtime leaves as memory was.
    return Whole(inputs, attributes, pick(random, [1, 2, 3, 3]) if is_short or tokens.never else
                 pick(random, [1, 2]))


def of_audio(random):
    vocabulary = pick(random, [12, 60, 75])
    tokens = Tokens(random, vocabulary)
    if tokens.end >= tokens.scored:  # which its rules need
        tokens.end, tokens.never = 0, False
    tokens.attributes["eos_token_id"] = tokens.end
    encoder, decoder = searches.with_encoder(random, pick(random, [1, 2]), features=5, vocabulary=vocabulary)
    batch, start, most = sizes(random)
    first = int(vocabulary * 2 // 3)
    graphs = {"encoder": encoder, "decoder": decoder, "model_type": 2, "decoder_start_token_id": first // 2,
              "beginning_timestamp_token_id": first, "no_timestamps_token_id": first - 1,
              "start_of_lm_token_id": first - 2, "translate_token_id": first // 2 + 1,
              "transcribe_token_id": first // 2 + 2}
    ids = maybe(random, 0.8, lambda: integers(random, 0, vocabulary - 1, batch, start))
    if ids is None:
        most, start = most - start + 1, 1
    most = max(most, start + 2)
    features = random.standard_normal((batch, 5, pick(random, [1, 2, 7]))).astype(np.float32)
    made = beams(random, tokens, features, most, graphs, None, is_short=most == start + 1)
    inputs = made.inputs + [None] * (10 - len(made.inputs)) + [
        ids, maybe(random, 0.8, lambda: one(int(random.integers(2)))), None, None,
        maybe(random, 0.3, lambda: one(pick(random, [0.7, 1.0, 0.0, 2.0])))]
    return Whole(inputs, made.attributes, made.count)


MAKERS = {"GreedySearch": of_one, "Sampling": lambda random: of_one(random, True),
          "BeamSearch": of_beams, "WhisperBeamSearch": of_audio}


def scores_of(decoder):
    """How many scores the graph gives for a token."""
    return decoder.output[0].type.tensor_type.shape.dim[-1].dim_value


def filled(model, feeds, results):
    """Results of ONNX Runtime's for a model of one node, with padding where GreedySearch and Sampling
    write nothing: behind the end of the longest sequence."""
    graph = onnx.load_model_from_string(model).graph
    node = graph.node[0]
    if node.op_type not in ("GreedySearch", "Sampling"):
        return results
    held = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    first = node.input[0]
    begin = (feeds[first] if first in feeds else held[first]).shape[1]
    attributes = {a.name: a for a in node.attribute}
    scored = attributes["vocab_size"].i if "vocab_size" in attributes else \
        scores_of(attributes["decoder"].g)
    if attributes["eos_token_id"].i >= scored:  # no sequence ends
        return results
    # A sequence's end is said as padding, which nothing else is (Tokens.masks).
    padding, sequences = attributes["pad_token_id"].i, results[0].copy()
    ends = sequences[:, begin:] == padding
    if ends.size and np.all(np.any(ends, axis=1)):
        sequences[:, begin + int(np.max(np.argmax(ends, axis=1))) + 1:] = padding
    return [sequences, *results[1:]]
