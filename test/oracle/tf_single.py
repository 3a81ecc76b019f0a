#===- tf_single.py - Graphs of one TensorFlow operation, from its registry ----===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws a node of an operation: types, attributes with their allowed values and defaults
from the registry, shapes and contents from tf_roles.py."""
import math
import re

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.python.framework import op_def_registry

import shapes
import tf_roles
import values
from cases import Case, Reject, short

ANY = [types_pb2.DT_FLOAT, types_pb2.DT_INT32, types_pb2.DT_INT64, types_pb2.DT_DOUBLE,
       types_pb2.DT_HALF, types_pb2.DT_BFLOAT16, types_pb2.DT_BOOL, types_pb2.DT_UINT8,
       types_pb2.DT_INT8, types_pb2.DT_INT16, types_pb2.DT_UINT16, types_pb2.DT_COMPLEX64,
       types_pb2.DT_STRING, types_pb2.DT_UINT32, types_pb2.DT_UINT64, types_pb2.DT_COMPLEX128]
RULES = [(re.compile(pattern), rule) for pattern, rule in tf_roles.RULES]
SUMS = re.compile(r"MatMul|Conv|AdjustContrast|Pool|Sum|Mean|Norm|Softmax|Segment|Cum|LRN|Einsum|Prod|L2Loss|Solve"
                  r"|Cholesky|Determinant|Inverse|FFT|Resize|BiasAddGrad|Svd|Eig|AddN|Accumulate|FakeQuant.*VarsGrad|FakeQuant.*ChannelGrad"
                  r"|BlockCell|BlockLSTM")
# Where errors of operands grow exponentially.
CALM = re.compile(r"BlockCell|BlockLSTM")
# Of infinite factors TensorFlow's products of complex numbers are C's at the end of a row, where
# vectors do not fit, and elsewhere those of the formula: NaN.
GROWING = re.compile(r"^(Exp|Expm1|Sinh|Cosh|Cumprod|Prod|(Batch)?MatrixDeterminant)$")
PRODUCTS = re.compile(r"Mul|[Dd]iv|Mean|Square|Prod|Einsum|Pow|Xlog|Grad|Sigmoid|Tanh|Recip|^Inv$|Rsqrt|^Sign$")
# Whose sums or products of halves TensorFlow keeps in halves, where they overflow.
NARROW = re.compile(r"^(Prod|Mean|Sum|Cumprod|Cumsum|EuclideanNorm)$")
SPECIAL = re.compile(r"gamma|Bessel|Betainc|Zeta|Erf|Ndtri|Dawsn|Expint|Fresnel|Spence|FFT|Resize"
                     r"|GammaGrad|CropAndResize|Adjust|HSV|Complex|^(Tan|Tanh|Cos|Sin|Cosh|Sinh|Exp|Pow)$")
FACTORS = re.compile(r"Cholesky|Determinant|Inverse|Solve|Svd|Eig|Qr|Lu$|MatrixExponential"
                     r"|MatrixSquareRoot|MatrixLogarithm")


def rule_of(name):
    for pattern, rule in RULES:
        if pattern.fullmatch(name):
            return rule
    return ""


def numpy_type(enum):
    if enum == types_pb2.DT_STRING:
        return np.dtype(object)
    return np.dtype(tf.as_dtype(enum).as_numpy_dtype)


def usable(name):
    """Operations that stand alone: no references, no resources, no variants."""
    op = op_def_registry.get(name)
    if op is None or op.is_stateful or not op.output_arg or not op.input_arg:
        return None
    for arg in list(op.input_arg) + list(op.output_arg):
        if arg.is_ref or arg.type in (types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT):
            return None
    return op if rule_of(name) is not None else None


class Draw(shapes.Operands):
    def __init__(self, random, op, given=None):
        """`given`: the first operand, a result of another node."""
        rule = rule_of(op.name)
        if isinstance(rule, tuple):
            rule = values.pick(random, rule)
        super().__init__(random, rule)
        self.op, self.attributes, self.types = op, {}, {}
        self.defs = {a.name: a for a in op.attr}
        self.given = given
        self.operands = []  # (argument, array)
        if self.kind == "special":
            self.kind = "normal"
        if re.search("Norm|LRN|Softmax|Conv|Solve|MatrixExp|FFT|Spectrogram|Cholesky", op.name) and \
                self.kind == "normal":
            self.kind = "kinks"
        if CALM.search(op.name):
            self.kind = "calm"
        # Which element is the largest beside NaN, and the side of a branch cut, are nobody's.
        if re.search("Pool|ArgM|TopK|NthElement|Segment(Max|Min)|Cast", op.name) and self.kind == "normal":
            self.kind = "kinks"
        if given is not None and given.dtype != object and re.search("Pool|ArgM|TopK|NthElement|Segment(Max|Min)", op.name) and \
                values.is_float(given.dtype) and np.isnan(given.astype(np.float64)).any():
            raise Reject("NaN where an order decides")
        if op.name == "NearestNeighbors" and self.kind == "normal":
            self.kind = "kinks"
        if re.fullmatch("A(tan|sin|cos|cosh|sinh|tanh)|Log|Log1p|Sqrt", op.name):
            self.kind = "plain" if self.kind != "normal" else self.kind

    def type(self, name):
        if name not in self.types:
            a = self.defs[name]
            allowed = list(a.allowed_values.list.type) or ANY
            allowed = [t for t in allowed if t in ANY]
            if not allowed:
                raise Reject("types of " + name)
            if a.HasField("default_value") and a.default_value.type in allowed and \
                    self.random.random() < 0.4:
                self.types[name] = a.default_value.type
            else:
                self.types[name] = self.pick(allowed)
        return self.types[name]

    def attribute(self, name):
        if name not in self.attributes:
            self.attributes[name] = self.draw_attribute(name) if name in self.defs else None
        return self.attributes[name]

    def draw_attribute(self, name):
        a, random = self.defs[name], self.random
        default = a.default_value if a.HasField("default_value") else None
        value = self.structural(name, a)
        if value is not None:
            return value
        if default is not None and random.random() < 0.4:
            return None
        if name == "Truncate" and self.types.get("SrcT") == types_pb2.DT_DOUBLE and \
                self.types.get("DstT") == types_pb2.DT_COMPLEX64:
            return None  # TensorFlow cuts 53 bits, as if a complex number had no fraction
        if a.type == "bool":
            return bool(random.random() < 0.5) if name not in ("use_cudnn_on_gpu", "sorted") else None
        if a.type == "string" and name in tf_roles.TEXTS and not a.allowed_values.list.s:
            return self.pick(tf_roles.TEXTS[name])
        if a.type == "string" and a.allowed_values.list.s:
            if name == "data_format" and random.random() < 0.9:
                return None
            return self.pick(list(a.allowed_values.list.s))
        if a.type == "int":
            bounds = tf_roles.NUMBERS.get(name, ())
            if bounds:
                return int(random.integers(bounds[0], bounds[1], endpoint=True))
            if default is None and bounds == ():
                return max(int(random.integers(1, 4)), a.minimum if a.has_minimum else 0)
        if a.type == "float" and name in ("alpha", "epsilon", "bias", "beta"):
            return float(np.float32(self.pick([0.1, 0.2, 0.5, 0.01])))
        if default is None:
            raise Reject("attribute %s of %s" % (name, self.op.name))
        return None

    def structural(self, name, a):
        random, rank = self.random, len(self.first)
        if name in ("strides", "ksize", "ksizes", "rates", "dilations", "window_strides") and \
                a.type == "list(int)":
            inner = rank - 2 if rank > 2 else 2
            if name == "dilations" and random.random() < 0.6:
                return None
            most = 3 if name in ("strides",) else 4 if name.startswith("ksize") else 3
            drawn = random.integers(1, most, inner).tolist()
            if name in ("strides",) and ("Depthwise" in self.op.name):
                drawn = [drawn[0]] * inner
            return [1] + drawn + [1]
        if name == "explicit_paddings":
            if self.attribute("padding") != b"EXPLICIT":
                return None
            return [0, 0] + random.integers(0, 2, 4).tolist() + [0, 0]
        if name == "block_size":
            return self.sizes.get("b", 2)
        if name == "batch_dims":  # of GatherV2, and of others none
            return len(self.lists.get("B", []))
        if name == "ellipsis_mask":
            return 1 << int(random.integers(rank + 1)) if random.random() < 0.3 else 0
        if name == "num_split":
            return self.sizes.get("b", 2)
        if name == "axis" and self.op.name == "OneHot":
            return int(random.integers(-1, rank + 1))
        if name == "axis" and self.op.name in ("Pack", "Unpack"):
            extra = self.op.name == "Pack"
            if not rank and not extra:
                raise Reject("scalar")
            return int(random.integers(-rank - extra, rank + extra))
        if name == "num" and self.op.name == "Unpack":
            axis = self.attribute("axis") or 0
            if not rank:
                raise Reject("scalar")
            return self.first[axis]
        if name == "squeeze_dims":
            ones = [i for i, d in enumerate(self.first) if d == 1]
            return ones if ones and random.random() < 0.5 else None
        if name == "shape" and a.type == "shape":
            if random.random() < 0.5:
                return tf.TensorShape(self.first)
            return tf.TensorShape([None] * rank)
        if name == "boundaries":
            return sorted(float(x) for x in random.integers(-5, 6, 3))
        if name == "equation":
            return self.equation()
        if name == "fused_ops":
            return [b"BiasAdd", self.pick([b"Relu", b"Elu", b"Relu6", b"Tanh", b"Sigmoid"])]
        if name == "num_args":
            return 1
        if name in ("compute_v", "compute_uv", "uniform_noise"):
            return False  # signs of vectors, and noise, are nobody's
        if name == "ngram_widths":
            return random.integers(1, 4, int(random.integers(1, 3))).tolist()
        return None

    def equation(self):
        out = self.draw_terms(self.attribute("N") or 1, "abcd")
        return (",".join(self.terms) + "->" + out).encode()

    def draw(self):
        first = self.op.input_arg[0]
        if self.given is not None:
            enum = enum_of(self.given.dtype)
            if not first.type_attr and first.type != enum:
                raise Reject("type")
            if first.type_attr:
                allowed = list(self.defs[first.type_attr].allowed_values.list.type)
                if allowed and enum not in allowed:
                    raise Reject("type")
                self.types[first.type_attr] = enum
        for a in self.op.attr:
            if a.type == "type":
                self.attributes[a.name] = tf.as_dtype(self.type(a.name))
            elif a.type in ("list(type)", "func", "tensor"):
                raise Reject("attribute of type " + a.type)
        if "N" in self.defs:
            fewest = max(self.defs["N"].minimum, 1)
            self.attributes["N"] = int(fewest + self.pick([0, 0, 1, 2])) \
                if self.op.name != "Einsum" else self.pick([1, 2, 2])
        if self.op.name == "Einsum":
            self.attribute("equation")
        for arg in self.op.input_arg:
            count = 1
            if arg.number_attr:
                count = self.attribute(arg.number_attr)
                if count is None:
                    count = 1
            for i in range(count):
                self.operands.append((arg.name, self.operand(arg, i)))
        for a in self.op.attr:
            self.attribute(a.name)
        return self

    def operand(self, arg, i):
        dtype = numpy_type(self.type(arg.type_attr) if arg.type_attr else arg.type)
        rule = self.rule.get(arg.name)
        if rule is None and self.shapes and arg.name in tf_roles.BY_NAME:
            rule = shapes.PART.fullmatch(tf_roles.BY_NAME[arg.name]).groups()
        role = rule[4] if rule else None
        if self.given is not None and not self.operands:
            if self.op.name == "Einsum":
                self.bind_term(self.terms[0], self.given.shape)
            self.shapes[arg.name] = self.take(arg.name, rule, self.given.shape)
            self.join()
            return self.given
        if self.op.name == "Einsum":
            shape = self.term_shape(self.terms[i])
        elif arg.number_attr and i:
            shape = list(self.shapes[arg.name])
            if self.op.name == "Concat" and shape:
                shape[int(self.operands[0][1])] = values.size(self.random)
            elif self.op.name == "ConcatV2" and shape:
                shape[self.joined] = values.size(self.random)
        elif rule is None:
            alone = len(self.op.input_arg) == 1 or arg.number_attr
            shape = self.broadcast(len(self.operands), alone)
            if re.search(r"Grad$", self.op.name) or self.op.name in ("ApproximateEqual",):
                shape = list(self.full)
        else:
            shape = self.shape_of(arg.name, rule)
        if math.prod(shape) > values.LARGEST:
            raise Reject("large")
        self.shapes.setdefault(arg.name, shape)
        self.join()
        if role:
            return self.contents(role, dtype, shape)
        kind = self.kind
        if dtype.kind == "c" and GROWING.search(self.op.name) or \
                dtype.itemsize == 2 and values.is_float(dtype) and NARROW.search(self.op.name):
            kind = "calm"
        elif kind == "normal" and dtype.kind == "c" and PRODUCTS.search(self.op.name):
            kind = "kinks"
        value = values.elements(self.random, dtype, shape, kind)
        # What unsigned integers make of negative numbers C++ leaves open.
        unsigned = "DstT" in self.types and numpy_type(self.types["DstT"]).kind == "u"
        if unsigned and dtype.kind == "c":
            return np.minimum(np.abs(value.real), 127).astype(dtype)
        return np.abs(value) if unsigned and values.is_float(dtype) else value

    def join(self):
        """Draws the axis, which follows what is concatenated along it."""
        if self.op.name == "ConcatV2" and not self.operands:
            rank = len(self.first)
            self.joined = int(self.random.integers(-rank, max(rank, 1)))


def terms_of(name, operands):
    """How many terms a result's sums have, at most."""
    if CALM.search(name):  # a product with the weights
        return max(value.shape[0] for argument, value in operands if argument.startswith("w"))
    return max([v.size for _, v in operands] + [1]) if SUMS.search(name) else 1


