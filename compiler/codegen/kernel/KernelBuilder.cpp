//===- KernelBuilder.cpp - elements inside of a kernel ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/kernel/KernelBuilder.h"
#include "dialects/weir/ComparisonKey.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/SubviewForwarding.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace weir;

int SiteTable::add(StringRef node, StringRef operation, StringRef message, int code) {
  for (auto [i, site] : llvm::enumerate(sites))
    if (site.node == node && site.operation == operation && site.message == message &&
        site.code == code)
      return i;
  sites.push_back({node.str(), operation.str(), message.str(), code});
  return sites.size() - 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type BufferAccess::storageType(Type element) {
  MLIRContext *context = element.getContext();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, std::max(8u, integer.getWidth()));
  if (auto type = dyn_cast<FloatType>(element))
    if (type.getWidth() <= 8)
      return IntegerType::get(context, 8);
  if (auto complexType = dyn_cast<ComplexType>(element))
    return LLVM::LLVMStructType::getLiteral(
        context, {complexType.getElementType(), complexType.getElementType()});
  if (isa<StringType>(element))
    return LLVM::LLVMStructType::getLiteral(
        context, {LLVM::LLVMPointerType::get(context), IntegerType::get(context, 64)});
  if (isa<BoxType>(element))
    return LLVM::LLVMPointerType::get(context);
  return element;
}

static Value toI64(ElementReader &r, Value index) {
  return r.b.createOrFold<arith::IndexCastOp>(r.loc, r.b.getI64Type(), index);
}

