#===- step_models.py - The networks whose training steps are timed ----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Five networks, with the same sizes in Keras and in PyTorch. Neither is imported before a
network is asked for, so that a process needs only the one that it times."""
import numpy as np

VOCABULARY, LENGTH, WIDTH = 2000, 32, 128  # of both language models
ROWS, FIELDS, DENSE, COLUMNS = 10000, 8, 13, 16  # of the recommender
CHANNELS = 16  # of ResNet-18's first stage, a quarter of the usual 64
NAMES = ("digits", "resnet18", "lstm", "transformer", "recommender")


def batch_of(name, rows):
    """Inputs in order, and labels, which are numbers of classes."""
    rng = np.random.default_rng(5)
    if name == "digits":
        return [rng.standard_normal([rows, 8, 8, 1]).astype("f4")], rng.integers(0, 10, rows)
    if name == "resnet18":
        return [rng.standard_normal([rows, 32, 32, 3]).astype("f4")], rng.integers(0, 10, rows)
    if name == "recommender":
        return ([rng.standard_normal([rows, DENSE]).astype("f4"),
                 rng.integers(0, ROWS, [rows, FIELDS]).astype("i4")], rng.integers(0, 2, rows))
    tokens = rng.integers(0, VOCABULARY, [rows, LENGTH]).astype("i4")
    return [tokens], np.roll(tokens, -1, 1).astype("i8")


def keras_model(name):
    """The network and its optimizer."""
    import keras
    from keras import layers
    adam = keras.optimizers.Adam(0.001)
    if name == "digits":
        return keras.Sequential([
            keras.Input([8, 8, 1]), layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(), layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(), layers.Flatten(), layers.Dense(32, "relu"),
            layers.Dense(10)]), adam
    if name == "resnet18":
        def convolution(x, channels, size, stride=1):
            x = layers.Conv2D(channels, size, stride, padding="same", use_bias=False)(x)
            return layers.BatchNormalization()(x)

        def block(x, channels, stride):
            y = layers.ReLU()(convolution(x, channels, 3, stride))
            y = convolution(y, channels, 3)
            return layers.ReLU()((x if stride == 1 else convolution(x, channels, 1, stride)) + y)
        feed = keras.Input([32, 32, 3])
        x = layers.ReLU()(convolution(feed, CHANNELS, 3))
        for factor, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
            x = block(block(x, factor * CHANNELS, stride), factor * CHANNELS, 1)
        return keras.Model(feed, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))), adam
    if name == "recommender":
        wide, ids = keras.Input([DENSE]), keras.Input([FIELDS], dtype="int32")
        shifted = ids + np.arange(FIELDS, dtype="i4") * ROWS
        found = layers.Flatten()(layers.Embedding(FIELDS * ROWS, COLUMNS)(shifted))
        x0 = x = layers.Concatenate()([wide, found])
        for _ in range(3):
            x = x0 * layers.Dense(x0.shape[1])(x) + x
        deep = layers.Dense(64, "relu")(layers.Dense(128, "relu")(x0))
        logits = layers.Dense(2)(layers.Concatenate()([x, deep]))
        return keras.Model([wide, ids], logits), keras.optimizers.Adagrad(0.01)
    tokens = keras.Input([LENGTH], dtype="int32")
    x = layers.Embedding(VOCABULARY, WIDTH)(tokens)
    if name == "lstm":
        x = layers.LSTM(2 * WIDTH, return_sequences=True)(x)
        return keras.Model(tokens, layers.Dense(VOCABULARY)(x)), adam
    for _ in range(2):
        y = layers.MultiHeadAttention(4, WIDTH // 4)(x, x, use_causal_mask=True)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, "gelu")(x))
        x = layers.LayerNormalization()(x + y)
    return keras.Model(tokens, layers.Dense(VOCABULARY)(x)), adam


def torch_model(name):
    """The same: a function of the inputs, its parameters, and its optimizer."""
    import torch
    from torch import nn
    from torch.nn import functional as f

    class Residual(nn.Module):
        def __init__(self, before, channels, stride):
            super().__init__()
            self.a = convolution(before, channels, 3, stride)
            self.b = convolution(channels, channels, 3)
            self.x = convolution(before, channels, 1, stride) if stride != 1 else nn.Identity()

        def forward(self, x):
            return f.relu(self.x(x) + self.b(f.relu(self.a(x))))

    def convolution(before, channels, size, stride=1):
        return nn.Sequential(nn.Conv2d(before, channels, size, stride, size // 2, bias=False),
                             nn.BatchNorm2d(channels))

    class Recommender(nn.Module):
        def __init__(self):
            super().__init__()
            width = DENSE + FIELDS * COLUMNS
            self.rows = nn.Embedding(FIELDS * ROWS, COLUMNS, sparse=True)
            self.cross = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
            self.deep = nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 64),
                                      nn.ReLU())
            self.head = nn.Linear(width + 64, 2)
            self.register_buffer("shift", torch.arange(FIELDS, dtype=torch.int32) * ROWS)

        def forward(self, wide, ids):
            x0 = x = torch.cat([wide, self.rows(ids + self.shift).flatten(1)], 1)
            for layer in self.cross:
                x = x0 * layer(x) + x
            return self.head(torch.cat([x, self.deep(x0)], 1))

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Embedding(VOCABULARY, WIDTH)
            self.lstm = nn.LSTM(WIDTH, 2 * WIDTH, batch_first=True)
            self.head = nn.Linear(2 * WIDTH, VOCABULARY)

        def forward(self, tokens):
            return self.head(self.lstm(self.rows(tokens))[0])

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x):
            q, k, v = (t.unflatten(2, (4, -1)).transpose(1, 2)
                       for t in self.into(x).chunk(3, 2))
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = self.norm1(x + self.out(y.transpose(1, 2).flatten(2)))
            return self.norm2(x + self.down(f.gelu(self.up(x))))

    if name == "digits":
        model = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    elif name == "resnet18":
        stages, before = [convolution(3, CHANNELS, 3), nn.ReLU()], CHANNELS
        for factor, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
            stages += [Residual(before, factor * CHANNELS, stride),
                       Residual(factor * CHANNELS, factor * CHANNELS, 1)]
            before = factor * CHANNELS
        model = nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                              nn.Linear(before, 10))
    elif name == "recommender":
        model = Recommender()
        return model, torch.optim.Adagrad(model.parameters(), 0.01)
    elif name == "lstm":
        model = Lstm()
    else:
        model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), Block(), Block(),
                              nn.Linear(WIDTH, VOCABULARY))
    return model, torch.optim.Adam(model.parameters(), 0.001, fused=True)
