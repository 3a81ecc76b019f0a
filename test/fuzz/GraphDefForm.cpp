//===- GraphDefForm.cpp - a generated graph in TensorFlow's words ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphDefForm.h"

#include "compiler/frontend/WireReader.h"

#include <algorithm>
#include <cstring>

using namespace weir;
using namespace weir::fuzz;
using namespace weir::tools;

namespace {

/// Operations that differ in nothing but their names. `like`: the operand whose
/// type is T; none has it where all are of one type.
struct Rename {
  const char *onnx, *tensorFlow;
  size_t like = 0;
};
constexpr size_t noType = 9;

/// Selu is missing: ONNX's factors are attributes of f32, TensorFlow's numbers of f64.
constexpr Rename renames[] = {
    {"Abs", "Abs"},
    {"Add", "AddV2"},
    {"And", "LogicalAnd", noType},
    {"Asinh", "Asinh"},
    {"Atan", "Atan"},
    {"BitwiseAnd", "BitwiseAnd"},
    {"BitwiseNot", "Invert"},
    {"BitwiseOr", "BitwiseOr"},
    {"BitwiseXor", "BitwiseXor"},
    {"Clip", "ClipByValue"},
    {"Cos", "Cos"},
    {"Elu", "Elu"},
    {"Equal", "Equal"},
    {"Erf", "Erf"},
    {"Exp", "Exp"},
    {"Greater", "Greater"},
    {"GreaterOrEqual", "GreaterEqual"},
    {"Identity", "Identity"},
    {"Less", "Less"},
    {"LessOrEqual", "LessEqual"},
    {"Log", "Log"},
    {"Max", "Maximum"},
    {"Min", "Minimum"},
    {"Mod", "FloorMod"},
    {"Mul", "Mul"},
    {"Neg", "Neg"},
    {"Not", "LogicalNot", noType},
    {"Or", "LogicalOr", noType},
    {"Pow", "Pow"},
    {"Reciprocal", "Reciprocal"},
    {"Relu", "Relu"},
    {"Sigmoid", "Sigmoid"},
    {"Sign", "Sign"},
    {"Sin", "Sin"},
    {"Softplus", "Softplus"},
    {"Softsign", "Softsign"},
    {"Sqrt", "Sqrt"},
    {"Sub", "Sub"},
    {"Sum", "AddV2"},
    {"Tanh", "Tanh"},
    {"Where", "SelectV2", 1},
    {"Xor", "NotEqual"},
};

/// A weir_dtype as TensorFlow's number.
int64_t dataType(int32_t type) {
  switch (type) {
  case WEIR_F32:
    return 1;
  case WEIR_F64:
    return 2;
  case WEIR_I32:
    return 3;
  case WEIR_U8:
    return 4;
  case WEIR_I16:
    return 5;
  case WEIR_I8:
    return 6;
  case WEIR_I64:
    return 9;
  case WEIR_BOOL:
    return 10;
  case WEIR_BF16:
    return 14;
  case WEIR_U16:
    return 17;
  case WEIR_F16:
    return 19;
  case WEIR_U32:
    return 22;
  case WEIR_U64:
    return 23;
  default:
    return 0;
  }
}

Proto shapeProto(const Dims &dims) {
  Proto shape;
  for (int64_t size : dims)
    shape.message(2, Proto().number(1, size));
  return shape;
}

class Writer {
public:
  Writer(const RecordedGraph &graph, std::set<std::string> &said) : graph(graph), said(said) {}
  std::string run();

private:
  /// Writes what computes a node's outputs; false where TensorFlow cannot say it.
  bool write(const RecordedNode &node);
  bool writeReduction(const RecordedNode &node);
  bool writeProduct(const RecordedNode &node);
  bool writeWindow(const RecordedNode &node);
  bool writeMovement(const RecordedNode &node);
  bool writeSlice(const RecordedNode &node);
  bool writePad(const RecordedNode &node);
  bool writeIndexing(const RecordedNode &node);

