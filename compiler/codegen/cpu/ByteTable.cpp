//===- ByteTable.cpp - look-ups of functions of bytes -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed of one byte has 256 values. A part makes a table of them on its stack, by the
// code that would compute elements, so that results have the same bits, and looks elements up.
//
// Bytes that become bytes are looked up by vectors. An instruction looks up in a table of 16
// (VPSHUFB), by the low digit of each byte, and gives 0 where a byte is negative. Taking 16 off,
// again and again, makes bytes negative one high digit after the other; so each byte adds up
// (exclusive or) what the tables of the high digits up to its own differ by from the ones before
// them, which is its own table's element. Bytes of 128 and more are looked up likewise, less 128.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/ByteTable.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t values = 256, digits = 16;

class ByteTable {
public:
  ByteTable(KernelBuilder &r, plan::KernelOp kernel, Value operand)
      : r(r), b(r.b), body(kernel.getBody().front()), operand(operand),
        result(body.getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        element(target.type.getElementType()) {
    const VectorUnit unit = vectorUnitOf(kernel->getParentOfType<ModuleOp>());
    if (unit.hasByteProducts && elementBytes(element) == 1)
      lanes = unit.bytes;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(r.context.getParentBlock());
    table = stackElements(r, element, values);
    if (lanes)
      differences = stackElements(r, b.getI8Type(), digits * lanes);
  }

  /// Makes the table where this is called.
  void make() {
    KernelBuilder::Buffer made = target;
    made.pointer = table;
    made.extents = {};
    r.bind(result, made);
    emitStepLoop(r, r.constant(0), r.constant(values), 1, [&](Value i) {
      r.setFlatIndex(i);
      Value byte = arith::IndexCastOp::create(b, r.loc, b.getI8Type(), i);
      r.setAnchor(operand,
                  BufferAccess::fromStorage(r, byte, getElementTypeOrSelf(operand.getType())));
      emitElements(r, body, {}, SmallVector<Value>(target.dims.size(), r.constant(0)));
    });
    r.setFlatIndex({});
    r.bind(result, target);
    if (lanes)
      spread();
  }

  /// Looks up `count` elements, from `first` on.
  void lookUp(Value first, Value count) {
    Value done = r.constant(0);
    if (lanes) {
      done = r.sub(count, r.remainder(count, r.constant(lanes)));
      emitStepLoop(r, r.constant(0), done, lanes, [&](Value i) {
        Value bytes = LLVM::LoadOp::create(b, r.loc, vector(), source(r.add(first, i)), 1);
        LLVM::StoreOp::create(b, r.loc, lookedUp(bytes), place(target.pointer, r.add(first, i)), 1);
      });
    }
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(b, r.loc, done, count, r.constant(1));
    forbidVectors(loop); // which would be put together element by element
    b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    Value byte = LLVM::LoadOp::create(b, r.loc, b.getI8Type(), source(r.add(first, i)));
    Value index = arith::IndexCastUIOp::create(b, r.loc, b.getIndexType(), byte);
    Type stored = BufferAccess::storageType(element);
    Value value = LLVM::LoadOp::create(b, r.loc, stored, place(table, index));
    LLVM::StoreOp::create(b, r.loc, value, place(target.pointer, r.add(first, i)));
  }

private:
  VectorType vector() { return VectorType::get({lanes}, b.getI8Type()); }
  Value source(Value linear) {
    return BufferAccess::address(r, r.bufferOf(operand).pointer, b.getI8Type(), linear);
  }
  Value place(Value pointer, Value linear) {
    return BufferAccess::address(r, pointer, element, linear);
  }
  Value splat(int8_t byte) {
    return arith::ConstantOp::create(b, r.loc,
                                     SplatElementsAttr::get(vector(), b.getI8IntegerAttr(byte)));
  }
  Value difference(int64_t digit) {
    Value at = place(differences, r.constant(digit * lanes));
    return LLVM::LoadOp::create(b, r.loc, vector(), at, lanes);
  }

  /// By what each table of 16 differs from the one before, of either half of the bytes, in all
  /// quarters of a vector.
  void spread() {
    auto quarter = VectorType::get({digits}, b.getI8Type());
    SmallVector<int64_t> repeated;
    for (int64_t i = 0; i < lanes; ++i)
      repeated.push_back(i % digits);
    Value before;
    for (int64_t digit = 0; digit < digits; ++digit) {
      Value own =
          LLVM::LoadOp::create(b, r.loc, quarter, place(table, r.constant(digit * digits)), digits);
      Value less =
          digit % (digits / 2) ? arith::XOrIOp::create(b, r.loc, own, before).getResult() : own;
      Value all = vector::ShuffleOp::create(b, r.loc, less, less, repeated);
      LLVM::StoreOp::create(b, r.loc, all, place(differences, r.constant(digit * lanes)), lanes);
      before = own;
    }
  }

  Value lookedUp(Value bytes) {
    StringRef name = lanes == 64 ? "llvm.x86.avx512.pshuf.b.512" : "llvm.x86.avx2.pshuf.b";
    Value sum, left;
    for (int64_t digit = 0; digit < digits; ++digit) {
      if (digit == digits / 2)
        left = arith::XOrIOp::create(b, r.loc, bytes, splat(INT8_MIN));
      else
        left = digit ? LLVM::SSubSat::create(b, r.loc, left, splat(digits)).getResult() : bytes;
      Value own = LLVM::CallIntrinsicOp::create(b, r.loc, vector(), b.getStringAttr(name),
                                                ValueRange{difference(digit), left})
                      ->getResult(0);
      sum = digit ? arith::XOrIOp::create(b, r.loc, sum, own).getResult() : own;
    }
    return sum;
  }

  KernelBuilder &r;
  OpBuilder &b;
  Block &body;
  Value operand, result;
  const KernelBuilder::Buffer target;
  Type element;
  int64_t lanes = 0; ///< of vectors that look up; 0: single elements are looked up
  Value table, differences;
};

} // namespace

void weir::emitByteTable(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  Value operand = bytesOf(kernel);
  if (!operand)
    return emitLoops(r, kernel, begin, end);
  const KernelBuilder::Buffer target =
      r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0));
  ByteTable table(r, kernel, operand);
  Value count = r.sub(end, begin);
  auto lookUp = [&] {
    table.make();
    table.lookUp(begin, count);
  };
  if (target.type.hasStaticShape())
    return lookUp();
  emitEither(
      r, r.less(count, r.constant(fewestLookedUp)), [&] { emitLoops(r, kernel, begin, end); },
      lookUp);
}
