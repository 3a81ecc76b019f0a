//===- ImportNode.cpp - a node becomes operations -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/CustomCall.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RegisteredGradients.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

FailureOr<std::vector<Imported>>
GraphImporter::importNode(const NodeMeaning &meaning, std::vector<Imported> inputs, OpBuilder &b) {
  size_t position =
      llvm::find_if(inputs, [](const Imported &input) { return input.choices != nullptr; }) -
      inputs.begin();
  return position == inputs.size() ? importPlainNode(meaning, std::move(inputs), b)
                                   : importForEach(meaning, std::move(inputs), position, b);
}

FailureOr<std::vector<Imported>> GraphImporter::importForEach(const NodeMeaning &meaning,
                                                              std::vector<Imported> inputs,
                                                              size_t position, OpBuilder &b) {
  using Made = FailureOr<std::vector<Imported>>;
  Location loc = location(meaning.node);
  Imported one = inputs[position];
  std::function<Made(size_t, OpBuilder &)> from = [&](size_t i, OpBuilder &at) -> Made {
    std::vector<Imported> chosen = inputs;
    chosen[position] = (*one.choices)[i];
    if (i + 1 == one.choices->size())
      return importNode(meaning, std::move(chosen), at);
    NodeImport t(*this, meaning.node, {}, at, loc);
    return buildIf(
        t.compare("eq", one.value, static_cast<double>(i)),
        [&](OpBuilder &side) { return importNode(meaning, chosen, side); },
        [&](OpBuilder &side) { return from(i + 1, side); }, meaning.node, at, loc);
  };
  Made made = from(0, b);
  // A reference that is handed on is the same choice.
  for (size_t port = 0; succeeded(made) && port < made->size(); ++port)
    if ((*made)[port].kind == Imported::Kind::None)
      (*made)[port] = one;
  return made;
}

FailureOr<std::vector<Imported>> GraphImporter::importPlainNode(const NodeMeaning &meaning,
                                                                std::vector<Imported> inputs,
                                                                OpBuilder &b) {
  const auto &[node, row, custom] = meaning;
  NodeImport import(*this, node, std::move(inputs), b, location(node));
  size_t errors = sink->errorCount();
  reason.clear();
  std::optional<LogicalResult> other = instead ? instead(import) : std::nullopt;
  if (!other && !row && !custom) {
    reportUnknown(node);
    return failure();
  }
  if (failed(other ? *other : row ? row->import(import) : callCustom(*custom, import))) {
    if (!failedSince(errors))
      (void)report(node, "W0224",
                   "found operands that do not go together" +
                       (reason.empty() ? "" : ": " + reason));
    return failure();
  }
  if (!other && row)
    import.warnOfUnused();
  if (isDifferentiated && row && failed(attachGradient(import)))
    return failure();
  return std::move(import.made);
}
