#!/usr/bin/env python3
# ===- classic_operators.py - skl2onnx's models against ONNX Runtime ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Trains estimators of scikit-learn, converts them, runs them with weir and with
ONNX Runtime, and compares labels and scores.

  classic_operators.py [--weir-run=PATH] [NAME...]

Needs scikit-learn, skl2onnx and onnxruntime. Labels may be integers or strings; a
sequence of maps (ZipMap) is compared as the matrix of its values. Ends with the
number of models and of those that differ or fail.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np


def estimators():
    from sklearn.datasets import make_classification, make_regression
    from sklearn.ensemble import (AdaBoostClassifier, ExtraTreesClassifier,
                                  GradientBoostingClassifier, GradientBoostingRegressor,
                                  RandomForestClassifier, RandomForestRegressor)
    from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
    from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM
    from sklearn.tree import DecisionTreeClassifier
    x3, y3 = make_classification(200, 6, n_informative=4, n_classes=3, random_state=1)
    x2, y2 = make_classification(200, 6, n_informative=4, random_state=2)
    xr, yr = make_regression(200, 6, noise=0.1, random_state=3)
    words = np.array(["ant", "bee", "cow"])
    for count, x, y in (("binary", x2, y2), ("three", x3, y3)):
        for kind, labels in (("int", y), ("string", words[y])):
            name = count + "-" + kind
            yield "logistic-" + name, LogisticRegression(), x, labels
            yield "forest-" + name, RandomForestClassifier(10, random_state=0), x, labels
            yield "boosting-" + name, GradientBoostingClassifier(n_estimators=5), x, labels
            yield "svc-" + name, SVC(), x, labels
            yield "svc-probability-" + name, SVC(probability=True, random_state=0), x, labels
        yield "svc-poly-" + count, SVC(kernel="poly", degree=2, coef0=0.5, gamma=0.2), x, y
        yield "svc-sigmoid-" + count, SVC(kernel="sigmoid", gamma=0.05), x, y
        yield "linear-svc-" + count, LinearSVC(), x, y
        yield "tree-" + count, DecisionTreeClassifier(max_depth=4, random_state=0), x, y
        yield "extra-trees-" + count, ExtraTreesClassifier(5, random_state=0), x, y
        yield "ada-" + count, AdaBoostClassifier(n_estimators=3, random_state=0), x, y
        yield "bayes-" + count, GaussianNB(), x, y
        yield "sgd-" + count, SGDClassifier(random_state=0), x, y
        yield "mlp-" + count, MLPClassifier((8,), max_iter=50, random_state=0), x, y
        yield "neighbours-" + count, KNeighborsClassifier(3), x, y
        yield "pipeline-" + count, make_pipeline(StandardScaler(), Normalizer(),
                                                 LogisticRegression()), x, y
    yield "linear", LinearRegression(), xr, yr
    yield "svr-rbf", SVR(C=10.0), xr, yr
    yield "svr-linear", SVR(kernel="linear"), xr, yr
    yield "one-class", OneClassSVM(gamma=0.1), xr, None
    yield "forest-regression", RandomForestRegressor(10, random_state=0), xr, yr
    yield "boosting-regression", GradientBoostingRegressor(n_estimators=5), xr, yr
    yield "scaled", make_pipeline(MinMaxScaler(), LinearRegression()), xr, yr


def differs(got, want):
    """What differs, or nothing."""
    if isinstance(want, list):  # maps: their values, in the order of the keys
        want = np.array([list(one.values()) for one in want], np.float32)
    want = np.asarray(want)
    if want.dtype.kind in "OUS":
        return None if list(got.astype(str).ravel()) == list(want.astype(str).ravel()) else "labels"
    if got.shape != want.shape or got.dtype != want.dtype:
        return "found %s %s, expected %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else "labels"
    apart = np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-6)
    return None if apart <= 1e-4 else "differs by %.2e of the largest" % apart


def check(tool, folder, estimator, x, y):
    import onnxruntime
    from skl2onnx import to_onnx
    estimator.fit(x, y)
    model = to_onnx(estimator, x[:1].astype(np.float32), target_opset={"": 17, "ai.onnx.ml": 3})
    path = os.path.join(folder, "m.onnx")
    with open(path, "wb") as out:
        out.write(model.SerializeToString())
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    feeds = {session.get_inputs()[0].name: x[:17].astype(np.float32)}
    wanted = session.run(None, feeds)
    np.savez(os.path.join(folder, "in.npz"), **feeds)
    done = subprocess.run([tool, path, "--input=" + os.path.join(folder, "in.npz"),
                           "--output=" + os.path.join(folder, "out.npz")],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or "ended with %d" % done.returncode
    with np.load(os.path.join(folder, "out.npz")) as results:
        for name, want in zip(names, wanted):
            found = differs(results[name], want)
            if found:
                return name + ": " + found
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir-run", default="weir-run")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    ran = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, estimator, x, y in estimators():
            if given.names and name not in given.names:
                continue
            ran += 1
            text = check(given.weir_run, folder, estimator, x, y)
            if text:
                bad += 1
                print(name, ":", text, flush=True)
    print("%d models ran, %d of them differ or fail" % (ran, bad))
    sys.exit(1 if bad or not ran else 0)


main()
