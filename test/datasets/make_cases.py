#===- make_cases.py - Scripted sessions over data sets ------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Writes cases of weir-conformance: a pipeline as tf.data builds it in a graph, the runs
to make in order, and what TensorFlow answers, values and errors.

    $WEIR_TF_PYTHON test/datasets/make_cases.py test/datasets/cases [REGEX]
"""
import os
import re
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))

import numpy as np
import tensorflow as tf

import cases
import tf_oracle

v1 = tf.compat.v1
Dataset = tf.data.Dataset
v1.disable_eager_execution()
MAKERS = {}


def case(maker):
    MAKERS[maker.__name__] = maker
    return maker


class Script:
    """Runs in order: of each, feeds, fetches, targets."""

    def __init__(self):
        self.runs = []

    def run(self, fetches=(), targets=(), feeds=None):
        self.runs.append(({k.name: v for k, v in (feeds or {}).items()},
                          [f.name for f in fetches], [t.name for t in targets]))

    def over(self, dataset, times, feeds=None):
        """Begins, and takes `times` elements."""
        iterator = v1.data.make_initializable_iterator(dataset)
        self.run(targets=[iterator.initializer], feeds=feeds)
        element = tf.nest.flatten(iterator.get_next())
        for _ in range(times):
            self.run(element)
        return iterator, element


def pipelines(times, *made):
    """A case of several pipelines of one graph."""
    script = Script()
    for dataset in made:
        script.over(dataset, times)
    return script


@case
def range_map_batch():
    return pipelines(6, Dataset.range(10).map(lambda x: x * 2 + 1).batch(3),
                     Dataset.range(10, 2, -3), Dataset.range(7, output_type=tf.float32),
                     Dataset.range(10).batch(3, drop_remainder=True))


@case
def slices_of_feeds():
    script = Script()
    x = v1.placeholder(tf.float32, [None, 3], "x")
    y = v1.placeholder(tf.int32, [None], "y")
    dataset = Dataset.from_tensor_slices({"x": x, "y": y}).map(
        lambda e: (e["x"] * tf.cast(e["y"], tf.float32), e["y"])).batch(2)
    random = np.random.default_rng(3)
    first = {x: random.normal(size=(5, 3)).astype(np.float32), y: np.arange(5, dtype=np.int32)}
    second = {x: random.normal(size=(2, 3)).astype(np.float32), y: np.arange(2, dtype=np.int32)}
    iterator, element = script.over(dataset, 2, first)
    # Anew, before the end.
    script.run(targets=[iterator.initializer], feeds=second)
    for _ in range(3):
        script.run(element)
    wrong = {x: second[x], y: np.arange(3, dtype=np.int32)}
    script.run(targets=[iterator.initializer], feeds=wrong)
    return script


@case
def shuffles():
    base = Dataset.range(20)
    return pipelines(12, base.shuffle(20, seed=7).batch(4), base.shuffle(5, seed=3).batch(5),
                     base.shuffle(1, seed=3).batch(9), base.shuffle(100, seed=2**40 + 3).batch(7))


@case
def shuffles_again():
    base = Dataset.range(9)
    return pipelines(6, base.shuffle(4, seed=11).repeat(3).batch(9),
                     base.shuffle(9, seed=5, reshuffle_each_iteration=False).repeat(3).batch(9),
                     base.repeat(3).shuffle(6, seed=5).batch(9),
                     base.shuffle(9, seed=5).take(4).repeat(3).batch(4))


@case
def shuffles_of_graph_seed():
    v1.set_random_seed(42)
    return pipelines(4, Dataset.range(12).shuffle(12).batch(6),
                     Dataset.range(12).shuffle(6, seed=1).batch(6))


@case
def shuffles_begun_again():
    script = Script()
    iterator, element = script.over(Dataset.range(6).shuffle(6, seed=9).batch(6), 2)
    script.run(targets=[iterator.initializer])
    script.run(element)
    return script


@case
def padded():
    ragged = Dataset.range(1, 6).map(lambda x: (tf.fill([x], x), tf.ones([2, x], tf.float32)))
    texts = Dataset.from_tensor_slices(["a", "bc", "def"]).map(
        lambda t: tf.strings.bytes_split(t))
    return pipelines(4, ragged.padded_batch(2, ([None], [3, None]), (tf.constant(-1, tf.int64), 0.5)),
                     ragged.padded_batch(3, ([6], [None, 7]), drop_remainder=True),
                     ragged.padded_batch(2, ([3], [2, None])), texts.padded_batch(2, [None], b"-"))


@case
def zipped_and_joined():
    a, b = Dataset.range(5), Dataset.range(10, 13).map(lambda x: tf.cast(x, tf.float32))
    return pipelines(5, Dataset.zip((a, b)), a.concatenate(Dataset.range(50, 52)),
                     Dataset.zip((b, a.skip(1), a.batch(2))), a.shard(2, 1))


@case
def counted():
    base = Dataset.range(4)
    return pipelines(5, base.take(2), base.take(0), base.take(-1), base.skip(3), base.skip(-1),
                     base.skip(9), base.repeat(0), base.take(0).repeat(), base.take(1).repeat())


@case
def chosen():
    base = Dataset.range(12)
    return pipelines(5, base.filter(lambda x: tf.equal(x % 3, 1)),
                     base.take_while(lambda x: x < 3), base.filter(lambda x: x > 100))


@case
def scanned():
    def step(state, x):
        total, count = state
        return (total + x, count + 1), tf.cast(total, tf.float32) / tf.cast(count + 1, tf.float32)
    dataset = Dataset.range(5).scan((np.int64(100), np.int64(0)), step)
    return pipelines(6, dataset, Dataset.range(3).scan(np.zeros(2, np.float32), lambda s, x: (
        s + tf.cast(x, tf.float32), s)))


@case
def interleaved():
    def inner(x):
        return Dataset.range(x * 10, x * 10 + x + 1)
    base = Dataset.range(5)
    return pipelines(9, base.flat_map(inner).batch(2), base.interleave(inner, 2, 1).batch(2),
                     base.interleave(inner, 3, 2).batch(2), base.interleave(inner, 9, 4).batch(2),
                     base.interleave(lambda x: Dataset.from_tensors(x).repeat(x), 2, 3).batch(2))


@case
def interleaved_beside_each_other():
    def inner(x):
        return Dataset.range(x * 10, x * 10 + x + 1).map(lambda y: y + 1)
    base = Dataset.range(5)
    return pipelines(9, base.interleave(inner, 2, 1, num_parallel_calls=2).batch(2),
                     base.interleave(inner, 3, 2, num_parallel_calls=tf.data.AUTOTUNE).batch(2))


@case
def flat_shuffles():
    base = Dataset.range(3)
    return pipelines(4, base.flat_map(lambda x: Dataset.range(6).shuffle(6, seed=4)).batch(6))


@case
def cached():
    return pipelines(5, Dataset.range(4).map(lambda x: x * x).cache().repeat(3).batch(4),
                     Dataset.range(6).shuffle(6, seed=2).cache().repeat(2).batch(6),
                     Dataset.range(3).cache().take(2).repeat(2).batch(2))


@case
def ahead():
    heavy = Dataset.range(40).map(lambda x: tf.reduce_sum(tf.cast(tf.range(x), tf.float32)),
                                  num_parallel_calls=4)
    return pipelines(8, heavy.batch(8).prefetch(2),
                     Dataset.range(5).prefetch(tf.data.AUTOTUNE).map(lambda x: -x).prefetch(1),
                     Dataset.range(9).map(lambda x: (x, tf.strings.as_string(x)),
                                          num_parallel_calls=tf.data.AUTOTUNE).batch(4))


@case
def ahead_by_parts():
    """Saved while a batch is made, elements of which were made ahead of it."""
    long = lambda x: x + tf.reduce_sum(tf.range(x % 2 + 2000000))
    return pipelines(4, Dataset.range(12).prefetch(1).map(long).batch(4).prefetch(2))


@case
def texts():
    names = Dataset.from_tensor_slices(["alpha", "", "gamma\0delta"])
    return pipelines(4, names.map(lambda t: tf.strings.join([t, t], "|")),
                     names.map(lambda t: (tf.strings.length(t), t)).batch(2))


@case
def unbatched():
    return pipelines(6, Dataset.range(5).batch(2).map(lambda x: (x, x * x)).unbatch(),
                     Dataset.from_tensors((np.arange(3), np.arange(6.0).reshape(3, 2))).unbatch())


@case
def reductions():
    script = Script()
    total = Dataset.range(6).reduce(np.int64(1), lambda s, x: s * 2 + x)
    both = Dataset.range(4).reduce((np.float32(0), np.int64(0)), lambda s, x: (
        s[0] + tf.cast(x, tf.float32) / 2, s[1] + 1))
    only = Dataset.range(3).batch(5).get_single_element()
    none = Dataset.range(0).get_single_element()
    many = Dataset.range(2).get_single_element()
    empty = Dataset.range(0).reduce(np.int64(5), lambda s, x: s + x)
    for fetched in ([total], list(both), [only], [none], [many], [empty]):
        script.run(fetched)
    return script


@case
def cardinalities():
    script = Script()
    base = Dataset.range(10)
    for dataset in (base.batch(3), base.batch(3, drop_remainder=True), base.repeat(), base.repeat(2),
                    base.take(4), base.skip(4), base.filter(lambda x: x > 1),
                    Dataset.zip((base, base.take(2))), base.concatenate(base), base.shard(3, 1),
                    base.map(lambda x: x), base.flat_map(lambda x: Dataset.range(x))):
        script.run([dataset.cardinality()])
    return script


@case
def one_shot():
    script = Script()
    iterator = v1.data.make_one_shot_iterator(Dataset.range(5).map(lambda x: x + 3).batch(2))
    element = iterator.get_next()
    for _ in range(4):
        script.run([element])
    return script


@case
def not_begun():
    script = Script()
    iterator = v1.data.make_initializable_iterator(Dataset.range(5))
    element = iterator.get_next()
    script.run([element])
    script.run(targets=[iterator.initializer])
    script.run([element])
    return script


@case
def optionals():
    script = Script()
    iterator = v1.data.make_initializable_iterator(
        Dataset.range(2).map(lambda x: (x, tf.cast(x, tf.float32) * 0.5)))
    optional = iterator.get_next_as_optional()
    has = optional.has_value()
    value = tf.cond(has, lambda: optional.get_value()[1], lambda: -1.0)
    script.run(targets=[iterator.initializer])
    for _ in range(3):
        script.run([has, value])
    return script


@case
def captured():
    script = Script()
    scale = v1.placeholder(tf.float32, [], "scale")
    variable = v1.get_variable("offset", [], tf.float32, v1.zeros_initializer(),
                               use_resource=True)
    added = variable.assign_add(10.0)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(np.arange(3), np.array(["x", "y", "z"])), "?")
    dataset = Dataset.range(6).map(lambda x: (
        tf.cast(x, tf.float32) * scale + variable.read_value(), table.lookup(x)))
    script.run(targets=[variable.initializer])
    script.run(targets=[v1.tables_initializer()])
    iterator, element = script.over(dataset, 2, {scale: np.float32(0.5)})
    script.run(targets=[added if isinstance(added, tf.Operation) else added.op])
    # What TensorFlow has made ahead of time does not count.
    script.run(targets=[iterator.initializer], feeds={scale: np.float32(2)})
    script.run(element)
    script.run(element)
    return script


@case
def wrong():
    script = Script()
    size = v1.placeholder(tf.int64, [], "size")
    script.over(Dataset.range(4).batch(size), 1, {size: np.int64(0)})
    script.over(Dataset.range(4).shuffle(size, seed=1), 0, {size: np.int64(0)})
    script.over(Dataset.range(1, 3).map(lambda x: tf.range(x)).batch(2), 2)
    script.over(Dataset.range(3).map(lambda x: 12 // (x - 1)), 4)
    script.over(Dataset.range(3).map(lambda x: 12 // (x - 1)).prefetch(2), 4)
    script.over(Dataset.range(3).map(lambda x: 12 // (x - 1), num_parallel_calls=2), 4)
    script.over(Dataset.range(5).shard(size, 1), 1, {size: np.int64(0)})
    return script


@case
def random():
    """Operations with seeds go on from element to element."""
    base = Dataset.range(4)
    script = pipelines(
        4, base.map(lambda x: (tf.random.uniform([3], seed=3), tf.random.normal([2, 2], seed=4))),
        base.map(lambda x: (tf.random.uniform([], 0, 100, tf.int32, seed=5),
                            tf.random.truncated_normal([2], seed=6))),
        base.map(lambda x: tf.random.shuffle(tf.range(6), seed=7)),
        base.map(lambda x: tf.random.categorical(tf.math.log([[1., 2., 3.], [3., 1., 1.]]), 3, seed=2)),
        base.map(lambda x: tf.random.gamma([2], [0.5, 3.0], seed=9)),
        base.map(lambda x: tf.random.poisson([2], 4.0, seed=9)))
    # Logarithms and angles are rounded otherwise.
    script.epsilons = 32
    return script


@case
def trained():
    """A pass over a data set, a step an element."""
    weights = v1.get_variable("weights", [3], tf.float32, v1.zeros_initializer(), use_resource=True)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(12, 3)).astype(np.float32)
    y = x @ np.array([1, -2, 0.5], np.float32)

    @tf.function
    def train():
        total = tf.constant(0.0)
        for a, b in Dataset.from_tensor_slices((x, y)).shuffle(12, seed=5).batch(4, True).repeat(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(a, weights) - b) ** 2)
            weights.assign_sub(0.1 * tape.gradient(loss, weights))
            total += loss
        return total
    script = Script()
    script.run(targets=[weights.initializer])
    total = tf.identity(train())
    value = weights.read_value()
    for _ in range(3):
        script.run([total])
        script.run([value])
    return script


@case
def stepped():
    """A step takes an element that was shuffled, drawn into, and made ahead (kill_test.py)."""
    sums = v1.get_variable("sums", [2], tf.float32, v1.zeros_initializer(), use_resource=True)
    dataset = Dataset.range(50).shuffle(16, seed=3).repeat().map(
        lambda i: tf.cast(i, tf.float32) + tf.random.uniform([], seed=4))
    dataset = dataset.batch(2, drop_remainder=True).map(tf.sqrt, 2, True).prefetch(3)
    element = v1.data.make_one_shot_iterator(dataset).get_next()
    script = Script()
    script.run(targets=[sums.initializer])
    total = tf.identity(sums.assign_add(tf.reshape(element, [2])), "total")
    for _ in range(6):
        script.run([total])
    return script


@case
def loops():
    """What autograph makes of loops over data sets."""
    @tf.function
    def total(limit):
        result = tf.constant(0, tf.int64)
        for x in Dataset.range(limit).map(lambda x: x + 1):
            if x % 2 == 0:
                result += x
        return result

    @tf.function
    def first_above(limit):
        found = tf.constant(-1, tf.int64)
        for x in Dataset.range(100):
            if x * x > limit:
                found = x
                break
        return found

    @tf.function
    def epochs(limit):
        seen = tf.zeros([0], tf.int64)
        dataset = Dataset.range(4).shuffle(4, seed=6)
        for _ in range(3):
            for batch in dataset.batch(4):
                tf.autograph.experimental.set_loop_options(
                    shape_invariants=[(seen, tf.TensorShape([None]))])
                seen = tf.concat([seen, batch + limit], 0)
        return seen

    @tf.function
    def stepwise(limit):
        iterator = iter(Dataset.range(5).map(lambda x: (x, x * limit)))
        a = next(iterator)
        b = next(iterator)
        return a[1] + b[1]
    script = Script()
    for limit in (0, 7, 30):
        feed = v1.placeholder(tf.int64, [], "limit%d" % limit)
        script.run([total(feed), first_above(feed), stepwise(feed)], feeds={feed: np.int64(limit)})
        script.run([epochs(feed)], feeds={feed: np.int64(limit)})
    return script


def write_files(folder):
    os.makedirs(os.path.join(folder, "files"))
    with open(os.path.join(folder, "files", "a.txt"), "w", newline="") as out:
        out.write("one\ntwo\r\n\nlast")
    with open(os.path.join(folder, "files", "b.txt"), "w") as out:
        out.write("b1\nb2\n")
    with open(os.path.join(folder, "files", "fixed.bin"), "wb") as out:
        out.write(b"HEAD" + b"abcdefghi" + b"FF")
    with open(os.path.join(folder, "files", "odd.bin"), "wb") as out:
        out.write(b"HEAD" + b"abcdefgh" + b"FF")
    for name, kind in (("plain", ""), ("zlib", "ZLIB"), ("gzip", "GZIP")):
        with tf.io.TFRecordWriter(os.path.join(folder, "files", name + ".tfrecord"), kind) as out:
            for i in range(3):
                out.write(("%s %d " % (name, i)).encode() * (i + 1))
    with open(os.path.join(folder, "files", "plain.tfrecord"), "rb") as whole:
        text = whole.read()
    for name, bytes in (("cut", text[:-3]), ("cut_head", text + text[:6]),
                        ("flipped", text[:14] + b"#" + text[15:])):
        with open(os.path.join(folder, "files", name + ".tfrecord"), "wb") as out:
            out.write(bytes)


@case
def files():
    path = "files/%s"
    records = [tf.data.TFRecordDataset([path % "plain.tfrecord", path % "plain.tfrecord"]),
               tf.data.TFRecordDataset(path % "zlib.tfrecord", "ZLIB"),
               tf.data.TFRecordDataset(path % "gzip.tfrecord", "GZIP"),
               tf.data.TFRecordDataset(path % "cut.tfrecord"),
               tf.data.TFRecordDataset(path % "cut_head.tfrecord"),
               tf.data.TFRecordDataset([path % "flipped.tfrecord", path % "plain.tfrecord"]),
               tf.data.TFRecordDataset(path % "nowhere")]
    lines = [tf.data.TextLineDataset([path % "a.txt", path % "b.txt"]),
             tf.data.TextLineDataset(path % "a.txt").skip(1).map(tf.strings.length)]
    fixed = [tf.data.FixedLengthRecordDataset(path % "fixed.bin", 3, 4, 2),
             tf.data.FixedLengthRecordDataset(path % "odd.bin", 3, 4, 2)]
    script = pipelines(7, *(records + lines + fixed))
    script.hasFiles = True
    return script


def make(name, folder):
    if os.path.exists(folder):
        shutil.rmtree(folder)
    with tf.Graph().as_default() as graph:
        script = MAKERS[name]()
        definition = graph.as_graph_def()
    made = cases.Case("tf", name, definition, [r[0] for r in script.runs], ())
    made.fetches = [r[1] for r in script.runs]
    made.targets = [r[2] for r in script.runs]
    made.epsilons = getattr(script, "epsilons", 4)
    os.makedirs(folder)
    if getattr(script, "hasFiles", False):
        write_files(folder)
    before = os.getcwd()
    os.chdir(folder)
    answer = tf_oracle.answer((definition.SerializeToString(), script.runs))
    os.chdir(before)
    if answer[0] == "refused":
        sys.exit("%s: %s" % (name, answer[1]))
    made.results = answer[1]
    cases.write_script(made, folder)
    errors = sum(isinstance(r, tuple) for r in made.results)
    print("%-32s %3d runs, %d of them errors" % (name, len(made.results), errors))


def main():
    folder = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for name in MAKERS:
        if re.search(wanted, name):
            make(name, os.path.join(folder, name))


main()
