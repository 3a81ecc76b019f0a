#===- shapes.py - Drawing operands by rules ----------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Shapes and contents of an operation's operands, by the rules of onnx_roles.py and
tf_roles.py (the language of rules stands in the first)."""
import math
import re

import numpy as np

import values
from cases import Reject

PART = re.compile(r"(\w+)\[(.*?)\](?:\{(\w+)\})?(~?)(?::(\S+))?")


class Operands:
    """Sizes and operands of one node. Who derives from it gives `attribute(name)`."""

    def __init__(self, random, rule):
        self.random, self.sizes, self.lists, self.shapes = random, {}, {}, {}
        self.kind = values.kind_of_values(random)
        self.rule = {}
        for part in rule.split():
            match = PART.fullmatch(part)
            self.rule[match[1]] = match.groups()

    @property
    def first(self):
        return next(iter(self.shapes.values()), [])

    # Sizes -----------------------------------------------------------------------

    def pick(self, options):
        return values.pick(self.random, options)

    def size(self, word):
        if word not in self.sizes:
            if word.islower():
                self.sizes[word] = self.pick([1, 1, 2, 3] if word != "d" else [1, 1])
                if word == "b":
                    self.sizes[word] = self.pick([1, 2, 3])
                if word == "d" and self.attribute("direction") == b"bidirectional":
                    self.sizes[word] = 2
            else:
                self.sizes[word] = values.size(self.random)
        return self.sizes[word]

    def list(self, word):
        if word not in self.lists:
            random = self.random
            if word == "K":
                self.lists[word] = [int(random.integers(1, min(max(d, 1), 3) + 1))
                                    for d in self.list("S")]
            elif word == "S":
                self.lists[word] = [values.size(random) for _ in range(self.pick([1, 2, 2, 2, 3]))]
            elif word in "BPT":
                self.lists[word] = [values.size(random) for _ in range(self.pick([0, 1, 1, 2]))]
            else:
                self.lists[word] = values.shape(random)
        return self.lists[word]

    def dims(self, text):
        shape = []
        for word in filter(None, text.split(",")):
            if word.endswith("..."):
                listed = self.list(word[:-3].lstrip("~"))
                shape += values.thinned(self.random, listed) if word.startswith("~") else listed
            elif "." in word:
                name, axis = word.split(".")
                given = self.attribute(axis)
                if len(self.shapes[name]) < 2:
                    raise Reject("rank")
                shape.append(self.shapes[name][1 if given is None else given])
            elif "@" in word:
                name, axis = word.split("@")
                shape += self.shapes[name][self.attribute(axis) or 0:]
            elif word.startswith("="):
                raise Reject("not drawn")
            else:
                product = 1
                for factor in word.rstrip("+").split("*"):
                    if factor == "#":
                        product *= len(self.shapes[next(iter(self.shapes))])
                    else:
                        product *= int(factor) if factor.isdigit() else self.size(factor)
                shape.append(product + word.count("+"))  # L+: one more than L
        return shape

    def take(self, name, rule, shape):
        """Makes the sizes of operand `name` those of `shape`, which is there already."""
        words = [w for w in rule[1].split(",") if w] if rule else None
        if rule is None:
            self.full = list(shape)
        elif rule[2] and self.attribute(rule[2]):
            shape = list(shape[:-2]) + list(shape[:-3:-1])
        if rule and rule[4] and rule[4] not in ("positive", "unit", "spd"):
            raise Reject("an operand that is no data")
        if words is not None:
            lists = [i for i, w in enumerate(words) if w.endswith("...")]
            rest = len(shape) - (len(words) - len(lists))
            if len(lists) > 1 or rest < 0 or (rest and not lists):
                raise Reject("rank")
            at = 0
            for word in words:
                if word.endswith("..."):
                    self.lists[word[:-3].lstrip("~")] = list(shape[at:at + rest])
                    at += rest
                    continue
                if not re.fullmatch(r"[A-Za-z]", word):
                    letters = [f for f in word.split("*") if f.isalpha()]
                    word, factors = letters[0], letters[1:]
                    if shape[at] == 0 or any(not f.isalpha() for f in words[0].split("*")):
                        raise Reject("size")
                    for f in factors:
                        self.sizes.setdefault(f, 1)
                if self.sizes.setdefault(word, shape[at]) != shape[at]:
                    raise Reject("size")
                at += 1
        return list(shape)

    def shape_of(self, name, rule):
        """Of an operand that has a rule."""
        _, text, swap, thin, _ = rule
        shape = self.dims(text)
        if swap and self.attribute(swap):
            shape[-2:] = shape[:-3:-1]
        if thin:
            shape = values.thinned(self.random, shape)
        return shape

    def broadcast(self, index, alone):
        """Of an operand without one."""
        if not index:
            self.full = values.shape(self.random)
            return self.full if alone or self.random.random() < 0.5 else \
                values.thinned(self.random, self.full)
        return values.thinned(self.random, getattr(self, "full", self.first))

    # Einsum ----------------------------------------------------------------------

    def draw_terms(self, count, letters, stretches=0.0):
        """Terms of an equation, and a result: few letters are there twice, few terms have an
        ellipsis. Of as many cases as `stretches` says, letters are 1 beside larger ones."""
        random, terms = self.random, []
        has_ellipsis, repeats = random.random() < 0.25, random.random() < 0.15
        for _ in range(count):
            drawn = list(random.permutation(list(letters))[:self.pick([1, 2, 3])])
            if repeats and random.random() < 0.6:
                drawn.insert(int(random.integers(len(drawn) + 1)), self.pick(drawn))
            terms.append(drawn)
        used = sorted(set(sum(terms, [])))
        out = list(random.permutation(used)[:random.integers(0, len(used) + 1)])
        if has_ellipsis:
            for term in terms + [out]:
                if term is out or random.random() < 0.7:
                    term.insert(self.pick([0, 0, len(term), int(random.integers(len(term) + 1))]), "...")
        self.terms = ["".join(term) for term in terms]
        self.stretches = random.random() < stretches
        return "".join(out)

    def term_shape(self, term):
        shape, drawn = [], {}
        for part in re.findall(r"\.\.\.|.", term):
            if part == "...":
                shape += values.thinned(self.random, self.list("B"))
                continue
            if part not in drawn:
                is_one = self.stretches and self.random.random() < 0.3
                drawn[part] = 1 if is_one else self.size(part.upper())
            shape.append(drawn[part])
        return shape

    def bind_term(self, term, shape):
        """Makes the sizes of a term those of an operand that is there."""
        before, dots, after = term.upper().partition("...")
        rest = len(shape) - len(before) - len(after)
        if rest < 0 or rest and not dots:
            raise Reject("rank")
        if dots:
            self.lists["B"] = list(shape[len(before):len(before) + rest])
        for letter, size in zip(before + after, list(shape[:len(before)]) + list(shape[len(before) + rest:])):
            if self.sizes.setdefault(letter, size) != size:
                raise Reject("size")

    # Contents --------------------------------------------------------------------

    def contents(self, role, dtype, shape):
        random, rank = self.random, len(self.first)
        role, _, word = role.partition("=")
        role, _, attribute = role.partition("@")
        role, _, later = role.partition("#")  # an operand that follows: the first axis here
        limit = 1
        if later:
            limit = min(self.first, default=0)
        elif attribute:
            axis = self.attribute(attribute) or 0
            limit = self.first[axis] if rank else 0
        elif word:
            limit = int(word) if word.isdigit() else self.size(word)
        count = math.prod(shape)
        if count > values.LARGEST:
            raise Reject("large")

        def array(numbers):
            return np.asarray(numbers).astype(dtype).reshape(shape)
        if role == "index":
            if not limit and count:
                raise Reject("nothing to index")
            low = -limit if random.random() < 0.3 and dtype.kind == "i" else 0
            return array(random.integers(low, max(limit, 1), count))
        if role == "cyclic":  # rows that differ, each said by any number that is the row modulo all
            if count > limit:
                raise Reject("more than there are")
            turns = random.integers(-2, 3, count) if random.random() < 0.4 else 0
            return array(random.permutation(limit)[:count] + limit * turns)
        if role == "unique":  # along the axis, so that the order of writes says nothing
            axis = self.attribute(attribute) or 0 if attribute else 0
            if not shape:
                raise Reject("scalar")
            if shape[axis] > limit:
                raise Reject("more than there are")
            drawn = random.permuted(np.broadcast_to(
                np.arange(limit).reshape([-1 if i == axis % len(shape) else 1
                                          for i in range(len(shape))]),
                [limit if i == axis % len(shape) else d for i, d in enumerate(shape)]), axis=axis)
            return array(np.take(drawn, np.arange(shape[axis]), axis=axis))
        if role == "any":
            return array(random.integers(-limit if dtype.kind != "u" else 0, limit + 1, count))
        if role == "weights":  # sums of products that stay of ordinary size
            return array(random.standard_normal(count) / max(shape[-1], 1) ** 0.5)
        if role == "letters":  # words, of which none is empty
            if limit < 2:
                raise Reject("no letters")
            drawn = random.integers(1, limit, shape)
            ends = random.integers(1, shape[-1] + 1, shape[:-1] + [1])
            return array(np.where(np.arange(shape[-1]) < ends, drawn, 0))
        if role == "metadata":  # SummaryMetadata, of nothing or a plugin's name
            return np.array(self.pick([b"", b"\n\x03\n\x01q"]), object)
        if role == "bytes":
            return values.elements(random, dtype, shape, "wide")
        if role == "positive":
            return array(random.random(count) * 4 + 0.01)
        if role == "spd":
            square = random.standard_normal(shape)
            full = square @ np.swapaxes(square, -1, -2) + shape[-1] * np.eye(shape[-1])
            return array(full)
        if role == "sorted":
            return array(np.sort(random.integers(0, max(count // 2, 1), count)))
        if role == "rising":  # pairs below 9, in order, each once; of one dimension numbers below 9
            most = 9 if len(shape) < 2 else 60
            if count and shape[0] > most:
                raise Reject("large")
            if len(shape) < 2:
                return array(np.sort(random.permutation(9)[:count]))
            cells = np.sort(random.permutation(81)[:shape[0]])
            return array(np.stack([cells // 9, cells % 9], axis=1))
        if role == "permutation":
            return array(random.permutation(count))
        if role == "nine":
            return array([9] * count)
        if role == "many":
            return array([self.sizes.get("P", 1) + 1])
        if role == "size":
            return array([limit])
        if role == "below":
            return array(random.integers(0, max(limit, 1), count))
        if role == "places":  # of the first dimensions, each once
            inner = self.first[:shape[-1]]
            cells = math.prod(inner)
            if count // shape[-1] > cells:
                raise Reject("more than there are")
            chosen = random.permutation(cells)[:count // shape[-1]]
            return array(np.stack(np.unravel_index(chosen, inner), axis=-1))
        if role == "behind":  # the batch
            return array([len(self.list("B"))])
        if role == "band":
            return array(np.sort(random.integers(-3, 4, count)))
        if role == "about":  # bounds of so many diagonals, of which one is the main one
            low = -int(random.integers(0, limit))
            return array([low, low + limit - 1])
        if role == "joined":
            return array([self.joined])
        if role == "parts":  # of two, along the axis
            if not rank:
                raise Reject("scalar")
            cut = int(random.integers(0, limit + 1))
            return array([cut, limit - cut])
        if role == "roi":
            return array(np.sort(random.random((2, count // 2)), axis=0))
        if role == "scattered":
            return np.array([self.size("V")] + self.list("T"), dtype)
        if role == "window":
            return array([1, self.pick([1, 2, 3]), self.pick([1, 2]), 1])
        if role == "minus":
            return array([-1])
        if role == "hundred":
            return array([100])
        if role == "start":
            self.starts = [int(random.integers(0, d + 1)) for d in self.first]
            return array(self.starts)
        if role == "extent":
            return array([self.pick([-1, int(random.integers(0, d - s + 1))])
                          for d, s in zip(self.first, self.starts)])
        if role == "positives":
            return array(random.integers(1, 9, count))
        if role == "newaxis":
            return array(random.integers(-rank - 1, rank + 1, count))
        if role == "b":
            return array([self.size("b")] * count)
        if role == "lasts":
            return array(self.first[len(self.first) - count:])
        if role == "low":
            return array(-random.random(count) * 4)
        if role == "high":
            return array(random.random(count) * 4 + 1)
        if role == "ones1":
            return array([self.pick([1, 3]) for _ in range(count)])
        if role == "unit":
            return array(random.random(count))
        if role == "even":
            return array(random.integers(-8, 9, count))
        if role == "step":
            return array([self.pick([1, 2, 3, -1, -2])])
        if role == "scale":
            if dtype.kind in "iu":
                return array([self.pick([1, 2, 3]) for _ in range(count)])
            return array([self.pick([0.05, 0.1, 1.0, 0.003, 0.5]) for _ in range(count)])
        if role == "fine":  # bytes times that are of ordinary size
            return array([self.pick([0.001, 0.003, 0.01]) for _ in range(count)])
        if role == "zero":
            if dtype.kind in "iu" and dtype.itemsize >= 4:  # ONNX: there is none
                return array(np.zeros(count))
            low, high = (0, 255) if dtype.kind == "u" else (-20, 20)
            return values.elements(random, dtype, shape, "plain") if dtype.kind not in "iu" else \
                array(random.integers(low, min(high, 127) + 1, count))
        if role == "zeros":
            return array(np.zeros(count))
        if role == "one":
            return array(np.ones(count))
        if role == "around":
            return array([-3, 4])
        if role == "projective":  # not far from the identity
            return array(np.array([1, 0, 0, 0, 1, 0, 0, 0]) + random.standard_normal(shape) *
                         np.array([0.2, 0.2, 2, 0.2, 0.2, 2, 0.01, 0.01]))
        if role == "splits":  # rows of a ragged tensor of so many values
            if not count:
                raise Reject("no rows")
            inner = np.sort(random.integers(0, limit + 1, count))
            inner[0], inner[-1] = 0, limit if count > 1 else 0
            return array(inner)
        if role == "codes":
            return array(random.choice([0, 65, 98, 228, 0x20ac, 0x1f600, 0xd800, 0x110000, -1], count))
        if role == "cells":  # the 81 of two times nine
            if not 1 <= count <= 3:
                raise Reject("another rank")
            return array([[81], [27, -1], [3, -1, 9]][count - 1])
        if role in ("pattern", "rewrite", "separator", "farmhash"):
            words = {"pattern": ["a+", "(a|b)c?", "[0-9]+", "^.", "", "\\d|\\s", "x{2,}", "(.)(.)", "("],
                     "rewrite": ["", "z", "<\\0>", "\\1"], "separator": ["", " ", ",", "a", "ab"],
                     "farmhash": ["farmhash64"]}[role]
            return np.array(self.pick(words), object).reshape(shape)
        if role == "small":
            return array(random.integers(0, 7, count))
        if role == "bit":
            return array(random.integers(0, 2, count))
        if role == "count":
            return array(random.integers(0, limit + 1, count))
        if role == "length":
            return array(random.integers(1 if limit else 0, limit + 1, count))
        if role == "offset":
            return array(random.integers(-3, 4, count))
        if role == "axis":
            return array(random.integers(-rank, max(rank, 1), count))
        if role == "axes":
            chosen = random.permutation(rank)[:int(random.integers(0, rank + 1))]
            chosen = [a - (rank if random.random() < 0.3 else 0) for a in chosen]
            return np.array(chosen, dtype)
        if role == "every":
            order = random.permutation(rank)
            return array(order - (rank if random.random() < 0.3 else 0))
        if role == "mask":
            axis = self.attribute("axis")
            most = math.prod(self.first) if axis is None else self.first[axis]
            return random.random(int(random.integers(0, most + 1))) < 0.5
        if role == "ones":
            return np.array([i for i, d in enumerate(self.first) if d == 1], dtype)
        if role == "newaxes":
            return array(random.permutation(rank + count)[:count])
        if role == "steps":
            return array(random.choice([1, 1, 2, 3, -1, -2], count))
        if role == "pads":
            return array(random.integers(-1 if random.random() < 0.2 else 0, 4, count))
        if role == "repeats":
            return array(random.integers(0, 4, count))
        if role == "scales":
            kept = [1, 1] if count >= 3 else []
            return array(kept + [self.pick([1, 2, 0.5, 1.5, 3]) for _ in range(count - len(kept))])
        if role == "sizes":
            if count in (4, 5):
                inner = random.integers(1, 9, count - 2)
                return array(list(self.first[:2]) + [int(x) for x in inner])
            return array(random.integers(0, 6, count))
        if role == "four":
            return array([4] * count)
        if role == "two":
            return array([2] * count)
        if role == "full":
            full = self.lists["R"]
            return np.array(full, dtype)
        if role == "reshape":
            return np.array(self.reshaped(), dtype)
        if role in ("boxes", "rois"):
            corner = random.random((count // shape[-1] if shape[-1] else 0, 2)) * 3
            far = corner + random.random(corner.shape) * 4 + 0.1
            boxes = np.concatenate([corner, far], axis=1)
            if role == "rois":
                boxes = np.concatenate([np.zeros((len(boxes), 1)), boxes], axis=1)
            return array(boxes)
        raise KeyError(role)

    def reshaped(self):
        total = math.prod(self.first)
        shape, rest = [], total
        for factor in (2, 3, 5, 7, 4):
            if rest and rest % factor == 0 and self.random.random() < 0.6:
                shape.append(factor)
                rest //= factor
        shape.insert(int(self.random.integers(0, len(shape) + 1)), rest)
        if total and self.random.random() < 0.5:
            shape[int(self.random.integers(len(shape)))] = -1
        return shape