  // Of the graph.
  const Value &value(const std::string &name) const { return graph.values.at(name); }
  const Value &in(const RecordedNode &node, size_t i) const { return value(node.inputs[i]); }
  int64_t rank(const RecordedNode &node) const { return static_cast<int64_t>(in(node, 0).rank()); }
  static const HostTensor *find(const NamedTensors &tensors, const std::string &name) {
    auto it = std::find_if(tensors.begin(), tensors.end(),
                           [&](auto &tensor) { return tensor.first == name; });
    return it == tensors.end() ? nullptr : &it->second;
  }
  /// The integers of a constant.
  std::optional<Dims> constantInts(const std::string &name) const;
  /// Whether indices are known to count from the start.
  bool countsFromStart(const std::string &name) const;
  std::optional<Dims> ints(const RecordedNode &node, const char *name) const;
  int64_t integer(const RecordedNode &node, const char *name, int64_t otherwise) const;
  std::string text(const RecordedNode &node, const char *name) const;

  // Of the file.
  static Proto attr(const char *name, const Proto &value) {
    return Proto().bytes(1, name).message(2, value);
  }
  static Proto type(const char *name, int64_t number) {
    return attr(name, Proto().number(6, number));
  }
  static Proto number(const char *name, int64_t number) {
    return attr(name, Proto().number(3, number));
  }
  static Proto flag(const char *name, bool value) { return attr(name, Proto().number(5, value)); }
  static Proto word(const char *name, const char *value) {
    return attr(name, Proto().bytes(2, value));
  }
  static Proto list(const char *name, const Dims &values) {
    Proto numbers;
    for (int64_t value : values)
      numbers.number(3, value);
    return attr(name, Proto().message(1, numbers));
  }
  void emit(const std::string &name, const char *operation, const std::vector<std::string> &inputs,
            const std::vector<Proto> &attributes);
  std::string constant(const std::string &name, const HostTensor &tensor);
  /// A vector of i64 (a scalar of i32) that belongs to a node's output.
  std::string vector(const std::string &of, const Dims &values, const Dims &dims);
  std::string vector(const std::string &of, const Dims &values) {
    return vector(of, values, {static_cast<int64_t>(values.size())});
  }
  std::string scalar(const std::string &of, int64_t value);
  std::string fresh(const std::string &of) { return of + "/" + std::to_string(count++); }

  const RecordedGraph &graph;
  std::set<std::string> &said;
  std::string nodes;
  unsigned count = 0;
};

} // namespace

