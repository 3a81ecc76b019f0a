//===- InlinePtx.cpp - assembly within kernels -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/InlinePtx.h"
#include "dialects/weir/Pch.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weir;

/// The kind of register.
static const char *kindOf(Type type) {
  if (type.isF32())
    return "f";
  return isa<LLVM::LLVMPointerType>(type) || type.isInteger(64) ? "l" : "r";
}

std::string InlinePtx::output(Type type) {
  constraints.push_back(std::string("=&") + kindOf(type));
  types.push_back(type);
  return "$" + std::to_string(types.size() - 1);
}

std::string InlinePtx::update(Value value) {
  updated.push_back(value);
  ofUpdated.push_back(std::to_string(types.size()));
  return output(value.getType());
}

std::string InlinePtx::input(Value value) {
  inputs.push_back(value);
  return "$" + std::to_string(size_t(outputs) + inputs.size() - 1);
}

InlinePtx &InlinePtx::line(const std::string &added) {
  text += added + "\n";
  return *this;
}

InlinePtx &InlinePtx::label(StringRef name) { return line("$$w_" + name.str() + "_${:uid}:"); }

InlinePtx &InlinePtx::branch(StringRef predicate, StringRef name) {
  return line(predicate.str() + " bra $$w_" + name.str() + "_${:uid};");
}

SmallVector<Value> InlinePtx::emit() {
  assert(int64_t(types.size()) == outputs && "results were named");
  OpBuilder &b = r.b;
  for (Value value : inputs)
    constraints.push_back(kindOf(value.getType()));
  // Behind all others, so that they have no names in the text.
  llvm::append_range(constraints, ofUpdated);
  llvm::append_range(inputs, updated);
  constraints.push_back("~{memory}");
  SmallVector<Type> results;
  if (types.size() == 1)
    results = types;
  else if (!types.empty())
    results = {LLVM::LLVMStructType::getLiteral(b.getContext(), types)};
  auto op = LLVM::InlineAsmOp::create(
      b, r.loc, results, inputs, "{\n" + text + "}", llvm::join(constraints, ","),
      /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  SmallVector<Value> values;
  if (types.size() == 1)
    values.push_back(op.getResult(0));
  for (size_t i = 0; types.size() > 1 && i < types.size(); ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(b, r.loc, op.getResult(0), ArrayRef<int64_t>{int64_t(i)}));
  return values;
}

Value weir::dynamicShared(CudaReader &r) {
  constexpr StringLiteral name = "weir_dynamic_shared";
  constexpr unsigned space = 3, alignment = 1024;
  OpBuilder &b = r.b;
  auto module = r.function->getParentOfType<gpu::GPUModuleOp>();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), space);
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, r.loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
                           alignment, space);
  }
  Value at = LLVM::AddressOfOp::create(b, r.loc, pointer, name);
  return LLVM::PtrToIntOp::create(b, r.loc, b.getI64Type(), at);
}
