# ===- exports_boosting.py - boosted trees of three libraries ------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""LightGBM and XGBoost by onnxmltools, and CatBoost by itself; the former two have gaps in what
they are trained on."""
import catboost
import lightgbm
import numpy as np
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((600, 8)).astype(np.float32)
GAPS = np.where(RANDOM.random(X.shape) < 0.1, np.float32(np.nan), X)
THREE = ((X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + (X[:, 3] > 1)).astype(int)
TWO = (X[:, 0] * X[:, 1] > 0).astype(int)
REAL = (X[:, 0] * 3 + np.sin(X[:, 1])).astype(np.float32)


def made(path, model, feed, x):
    def oracle(case):
        predicted = model.predict(case[feed])
        if not hasattr(model, "predict_proba"):
            return [predicted.astype(np.float32).reshape(-1, 1)]
        return [predicted.ravel(), model.predict_proba(case[feed]).astype(np.float32)]
    return path + ".onnx", [{feed: x[:1]}, {feed: x[:50]}], oracle


def converted(convert, model, target, **options):
    def export(path):
        fitted = model.fit(GAPS, target)
        proto = convert(fitted, initial_types=[("x", FloatTensorType([None, X.shape[1]]))],
                        target_opset=15, **options)
        with open(path + ".onnx", "wb") as out:
            out.write(proto.SerializeToString())
        return made(path, fitted, "x", GAPS)
    return export


def light(model, target):
    return "onnxmltools", converted(convert_lightgbm, model, target, zipmap=False)


def extreme(model, target):
    return "onnxmltools", converted(convert_xgboost, model, target)


def cat(model, target):
    def export(path):
        fitted = model.fit(X, target, verbose=False)
        fitted.save_model(path + ".onnx", format="onnx")
        return made(path, fitted, "features", X)
    return "own", export


MODELS = {
    "lightgbm-classes": light(lightgbm.LGBMClassifier(n_estimators=50, verbose=-1), THREE),
    "lightgbm-binary": light(lightgbm.LGBMClassifier(n_estimators=50, verbose=-1), TWO),
    "lightgbm-regression": light(lightgbm.LGBMRegressor(n_estimators=100, verbose=-1), REAL),
    "lightgbm-dart": light(lightgbm.LGBMRegressor(boosting_type="dart", n_estimators=30, verbose=-1),
                           REAL),
    "lightgbm-poisson": light(lightgbm.LGBMRegressor(objective="poisson", n_estimators=30,
                                                     verbose=-1), np.abs(REAL)),
    "xgboost-classes": extreme(xgboost.XGBClassifier(n_estimators=50, max_depth=6), THREE),
    "xgboost-binary": extreme(xgboost.XGBClassifier(n_estimators=50), TWO),
    "xgboost-regression": extreme(xgboost.XGBRegressor(n_estimators=100), REAL),
    "xgboost-forest": extreme(xgboost.XGBRFRegressor(n_estimators=50), REAL),
    "xgboost-poisson": extreme(xgboost.XGBRegressor(n_estimators=30, objective="count:poisson"),
                               np.abs(REAL)),
    "catboost-regression": cat(catboost.CatBoostRegressor(
        allow_writing_files=False, iterations=80, depth=6), REAL),
    "catboost-binary": cat(catboost.CatBoostClassifier(
        allow_writing_files=False, iterations=80), TWO),
    "catboost-classes": cat(catboost.CatBoostClassifier(
        allow_writing_files=False, iterations=50), THREE),
}
EXPORTS = [(name, way, export) for name, (way, export) in MODELS.items()]