std::optional<Dims> Writer::constantInts(const std::string &name) const {
  const HostTensor *tensor = find(graph.constants, name);
  if (!tensor || tensor->dtype != WEIR_I64)
    return std::nullopt;
  Dims values(tensor->count());
  if (!values.empty())
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

bool Writer::countsFromStart(const std::string &name) const {
  const HostTensor *tensor = find(graph.constants, name);
  if (!tensor)
    tensor = find(graph.feeds, name);
  for (int64_t i = 0, n = tensor ? tensor->count() : 0; i < n; ++i)
    if (elementAsDouble(*tensor, i) < 0)
      return false;
  return tensor;
}

/// The attribute of that name, as its fields; nothing where it is left out.
static std::optional<std::string_view> attribute(const RecordedNode &node, const char *name) {
  for (const Proto &proto : node.attributes) {
    frontend::WireReader reader(proto.data);
    if (reader.next() && reader.bytes() == name)
      return proto.data;
  }
  return std::nullopt;
}

std::optional<Dims> Writer::ints(const RecordedNode &node, const char *name) const {
  auto fields = attribute(node, name);
  if (!fields)
    return std::nullopt;
  Dims values;
  frontend::WireReader reader(*fields);
  while (reader.next())
    if (reader.field() == 3 || reader.field() == 8)
      values.push_back(reader.integer());
  return values;
}

int64_t Writer::integer(const RecordedNode &node, const char *name, int64_t otherwise) const {
  auto values = ints(node, name);
  return values && !values->empty() ? values->front() : otherwise;
}

std::string Writer::text(const RecordedNode &node, const char *name) const {
  if (auto fields = attribute(node, name)) {
    frontend::WireReader reader(*fields);
    while (reader.next())
      if (reader.field() == 4)
        return std::string(reader.bytes());
  }
  return "";
}

void Writer::emit(const std::string &name, const char *operation,
                  const std::vector<std::string> &inputs, const std::vector<Proto> &attributes) {
  Proto node = Proto().bytes(1, name).bytes(2, operation);
  for (const std::string &input : inputs)
    node.bytes(3, input);
  for (const Proto &attribute : attributes)
    node.message(5, attribute);
  nodes += Proto().message(1, node).data;
}

std::string Writer::constant(const std::string &name, const HostTensor &tensor) {
  int64_t number = dataType(tensor.dtype);
  Proto content = Proto().number(1, number).message(2, shapeProto(tensor.dims));
  content.bytes(4, {reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size()});
  emit(name, "Const", {}, {type("dtype", number), attr("value", Proto().message(8, content))});
  return name;
}

std::string Writer::vector(const std::string &of, const Dims &values, const Dims &dims) {
  HostTensor tensor = makeTensor(WEIR_I64, dims);
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return constant(fresh(of), tensor);
}

std::string Writer::scalar(const std::string &of, int64_t value) {
  HostTensor tensor = makeTensor(WEIR_I32, {});
  setElement(tensor, 0, static_cast<double>(value));
  return constant(fresh(of), tensor);
}

bool Writer::writeReduction(const RecordedNode &node) {
  const std::string &op = node.operation, &x = node.inputs[0], &out = node.outputs[0];
  Proto t = type("T", dataType(in(node, 0).type)), index = type("Tidx", dataType(WEIR_I64));
  bool keep = integer(node, "keepdims", 1);
  if (op.rfind("Arg", 0) == 0) {
    std::string picked = keep ? fresh(out) : out;
    int64_t axis = integer(node, "axis", 0);
    emit(picked, op.c_str(), {x, scalar(out, axis)}, {t, type("output_type", dataType(WEIR_I64))});
    if (keep)
      emit(out, "ExpandDims", {picked, scalar(out, axis)}, {type("T", dataType(WEIR_I64))});
    return true;
  }
  if (op == "CumSum") {
    emit(out, "Cumsum", node.inputs,
         {t, index, flag("exclusive", integer(node, "exclusive", 0)),
          flag("reverse", integer(node, "reverse", 0))});
    return true;
  }
  if (op == "Softmax" || op == "LogSoftmax") {
    int64_t axis = integer(node, "axis", -1);
    if (axis != -1 && axis != rank(node) - 1)
      return false;
    emit(out, op.c_str(), {x}, {t});
    return true;
  }
  auto axesFrom = [&](int64_t first) {
    Dims axes;
    for (int64_t axis = first; axis < rank(node); ++axis)
      axes.push_back(axis);
    return vector(out, axes);
  };
  if (op == "GlobalAveragePool" || op == "GlobalMaxPool") {
    emit(out, op[6] == 'A' ? "Mean" : "Max", {x, axesFrom(2)}, {t, index, flag("keep_dims", true)});
    return true;
  }
  static const std::map<std::string, const char *> kinds = {
      {"ReduceSum", "Sum"}, {"ReduceMean", "Mean"}, {"ReduceMax", "Max"},
      {"ReduceMin", "Min"}, {"ReduceProd", "Prod"}, {"ReduceSumSquare", "Sum"},
      {"ReduceL1", "Sum"}};
  auto kind = kinds.find(op);
  if (kind == kinds.end())
    return false;
  std::string operand = x;
  if (op == "ReduceSumSquare" || op == "ReduceL1") {
    // TensorFlow's Abs and Square take no unsigned numbers.
    int32_t element = in(node, 0).type;
    bool isUnsigned =
        element == WEIR_U8 || element == WEIR_U16 || element == WEIR_U32 || element == WEIR_U64;
    bool isSquare = op == "ReduceSumSquare";
    if (isSquare || !isUnsigned)
      operand = fresh(out);
    if (!isUnsigned)
      emit(operand, isSquare ? "Square" : "Abs", {x}, {t});
    else if (isSquare)
      emit(operand, "Mul", {x, x}, {t});
  }
  std::string axes = node.inputs.size() > 1 ? node.inputs[1] : axesFrom(0);
  emit(out, kind->second, {operand, axes}, {t, index, flag("keep_dims", keep)});
  return true;
}

bool Writer::writeProduct(const RecordedNode &node) {
  const std::string &out = node.outputs[0];
  Proto t = type("T", dataType(in(node, 0).type));
  if (node.operation == "MatMul") {
    if (in(node, 0).rank() < 2 || in(node, 1).rank() < 2)
      return false;
    emit(out, "BatchMatMulV2", node.inputs, {t});
    return true;
  }
  if (node.operation != "Gemm")
    return false;
  std::string product = fresh(out);
  emit(product, "MatMul", {node.inputs[0], node.inputs[1]},
       {t, flag("transpose_a", integer(node, "transA", 0)),
        flag("transpose_b", integer(node, "transB", 0))});
  emit(out, "AddV2", {product, node.inputs[2]}, {t});
  return true;
}

/// Two spatial dimensions, channels first.
bool Writer::writeWindow(const RecordedNode &node) {
  if (rank(node) != 4)
    return false;
  const std::string &op = node.operation, &x = node.inputs[0], &out = node.outputs[0];
  Proto t = type("T", dataType(in(node, 0).type)), first = word("data_format", "NCHW");
  auto spatial = [&](const char *name) {
    Dims all{1, 1}, given = ints(node, name).value_or(Dims{1, 1});
    all.insert(all.end(), given.begin(), given.end());
    return all;
  };
  Dims pads = ints(node, "pads").value_or(Dims(4, 0));
  bool isPadded = pads != Dims(4, 0);
  std::vector<Proto> attributes{t, first, list("strides", spatial("strides")),
                                word("padding", isPadded ? "EXPLICIT" : "VALID")};
  if (isPadded)
    attributes.push_back(
        list("explicit_paddings", {0, 0, 0, 0, pads[0], pads[2], pads[1], pads[3]}));
  if (op == "MaxPool" || op == "AveragePool") {
    if (op == "AveragePool" && isPadded)
      return false;
    attributes.push_back(list("ksize", spatial("kernel_shape")));
    emit(out, op == "MaxPool" ? "MaxPool" : "AvgPool", {x}, attributes);
    return true;
  }
  if (op != "Conv")
    return false;
  std::string filter = fresh(out), sum = fresh(out);
  emit(filter, "Transpose", {node.inputs[1], vector(out, {2, 3, 1, 0})},
       {t, type("Tperm", dataType(WEIR_I64))});
  attributes.push_back(list("dilations", spatial("dilations")));
  emit(sum, "Conv2D", {x, filter}, attributes);
  emit(out, "BiasAdd", {sum, node.inputs[2]}, {t, first});
  return true;
}

bool Writer::writeSlice(const RecordedNode &node) {
  const std::string &out = node.outputs[0];
  if (node.inputs.size() != 5)
    return false;
  auto first = constantInts(node.inputs[1]), end = constantInts(node.inputs[2]),
       axis = constantInts(node.inputs[3]), step = constantInts(node.inputs[4]);
  if (!first || !end || !axis || !step)
    return false;
  size_t all = in(node, 0).rank(), at = axis->front();
  Dims begins(all, 0), ends(all, 0), steps(all, 1);
  begins[at] = first->front();
  ends[at] = end->front();
  steps[at] = step->front();
  int64_t others = ((int64_t(1) << all) - 1) & ~(int64_t(1) << at);
  emit(out, "StridedSlice",
       {node.inputs[0], vector(out, begins), vector(out, ends), vector(out, steps)},
       {type("T", dataType(in(node, 0).type)), type("Index", dataType(WEIR_I64)),
        number("begin_mask", others), number("end_mask", others)});
  return true;
}

bool Writer::writePad(const RecordedNode &node) {
  const std::string &out = node.outputs[0];
  auto pads = constantInts(node.inputs[1]);
  std::string mode = text(node, "mode");
  if (!pads || (mode != "constant" && mode != "reflect") ||
      std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; }))
    return false;
  Dims pairs;
  for (int64_t axis = 0; axis < rank(node); ++axis)
    pairs.insert(pairs.end(), {(*pads)[axis], (*pads)[rank(node) + axis]});
  std::vector<Proto> attributes{type("T", dataType(in(node, 0).type)),
                                type("Tpaddings", dataType(WEIR_I64))};
  if (mode == "reflect")
    attributes.push_back(word("mode", "REFLECT"));
  emit(out, mode == "reflect" ? "MirrorPad" : "Pad",
       {node.inputs[0], vector(out, pairs, {rank(node), 2})}, attributes);
  return true;
}

