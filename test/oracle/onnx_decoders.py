#===- onnx_decoders.py - Nodes whose operands are drawn together --------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""com.microsoft's attentions over caches and its LSTM with a memory: sizes that attributes, other
operands' contents and layouts decide, which rules of shapes cannot say."""
import numpy as np

import values
from cases import Reject
from values import pick


class Whole:
    """A node that was drawn at once; as onnx_single.Draw after draw()."""
    opset, bound = 1, {}

    def __init__(self, inputs, attributes, results=1, fed=()):
        """`fed`: numbers of operands that cannot be constants."""
        self.inputs, self.attributes, self.count, self.fed = list(inputs), attributes, results, fed
        while self.inputs[-1] is None:
            self.inputs.pop()

    def outputs(self):
        return self.count


def one(value):
    return np.array([value], np.float32 if isinstance(value, float) else np.int32)


def maybe(random, share, make):
    return make() if random.random() < share else None


def reals(random, *shape, dtype=np.float32, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(dtype)


def integers(random, low, high, *shape):
    """From low to high, both included."""
    return random.integers(low, high, shape, endpoint=True).astype(np.int32)


# Parameters that activations of recurrent operators take: none, alpha, or both.
ACTIVATIONS = {"Tanh": 0, "Sigmoid": 0, "Softsign": 0, "HardSigmoid": 2, "ScaledTanh": 2, "Relu": 0,
               "LeakyRelu": 1, "ThresholdedRelu": 1, "Elu": 1, "Softplus": 0, "Affine": 2}
BOUNDED = 5  # of these so many keep states in a range


def activations(random, count, is_short):
    """Attributes of so many activations; where there are many steps, of those that are bounded."""
    names = [pick(random, list(ACTIVATIONS)[:None if is_short else BOUNDED]) for _ in range(count)]
    made = {"activations": [name if random.random() < 0.8 else name.lower() for name in names]}
    # Defaults of ONNX Runtime's are 0 where ONNX has others, or none.
    own = {"ThresholdedRelu", "ScaledTanh", "Affine"}
    if random.random() < 0.7 or own & set(names):
        for least, attribute in ((1, "activation_alpha"), (2, "activation_beta")):
            numbers = [float(np.float32(random.random() * 0.9 + 0.1)) for name in names
                       if ACTIVATIONS[name] >= least]
            if numbers:
                made[attribute] = numbers
    return made


def attentive_lstm(random):
    def size(*options):
        return pick(random, options)
    steps, batch, width, hidden = size(1, 2, 3, 5), size(1, 1, 2, 3), size(1, 2, 3, 8), size(1, 2, 4, 7, 16)
    entries, depth, inner, layer = size(1, 2, 3, 5, 9), size(1, 2, 3, 6), size(1, 2, 7, 16), size(0, 0, 1, 4, 5)
    direction = pick(random, [None, "forward", "reverse", "bidirectional"])
    count = 2 if direction == "bidirectional" else 1

    def weights(*shape):
        return reals(random, count, *shape, scale=shape[-1] ** -0.5)
    inputs = [reals(random, steps, batch, width), weights(4 * hidden, width + (layer or depth)),
              weights(4 * hidden, hidden), maybe(random, 0.7, lambda: weights(8 * hidden)),
              maybe(random, 0.5, lambda: integers(random, 1, steps, batch)),
              maybe(random, 0.4, lambda: reals(random, count, batch, hidden)),
              maybe(random, 0.4, lambda: reals(random, count, batch, hidden)),
              maybe(random, 0.3, lambda: weights(3 * hidden)),
              weights(hidden, inner), weights(depth, inner), weights(inner),
              reals(random, batch, entries, depth),
              maybe(random, 0.6, lambda: integers(random, 1, entries, batch)),
              weights(hidden + depth, layer) if layer else None]
    attributes = {"hidden_size": hidden}
    if direction:
        attributes["direction"] = direction
    if random.random() < 0.3:
        attributes["input_forget"] = int(random.integers(2))
    if random.random() < 0.3:
        attributes["clip"] = pick(random, [0.5, 2.0, 0.1])
    if random.random() < 0.4:
        attributes.update(activations(random, 3 * count, True))
    return Whole(inputs, attributes, pick(random, [1, 2, 3, 3]))


def one_token(random):
    """DecoderMaskedMultiHeadAttention: of a cache, of beams' caches, or of an encoder's."""
    heads, size, beams = pick(random, [1, 2, 3]), pick(random, [1, 4, 8, 5, 17]), pick(random, [1, 1, 2, 3])
    prompts, hidden = pick(random, [1, 1, 2, 3]), heads * size
    rows = prompts * beams
    attributes = {"num_heads": heads}
    if random.random() < 0.3:
        attributes["scale"] = float(np.float32(pick(random, [0.1, 0.5, 1.0])))
    if random.random() < 0.3:
        attributes["mask_filter_value"] = pick(random, [-10000.0, -1.0, -100.0, -3.0e38])
    query, bias = reals(random, rows, 1, hidden), maybe(random, 0.4, lambda: reals(random, 3 * hidden))

    def seen(total):
        """mask_index and attention_bias of so many entries."""
        def mask():
            made = integers(random, 0, 1, rows, total)
            if random.random() < 0.8:
                made[:, -1] = 1
            return made
        return maybe(random, 0.4, mask), maybe(random, 0.4, lambda: reals(
            random, pick(random, [1, rows]), pick(random, [1, heads]), 1, total))
    if random.random() < 0.25:
        entries = pick(random, [1, 2, 5, 9, 33])
        mask, _ = seen(entries)
        return Whole([query, *(reals(random, rows, heads, entries, size) for _ in "kv"), mask, None,
                      None, None, None, None, None, bias], attributes)
    most = pick(random, [1, 2, 6, 9, 17, 40])
    past = int(random.integers(most))
    mask, added = seen(past + 1)
    # Entries of the cache beyond the past are another sequence's, and not looked at.
    attributes["past_present_share_buffer"] = 1
    asks = beams > 1 or random.random() < 0.2
    inputs = [query, *(reals(random, rows, 1, hidden) for _ in "kv"), mask, added,
              *(reals(random, rows, heads, most, size) for _ in "kv"), one(past),
              one(beams) if asks else None,
              integers(random, 0, beams - 1, prompts, beams, most) if asks else None, bias]
    return Whole(inputs, attributes, 3)


CACHES = (3, 4)  # operands of SparseAttention, which are in the memory of results 1 and 2


def layouts(random, count, blocks):
    """Blocks of keys that each block of queries sees, its own among them: CSR of each layout."""
    seen = np.tril(random.random((count, blocks, blocks)) < 0.5) | np.eye(blocks, dtype=bool)
    most = int(seen.sum((1, 2)).max()) + pick(random, [0, 0, 1])
    starts = np.zeros((count, blocks + 1), np.int32)
    columns = np.full((count, most), -1, np.int32)
    for layout in range(count):
        starts[layout, 1:] = np.cumsum(seen[layout].sum(1))
        at = np.nonzero(seen[layout])[1]
        columns[layout, :len(at)] = at
    return starts, columns


def sparse_attention(random):
    batch, keys, group = pick(random, [1, 1, 2, 3]), pick(random, [1, 2, 3]), pick(random, [1, 2, 3])
    size, block, blocks = pick(random, [16, 16, 32, 48]), pick(random, [16, 16, 32]), pick(random, [1, 2, 3, 4])
    heads, most = keys * group, block * blocks
    many = pick(random, [n for n in range(1, heads + 1) if heads % n == 0])
    total = int(random.integers(1, most + 1)) if random.random() < 0.8 else most
    length = total if random.random() < 0.6 else 1
    dtype = pick(random, [np.float32, np.float32, np.float16])
    attributes = {"num_heads": heads, "kv_num_heads": keys, "sparse_block_size": block}
    if random.random() < 0.3:
        attributes["scale"] = float(np.float32(pick(random, [0.1, 0.5, 1.0])))

    def part(count):
        return reals(random, batch, length, count * size, dtype=dtype)
    inputs = [part(heads), part(keys), part(keys)]
    if random.random() < 0.4:
        inputs = [np.concatenate(inputs, 2), None, None]
    inputs += [reals(random, batch, keys, most, size, dtype=dtype) for _ in "kv"]
    inputs += [*layouts(random, many, blocks), one(total), np.full(batch, total, np.int32)]
    if random.random() < 0.4 and size % 2 == 0:
        attributes["do_rotary"] = 1
        if random.random() < 0.5:
            attributes["rotary_interleaved"] = int(random.integers(2))
        angles = random.random((most + pick(random, [0, 3]), size // 2)) * 6
        inputs += [np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)]
    if heads * size * length * batch > values.LARGEST:
        raise Reject("large")
    return Whole(inputs, attributes, 3, CACHES)


MAKERS = {"AttnLSTM": attentive_lstm, "DecoderMaskedMultiHeadAttention": one_token,
          "SparseAttention": sparse_attention}
