#===- onnx_single.py - Models of one ONNX operator, from its schema -----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Draws a node of any operator at any version: types, optional inputs, attributes from
the schema, shapes and contents from onnx_roles.py."""
import math
import re

import numpy as np
import onnx
from onnx import AttributeProto, defs, helper, numpy_helper

import onnx_decoders
import onnx_roles
import onnx_searches
import onnx_trees
import shapes
import values
from cases import Case, Reject
from onnx_open import POOLS, reject_open

NEWEST = 26
ATTRIBUTE = defs.OpSchema.AttrType
OPTION = defs.OpSchema.FormalParameterOption
CELLS = {"RNN": 1, "GRU": 2, "LSTM": 3}  # activations of a direction
INTEGER = re.compile(r"-?\d+")


def numpy_type(text):
    """Of "tensor(float)"; None: no tensor."""
    match = re.fullmatch(r"tensor\((\w+)\)", text)
    if not match:
        return None
    name = {"double": "DOUBLE", "float": "FLOAT"}.get(match[1], match[1].upper())
    if name == "STRING":
        return np.dtype(object)
    return np.dtype(helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name)))


def element_type(dtype):
    if dtype == object:
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(dtype)


class Parameter:
    def __init__(self, given):
        self.name = given.name
        self.type = getattr(given, "type_str", None) or getattr(given, "typeStr")
        self.optional = given.option.name == "Optional"
        self.variadic = given.option.name == "Variadic"
        self.homogeneous = getattr(given, "is_homogeneous", getattr(given, "isHomogeneous", True))


class Schema:
    """Of ONNX or of ONNX Runtime, whose structures have other names."""

    def __init__(self, given, until):
        self.name, self.domain, self.since, self.until = (given.name, given.domain,
                                                          given.since_version, until)
        self.inputs = [Parameter(p) for p in given.inputs]
        self.outputs = [Parameter(p) for p in given.outputs]
        self.types = {}
        for c in given.type_constraints:
            name = getattr(c, "type_param_str", None) or getattr(c, "typeParamStr")
            texts = getattr(c, "allowed_type_strs", None) or getattr(c, "allowedTypeStrs")
            self.types[name] = list(texts)
        self.attributes = {}
        for name, a in given.attributes.items():
            default = getattr(a, "default_value", None)
            if isinstance(default, bytes) or default is None:
                proto = AttributeProto()
                proto.ParseFromString(default or getattr(a, "_default_value", b""))
                default = proto
            self.attributes[name] = (a.type.name, a.required, default)
        self.least_inputs, self.most_inputs = given.min_input, given.max_input
        self.least_outputs = given.min_output

    def types_of(self, parameter):
        """The texts of the types that it may have."""
        return self.types.get(parameter.type, [parameter.type])

    @property
    def key(self):
        return "%s%s-%d" % (self.domain + "." if self.domain else "", self.name, self.since)


def all_schemas(domains=("", "ai.onnx.ml", "com.microsoft")):
    listed = {}
    for s in defs.get_all_schemas_with_history():
        if s.domain in domains and s.support_level == defs.OpSchema.SupportType.COMMON:
            listed.setdefault((s.domain, s.name), []).append(s)
    if "com.microsoft" in domains:
        import onnxruntime.capi.onnxruntime_pybind11_state as state
        for s in state.get_all_operator_schema():
            if s.domain == "com.microsoft":
                listed.setdefault((s.domain, s.name), []).append(s)
    schemas = []
    for (domain, _), versions in sorted(listed.items()):
        versions.sort(key=lambda s: s.since_version)
        newest = {"": NEWEST, "ai.onnx.ml": 5}.get(domain, 1)
        for i, s in enumerate(versions):
            until = versions[i + 1].since_version - 1 if i + 1 < len(versions) else newest
            if not s.deprecated and s.since_version <= newest:
                schemas.append(Schema(s, max(until, s.since_version)))
    return schemas


class Draw(shapes.Operands):
    """One node, drawn."""
    ensembles = "small"  # how large (onnx_trees.SIZES)

    def __init__(self, random, schema, given=None):
        """`given`: the first operand, a result of another node."""
        rule = onnx_roles.RULES.get(schema.name, "")
        if rule is None:
            raise Reject("no rule")
        if isinstance(rule, tuple):
            rule = values.pick(random, rule)
        super().__init__(random, rule)
        self.schema, self.attributes, self.inputs, self.bound = schema, {}, [], {}
        self.given = given
        if self.kind == "special" and onnx_roles.SUMS.search(schema.name):
            self.kind = "unusual"
        if onnx_roles.FINITE.search(schema.name) and self.kind in ("special", "unusual"):
            self.kind = "kinks"
        if onnx_roles.CALM.search(schema.name):  # exponentials make errors large
            self.kind = "calm"
        if re.match(r"Cast", schema.name) and self.kind != "even":
            self.kind = "plain"
        self.opset = int(random.integers(schema.since, schema.until + 1))
        if self.attribute("activation") in (b"Tanh", b"Sigmoid"):
            self.kind = "calm"  # rounding of a large sum is large beside what lies in [-1, 1]

    # Attributes ------------------------------------------------------------------

    def attribute(self, name):
        """Its value, drawn the first time; None: left out."""
        if name not in self.attributes:
            self.attributes[name] = self.draw_attribute(name)
        return self.attributes[name]

    def draw_attribute(self, name):
        if name not in self.schema.attributes:
            return None
        kind, required, default = self.schema.attributes[name]
        value = self.structural(name)
        if value is not None:
            return value
        if not required and self.random.random() < 0.4:
            return None
        if kind == "STRING":
            words = onnx_roles.WORDS.get(name)
            if isinstance(words, dict):
                words = words.get(self.schema.name, words.get(None))
            if words:
                return self.pick(words).encode()
        if kind == "INT":
            bounds = onnx_roles.NUMBERS.get(name, ())
            if bounds is None:
                return None
            if bounds:
                return int(self.random.integers(bounds[0], bounds[1], endpoint=True))
        if kind == "FLOAT" and name not in onnx_roles.NUMBERS:
            if name in ("epsilon",):
                return float(self.pick([1e-5, 1e-3, 1e-12]))
            if name in ("lambd", "bias", "alpha", "beta", "gamma", "scale", "theta"):
                if not values.is_float(self.bound.get("T", np.dtype("float32"))):
                    return float(self.pick([1, 2, 3, 0]))
                if name == "scale" and "Attention" in self.schema.name:
                    return float(np.float32(self.pick([0.1, 0.5, 1.0])))
                return float(np.float32(self.pick([0.1, 0.5, 1.0, 2.0, -0.5, 0.0, 1.7])))
            if name in ("high", "low", "max", "min"):
                return float(np.float32(self.pick([-3.0, 0.5, 2.0, -0.25])))
        if required:
            raise Reject("attribute " + name)
        return None

    def structural(self, name):
        """Attributes that go by the operands' shapes."""
        random, rank, op = self.random, len(self.first), self.schema.name
        often = random.random() < 0.7
        if name == "axis" and "b" in self.sizes and op in ("QuantizeLinear", "DequantizeLinear"):
            return 1  # whose blocks the rule has
        if "broadcast" in self.schema.attributes:
            return None
        if name == "axis" and op != "Concat" or name == "axis" and rank:
            extra = op in ("Flatten",) or op == "Unsqueeze"
            if not rank and not extra:
                return 0 if op in ("Gather", "Softmax") else None
            low = -rank if self.opset >= 11 else 0
            axis = int(random.integers(low, rank + (1 if extra else 0)))
            return axis if often or self.schema.attributes[name][1] else None
        if name == "axes":
            if op == "Unsqueeze":
                return sorted(random.permutation(rank + 1)[:1].tolist())
            if op == "Squeeze":
                return [i for i, d in enumerate(self.first) if d == 1] or None
            if op == "Slice":
                return list(range(rank))
            if not rank or not often:
                return None
            chosen = random.permutation(rank)[:int(random.integers(1, rank + 1))]
            return [int(a) - (rank if self.opset >= 11 and random.random() < 0.3 else 0)
                    for a in chosen]
        if name in ("starts", "ends"):
            return random.integers(-6, 9, rank).tolist()
        if name in ("perm",):
            return random.permutation(rank).tolist() if often else None
        if name in ("pads", "paddings") and op == "Pad":
            return random.integers(0, 3, 2 * rank).tolist()
        spatial = len(self.lists["S"]) if "S" in self.lists else 2
        if name == "kernel_shape":
            if op in POOLS:
                shape = self.lists["S"]
                if random.random() < 0.2:  # larger than small images
                    return random.integers(1, 4, len(shape)).tolist()
                return [int(random.integers(1, min(max(d, 1), 3) + 1)) for d in shape]
            return list(self.lists["K"]) if "K" in self.lists and often else None
        if op == "Col2Im" and name in ("strides", "dilations", "pads"):
            return None  # the rule's blocks are those of ones and zeros
        if name == "strides":
            if self.attribute("auto_pad") in (b"SAME_UPPER", b"SAME_LOWER"):
                # A stride past the window has negative padding, of which engines make what
                # they will.
                kernel = self.attribute("kernel_shape") or self.lists.get("K", [3] * spatial)
                return [int(random.integers(1, k + 1)) for k in kernel]
            return random.integers(1, 4, spatial).tolist() if often else None
        if name == "dilations":
            if self.attribute("auto_pad") not in (None, b"NOTSET"):
                return None
            return random.integers(1, 3, spatial).tolist() if random.random() < 0.3 else None
        if name == "pads":
            if self.attribute("auto_pad") not in (None, b"NOTSET") or not often:
                return None
            kernel = self.attribute("kernel_shape") or self.lists.get("K", [3] * spatial)
            return [int(random.integers(0, min(k, 2))) for k in list(kernel) * 2]
        if name == "output_padding" or name == "output_shape":
            return None
        if name == "group":
            return self.sizes.get("g", 1)
        if name in ("num_groups", "groups"):
            return self.sizes.get("g", 1)
        if name == "hidden_size":
            return self.sizes.get("H")
        if name in ("blocksize",):
            return self.sizes.get("b", 1)
        if name == "block_size":
            return self.sizes.get("b")
        if name == "to" and op == "BitCast":
            own = self.bound[self.schema.inputs[0].type]
            same = [np.dtype(t) for t in ("int8", "uint8", "int16", "uint16", "float16", "int32",
                                          "uint32", "float32", "int64", "uint64", "float64")
                    if np.dtype(t).itemsize == own.itemsize]
            if own.name in ("int4", "uint4", "int2", "uint2"):
                raise Reject("type")
            return int(element_type(self.pick(same)))
        if name in ("to", "dtype", "output_datatype"):
            target = self.type_of_output()
            return int(element_type(target)) if target is not None else None
        if name == "shape":
            return values.shape(random, limit=2000)
        if name == "split":
            axis = self.attribute("axis") or 0
            return None if not rank else self.parts(self.first[axis], 2)
        if name == "num_outputs":
            return None if self.attributes.get("split") or "split" in self.shapes else 2
        if name in ("q_num_heads", "kv_num_heads") and rank == 3 and "Attention" in op:
            return self.size("h")
        if name == "update_rule":
            return b"gated_delta"  # which takes all of the rule's operands
        if name == "mrope_section":
            time, rest = self.parts(self.size("D"), 2)
            return [time, *self.parts(rest, 2)]
        if name == "batch_dims":
            return len(self.lists.get("B", []))
        if name in ("batch_axis", "time_axis") and "b" in self.sizes:  # batches first
            return int(name == "time_axis")
        if name == "value" and op in ("Constant", "ConstantOfShape"):
            dtype = self.type_of_output()
            shape = [1] if op == "ConstantOfShape" else values.shape(random)
            return numpy_helper.from_array(values.elements(random, dtype, shape, self.kind))
        if name == "k" and op == "MoE":
            return int(random.integers(1, max(self.size("E"), 1) + 1))
        if name == "direction" and op in ("RNN", "GRU", "LSTM", "DynamicQuantizeLSTM"):
            return self.pick([b"forward", b"reverse", b"bidirectional"])
        if name in ("activations", "activation_alpha", "activation_beta") and op in CELLS:
            return self.cell(CELLS[op]).get(name)
        if name == "equation":
            return self.equation()
        if name == "scales":
            return [1.0, 1.0] + [float(x) for x in random.choice([1, 2, 0.5, 1.5], rank - 2)]
        if name == "repeats":
            return None
        if name == "activation_size" or name == "pooled_shape":
            return [2, 2]
        if name == "norm_size" or name == "k_value":
            return None
        return None

    def cell(self, count):
        """Attributes of a recurrent operator's activations: of few its own."""
        if not hasattr(self, "functions"):
            both = self.attribute("direction") == b"bidirectional"
            self.functions = onnx_decoders.activations(
                self.random, count * (1 + both), self.first[0] <= 8) if self.random.random() < 0.3 else {}
        return self.functions

    def parts(self, total, count):
        cut = int(self.random.integers(0, total + 1))
        return [cut, total - cut]

    def equation(self):
        out = self.draw_terms(self.pick([1, 2, 2, 3]), "abcde", 0.25)
        return (",".join(self.terms) + ("->" + out if self.random.random() < 0.8 else "")).encode()

    # Types -----------------------------------------------------------------------

    def type(self, name):
        if name not in self.bound:
            texts = self.schema.types.get(name, [name])
            types = [t for t in map(numpy_type, texts) if t is not None]
            excluded = onnx_roles.excluded(self.schema)
            types = [t for t in types if not excluded(t)]
            if not types:
                raise Reject("type %s" % name)
            common = [t for t in types if t in (np.float32, np.int64, np.int32, bool)]
            self.bound[name] = self.pick(common if common and self.random.random() < 0.35 else types)
        return self.bound[name]

    def type_of_output(self):
        inputs = {p.type for p in self.schema.inputs}
        for output in self.schema.outputs:
            if output.type not in inputs:
                return self.type(output.type)
        return self.pick([np.dtype(t) for t in ("float32", "int64", "float64", "int32")])

    # Inputs ----------------------------------------------------------------------

    def draw(self):
        schema, random = self.schema, self.random
        if schema.name == "Einsum":
            self.attribute("equation")
        parameters = []
        for p in schema.inputs:
            if p.variadic:
                fewest = max(1, schema.least_inputs - len(parameters))
                count = len(self.terms) if schema.name == "Einsum" else fewest + self.pick([0, 0, 1, 1, 2])
                parameters += [p] * count
            else:
                parameters.append(p)
        leave_out = random.random() < 0.5
        for i, p in enumerate(parameters):
            if p.optional and (leave_out or random.random() < 0.35):
                self.inputs.append(None)
                continue
            self.inputs.append(self.operand(i, p))
        while self.inputs and self.inputs[-1] is None and len(self.inputs) > schema.least_inputs:
            self.inputs.pop()
        if schema.name.startswith("TreeEnsemble"):
            self.attributes = onnx_trees.attributes(self, self.ensembles)
            return self
        for name in schema.attributes:
            self.attribute(name)
        return self

    def operand(self, index, p):
        rule = self.rule.get(p.name)
        if rule is None and self.shapes and p.name in onnx_roles.BY_NAME:
            rule = shapes.PART.fullmatch(onnx_roles.BY_NAME[p.name]).groups()
        role = rule[4] if rule else None
        if role == "skip":
            if p.optional:
                return None
            raise Reject("input " + p.name)
        if self.schema.name == "Resize" and p.name == "sizes" and "scales" in self.shapes:
            return None
        if self.given is not None and not index:
            dtypes = [numpy_type(t) for t in self.schema.types_of(p)]
            if self.given.dtype not in dtypes or onnx_roles.excluded(self.schema)(self.given.dtype):
                raise Reject("type")
            if onnx_roles.FINITE.search(self.schema.name) and not values.is_finite(self.given):
                raise Reject("NaN or infinity where an order decides")
            if self.schema.name == "QuantizeLinear" and values.is_float(self.given.dtype) and \
                    np.any(np.isnan(self.given.astype(np.float64))):
                raise Reject("NaN as an integer, which ONNX leaves open")
            if self.schema.name == "Einsum":
                self.bind_term(self.terms[0], self.given.shape)
            self.bound[p.type] = self.given.dtype
            self.shapes[p.name] = self.take(p.name, rule, self.given.shape)
            return self.given
        dtype = self.type(p.type)
        if self.schema.name == "Einsum":
            shape = self.term_shape(self.terms[index])
        elif self.schema.name == "Concat" and index:
            shape = list(self.first)
            shape[self.attribute("axis")] = values.size(self.random)
        elif rule is None:
            shape = self.broadcast(index, len(self.schema.inputs) == 1)
        else:
            shape = self.shape_of(p.name, rule)
        if "broadcast" in self.schema.attributes and index:  # versions before 7
            shape = self.aligned()
        if self.schema.name in ("CenterCropPad", "Resize") and index and self.attribute("axes"):
            shape = [len(self.attribute("axes"))]
        if math.prod(shape) > values.LARGEST:
            raise Reject("large")
        if not math.prod(shape) and onnx_roles.FILLED.search(self.schema.name):
            raise Reject("empty")
        self.shapes.setdefault(p.name, shape)
        if role:
            return self.contents(role, dtype, shape)
        if dtype == bool and self.schema.name in ("Cast", "CastLike") and \
                self.type(self.schema.outputs[0].type) == object:
            raise Reject("booleans as text")
        drawn = values.elements(self.random, dtype, shape, self.kind)
        if dtype == object and not index and self.schema.name in ("Cast", "CastLike") and \
                not values.is_float(self.type(self.schema.outputs[0].type)) and \
                not all(INTEGER.fullmatch(text) for text in drawn.flat):
            raise Reject("text that is no integer as one, which ONNX leaves open")
        if self.schema.name.startswith("Cast") and values.is_float(dtype):
            # What all types hold; out of range is not defined.
            drawn = np.minimum(np.abs(drawn), np.array(7, dtype))
        if self.schema.name == "QuantizeLinear" and values.is_float(dtype):
            drawn[np.isnan(drawn.astype(np.float64))] = 1
        return drawn

    def aligned(self):
        """The second operand's shape, as operators took it before they broadcast."""
        random, shape = self.random, list(self.first)
        if random.random() < 0.4 or not shape:
            self.attributes["broadcast"] = self.attributes["axis"] = None
            return shape
        self.attributes["broadcast"] = 1
        first = int(random.integers(0, len(shape)))
        last = int(random.integers(first, len(shape))) + 1
        self.attributes["axis"] = None if last == len(shape) else first
        return shape[first:last]

    # The model -------------------------------------------------------------------

    def outputs(self):
        if self.schema.name in onnx_roles.RESULTS:
            return onnx_roles.RESULTS[self.schema.name]
        count = len([o for o in self.schema.outputs if not o.optional and not o.variadic])
        count = max(count, self.schema.least_outputs, 1)
        if self.schema.name == "Split":
            return 2
        if self.schema.outputs and self.schema.outputs[-1].optional and self.random.random() < 0.3 \
                and self.schema.name not in ("Dropout", "BatchNormalization"):
            count = min(count + 1, len(self.schema.outputs))
        return count


