//===- ValueReader.cpp - ONNX values in files of their own ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ValueReader.h"
#include "compiler/frontend/WireReader.h"

using namespace weir::onnx;
using weir::frontend::WireReader;
using weir::frontend::WireType;

namespace {

constexpr unsigned maxDepth = 64;

using Kind = DataValue::Kind;

MaybeProblem readAt(std::string_view bytes, Kind kind, DataValue &value, unsigned depth);

/// SequenceProto and OptionalProto number the kinds of their elements alike.
enum class ElementField : uint32_t {
  Tensor = 3,
  SparseTensor = 4,
  Sequence = 5,
  Map = 6,
  Optional = 7
};

MaybeProblem readElement(WireReader &reader, DataValue &value, unsigned depth) {
  Kind kind;
  switch (static_cast<ElementField>(reader.field())) {
  case ElementField::Tensor:
    kind = Kind::Tensor;
    break;
  case ElementField::Sequence:
    kind = Kind::Sequence;
    break;
  case ElementField::Optional:
    kind = Kind::Optional;
    break;
  case ElementField::SparseTensor:
  case ElementField::Map:
    return Problem{
        352,
        "expected tensors, sequences and optionals, got a sparse tensor or a map among the values"};
  default:
    return std::nullopt; // name and element type
  }
  return readAt(reader.bytes(), kind, value.elements.emplace_back(), depth + 1);
}

MaybeProblem readAt(std::string_view bytes, Kind kind, DataValue &value, unsigned depth) {
  value.kind = kind;
  if (depth > maxDepth)
    return Problem{303, "found values nested deeper than 64 levels"};
  if (kind == Kind::Tensor) {
    MaybeProblem problem = readTensor(bytes, value.tensor);
    value.name = value.tensor.name;
    return problem;
  }
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 1)
      value.name = reader.bytes();
    else if (MaybeProblem problem = readElement(reader, value, depth))
      return problem;
  }
  if (reader.malformed() || (kind == Kind::Optional && value.elements.size() > 1))
    return Problem{301, "found a malformed sequence or optional; the file is "
                        "damaged or was cut short"};
  return std::nullopt;
}

} // namespace

MaybeProblem weir::onnx::readValue(std::string_view bytes, Kind kind, DataValue &value) {
  value = DataValue();
  return readAt(bytes, kind, value, 0);
}
