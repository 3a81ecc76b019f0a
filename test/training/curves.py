#!/usr/bin/env python3
#===- curves.py - Loss curves of --train, laid over a reference -------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Trains ONNX models with weir-run --train, and the same with TensorFlow's gradients.

usage: curves.py WEIR_RUN FOLDER [NAME...]     (in a Python that has TensorFlow)

The same weights, batches and steps. The reference takes gradients from a tape and applies
PyTorch's formulas in NumPy. Losses come from the event files that weir-run writes. Up to
step 50 they agree within 1e-5 of their size; with --csv=FILE and --svg=FILE the curves are
written and drawn.
"""
import glob
import os
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits"))
from export_onnx import node  # noqa: E402
from wire import data, integer, packed  # noqa: E402

STEPS = 120
BATCH = 16
ROWS = 80


def tensor(name, array):
    kind = {"float32": 1, "int64": 7}[array.dtype.name]
    return data(5, packed(1, array.shape) + integer(2, kind) + data(8, name)
                + data(9, array.tobytes()))


def value(field, name, kind, dims):
    shape = b"".join(data(1, integer(1, d) if isinstance(d, int) else data(2, d)) for d in dims)
    return data(field, data(1, name) + data(2, data(1, integer(1, kind) + data(2, shape))))


def write_model(path, nodes, weights, inputs, outputs):
    graph = nodes + data(2, "model") + b"".join(tensor(k, v) for k, v in weights.items())
    graph += inputs + outputs
    opset = data(8, data(1, "") + integer(2, 17))
    with open(path, "wb") as file:
        file.write(integer(1, 9) + data(7, graph) + opset)


def weight(rng, *shape):
    fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    return (rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32) * np.float32(
        1 if len(shape) > 1 else 0.1)


def cnn(rng):
    """Convolutions, a pool and a dense layer, as the digits network."""
    w = {"conv1/w": weight(rng, 8, 1, 3, 3), "conv1/b": weight(rng, 8),
         "conv2/w": weight(rng, 16, 8, 3, 3), "conv2/b": weight(rng, 16),
         "dense/w": weight(rng, 10, 256), "dense/b": weight(rng, 10)}
    window = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    nodes = (node("Conv", "conv1", ["x", "conv1/w", "conv1/b"], "c1", **window)
             + node("Relu", "relu1", ["c1"], "r1")
             + node("Conv", "conv2", ["r1", "conv2/w", "conv2/b"], "c2", **window)
             + node("Relu", "relu2", ["c2"], "r2")
             + node("MaxPool", "pool", ["r2"], "p", kernel_shape=[2, 2], strides=[2, 2])
             + node("Flatten", "flatten", ["p"], "f", axis=1)
             + node("Gemm", "dense", ["f", "dense/w", "dense/b"], "logits", transB=1))
    inputs, outputs = value(11, "x", 1, ["N", 1, 8, 8]), value(12, "logits", 1, ["N", 10])

    def forward(p, x):
        y = tf.transpose(x, [0, 2, 3, 1])
        for k in "12":
            y = tf.nn.conv2d(y, tf.transpose(p[f"conv{k}/w"], [2, 3, 1, 0]), 1, "SAME")
            y = tf.nn.relu(y + p[f"conv{k}/b"])
        y = tf.reshape(tf.transpose(tf.nn.max_pool2d(y, 2, 2, "VALID"), [0, 3, 1, 2]), [-1, 256])
        return tf.matmul(y, p["dense/w"], transpose_b=True) + p["dense/b"]

    x = rng.standard_normal([ROWS, 1, 8, 8]).astype(np.float32)
    return w, nodes, inputs, outputs, forward, x, rng.integers(0, 10, ROWS)


def transformer(rng, vocabulary=32, length=12, size=16, heads=2):
    w = {"embedding": weight(rng, vocabulary, size), "position": weight(rng, length, size)}
    for name in ("q", "k", "v", "o"):
        w[f"{name}/w"], w[f"{name}/b"] = weight(rng, size, size), weight(rng, size)
    w.update({"up/w": weight(rng, size, 32), "up/b": weight(rng, 32),
              "down/w": weight(rng, 32, size), "down/b": weight(rng, size),
              "head/w": weight(rng, size, vocabulary)})
    for name in ("norm1", "norm2"):
        w[f"{name}/scale"] = np.ones(size, np.float32)
        w[f"{name}/bias"] = np.zeros(size, np.float32)
    mask = np.triu(np.full([length, length], -1e9, np.float32), 1)
    fixed = {"mask": mask, "scale": np.array(np.sqrt(size // heads), np.float32),
             "split": np.array([0, length, heads, size // heads], np.int64),
             "joined": np.array([0, length, size], np.int64)}

    def dense(name, x, y):
        return (node("MatMul", name + "/product", [x, name + "/w"], name + "/p")
                + node("Add", name, [name + "/p", name + "/b"], y))

    def norm(name, x, y):
        return node("LayerNormalization", name, [x, name + "/scale", name + "/bias"], y, axis=2)

    def split(name, order):
        return (dense(name, "x", name + "/flat")
                + node("Reshape", name + "/split", [name + "/flat", "split"], name + "/heads")
                + node("Transpose", name + "/order", [name + "/heads"], name, perm=order))

    nodes = (node("Gather", "lookup", ["embedding", "tokens"], "found", axis=0)
             + node("Add", "place", ["found", "position"], "x")
             + split("q", [0, 2, 1, 3]) + split("k", [0, 2, 3, 1]) + split("v", [0, 2, 1, 3])
             + node("MatMul", "scores", ["q", "k"], "raw")
             + node("Div", "scaled", ["raw", "scale"], "scaled")
             + node("Add", "masked", ["scaled", "mask"], "masked")
             + node("Softmax", "softmax", ["masked"], "chances", axis=3)
             + node("MatMul", "mixed", ["chances", "v"], "mixed")
             + node("Transpose", "back", ["mixed"], "back", perm=[0, 2, 1, 3])
             + node("Reshape", "join", ["back", "joined"], "join")
             + dense("o", "join", "attended") + node("Add", "add1", ["x", "attended"], "sum1")
             + norm("norm1", "sum1", "n1") + dense("up", "n1", "wide")
             + node("Tanh", "act", ["wide"], "act") + dense("down", "act", "narrow")
             + node("Add", "add2", ["n1", "narrow"], "sum2") + norm("norm2", "sum2", "n2")
             + node("MatMul", "head", ["n2", "head/w"], "logits"))
    inputs = value(11, "tokens", 7, ["N", length])
    outputs = value(12, "logits", 1, ["N", length, vocabulary])

    def normal(x, scale, bias):
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + bias

    def forward(p, tokens):
        x = tf.gather(p["embedding"], tokens) + p["position"]

        def part(name):
            y = tf.reshape(x @ p[name + "/w"] + p[name + "/b"], [-1, length, heads, size // heads])
            return tf.transpose(y, [0, 2, 1, 3])
        scores = tf.matmul(part("q"), part("k"), transpose_b=True) / fixed["scale"] + mask
        mixed = tf.matmul(tf.nn.softmax(scores), part("v"))
        mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, length, size])
        x = normal(x + mixed @ p["o/w"] + p["o/b"], p["norm1/scale"], p["norm1/bias"])
        y = tf.tanh(x @ p["up/w"] + p["up/b"]) @ p["down/w"] + p["down/b"]
        return normal(x + y, p["norm2/scale"], p["norm2/bias"]) @ p["head/w"]

    tokens = rng.integers(0, vocabulary, [ROWS, length]).astype(np.int64)
    return ({**w, **fixed}, nodes, inputs, outputs, forward, tokens,
            np.roll(tokens, -1, 1), set(w))


def lstm(rng, vocabulary=24, length=10, size=12):
    w = {"embedding": weight(rng, vocabulary, size), "W": weight(rng, 1, 4 * size, size),
         "R": weight(rng, 1, 4 * size, size), "B": np.zeros([1, 8 * size], np.float32),
         "head/w": weight(rng, size, vocabulary), "head/b": weight(rng, vocabulary)}
    nodes = (node("Gather", "lookup", ["embedding", "tokens"], "found", axis=0)
             + node("Transpose", "time", ["found"], "steps", perm=[1, 0, 2])
             + node("LSTM", "lstm", ["steps", "W", "R", "B"], "states", hidden_size=size)
             + node("Squeeze", "squeeze", ["states", "one"], "hidden")
             + node("Transpose", "batch", ["hidden"], "rows", perm=[1, 0, 2])
             + node("MatMul", "product", ["rows", "head/w"], "product")
             + node("Add", "head", ["product", "head/b"], "logits"))
    inputs = value(11, "tokens", 7, [BATCH, length])
    outputs = value(12, "logits", 1, [BATCH, length, vocabulary])

    def forward(p, tokens):
        x = tf.gather(p["embedding"], tokens)
        h = c = tf.zeros([tf.shape(x)[0], size])
        states = []
        for t in range(length):
            gates = (tf.matmul(x[:, t], p["W"][0], transpose_b=True)
                     + tf.matmul(h, p["R"][0], transpose_b=True)
                     + p["B"][0, :4 * size] + p["B"][0, 4 * size:])
            i, o, f, g = tf.split(gates, 4, 1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            states.append(h)
        return tf.stack(states, 1) @ p["head/w"] + p["head/b"]

    tokens = rng.integers(0, vocabulary, [ROWS, length]).astype(np.int64)
    return ({**w, "one": np.array([1], np.int64)}, nodes, inputs, outputs, forward, tokens,
            np.roll(tokens, -1, 1), set(w))


def mlp(rng):
    w = {"l1/w": weight(rng, 12, 16), "l1/b": weight(rng, 16), "l2/w": weight(rng, 16, 4),
         "l2/b": weight(rng, 4)}
    nodes = (node("MatMul", "p1", ["x", "l1/w"], "p1") + node("Add", "a1", ["p1", "l1/b"], "a1")
             + node("Tanh", "t1", ["a1"], "t1")
             + node("MatMul", "p2", ["t1", "l2/w"], "p2")
             + node("Add", "a2", ["p2", "l2/b"], "logits"))
    inputs, outputs = value(11, "x", 1, ["N", 12]), value(12, "logits", 1, ["N", 4])

    def forward(p, x):
        return tf.tanh(x @ p["l1/w"] + p["l1/b"]) @ p["l2/w"] + p["l2/b"]
    x = rng.standard_normal([ROWS, 12]).astype(np.float32)
    return w, nodes, inputs, outputs, forward, x, rng.integers(0, 4, ROWS)


def norm(rng):
    """Batch normalisation, whose running statistics move."""
    w = {"l1/w": weight(rng, 12, 16), "scale": 1 + weight(rng, 16), "bias": weight(rng, 16),
         "l2/w": weight(rng, 16, 4), "l2/b": weight(rng, 4),
         "mean": np.zeros(16, np.float32), "variance": np.ones(16, np.float32)}
    nodes = (node("MatMul", "p1", ["x", "l1/w"], "p1")
             + node("BatchNormalization", "norm", ["p1", "scale", "bias", "mean", "variance"], "n1")
             + node("Relu", "r1", ["n1"], "r1") + node("MatMul", "p2", ["r1", "l2/w"], "p2")
             + node("Add", "a2", ["p2", "l2/b"], "logits"))
    inputs, outputs = value(11, "x", 1, ["N", 12]), value(12, "logits", 1, ["N", 4])

    def moments(p, x):
        y = x @ p["l1/w"]
        mean = tf.reduce_mean(y, 0)
        return y, mean, tf.reduce_mean(tf.square(y - mean), 0)

    def forward(p, x):
        y, mean, variance = moments(p, x)
        y = (y - mean) * tf.math.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]
        return tf.nn.relu(y) @ p["l2/w"] + p["l2/b"]
    forward.moments = moments
    x = rng.standard_normal([ROWS, 12]).astype(np.float32)
    return (w, nodes, inputs, outputs, forward, x, rng.integers(0, 4, ROWS),
            set(w) - {"mean", "variance"})


class Optimizer:
    """PyTorch's formulas (LAMB: its paper's), in f32, with numbers of a step in f64."""

    def __init__(self, name, lr, wd=0.0, clip=0.0, schedule=None, nesterov=False):
        self.name, self.lr, self.wd, self.clip = name, lr, wd, clip
        self.schedule, self.nesterov, self.slots, self.t = schedule, nesterov, {}, 0

    def step(self, p, grads):
        rate = self.lr * (self.schedule(self.t) if self.schedule else 1.0)
        self.t += 1
        if self.clip:
            norm = np.sqrt(sum(float(np.sum(np.square(g, dtype=np.float64)))
                               for g in grads.values()))
            grads = {k: g * np.float32(min(1.0, self.clip / (norm + 1e-6)))
                     for k, g in grads.items()}
        for k, g in grads.items():
            w = p[k].numpy()
            m, v = self.slots.get(k, (np.zeros_like(w), np.zeros_like(w)))
            w, m, v = self.one(w, g, m, v, rate)
            self.slots[k] = (m, v)
            p[k].assign(w)

    def one(self, w, g, m, v, rate):
        f = np.float32
        if self.wd and self.name not in ("adamw", "lamb"):
            g = g + w * f(self.wd)
        if self.name == "sgd":
            return w - g * f(rate), m, v
        if self.name == "momentum":
            m = m * f(0.9) + g
            return w - (g + m * f(0.9) if self.nesterov else m) * f(rate), m, v
        if self.name == "adagrad":
            v = v + g * g
            return w - g / (np.sqrt(v) + f(1e-10)) * f(rate), m, v
        c1, c2 = 1 - 0.9 ** self.t, 1 - 0.999 ** self.t
        if self.name == "adamw":
            w = w * f(1 - rate * self.wd)
        m = m + (g - m) * f(0.1)
        v = v * f(0.999) + g * g * f(0.001)
        divisor = np.sqrt(v) / f(np.sqrt(c2)) + f(1e-6 if self.name == "lamb" else 1e-8)
        if self.name != "lamb":
            return w - m / divisor * f(rate / c1), m, v
        r = m / f(c1) / divisor + w * f(self.wd)
        trust = np.linalg.norm(w) / np.linalg.norm(r)
        return w - r * f(trust) * f(rate), m, v


def cosine(total, warmup, end):
    def at(t):
        if t < warmup:
            return (t + 1) / warmup
        part = min((t - warmup) / (total - warmup), 1)
        return end + (1 - end) * 0.5 * (1 + np.cos(np.pi * part))
    return at


def linear(total):
    return lambda t: 1 - min(t / total, 1)


RUNS = {
    "cnn": (cnn, "momentum,lr=0.02,nesterov,weight_decay=0.0001",
            lambda: Optimizer("momentum", 0.02, wd=1e-4, nesterov=True)),
    "transformer": (transformer, "adamw,lr=0.005,clip=norm:0.5,schedule=cosine:120:0.1,warmup=10",
                    lambda: Optimizer("adamw", 0.005, wd=0.01, clip=0.5,
                                      schedule=cosine(120, 10, 0.1))),
    "lstm": (lstm, "adam,lr=0.01", lambda: Optimizer("adam", 0.01)),
    "norm": (norm, "sgd,lr=0.1", lambda: Optimizer("sgd", 0.1)),
    "sgd": (mlp, "sgd,lr=0.1,schedule=linear:100", lambda: Optimizer("sgd", 0.1,
                                                                    schedule=linear(100))),
    "step": (mlp, "momentum,lr=0.05,schedule=step:30:0.5",
             lambda: Optimizer("momentum", 0.05, schedule=lambda t: 0.5 ** (t // 30))),
    "adagrad": (mlp, "adagrad,lr=0.1", lambda: Optimizer("adagrad", 0.1)),
    "lamb": (mlp, "lamb,lr=0.01", lambda: Optimizer("lamb", 0.01, wd=0.01)),
}


def losses_of(folder):
    found = []
    for path in glob.glob(folder + "/events.out.tfevents.*"):
        for event in tf.compat.v1.train.summary_iterator(path):
            found += [(event.step, v.simple_value) for v in event.summary.value if v.tag == "loss"]
    return [loss for _, loss in sorted(found)]


def run(weir_run, folder, name):
    build, text, optimizer = RUNS[name]
    w, nodes, inputs, outputs, forward, x, y, *rest = build(np.random.default_rng(5))
    feed = "x" if x.dtype == np.float32 else "tokens"
    model = f"{folder}/{name}.onnx"
    write_model(model, nodes, w, inputs, outputs)
    np.savez(f"{folder}/{name}.npz", **{feed: x, "labels": y.astype(np.int64)})
    summary = f"{folder}/{name}.events"
    shutil.rmtree(summary, ignore_errors=True)
    command = [weir_run, model, "--train=cross_entropy:logits,labels", "--optimizer=" + text,
               f"--input={folder}/{name}.npz", f"--steps={STEPS}", f"--batch={BATCH}",
               f"--summary={summary}", f"--output={folder}/{name}.out.npz"]
    if hasattr(forward, "moments"):
        command.append(f"--save={folder}/{name}.saved/m")
    elif rest:
        command.append("--trainable=^(" + "|".join(sorted(rest[0])) + ")$")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-3000:]}")
    mine = losses_of(summary)

    trained = rest[0] if rest else set(w)
    p = {k: tf.Variable(w[k]) for k in sorted(trained)}

    @tf.function
    def step(xs, ys):
        with tf.GradientTape() as tape:
            logits = forward(p, xs)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ys, logits=logits))
        return loss, tape.gradient(loss, p)
    rule, theirs = optimizer(), []
    moved = {k: w[k] for k in ("mean", "variance") if k in w}
    for s in range(STEPS):
        at = s % (ROWS // BATCH) * BATCH
        for k, v in moved.items():
            now = forward.moments(p, x[at:at + BATCH])[1 if k == "mean" else 2]
            moved[k] = v * np.float32(0.9) + now.numpy() * np.float32(0.1)
        loss, grads = step(tf.constant(x[at:at + BATCH]), tf.constant(y[at:at + BATCH]))
        theirs.append(float(loss))
        rule.step(p, {k: tf.convert_to_tensor(g).numpy() for k, g in grads.items()})
    if len(mine) != STEPS:
        sys.exit(f"{name}: found {len(mine)} losses for {STEPS} steps")
    apart = [abs(a - b) / abs(b) for a, b in zip(mine, theirs)]
    if max(apart[:50]) > 1e-5:
        worst = int(np.argmax(apart[:50]))
        sys.exit(f"{name}: step {worst + 1}: loss {mine[worst]}, the reference's {theirs[worst]}")
    for k, v in moved.items():
        saved = tf.train.load_checkpoint(f"{folder}/{name}.saved/m").get_tensor(k)
        if np.max(np.abs(saved - v) / (1 + np.abs(v))) > 1e-5:
            sys.exit(f"{name}: running {k} {saved}, the reference's {v}")
    print(f"{name}: loss {mine[0]:.4f} to {mine[-1]:.4f} in {STEPS} steps; apart by at most "
          f"{max(apart[:50]):.1e} up to step 50, {max(apart):.1e} at all")
    return mine, theirs


def draw(path, curves):
    """A panel a model: the reference as a wide pale line, weir's over it."""
    width, height, columns = 260, 150, 4
    rows = -(-len(curves) // columns)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * columns}" '
           f'height="{height * rows}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>']
    for place, (name, (mine, theirs)) in enumerate(curves.items()):
        left, top = place % columns * width, place // columns * height
        low, high = min(mine + theirs), max(mine + theirs)

        def points(losses):
            return " ".join(
                f"{left + 38 + s * (width - 50) / (len(losses) - 1):.1f},"
                f"{top + 24 + (high - v) / (high - low) * (height - 46):.1f}"
                for s, v in enumerate(losses))
        out += [f'<text x="{left + 38}" y="{top + 15}">{name}</text>',
                f'<text x="{left + 4}" y="{top + 30}">{high:.2f}</text>',
                f'<text x="{left + 4}" y="{top + height - 20}">{low:.2f}</text>',
                f'<text x="{left + width - 60}" y="{top + height - 6}">step {len(mine)}</text>',
                f'<polyline points="{points(theirs)}" fill="none" stroke="#f4b183" '
                'stroke-width="5"/>',
                f'<polyline points="{points(mine)}" fill="none" stroke="#1f4e79" '
                'stroke-width="1.2"/>']
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


if __name__ == "__main__":
    csv = [a[6:] for a in sys.argv if a.startswith("--csv=")]
    svg = [a[6:] for a in sys.argv if a.startswith("--svg=")]
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    os.makedirs(arguments[1], exist_ok=True)
    tool = shutil.which(arguments[0]) or os.path.abspath(arguments[0])
    curves = {n: run(tool, arguments[1], n) for n in arguments[2:] or RUNS}
    if svg:
        draw(svg[0], curves)
    if csv:
        with open(csv[0], "w") as out:
            out.write("step," + ",".join(f"{n} weir,{n} reference" for n in curves) + "\n")
            for s in range(STEPS):
                out.write(f"{s + 1}," + ",".join(f"{a[s]:.7g},{b[s]:.7g}"
                                                 for a, b in curves.values()) + "\n")
