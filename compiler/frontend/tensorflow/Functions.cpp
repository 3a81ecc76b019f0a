//===- Functions.cpp - calls of library functions -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

// Here, and not in the class: each of a hundred files would make the members' code.
GraphImporter::GraphImporter(const Source &source, const Library &library, const std::string &file,
                             DiagnosticSink &sink, mlir::MLIRContext *context)
    : source(source), library(library), file(file), sink(&sink), context(context) {}

GraphImporter::~GraphImporter() = default;

/// Whether a function asks to be kept, and nothing in it depends on the call: no
/// attribute of the call's, no device, no colocation.
static bool isKept(const FunctionDef &function) {
  bool isMarked = false;
  for (auto &[name, value] : function.attrs)
    isMarked |= name == "_noinline" && value.b;
  if (!isMarked)
    return false;
  for (const NodeDef &node : function.nodes) {
    // A gradient is made of what its function is made of.
    if (!node.device.empty() || node.op == "SymbolicGradient")
      return false;
    for (auto &[name, value] : node.attrs)
      if (name == "_class" || value.kind == AttrValue::Kind::Placeholder)
        return false;
  }
  return true;
}

func::FuncOp GraphImporter::outline(const FunctionDef &function, const std::vector<Attr> &attrs,
                                    ArrayRef<Imported> args, const Node &call) {
  std::pair<const FunctionDef *, std::vector<const void *>> key{&function, {}};
  SmallVector<Type> types;
  for (const Imported &arg : args) {
    if (arg.kind != Imported::Kind::Tensor || arg.choices)
      return {};
    types.push_back(arg.value.getType());
    key.second.push_back(types.back().getAsOpaquePointer());
  }
  auto [it, isNew] = outlined.try_emplace(key);
  if (!isNew)
    return it->second;

  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  std::string name = "function." + std::string(function.name);
  for (int i = 1; module.lookupSymbol(name); ++i)
    name = "function." + std::string(function.name) + "." + std::to_string(i);
  auto made = func::FuncOp::create(b, location(call), name, b.getFunctionType(types, {}));
  made.setPrivate();
  // What node names inside begin with, until they are those of other calls.
  made->setAttr("weir.first_call", b.getStringAttr(nameOf(call)));
  Block *block = made.addEntryBlock();
  b.setInsertionPointToEnd(block);
  std::vector<Imported> inner(block->args_begin(), block->args_end());
  // A trial: what stands in its way is no error, the function is inlined then.
  DiagnosticSink unheard;
  DiagnosticSink *outer = std::exchange(sink, &unheard);
  RegionState own, *outside = std::exchange(state, &own);
  size_t devices = deviceRequests.size() + colocations.size();
  auto values = inlineFunction(function, attrs, std::move(inner), call, b);
  sink = outer;
  state = outside;
  SmallVector<Value> results;
  bool isPlain = succeeded(values) && unheard.diagnostics().empty() &&
                 devices == deviceRequests.size() + colocations.size() &&
                 llvm::all_of(*values,
                              [&](const Imported &value) {
                                results.push_back(value.value);
                                return value.kind == Imported::Kind::Tensor && !value.choices;
                              }) &&
                 llvm::all_of(*block, [](Operation &op) { return isMemoryEffectFree(&op); });
  if (!isPlain) {
    made.erase();
    return {};
  }
  func::ReturnOp::create(b, location(call), results);
  made.setType(b.getFunctionType(types, ValueRange(results).getTypes()));
  return outlined[key] = made;
}

FailureOr<std::vector<Imported>> GraphImporter::callFunction(const FunctionDef &function,
                                                             const std::vector<Attr> &attrs,
                                                             std::vector<Imported> args,
                                                             const Node &call, OpBuilder &b) {
  func::FuncOp callee;
  if (module && isKept(function))
    callee = outline(function, attrs, args, call);
  if (!callee)
    return inlineFunction(function, attrs, std::move(args), call, b);
  SmallVector<Value> operands;
  for (const Imported &arg : args)
    operands.push_back(arg.value);
  auto made = func::CallOp::create(b, location(call), callee, operands);
  return std::vector<Imported>(made.result_begin(), made.result_end());
}

FailureOr<std::vector<Imported>> GraphImporter::callFunction(const AttrValue &function,
                                                             std::vector<Imported> args,
                                                             const Node &call, OpBuilder &b) {
  const FunctionDef *def =
      function.kind == AttrValue::Kind::Func ? library.find(function.s) : nullptr;
  return def ? callFunction(*def, *function.funcAttrs, std::move(args), call, b)
             : inlineFunction(function, std::move(args), call, b);
}