bool Writer::writeMovement(const RecordedNode &node) {
  const std::string &op = node.operation, &out = node.outputs[0];
  int64_t own = dataType(in(node, 0).type), i64 = dataType(WEIR_I64);
  Proto t = type("T", own);
  if (op == "Transpose") {
    emit(out, "Transpose", {node.inputs[0], vector(out, *ints(node, "perm"))},
         {t, type("Tperm", i64)});
  } else if (op == "Reshape") {
    // ONNX copies the size for a zero.
    if (value(out).count() == 0)
      return false;
    emit(out, "Reshape", node.inputs, {t, type("Tshape", i64)});
  } else if (op == "Squeeze") {
    emit(out, "Squeeze", {node.inputs[0]},
         {t, list("squeeze_dims", *constantInts(node.inputs[1]))});
  } else if (op == "Unsqueeze") {
    emit(out, "ExpandDims", {node.inputs[0], scalar(out, constantInts(node.inputs[1])->front())},
         {t});
  } else if (op == "Slice") {
    return writeSlice(node);
  } else if (op == "Pad") {
    return writePad(node);
  } else if (op == "Concat") {
    std::vector<std::string> inputs = node.inputs;
    inputs.push_back(scalar(out, integer(node, "axis", 0)));
    emit(out, "ConcatV2", inputs,
         {t, number("N", static_cast<int64_t>(node.inputs.size())),
          type("Tidx", dataType(WEIR_I32))});
  } else if (op == "Split") {
    std::string parts = fresh(out);
    emit(parts, "SplitV", {node.inputs[0], node.inputs[1], scalar(out, integer(node, "axis", 0))},
         {t, type("Tlen", i64), number("num_split", static_cast<int64_t>(node.outputs.size()))});
    for (size_t i = 0; i < node.outputs.size(); ++i)
      emit(node.outputs[i], "Identity", {parts + ":" + std::to_string(i)}, {t});
  } else if (op == "Tile") {
    emit(out, "Tile", node.inputs, {t, type("Tmultiples", i64)});
  } else if (op == "Expand") {
    emit(out, "BroadcastTo", node.inputs, {t, type("Tidx", i64)});
  } else if (op == "SpaceToDepth" || (op == "DepthToSpace" && text(node, "mode") == "DCR")) {
    emit(out, op.c_str(), node.inputs,
         {t, number("block_size", integer(node, "blocksize", 1)), word("data_format", "NCHW")});
  } else if (op == "ReverseSequence") {
    emit(out, op.c_str(), node.inputs,
         {t, type("Tlen", i64), number("seq_dim", 0), number("batch_dim", 1)});
  } else if (op == "Trilu") {
    auto given = constantInts(node.inputs[1]);
    bool upper = integer(node, "upper", 1);
    int64_t kept = given ? (upper ? -given->front() : given->front()) : -1;
    if (kept < 0)
      return false;
    Dims below{upper ? kept : -1}, above{upper ? -1 : kept};
    emit(out, "MatrixBandPart", {node.inputs[0], vector(out, below, {}), vector(out, above, {})},
         {t, type("Tindex", i64)});
  } else {
    return false;
  }
  return true;
}

