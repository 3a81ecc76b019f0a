#===- onnx_trees.py - Ensembles of decision trees ------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws the attributes of TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor: from
single leaves to hundreds of trees, of every mode, even and lopsided."""
import numpy as np
from onnx import numpy_helper

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
MEMBER = 6
# Trees and their depths, by how much may be drawn.
SIZES = {"small": ([1, 2, 3, 7, 8, 9, 17, 100], [0, 1, 2, 3, 6, 9], 4000),
         "timed": ([10, 100, 500], [3, 6, 12], 400000)}


class Tree:
    """Nodes breadth first: (feature, threshold, mode, true, false, missing), or None of a leaf."""

    def __init__(self, random, depth, features, modes, missing, most):
        stays = random.choice([0, 0.1, 0.3])  # lopsided, where some end early
        self.nodes, levels = [None], [0]
        self.depth = 0
        for at in range(most):
            if at == len(self.nodes):
                break
            if levels[at] >= depth or len(self.nodes) + 2 > most or \
                    at and random.random() < stays:
                continue
            self.nodes[at] = (int(random.integers(features)), float(self.threshold(random)),
                              int(random.choice(modes)), len(self.nodes), len(self.nodes) + 1,
                              int(missing and random.random() < 0.5))
            self.nodes += [None, None]
            levels += [levels[at] + 1] * 2
            self.depth = levels[-1]

    @staticmethod
    def threshold(random):
        return random.choice([np.float32(random.standard_normal()), random.integers(-4, 5)])

    def leaves(self):
        return [i for i, node in enumerate(self.nodes) if node is None]


def ensemble(random, features, size, modes):
    counts, depths, most = SIZES[size]
    count, depth = int(random.choice(counts)), int(random.choice(depths))
    if not features:
        depth = 0
    missing = random.random() < 0.3
    kinds = [int(random.integers(modes))] if random.random() < 0.7 else range(modes)
    if size == "timed":
        kinds, missing = [0], False
    return [Tree(random, depth, features, list(kinds), missing, max(most // count, 3))
            for _ in range(count)]


def weight(random, trees):
    """Sums are of ordinary size: of a logistic function's small result ONNX Runtime knows what is
    left of 1."""
    return float(np.float32(random.standard_normal() / len(trees) ** 0.5))


def votes(random, trees, targets):
    """(tree, leaf, target, weight): one target a tree, or all of them."""
    all_targets = random.random() < 0.5
    made = []
    for t, tree in enumerate(trees):
        for leaf in tree.leaves():
            for target in range(targets) if all_targets else [t % targets]:
                made.append((t, leaf, target, weight(random, trees)))
    return made


def tensor(numbers, dtype):
    return numpy_helper.from_array(np.array(numbers, dtype))


def old_form(draw, trees, prefix, targets):
    """Versions 1 to 4: lists, of nodes with the numbers of their trees."""
    random, lists = draw.random, {}

    def put(name, values):
        lists.setdefault(name, []).append(values)
    for t, tree in enumerate(trees):
        for i, node in enumerate(tree.nodes):
            feature, limit, mode, yes, no, missing = node or (0, 0.0, None, 0, 0, 0)
            put("nodes_treeids", t)
            put("nodes_nodeids", i)
            put("nodes_featureids", feature)
            put("nodes_values", limit)
            put("nodes_modes", "LEAF" if mode is None else MODES[mode])
            put("nodes_truenodeids", yes)
            put("nodes_falsenodeids", no)
            put("nodes_missing_value_tracks_true", missing)
    for t, leaf, target, weight in votes(random, trees, targets):
        put(prefix + "_treeids", t)
        put(prefix + "_nodeids", leaf)
        put(prefix + "_ids", target)
        put(prefix + "_weights", weight)
    # A classifier's weights ONNX Runtime takes for positive where they are doubles.
    if draw.inputs[0].dtype == np.float64 and draw.schema.since >= 3 and prefix == "target":
        for name in ("nodes_values", prefix + "_weights"):
            lists[name + "_as_tensor"] = tensor(lists.pop(name), np.float64)
    return lists


def new_form(draw, trees, targets):
    """Version 5: nodes and leaves of all trees are numbered apart; one that is a leaf alone is a
    node whose children are that leaf."""
    random, dtype = draw.random, draw.inputs[0].dtype
    lists = {name: [] for name in (
        "tree_roots", "nodes_featureids", "nodes_modes", "nodes_splits", "nodes_truenodeids",
        "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs",
        "nodes_missing_value_tracks_true", "leaf_targetids", "leaf_weights")}
    members = []
    for t, tree in enumerate(trees):
        inner = [i for i, node in enumerate(tree.nodes) if node] or [0]
        first = len(lists["nodes_splits"])
        places = {i: first + k for k, i in enumerate(inner)}
        leaves = {}
        for i in tree.leaves():
            leaves[i] = len(lists["leaf_weights"])
            lists["leaf_targetids"].append(t % targets)
            lists["leaf_weights"].append(weight(random, trees))
        lists["tree_roots"].append(first)
        for i in inner:
            feature, limit, mode, yes, no, missing = tree.nodes[i] or (0, 0.0, 0, 0, 0, 0)
            if mode == MEMBER:
                members += [float(v) for v in random.integers(-4, 5, 1 + random.integers(5))]
                members.append(np.nan)
            for name, value in (("featureids", feature), ("splits", limit), ("modes", mode),
                                ("missing_value_tracks_true", missing)):
                lists["nodes_" + name].append(value)
            for side, child in (("true", yes), ("false", no)):
                lists["nodes_%sleafs" % side].append(int(child in leaves))
                lists["nodes_%snodeids" % side].append(
                    leaves[child] if child in leaves else places[child])
    lists["nodes_modes"] = tensor(lists["nodes_modes"], np.uint8)
    for name in ("nodes_splits", "leaf_weights"):
        lists[name] = tensor(lists[name], dtype)
    if members:
        lists["membership_values"] = tensor(members, dtype)
    return lists


def lacks_only_for_runtime(value, attributes):
    """Whether rows have all features that branches ask for, and ONNX Runtime asks for more: for the
    number that leaves have, too, or, of a vector, which is a row, for columns beyond the first."""
    features = attributes["nodes_featureids"]
    modes = attributes["nodes_modes"]
    asked = [f for f, mode in zip(features, modes) if mode not in ("LEAF", b"LEAF")] \
        if isinstance(modes, list) else features
    columns = value.shape[-1]
    counted = columns if value.ndim > 1 else 1
    return max(asked, default=-1) < columns and max(features) >= counted


def attributes(draw, size="small"):
    """All attributes of a drawn node whose operand is there. ONNX Runtime transforms no single
    score of a regressor, and has other numbers for the transforms of TreeEnsemble than ONNX."""
    random, name = draw.random, draw.schema.name
    features = draw.inputs[0].shape[1]
    trees = ensemble(random, features, size, 7 if name == "TreeEnsemble" else 6)
    # Steps of a row at most: what it costs follows.
    draw.steps = sum(tree.depth for tree in trees)
    targets = int(random.choice([1, 1, 2, 3, 10]))
    if name == "TreeEnsemble":
        return dict(new_form(draw, trees, targets), n_targets=targets,
                    aggregate_function=int(random.choice([0, 1, 1, 1, 2, 3])),
                    post_transform=0)
    after = str(random.choice(["NONE", "NONE", "SOFTMAX", "LOGISTIC"]))
    if name == "TreeEnsembleRegressor":
        aggregate = str(random.choice(["SUM", "SUM", "AVERAGE", "MIN", "MAX"]))
        return dict(old_form(draw, trees, "target", targets), n_targets=targets,
                    aggregate_function=aggregate, post_transform=after if targets > 1 else "NONE")
    classes = max(targets, 2)
    return dict(old_form(draw, trees, "class", classes), post_transform=after,
                classlabels_int64s=list(range(classes)))
