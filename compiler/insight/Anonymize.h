//===- Anonymize.h - models without names and weights -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a report of a fault needs of a model that may not be shown: its structure. Nodes,
// values, dimensions and functions get numbers for names, texts for people go, and the
// values of weights become others of their size. Operators, attributes, types and shapes
// stay, and so do the few integers that shapes are made of: the model compiles to the same
// kernels, and runs.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_ANONYMIZE_H
#define WEIR_COMPILER_INSIGHT_ANONYMIZE_H

#include "compiler/frontend/Diagnostic.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::insight {

/// New names for old ones, the same for equal ones: a prefix for each kind of name, and a
/// number.
class NewNames {
public:
  std::string of(const char *prefix, std::string_view name);
  /// A number for values, the same for equal ones: what computes the same of them still
  /// does with others in their place.
  int64_t numberOf(std::string_view values);
  /// A line a name, `new<TAB>old`, sorted by the new ones' order of making.
  std::string table() const;
  size_t size() const { return made.size(); }

private:
  std::map<std::pair<std::string, std::string>, std::string, std::less<>> known;
  std::map<std::string, int64_t> counts;
  std::map<uint64_t, int64_t> numbers; ///< of values, by their hash
  std::vector<std::pair<std::string, std::string>> made;
};

/// Whether the values of a tensor of so many elements are structure, as those of a shape or
/// of an axis, and stay: integers and truth values of up to 64 elements, other numbers of
/// one.
template <typename DataType> bool isStructure(DataType type, int64_t elements) {
  bool isInteger = type == DataType::Int64 || type == DataType::Int32 || type == DataType::Bool ||
                   type == DataType::UInt64 || type == DataType::UInt32;
  return elements <= (isInteger ? 64 : 1);
}

/// Values in the place of others: positive numbers around one for each vector, around one
/// over the longest sum in matrices and filters, so that results neither vanish nor
/// overflow; integers are zeros and ones. They repeat, so that the file compresses well, and
/// are others for each `number`. `kind`: as numpy's dtype.kind, b: bf16; `bytes` of an
/// element. Little-endian.
std::string otherValues(char kind, int64_t bytes, const std::vector<int64_t> &dims, int64_t size,
                        int64_t number);

/// Writes an ONNX model anew, external tensors beside it as `output`.data.
bool anonymizeOnnx(const std::string &model, const std::string &output, NewNames &names,
                   DiagnosticSink &sink);

/// Writes a GraphDef anew.
bool anonymizeGraphDef(const std::string &model, const std::string &output, NewNames &names,
                       DiagnosticSink &sink);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_ANONYMIZE_H