def make(random, op):
    drawn = Draw(random, op).draw()
    if op.name == "SparseAdd" and drawn.operands[1][1].dtype == np.int64 and \
            np.any(drawn.operands[6][1] < 1):
        raise Reject("a threshold with which TensorFlow drops all sums of two")
    first = drawn.operands[0][1]
    if op.name in ("Prod", "Cumprod") and first.dtype.kind == "c" and first.size and \
            np.sum(np.abs(np.log(np.maximum(np.abs(first), 1e-30)))) > 80:
        raise Reject("a complex product that may overflow")
    if re.fullmatch(r"I?RFFT(2D|3D)?", op.name) and not drawn.operands[0][1].size and \
            np.all(drawn.operands[1][1]):
        raise Reject("a transform of nothing, whose result TensorFlow leaves as its memory was")
    if op.name in ("ArgMax", "ArgMin") and drawn.types.get("Tidx") == types_pb2.DT_INT16:
        raise Reject("an axis of 16 bits, of which TensorFlow reads 32")
    form = str(random.choice(["fixed", "open", "unranked"], p=[0.6, 0.38, 0.02]))
    feeds, constants, definition = {}, [], graph_pb2.GraphDef()
    definition.versions.producer = 2474 if not op.HasField("deprecation") else \
        op.deprecation.version - 1
    roles = {name for name, rule in drawn.rule.items() if rule[4]} | set(tf_roles.BY_NAME)
    folds = random.random() < 0.1  # all that is known when compiling
    for i, (name, value) in enumerate(drawn.operands):
        role = name in roles
        constants.append(bool(folds or random.random() < (0.85 if role else 0.25)))
        if constants[-1]:
            add_constant(definition, "x%d" % i, value)
            continue
        shape = value.shape if form == "fixed" or (role and value.ndim == 1) else \
            [None] * value.ndim if form == "open" else None
        add_placeholder(definition, "x%d" % i, value.dtype, shape)
        feeds["x%d:0" % i] = value
    outputs = ["node:%d" % i for i in range(defined(op, add_node(definition, op, drawn)))]
    if re.search("Svd|SelfAdjointEig", op.name):
        outputs = outputs[:1]
    strip_defaults(random, definition, op)
    fed = "const" if all(constants) else "mixed" if any(constants) else "fed"
    case = Case("tf", op.name, definition, [feeds], (
        "string" if first.dtype == object else first.dtype.name, fed, form),
        length=terms_of(op.name, drawn.operands))
    case.fetches = [outputs]
    if re.match("Erfinv|Digamma|Bessel|Selu|Elu|Fresnel|Polygamma|Zeta|Igamma|RandomGammaGrad", op.name):
        case.least = 4096  # TensorFlow's own are that far from the exact value in float32
    elif op.name == "Betainc":
        case.least = 512  # 390 of TensorFlow's own, from logarithms of gamma functions
    elif FACTORS.search(op.name):
        case.least = 256
    elif SPECIAL.search(op.name):
        case.least = 64
    return case