# Operators of which an operand's length decides the result's rank, or it the length where it is declared.
RANKS = re.compile(r"^((Un)?[sS]queeze|Reshape|Expand|ConstantOfShape|Reduce\w+|GatherND|AffineGrid|Col2Im|Pad)$")


def open_dims(schema, i, value, operands, declares=False):
    """The sizes of operand `i`: names, but of weights, and of what decides ranks where the model
    does not declare them."""
    if declares and RANKS.search(schema.name) and not (schema.name == "Squeeze" and operands < 2):
        return ["d%d_%d" % (i, a) for a in range(value.ndim)]
    decides = value.ndim == 1 and value.dtype.kind == "i" and i  # ranks, by its length
    is_memory = schema.name == "AttnLSTM" and i == 11
    if decides or i and not is_memory and onnx_roles.WEIGHTS.search(schema.name) or \
            schema.name == "ConstantOfShape" or schema.name == "Squeeze" and operands < 2:
        return list(value.shape)
    dims = ["d%d_%d" % (i, a) for a in range(value.ndim)]
    if dims and schema.name.endswith("ND") and i == 1:
        dims[-1] = value.shape[-1]
    return dims


# Inputs that are factors of bytes. On processors without VNNI ONNX Runtime adds pairs of products up
# in 16 bits, which hold those of seven bits.
FACTORS = {"MatMulIntegerToFloat": [1], "DynamicQuantizeMatMul": [1], "DynamicQuantizeLSTM": [1, 2],
           "QAttention": [1], "QGemm": [3]}