bool Writer::writeIndexing(const RecordedNode &node) {
  const std::string &op = node.operation, &out = node.outputs[0];
  int64_t own = dataType(in(node, 0).type), i64 = dataType(WEIR_I64);
  if (op == "Shape") {
    emit(out, "Shape", node.inputs, {type("T", own), type("out_type", i64)});
  } else if (op == "Range") {
    emit(out, "Range", node.inputs, {type("Tidx", i64)});
  } else if (op == "ConstantOfShape") {
    std::string zero = constant(fresh(out), makeTensor(WEIR_F32, {}));
    emit(out, "Fill", {node.inputs[0], zero},
         {type("T", dataType(WEIR_F32)), type("index_type", i64)});
  } else if (op == "NonZero") {
    std::string rows = fresh(out);
    emit(rows, "Where", node.inputs, {type("T", own)});
    emit(out, "Transpose", {rows, vector(out, {1, 0})}, {type("T", i64), type("Tperm", i64)});
  } else if (op == "ScatterND") {
    emit(out, "TensorScatterUpdate", node.inputs, {type("T", own), type("Tindices", i64)});
  } else if ((op == "Gather" || op == "GatherND") && countsFromStart(node.inputs[1])) {
    Proto params = type("Tparams", own), indices = type("Tindices", dataType(in(node, 1).type));
    if (op == "GatherND")
      emit(out, "GatherNd", node.inputs, {params, indices});
    else
      emit(out, "GatherV2", {node.inputs[0], node.inputs[1], scalar(out, integer(node, "axis", 0))},
           {params, indices, type("Taxis", dataType(WEIR_I32))});
  } else {
    return false;
  }
  return true;
}