def enum_of(dtype):
    return types_pb2.DT_STRING if dtype == object else tf.as_dtype(dtype).as_datatype_enum


def add_constant(definition, name, value):
    node = definition.node.add(name=name, op="Const")
    node.attr["dtype"].type = enum_of(value.dtype)
    node.attr["value"].tensor.CopyFrom(
        tf.make_tensor_proto(value, tf.as_dtype(enum_of(value.dtype)), value.shape))


def add_placeholder(definition, name, dtype, shape):
    node = definition.node.add(name=name, op="Placeholder")
    node.attr["dtype"].type = enum_of(dtype)
    node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())


def proto_of(value, proto):
    if isinstance(value, tf.DType):
        proto.type = value.as_datatype_enum
    elif isinstance(value, bool):
        proto.b = value
    elif isinstance(value, int):
        proto.i = value
    elif isinstance(value, float):
        proto.f = value
    elif isinstance(value, bytes):
        proto.s = value
    elif isinstance(value, tf.TensorShape):
        proto.shape.CopyFrom(value.as_proto())
    else:
        proto.list.SetInParent()
        for v in value:
            {int: proto.list.i, float: proto.list.f, bytes: proto.list.s}[type(v)].append(v)


def defined(op, count):
    """How many of `count` results hold something: a batch normalisation that does not train leaves
    as it finds it what is reserved for the gradient."""
    return 1 if op.name.startswith("FusedBatchNorm") else count