Value BufferAccess::address(ElementReader &r, Value pointer, Type element, Value linear) {
  return LLVM::GEPOp::create(r.b, r.loc, pointer.getType(), storageType(element), pointer,
                             ArrayRef<LLVM::GEPArg>{toI64(r, linear)},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value BufferAccess::load(ElementReader &r, Value pointer, Type element, Value linear) {
  Value where = address(r, pointer, element, linear);
  if (auto complexType = dyn_cast<ComplexType>(element)) {
    Type part = complexType.getElementType();
    Value next =
        LLVM::GEPOp::create(r.b, r.loc, pointer.getType(), part, where, ArrayRef<LLVM::GEPArg>{1});
    Value re = LLVM::LoadOp::create(r.b, r.loc, part, where);
    Value im = LLVM::LoadOp::create(r.b, r.loc, part, next);
    return complex::CreateOp::create(r.b, r.loc, complexType, re, im);
  }
  return fromStorage(r, LLVM::LoadOp::create(r.b, r.loc, storageType(element), where), element);
}

Value BufferAccess::fromStorage(ElementReader &r, Value value, Type element) {
  Type storage = storageType(element), compute = computeType(element);
  if (storage == compute || isa<StringType, BoxType>(element))
    return value;
  if (compute.isInteger(1)) {
    Value zero = arith::ConstantIntOp::create(r.b, r.loc, storage, 0);
    return arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (isa<IntegerType>(compute))
    return arith::TruncIOp::create(r.b, r.loc, compute, value);
  if (compute.getIntOrFloatBitWidth() == 8)
    return arith::BitcastOp::create(r.b, r.loc, compute, value);
  Value narrow = arith::TruncIOp::create(
      r.b, r.loc, r.b.getIntegerType(compute.getIntOrFloatBitWidth()), value);
  return arith::BitcastOp::create(r.b, r.loc, compute, narrow);
}

void BufferAccess::store(ElementReader &r, Value value, Value pointer, Type element, Value linear) {
  Value where = address(r, pointer, element, linear);
  if (auto complexType = dyn_cast<ComplexType>(element)) {
    Type part = complexType.getElementType();
    Value next =
        LLVM::GEPOp::create(r.b, r.loc, pointer.getType(), part, where, ArrayRef<LLVM::GEPArg>{1});
    LLVM::StoreOp::create(r.b, r.loc, complex::ReOp::create(r.b, r.loc, value), where);
    LLVM::StoreOp::create(r.b, r.loc, complex::ImOp::create(r.b, r.loc, value), next);
    return;
  }
  LLVM::StoreOp::create(r.b, r.loc, toStorage(r, value, element), where);
}

Value BufferAccess::toStorage(ElementReader &r, Value value, Type element) {
  Type storage = storageType(element);
  if (value.getType() != storage) {
    if (isa<FloatType>(value.getType()))
      value = arith::BitcastOp::create(
          r.b, r.loc, r.b.getIntegerType(value.getType().getIntOrFloatBitWidth()), value);
    if (value.getType() != storage) {
      // Signed narrow integers keep their sign in the byte that holds them.
      auto integer = dyn_cast<IntegerType>(element);
      bool isSigned = integer && integer.getWidth() > 1 && !integer.isUnsigned();
      value = isSigned ? arith::ExtSIOp::create(r.b, r.loc, storage, value).getResult()
                       : arith::ExtUIOp::create(r.b, r.loc, storage, value).getResult();
    }
  }
  return value;
}

//===----------------------------------------------------------------------===//
// KernelBuilder
//===----------------------------------------------------------------------===//

Value KernelBuilder::Buffer::extent(ElementReader &r, unsigned i) const {
  if (extents.empty())
    return dims[i];
  return plan::isOpenExtent(extents[i]) ? r.add(dims[i], r.constant(plan::beyondPart(extents[i])))
                                        : r.constant(extents[i]);
}

bool KernelBuilder::Buffer::hasGaps() const { return plan::hasInnerGaps(extents, type.getShape()); }

Value KernelBuilder::linearIndex(const Buffer &buffer, ValueRange indices) {
  if (indices.empty())
    return constant(0);
  Value linear = indices[0];
  for (size_t i = 1; i < indices.size(); ++i) {
    linear = add(mul(linear, buffer.extent(*this, i)), indices[i]);
  }
  return linear;
}

void KernelBuilder::setPart(Buffer &buffer, ArrayRef<int64_t> extents) {
  if (extents.empty())
    return;
  size_t rank = buffer.type.getRank();
  buffer.extents = extents.take_front(rank);
  SmallVector<Value> first;
  for (int64_t index : extents.drop_front(rank))
    first.push_back(constant(index));
  if (first.empty())
    return;
  buffer.pointer = BufferAccess::address(*this, buffer.pointer, buffer.type.getElementType(),
                                         linearIndex(buffer, first));
}

bool KernelBuilder::isLeaf(Value tensor) { return isa<BlockArgument>(tensor); }

Value KernelBuilder::leafElement(Value tensor, ValueRange indices) {
  const Buffer &buffer = buffers[tensor];
  Type element = getElementTypeOrSelf(tensor.getType());
  if (flat) {
    bool single = buffer.type.hasStaticShape() && buffer.type.getNumElements() == 1;
    Value place = flatPlaces.lookup(tensor);
    return BufferAccess::load(*this, buffer.pointer, element,
                              place    ? place
                              : single ? constant(0)
                                       : flat);
  }
  return BufferAccess::load(*this, buffer.pointer, element, linearIndex(buffer, indices));
}

Value KernelBuilder::dim(Value tensor, unsigned i) {
  auto it = buffers.find(tensor);
  if (it != buffers.end())
    return it->second.dims[i];
  return RecursiveReader::dim(tensor, i);
}

void KernelBuilder::askSizes(Block &body) {
  bool wasQuiet = quiet;
  quiet = true;
  for (Operation &op : body.without_terminator())
    for (Value operand : op.getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      for (int64_t i = 0; i < type.getRank(); ++i)
        if (type.isDynamicDim(i))
          dim(operand, i);
    }
  quiet = wasQuiet;
}

Value KernelBuilder::leafDim(Value tensor, unsigned i) { return buffers[tensor].dims[i]; }

Value KernelBuilder::constantElement(Value tensor, ElementsAttr value, ValueRange indices) {
  // A small table in the kernel's constants.
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType(), storage = BufferAccess::storageType(element);
  Operation *module = SymbolTable::getNearestSymbolTable(b.getBlock()->getParentOp());
  // Named by content: attributes' own hashes are addresses, which would differ
  // from one compilation to the next.
  std::string text;
  llvm::raw_string_ostream(text) << value;
  std::string name = "weir.table." + llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(text)));
  Type arrayType = LLVM::LLVMArrayType::get(storage, type.getNumElements());
  if (!SymbolTable::lookupSymbolIn(module, name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&module->getRegion(0).front());
    auto global = LLVM::GlobalOp::create(b, loc, arrayType, /*isConstant=*/true,
                                         LLVM::Linkage::Internal, name, Attribute(), 64);
    Block *block = b.createBlock(&global.getInitializerRegion());
    b.setInsertionPointToStart(block);
    Value table = LLVM::UndefOp::create(b, loc, arrayType);
    int64_t i = 0;
    for (Attribute attribute : value.getValues<Attribute>()) {
      Value item;
      if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
        APInt bits = integer.getValue();
        unsigned width = storage.getIntOrFloatBitWidth();
        bool isSigned = cast<IntegerType>(element).getWidth() > 1 && !element.isUnsignedInteger();
        item = LLVM::ConstantOp::create(
            b, loc, storage,
            IntegerAttr::get(storage, isSigned ? bits.sext(width) : bits.zext(width)));
      } else if (isa<FloatType>(storage)) {
        item = LLVM::ConstantOp::create(b, loc, storage, attribute);
      } else {
        APInt bits = cast<FloatAttr>(attribute).getValue().bitcastToAPInt();
        item = LLVM::ConstantOp::create(
            b, loc, storage, IntegerAttr::get(storage, bits.zext(storage.getIntOrFloatBitWidth())));
      }
      table = LLVM::InsertValueOp::create(b, loc, table, item, i++);
    }
    LLVM::ReturnOp::create(b, loc, table);
  }
  Buffer buffer;
  buffer.type = type;
  for (int64_t size : type.getShape())
    buffer.dims.push_back(constant(size));
  Value pointer =
      LLVM::AddressOfOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), name);
  return BufferAccess::load(*this, pointer, element, linearIndex(buffer, indices));
}

