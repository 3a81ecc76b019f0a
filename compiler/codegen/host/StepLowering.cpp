//===- StepLowering.cpp - step functions become LLVM -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/StepLowering.h"
#include "compiler/codegen/host/StepRewriter.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "weir/abi.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace weir;

/// Equal bytes lie in the object once: a blob is known by its hash.
static Attribute blobKey(Attribute value) {
  if (auto blob = dyn_cast<weir::BlobAttr>(value))
    return StringAttr::get(value.getContext(),
                           blob.getHash() + ":" + std::to_string(blob.getLength()));
  return value;
}

StepTables::StepTables(SiteTable &sites, Program &program)
    : sites(sites), program(program), launches(program.name) {
  for (const BlobInfo &blob : program.blobs)
    blobOffsets.try_emplace(blobKey(blob.value), blob.offset);
}

int StepTables::blobIndex(Attribute value) {
  int64_t offset = blobOffset(value);
  for (auto [i, blob] : llvm::enumerate(program.blobs))
    if (blob.offset == offset)
      return i;
  return -1;
}

std::string StepTables::stringTable(DenseStringElementsAttr strings) {
  auto it = llvm::find(stringTables, strings);
  if (it == stringTables.end())
    it = stringTables.insert(it, strings);
  return "weir.strings." + std::to_string(it - stringTables.begin());
}

void StepTables::fillStringTables(llvm::Module &module) const {
  llvm::LLVMContext &context = module.getContext();
  auto *word = llvm::Type::getInt64Ty(context);
  auto *byte = llvm::Type::getInt8Ty(context);
  for (auto [i, strings] : llvm::enumerate(stringTables)) {
    llvm::GlobalVariable *table =
        module.getGlobalVariable("weir.strings." + std::to_string(i), true);
    if (!table)
      continue;
    std::string contents;
    for (StringRef element : strings.getValues<StringRef>())
      contents += element;
    llvm::Constant *bytes = llvm::ConstantDataArray::getString(context, contents, /*AddNull=*/true);
    auto *text = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, bytes,
                                          table->getName() + ".text");
    auto *array = llvm::cast<llvm::ArrayType>(table->getValueType());
    auto *element = llvm::cast<llvm::StructType>(array->getElementType());
    std::vector<llvm::Constant *> elements;
    uint64_t at = 0;
    for (StringRef part : strings.getValues<StringRef>()) {
      llvm::Constant *where = llvm::ConstantExpr::getInBoundsGetElementPtr(
          byte, text, llvm::ConstantInt::get(word, at));
      elements.push_back(
          llvm::ConstantStruct::get(element, {where, llvm::ConstantInt::get(word, part.size())}));
      at += part.size();
    }
    table->setInitializer(llvm::ConstantArray::get(array, elements));
    table->setConstant(true);
    table->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

int64_t StepTables::blobOffset(Attribute value) {
  auto [it, isNew] = blobOffsets.try_emplace(blobKey(value), program.blobBytes);
  if (!isNew)
    return it->second;
  auto type = cast<RankedTensorType>(cast<TypedAttr>(value).getType());
  BlobInfo info;
  info.value = value;
  info.offset = program.blobBytes;
  info.bytes = type.getNumElements() * elementBytes(type.getElementType());
  // Strings, initial values of variables: sizes, then contents.
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value)) {
    info.bytes = strings.getNumElements() * int64_t(sizeof(int64_t));
    for (StringRef element : strings.getValues<StringRef>())
      info.bytes += element.size();
  }
  program.blobs.push_back(info);
  program.blobBytes = llvm::alignTo(info.offset + std::max<int64_t>(info.bytes, 1), 64);
  return info.offset;
}

int StepTables::customIndex(Operation *op, StringRef operation, StringRef callee) {
  llvm::SetVector<StringRef> names;
  collectNodeNames(op->getLoc(), names);
  std::string nodes = llvm::join(names, ";");
  for (auto [i, custom] : llvm::enumerate(program.customs))
    if (custom.name == operation && custom.fallback == callee) {
      if (!nodes.empty())
        custom.nodes += (custom.nodes.empty() ? "" : ";") + nodes;
      return i;
    }
  program.customs.push_back({operation.str(), nodes, callee.str()});
  return program.customs.size() - 1;
}

std::string StepTables::nodeOf(Operation *op) { return nodeName(op->getLoc()).str(); }

void weir::declareFunction(OpBuilder &b, ModuleOp module, StringRef name, Type result,
                           ArrayRef<Type> arguments) {
  if (!module.lookupSymbol(name))
    LLVM::LLVMFuncOp::create(b, module.getLoc(), name,
                             LLVM::LLVMFunctionType::get(result, arguments));
}

void weir::declareRuntime(ModuleOp module, const FunctionDeclarer &others) {
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(module.getBody());
  Type p = LLVM::LLVMPointerType::get(b.getContext());
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto declare = [&](StringRef name, Type result, ArrayRef<Type> arguments) {
    declareFunction(b, module, name, result, arguments);
  };
  declare("weir_rt_parallel", i32, {p, p, p, p, i64, i64, i32});
  declare("weir_rt_library", i32, {p, p, i32, p, i32, p, i32, p});
  declare("weir_rt_custom", i32, {p, i32, i32, p, i32, p, i32, p});
  declare("weir_rt_error", i32, {p, i32, i64, i64});
  declare("weir_rt_alloc", p, {p, i64, i32});
  declare("weir_rt_free", none, {p, p});
  declare("weir_rt_fetch", p, {p, i32, i32, p, i64});
  declare("weir_rt_fetch_received", none, {p, i32, p, p, i64});
  declare("weir_rt_variable_read", i32, {p, i32, i32, p});
  declare("weir_rt_variable_assign", i32, {p, i32, i32, p});
  declare("weir_rt_variable_update", i32, {p, i32, i32, p});
  declare("weir_rt_variable_take", i32, {p, i32, i32, p});
  declare("weir_rt_variable_put", none, {p, i32});
  declare("weir_rt_send", i32, {p, i32, i64, p});
  declare("weir_rt_send_kept", i32, {p, i32, i64, p});
  declare("weir_rt_sent_ready", i32, {p, p});
  declare("weir_rt_send_ready", i32, {p, i32, p});
  declare("weir_rt_receive_ready", i32, {p, i32, i64, p});
  declare("weir_rt_receive", i32, {p, i32, i64, p});
  declare("weir_rt_wait_ready", i32, {p, i64, p});
  declare("weir_rt_step_done", none, {p, i32});
  if (others)
    others(b, module);
  declare("memcpy", p, {p, p, i64});
  declare("malloc", p, {i64});
  declare("free", none, {p});
}

LogicalResult weir::lowerSteps(ModuleOp module, StepTables &tables,
                               const StepRewriterFactory &others) {
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr("weir_plan.feeds"))
      continue;
    foldSizes(function);
    std::unique_ptr<StepRewriter> rewriter;
    if (others)
      rewriter = others(function, tables);
    if (!rewriter)
      rewriter = std::make_unique<StepRewriter>(function, tables);
    if (failed(rewriter->run()))
      return failure();
  }
  return success();
}