def declare(case):
    """Writes the ranks of the results into the model."""
    for output, result in zip(case.model.graph.output, case.results):
        output.CopyFrom(helper.make_tensor_value_info(
            output.name, element_type(result.dtype),
            ["r_%s_%d" % (output.name, a) for a in range(result.ndim)]))


# Operators whose operands are drawn together.
WHOLE = {("com.microsoft", name): maker for of in (onnx_decoders, onnx_searches)
         for name, maker in of.MAKERS.items()}


def make(random, schema):
    """A case of one node, without results yet."""
    whole = WHOLE.get((schema.domain, schema.name))
    drawn = whole(random) if whole else Draw(random, schema).draw()
    for i in FACTORS.get(schema.name, []):
        if drawn.inputs[i].dtype == np.int8:
            drawn.inputs[i] //= 2
    reject_open(schema, drawn)
    constant = [value is not None and random.random() < 0.3 for value in drawn.inputs]
    for i in getattr(drawn, "fed", ()):
        constant[i] = False
    form = str(random.choice(["fixed", "open", "bounded"], p=[0.6, 0.28, 0.12]))
    declares = form != "fixed" and random.random() < 0.5
    names, infos, initializers, feeds, bounds = [], [], [], {}, []
    for i, value in enumerate(drawn.inputs):
        if value is None:
            names.append("")
            continue
        names.append("x%d" % i)
        if constant[i]:
            initializers.append(tensor_of(value, names[-1]))
            continue
        feeds[names[-1]] = value
        dims = list(value.shape)
        if form != "fixed":
            dims = open_dims(schema, i, value, len(drawn.inputs), declares)
            if form == "bounded":
                bounds += ["%s=0..%d" % (name, max(2 * d, 8)) for name, d in zip(dims, value.shape)
                           if isinstance(name, str)]
        infos.append(helper.make_tensor_value_info(names[-1], element_type(value.dtype), dims))
    outputs = ["y%d" % i for i in range(drawn.outputs())]
    attributes = {k: v for k, v in drawn.attributes.items() if v is not None}
    domain = schema.domain
    node = helper.make_node(schema.name, names, outputs, name="node", domain=domain, **attributes)
    imports = [helper.make_opsetid(domain, drawn.opset)]
    if domain:
        imports.append(helper.make_opsetid("", 21))
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs],
                              initializer=initializers)
    model = helper.make_model(graph, ir_version=10, opset_imports=imports)
    fed = "const" if all(constant) and constant else "mixed" if any(constant) else "fed"
    first = next((v for v in drawn.inputs if v is not None), None)
    dtype = "none" if first is None else "string" if first.dtype == object else first.dtype.name
    case = Case("onnx", schema.key, model, feeds, (dtype, fed, form), bounds=bounds,
                length=max([math.prod(v.shape) for v in drawn.inputs if v is not None] + [1]))
    case.declares = declares
    case.least = onnx_roles.least_epsilons(schema.name, first is not None and first.dtype)
    precisions = {values.epsilon(v.dtype) for v in drawn.inputs
                  if v is not None and v.dtype != object and values.is_float(v.dtype)}
    case.coarsest = max(precisions) if len(precisions) > 1 else 0
    case.dtypes = [drawn.bound.get(o.type) for o in schema.outputs[:len(outputs)]]
    return case


def tensor_of(value, name):
    if value.dtype == object:
        return helper.make_tensor(name, onnx.TensorProto.STRING, value.shape,
                                  [str(v).encode() for v in value.ravel()])
    return numpy_helper.from_array(value, name)