void KernelBuilder::store(Value value, const Buffer &buffer, ValueRange indices) {
  BufferAccess::store(*this, value, buffer.pointer, buffer.type.getElementType(),
                      flat ? flat : linearIndex(buffer, indices));
}

void KernelBuilder::assumeNotStretched(Value tensor, unsigned i) {
  // Broadcasting asks whether the size is 1: the answer is given beforehand.
  Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  emitted.insert(comparisonKey(arith::CmpIPredicate::eq, dim(tensor, i), constant(1)), no);
}

SmallVector<Value> KernelBuilder::blockIndices(Value part, ValueRange dims,
                                               ArrayRef<int64_t> blocks) {
  SmallVector<Value> indices(dims.size());
  for (int64_t i = (int64_t)dims.size() - 1; i >= 0; --i) {
    Value count = dims[i];
    if (!blocks.empty() && blocks[i] != 1)
      count = divide(add(count, constant(blocks[i] - 1)), constant(blocks[i]));
    // Said outright: what reads an operand at 0 there has the same address as
    // what writes the result, which vector loops in place need to see.
    if (matchPattern(count, m_One())) {
      indices[i] = constant(0);
      continue;
    }
    indices[i] = i > 0 ? remainder(part, count) : part;
    part = i > 0 ? divide(part, count) : part;
  }
  return indices;
}

void KernelBuilder::require(Operation *op, Value ok, StringRef message, int code, Value value0,
                            Value value1) {
  if (quiet || matchPattern(ok, m_One()))
    return;
  int site = sites.add(nodeName(op->getLoc()), op->getName().stripDialect(), message, code);
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  Value bad = b.createOrFold<arith::XOrIOp>(loc, ok, yes);
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, bad, /*withElseRegion=*/false);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  Type i64 = b.getI64Type();
  auto widen = [&](Value value) -> Value {
    if (!value)
      return arith::ConstantIntOp::create(b, loc, i64, 0);
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(b, loc, i64, value);
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (width < 64)
      return arith::ExtSIOp::create(b, loc, i64, value);
    return value;
  };
  Value number = arith::ConstantIntOp::create(b, loc, b.getI32Type(), site);
  Value code32 = LLVM::CallOp::create(b, loc, TypeRange{b.getI32Type()},
                                      SymbolRefAttr::get(b.getContext(), "weir_rt_error"),
                                      ValueRange{context, number, widen(value0), widen(value1)})
                     .getResult();
  LLVM::StoreOp::create(b, loc, code32, errorSlot);
}