bool Writer::write(const RecordedNode &node) {
  const std::string &op = node.operation, &out = node.outputs[0];
  for (const std::string &input : node.inputs)
    if (!said.count(input))
      return false;
  auto known = graph.values.find(out);
  if (node.inputs.empty() || known == graph.values.end() || !dataType(known->second.type))
    return false;
  const Value &x = in(node, 0);
  Proto t = type("T", dataType(x.type));
  if (op == "Cast") {
    emit(out, "Cast", node.inputs,
         {type("SrcT", dataType(x.type)), type("DstT", dataType(value(out).type))});
    return true;
  }
  if (op == "Div") {
    emit(out, x.isFloat() ? "RealDiv" : "TruncateDiv", node.inputs, {t});
    return true;
  }
  if (op == "BitShift") {
    emit(out, text(node, "direction") == "LEFT" ? "LeftShift" : "RightShift", node.inputs, {t});
    return true;
  }
  for (const Rename &rename : renames)
    if (op == rename.onnx) {
      std::vector<Proto> attributes;
      if (rename.like != noType)
        attributes.push_back(type("T", dataType(in(node, rename.like).type)));
      emit(out, rename.tensorFlow, node.inputs, attributes);
      return true;
    }
  return writeReduction(node) || writeProduct(node) || writeWindow(node) || writeMovement(node) ||
         writeIndexing(node);
}

std::string Writer::run() {
  for (const auto &[name, tensor] : graph.constants)
    if (dataType(tensor.dtype)) {
      constant(name, tensor);
      said.insert(name);
    }
  for (const auto &[name, tensor] : graph.feeds)
    if (int64_t number = dataType(tensor.dtype)) {
      emit(name, "Placeholder", {},
           {type("dtype", number), attr("shape", Proto().message(7, shapeProto(tensor.dims)))});
      said.insert(name);
    }
  for (const RecordedNode &node : graph.nodes)
    if (write(node))
      said.insert(node.outputs.begin(), node.outputs.end());
  constexpr int64_t producer = 1087;
  return nodes + Proto().message(4, Proto().number(1, producer)).data;
}

std::string weir::fuzz::writeGraphDef(const RecordedGraph &graph, std::set<std::string> &said) {
  return Writer(graph, said).run();
}
