# ===- exports_sklearn.py - pipelines of scikit-learn by skl2onnx ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Pipelines with text, categories, missing numbers and boosted trees."""
import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (GradientBoostingRegressor, HistGradientBoostingClassifier,
                              RandomForestClassifier, StackingClassifier, VotingClassifier)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (KBinsDiscretizer, OneHotEncoder, PolynomialFeatures,
                                   StandardScaler)

RANDOM = np.random.default_rng(3)
WORDS = "red green blue ant bee cow runs sits sleeps slowly well today".split()


def sentences(count):
    return np.array([" ".join(RANDOM.choice(WORDS, RANDOM.integers(1, 8))) for _ in range(count)])


def text(classifier, vectorizer):
    def export(path):
        lines = sentences(200)
        labels = np.array(["insect" if "ant" in s or "bee" in s else "other" for s in lines])
        model = make_pipeline(vectorizer(), classifier()).fit(lines, labels)
        shown = {"lines": sentences(6).reshape(-1, 1).astype(object)}
        return finish(path, model, [("lines", StringTensorType([None, 1]))], shown, lambda case: [
            model.predict(case["lines"].ravel()), model.predict_proba(case["lines"].ravel())])
    return export


def finish(path, model, types, shown, oracle):
    classifies = hasattr(model, "predict_proba")
    options = {id(model): {"zipmap": False}} if classifies else None
    with open(path + ".onnx", "wb") as out:
        out.write(to_onnx(model, initial_types=types, options=options,
                          target_opset={"": 18, "ai.onnx.ml": 3}).SerializeToString())
    def typed(case):
        results = []
        for r in oracle(case):
            results.append(r.astype(np.float32) if r.dtype == np.float64 else r)
        return results
    return path + ".onnx", [shown], typed


def numbers(model, is_classifier=True, gaps=False):
    def export(path):
        x = RANDOM.standard_normal((300, 6)).astype(np.float32)
        y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(np.int64) + (x[:, 3] > 1)
        target = y if is_classifier else (x[:, 0] * 3 + x[:, 1]).astype(np.float32)
        if gaps:
            x[RANDOM.random(x.shape) < 0.1] = np.nan
        fitted = model().fit(x, target)
        shown = {"x": x[:7]}
        def oracle(case):
            if is_classifier:
                return [fitted.predict(case["x"]), fitted.predict_proba(case["x"])]
            return [fitted.predict(case["x"]).reshape(-1, 1)]
        return finish(path, fitted, [("x", FloatTensorType([None, 6]))], shown, oracle)
    return export


def columns(path):
    kinds = RANDOM.choice(["ant", "bee", "cow"], (200, 1)).astype(object)
    x = RANDOM.standard_normal((200, 2)).astype(np.float32)
    table = np.concatenate([kinds, x.astype(object)], axis=1)
    labels = (x[:, 0] > 0) | (kinds[:, 0] == "cow")
    import pandas
    frame = pandas.DataFrame(table, columns=["kind", "a", "b"])
    frame[["a", "b"]] = frame[["a", "b"]].astype(np.float32)
    model = make_pipeline(ColumnTransformer([
        ("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"])]),
        LogisticRegression()).fit(frame, labels.astype(np.int64))
    shown = {"kind": np.array([["ant"], ["cow"], ["dog"]], object), "a": x[:3, :1], "b": x[:3, 1:]}

    def oracle(case):
        given = pandas.DataFrame({k: v.ravel() for k, v in case.items()})
        return [model.predict(given), model.predict_proba(given)]
    types = [("kind", StringTensorType([None, 1])), ("a", FloatTensorType([None, 1])),
             ("b", FloatTensorType([None, 1]))]
    return finish(path, model, types, shown, oracle)


MODELS = {
    "text-tfidf-logistic": text(LogisticRegression, TfidfVectorizer),
    "text-bigrams-bayes": text(MultinomialNB, lambda: CountVectorizer(ngram_range=(1, 2))),
    "text-characters-logistic": text(LogisticRegression, lambda: TfidfVectorizer(
        analyzer="char", ngram_range=(1, 3))),
    "text-svd-forest": text(lambda: make_pipeline(TruncatedSVD(5), RandomForestClassifier(
        10, random_state=0)), TfidfVectorizer),
    "columns": columns,
    "boosting": numbers(lambda: GradientBoostingRegressor(n_estimators=40), False),
    "histogram-boosting-gaps": numbers(lambda: HistGradientBoostingClassifier(max_iter=20), gaps=True),
    "forest": numbers(lambda: RandomForestClassifier(50, random_state=0)),
    "voting": numbers(lambda: VotingClassifier([("a", LogisticRegression()), (
        "b", RandomForestClassifier(10, random_state=0))], voting="soft", flatten_transform=False)),
    "stacking": numbers(lambda: StackingClassifier([("a", LogisticRegression()), (
        "b", RandomForestClassifier(10, random_state=0))])),
    "bins-polynomial": numbers(lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2),
                                                     SelectKBest(k=10), LogisticRegression())),
    "pca-linear": numbers(lambda: make_pipeline(StandardScaler(), PCA(3), LinearRegression()), False),
    "quantiles": numbers(lambda: make_pipeline(KBinsDiscretizer(4, encode="onehot-dense"),
                                               LogisticRegression())),
}
EXPORTS = [(name, "skl2onnx", make) for name, make in MODELS.items()]
