# ===- exports_estimators.py - the estimators that skl2onnx converts -----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Each classifier, regressor and transformer of scikit-learn that skl2onnx converts, by its default
arguments where it has some, and those that have more than one way of computing by each. Inputs of
f32 and f64, as many rows as a run likes; ONNX Runtime says what is right."""
import warnings

import numpy as np
from exports import session
from skl2onnx import supported_converters, to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (GradientBoostingClassifier, IsolationForest, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (RBF, ConstantKernel, DotProduct, ExpSineSquared,
                                              Matern, RationalQuadratic, WhiteKernel)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import (KBinsDiscretizer, PolynomialFeatures, PowerTransformer,
                                   QuantileTransformer, StandardScaler)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((400, 8))
CLASSES = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64) + (X[:, 3] > 1)
NUMBERS = X[:, 0] * 3 + X[:, 1] ** 2
PAIRS = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=4))]
NUMBER_PAIRS = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=4))]
# Arguments of those that have no defaults, or slow ones.
ARGUMENTS = {
    "AdaBoostClassifier": dict(n_estimators=20),
    "OneVsRestClassifier": dict(estimator=LogisticRegression()),
    "OneVsOneClassifier": dict(estimator=LogisticRegression()),
    "MultiOutputClassifier": dict(estimator=LogisticRegression()),
    "MultiOutputRegressor": dict(estimator=LinearRegression()),
    "StackingClassifier": dict(estimators=PAIRS),
    "StackingRegressor": dict(estimators=NUMBER_PAIRS),
    "VotingClassifier": dict(estimators=PAIRS), "VotingRegressor": dict(estimators=NUMBER_PAIRS),
    "RFE": dict(estimator=LogisticRegression()), "RFECV": dict(estimator=LogisticRegression()),
    "SelectFromModel": dict(estimator=LogisticRegression()), "SelectKBest": dict(k=3),
    "GenericUnivariateSelect": dict(mode="k_best", param=3), "SelectFdr": dict(alpha=0.5),
    "SelectFpr": dict(alpha=0.5), "SelectFwe": dict(alpha=0.5),
    "GridSearchCV": dict(estimator=LogisticRegression(), param_grid={"C": [0.1, 1]}),
    "ColumnTransformer": dict(transformers=[("a", StandardScaler(), [0, 1, 2]),
                                            ("b", KBinsDiscretizer(3), [3, 4, 5])]),
    "FeatureUnion": dict(transformer_list=[("a", StandardScaler()), ("b", PolynomialFeatures(2))]),
    "Pipeline": dict(steps=[("a", StandardScaler()), ("b", LogisticRegression())]),
    "TunedThresholdClassifierCV": dict(estimator=LogisticRegression()),
    "GaussianProcessClassifier": dict(kernel=RBF(1.0)),
    "GaussianRandomProjection": dict(n_components=3), "PLSRegression": dict(n_components=1),
    "KernelPCA": dict(n_components=3, kernel="rbf"), "PCA": dict(n_components=3),
    "IncrementalPCA": dict(n_components=3), "TruncatedSVD": dict(n_components=3),
}
# Further ways of computing.
WAYS = {
    "svc-polynomial": SVC(kernel="poly", probability=True, random_state=0),
    "svc-sigmoid": SVC(kernel="sigmoid"),
    "svc-probabilities": SVC(probability=True, random_state=0),
    "svc-one-to-one": SVC(kernel="linear", decision_function_shape="ovo"),
    "nu-svc-probabilities": NuSVC(nu=0.2, probability=True, random_state=0),
    "svr-polynomial": SVR(kernel="poly"),
    "process-matern": GaussianProcessRegressor(Matern(nu=1.5) * ConstantKernel(2.0)),
    "process-periodic": GaussianProcessRegressor(ExpSineSquared(), alpha=1e-3),
    "process-linear": GaussianProcessRegressor(DotProduct() + WhiteKernel()),
    "process-rational": GaussianProcessRegressor(RationalQuadratic()),
    "neighbours-manhattan": KNeighborsClassifier(3, metric="manhattan"),
    "neighbours-cosine": KNeighborsClassifier(3, metric="cosine"),
    "neighbours-by-distance": KNeighborsRegressor(4, weights="distance"),
    "neighbours-third-power": KNeighborsRegressor(4, p=3),
    "mixture-tied": GaussianMixture(3, covariance_type="tied"),
    "mixture-diagonal": GaussianMixture(3, covariance_type="diag"),
    "mixture-spherical": GaussianMixture(3, covariance_type="spherical"),
    "perceptron-tanh": MLPClassifier((20, 10), activation="tanh"),
    "boosting-classes": GradientBoostingClassifier(n_estimators=20),
    "ridge-two-targets": Ridge(), "forest-two-targets": RandomForestRegressor(10),
    "forest-two-classes": RandomForestClassifier(10),
    "isolation-of-200": IsolationForest(n_estimators=200),
    "forest-of-300": RandomForestClassifier(300, max_depth=10, random_state=0),
    "calibrated-isotonic": CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3),
                                                  method="isotonic"),
    "calibrated-sigmoid": CalibratedClassifierCV(LinearSVC()),
    "bins-of-quantiles": KBinsDiscretizer(5, encode="onehot"),
    "polynomial-interactions": PolynomialFeatures(3, interaction_only=True),
    "power-box-cox": PowerTransformer("box-cox"),
    "quantiles-normal": QuantileTransformer(n_quantiles=50, output_distribution="normal"),
    "outliers-of-new": LocalOutlierFactor(novelty=True),
}
POSITIVE = ("MultinomialNB", "ComplementNB", "CategoricalNB", "power-box-cox")
FEW = ("CategoricalNB", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
GAPS = ("SimpleImputer", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
ALMOST_CLASSES = ("RFE", "RFECV", "SelectFromModel", "GridSearchCV", "TargetEncoder",
                  "NeighborhoodComponentsAnalysis")
# Found in no file of skl2onnx's but for arguments of other shapes, or only as parts of others.
# RadiusNeighbors…: an index lies outside of what it picks from, which both engines refuse.
# KNNImputer: one of its branches gives a tensor of another rank, which no program has.
LEFT_OUT = ("CountVectorizer", "TfidfVectorizer", "DictVectorizer", "FeatureHasher", "LabelEncoder",
            "LabelBinarizer", "KernelCenterer", "KNNImputer",
            "RadiusNeighborsClassifier", "RadiusNeighborsRegressor")


def inputs(name):
    x = np.abs(X) + 0.1 if name in POSITIVE else X.copy()
    if name in FEW:
        x = np.floor(np.abs(x)).clip(0, 2)
    if name in GAPS:
        x[RANDOM.random(x.shape) < 0.1] = np.nan
    return x


def targets(name, model):
    if name in ("ridge-two-targets", "forest-two-targets", "MultiOutputRegressor"):
        return np.stack([NUMBERS, np.abs(NUMBERS)], 1)
    if name in ("forest-two-classes", "MultiOutputClassifier"):
        return np.stack([CLASSES, CLASSES > 0], 1).astype(np.int64)
    if name == "TunedThresholdClassifierCV":
        return (CLASSES > 0).astype(np.int64)
    if name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"):
        return np.abs(NUMBERS) + 0.1
    if is_regressor(model) or name == "PLSRegression":
        return NUMBERS
    if is_classifier(model) or name in ALMOST_CLASSES or "Select" in name:
        return CLASSES
    return None


def exported(name, build, dtype):
    def export(path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, model = inputs(name).astype(dtype), build()
            y = targets(name, model)
            model.fit(x) if y is None else model.fit(x, y)
            kind = FloatTensorType if dtype == np.float32 else DoubleTensorType
            options = {id(model): {"zipmap": False}} if (
                is_classifier(model) and hasattr(model, "predict_proba")) else None
            types, opset = [("x", kind([None, x.shape[1]]))], {"": 19, "ai.onnx.ml": 3}
            try:
                proto = to_onnx(model, initial_types=types, options=options, target_opset=opset)
            except NameError:  # its converter has no such option
                proto = to_onnx(model, initial_types=types, target_opset=opset)
        with open(path + ".onnx", "wb") as out:
            out.write(proto.SerializeToString())
        peer = session(path + ".onnx")

        def oracle(case):
            results = zip(peer.get_outputs(), peer.run(None, case))
            return {output.name: value for output, value in results if not isinstance(value, list)}
        return path + ".onnx", [{"x": x[3:10]}, {"x": x[:1]}, {"x": x}], oracle
    return export


def converted():
    known = set(supported_converters(True))
    for name, kind in all_estimators():
        if name in known and name not in LEFT_OUT:
            yield name, lambda kind=kind, name=name: kind(**ARGUMENTS.get(name, {}))
    for name, model in WAYS.items():
        yield name, lambda model=model: model


EXPORTS = [(name, "skl2onnx %s" % dtype.__name__, exported(name, build, dtype))
           for name, build in converted() for dtype in (np.float32, np.float64)]