def add_node(definition, op, drawn):
    """How many results it has. (Nothing of TensorFlow looks at the node here: its checks
    may end the process.)"""
    node = definition.node.add(name="node", op=op.name)
    node.input.extend("x%d" % i for i in range(len(drawn.operands)))
    for a in op.attr:
        value = drawn.attributes.get(a.name)
        if value is not None:
            proto_of(value, node.attr[a.name])
        elif a.HasField("default_value"):
            node.attr[a.name].CopyFrom(a.default_value)
        else:
            raise Reject("attribute %s of %s" % (a.name, op.name))
    return sum(node.attr[out.number_attr].i if out.number_attr else 1 for out in op.output_arg)


def strip_defaults(random, definition, op):
    """Exporters leave attributes out that have their default."""
    if random.random() < 0.5:
        return
    for node in definition.node:
        if node.name != "node":
            continue
        for a in op.attr:
            if a.HasField("default_value") and a.name in node.attr and \
                    node.attr[a.name] == a.default_value:
                del node.attr[a.name]


def describe(case):
    parts = []
    for node in case.model.node:
        if node.op == "Placeholder":
            continue
        if node.op == "Const":
            parts.append("%s=const %s" % (node.name, short(tf.make_ndarray(node.attr["value"].tensor))))
            continue
        attributes = []
        for key, value in sorted(node.attr.items()):
            if not key.startswith("_") and key not in ("use_cudnn_on_gpu",):
                attributes.append("%s=%s" % (key, " ".join(str(value).split())[:80]))
        parts.append("%s = %s(%s) %s" % (node.name, node.op, ",".join(node.input), ", ".join(attributes)))
    for run in case.feeds:
        parts.append("run " + ", ".join("%s:%s" % (n, short(v)) for n, v in run.items()))
    return "; ".join(parts)[:1500]
