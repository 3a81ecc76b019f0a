//===- EdgeTypes.cpp - types of edges outside of the program --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/EdgeTypes.h"

#include "compiler/frontend/tensorflow/GraphImporter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

RankedTensorType weir::tf::typeOfEdge(NodeImport &n, Edge edge) {
  GraphImporter &g = n.g;
  GraphImporter::Body *body = g.current;
  // What is asked while another is being imported apart may lead back to it.
  static thread_local int depth = 0;
  if (!body || depth > 2 || body->structure.frameOf[edge.node] != 0)
    return {};
  llvm::SaveAndRestore deeper(depth, depth + 1);

  OwningOpRef<ModuleOp> module = ModuleOp::create(n.loc);
  OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
  auto function = func::FuncOp::create(b, n.loc, "apart", b.getFunctionType({}, {}));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);

  GraphImporter::Scope scope;
  for (auto [i, node] : llvm::enumerate(body->graph().nodes)) {
    const AttrValue *shape = node.attr("shape"), *type = node.attr("dtype");
    if (!node.op.starts_with("Placeholder") || node.op == "PlaceholderWithDefault" || !shape ||
        !shape->shape || !type)
      continue;
    if (RankedTensorType known = tensorType(b.getContext(), toDataType(type->i), *shape->shape)) {
      scope.set({uint32_t(i), 0}, Imported(Value(block->addArgument(known, n.loc))));
      scope.ran.insert(uint32_t(i));
    }
  }
  DiagnosticSink unheard;
  GraphImporter::RegionState state;
  llvm::SaveAndRestore sink(g.sink, &unheard);
  llvm::SaveAndRestore objects(g.state, &state);
  llvm::SaveAndRestore where(g.current, body);
  llvm::SaveAndRestore inlined(g.module, ModuleOp());
  llvm::SaveAndRestore devices(g.deviceRequests, decltype(g.deviceRequests)());
  llvm::SaveAndRestore colocations(g.colocations, decltype(g.colocations)());
  g.import(*body, 0, {edge}, {}, scope, b);
  Imported made = g.lookup(edge, scope);
  return made.kind == Imported::Kind::Tensor ? dyn_cast<RankedTensorType>(made.value.getType())
                                             : made.type;
}

void weir::tf::widenShape(std::optional<IntVector> &shape, bool isFirst, ArrayRef<int64_t> other) {
  if (isFirst) {
    shape.emplace(other.begin(), other.end());
    return;
  }
  if (!shape || shape->size() != other.size()) {
    shape.reset();
    return;
  }
  for (auto [size, more] : llvm::zip(*shape, other))
    if (size != more)
      size = ShapedType::kDynamic;
}
