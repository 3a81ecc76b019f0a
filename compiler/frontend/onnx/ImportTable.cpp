//===- ImportTable.cpp - which operators weir imports ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"
#include "compiler/frontend/onnx/OnnxFrontend.h"

#include <map>

using namespace weir::onnx;

namespace {
using Key = std::pair<std::string_view, std::string_view>;
using Index = std::multimap<Key, const OperatorImport *>;

Index makeIndex() {
  Index index;
  for (llvm::ArrayRef<OperatorImport> family : {mathImports(),
                                                activationImports(),
                                                arrayImports(),
                                                indexingImports(),
                                                reductionImports(),
                                                convolutionImports(),
                                                normalizationImports(),
                                                controlImports(),
                                                ifImports(),
                                                recurrentImports(),
                                                quantizationImports(),
                                                imageImports(),
                                                regionImports(),
                                                randomImports(),
                                                attentionImports(),
                                                sequenceImports(),
                                                lossImports(),
                                                signalImports(),
                                                streamingImports(),
                                                patchImports(),
                                                treeImports(),
                                                mapImports(),
                                                mlImports(),
                                                matrixImports(),
                                                gradientImports(),
                                                supportVectorImports(),
                                                stringImports(),
                                                microsoftImports(),
                                                microsoftArrayImports(),
                                                microsoftModelImports(),
                                                microsoftAttentionImports(),
                                                microsoftDecoderImports(),
                                                microsoftQuantizationImports(),
                                                searchImports(),
                                                beamSearchImports(),
                                                decoderAttentionImports(),
                                                microsoftTokenImports(),
                                                packedRowImports(),
                                                qonnxImports()})
    for (const OperatorImport &row : family)
      index.emplace(Key(row.domain, row.name), &row);
  return index;
}

const Index &importIndex() {
  static const Index index = makeIndex();
  return index;
}
} // namespace

const OperatorImport *weir::onnx::findImport(std::string_view domain, std::string_view name,
                                             int64_t version) {
  auto [first, last] = importIndex().equal_range(Key(domain, name));
  for (auto it = first; it != last; ++it) {
    const OperatorImport *row = it->second;
    if (version >= row->first && (!row->last || version <= row->last))
      return row;
  }
  return nullptr;
}

std::vector<weir::SupportedOperator> weir::onnx::supportedOperators() {
  std::vector<SupportedOperator> all;
  for (const auto &[key, row] : importIndex())
    all.push_back({row->domain.empty() ? "ai.onnx" : std::string(row->domain),
                   std::string(row->name), row->first, row->last});
  return all;
}
