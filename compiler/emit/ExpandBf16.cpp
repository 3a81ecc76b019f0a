//===- ExpandBf16.cpp - bf16 by integers and f32 ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ExpandBf16.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

static bool isBf16(Type *type) { return type->getScalarType()->isBFloatTy(); }

/// `value`, of bf16, as f32: its bits are the upper ones.
static Value *widened(IRBuilder<> &b, Value *value) {
  Type *type = value->getType(), *i32 = type->getWithNewType(b.getInt32Ty());
  Value *bits = b.CreateZExt(b.CreateBitCast(value, type->getWithNewType(b.getInt16Ty())), i32);
  return b.CreateBitCast(b.CreateShl(bits, 16), type->getWithNewType(b.getFloatTy()));
}

/// f64 to f32 with what is lost kept in the last bit (rounding to odd), so that
/// rounding once more is right (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums", 2008).
static Value *roundToOdd(IRBuilder<> &b, Value *wide) {
  Type *type = wide->getType()->getWithNewType(b.getFloatTy());
  Type *bitsType = wide->getType()->getWithNewType(b.getInt32Ty());
  Value *near = b.CreateFPTrunc(wide, type);
  Value *back = b.CreateFPExt(near, wide->getType());
  Value *bits = b.CreateBitCast(near, bitsType);
  Constant *one = ConstantInt::get(bitsType, 1);
  Value *isEven = b.CreateIsNull(b.CreateAnd(bits, one));
  Value *isInexact = b.CreateFCmpONE(back, wide);
  Value *isBeyond = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                    b.CreateUnaryIntrinsic(Intrinsic::fabs, wide));
  Value *next = b.CreateSelect(isBeyond, b.CreateSub(bits, one), b.CreateAdd(bits, one));
  Value *odd = b.CreateSelect(b.CreateAnd(isEven, isInexact), next, bits);
  return b.CreateBitCast(odd, type);
}

/// `value`, f32 or f64 or narrower than f32, rounded to bf16.
static Value *rounded(IRBuilder<> &b, Value *value) {
  Type *type = value->getType();
  if (type->getScalarType()->isDoubleTy())
    value = roundToOdd(b, value);
  else if (!type->getScalarType()->isFloatTy())
    value = b.CreateFPExt(value, type->getWithNewType(b.getFloatTy()));
  Type *i32 = type->getWithNewType(b.getInt32Ty());
  Type *i16 = type->getWithNewType(b.getInt16Ty());
  Value *bits = b.CreateBitCast(value, i32);
  Value *high = b.CreateLShr(bits, 16);
  // Half of the last place, less one where that is even already.
  Value *odd = b.CreateAnd(high, ConstantInt::get(i32, 1));
  Value *sum = b.CreateAdd(bits, b.CreateAdd(odd, ConstantInt::get(i32, 0x7fff)));
  Value *quiet = b.CreateOr(high, ConstantInt::get(i32, 0x40));
  Value *result = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, b.CreateLShr(sum, 16));
  return b.CreateBitCast(b.CreateTrunc(result, i16), type->getWithNewType(b.getBFloatTy()));
}

/// Whether the intrinsic computes on values of one type, and rounds.
static bool isRoundingIntrinsic(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::sqrt:
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::log:
  case Intrinsic::log2:
  case Intrinsic::log10:
  case Intrinsic::pow:
  case Intrinsic::sin:
  case Intrinsic::cos:
    return true;
  default:
    return false;
  }
}

/// What stands for an instruction that reads bf16, or null where it is none.
static Value *wideReplacement(Instruction &instruction) {
  if (instruction.getNumOperands() == 0 || !isBf16(instruction.getOperand(0)->getType()))
    return nullptr;
  IRBuilder<> b(&instruction);
  if (isa<FPExtInst>(instruction))
    return b.CreateFPExt(widened(b, instruction.getOperand(0)), instruction.getType());
  auto *compare = dyn_cast<FCmpInst>(&instruction);
  return compare ? b.CreateFCmp(compare->getPredicate(), widened(b, compare->getOperand(0)),
                                widened(b, compare->getOperand(1)))
                 : nullptr;
}

/// What stands for an instruction that rounds to bf16, or null where it is none.
static Value *roundedReplacement(Instruction &instruction) {
  Type *type = instruction.getType();
  if (!isBf16(type))
    return nullptr;
  IRBuilder<> b(&instruction);
  if (isa<FPTruncInst>(instruction))
    return rounded(b, instruction.getOperand(0));
  Type *f32 = type->getWithNewType(b.getFloatTy());
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction)) {
    b.setFastMathFlags(instruction.getFastMathFlags());
    return rounded(b, b.CreateBinOp(binary->getOpcode(), widened(b, binary->getOperand(0)),
                                    widened(b, binary->getOperand(1))));
  }
  if (isa<SIToFPInst, UIToFPInst>(instruction))
    return rounded(
        b, b.CreateCast(cast<CastInst>(instruction).getOpcode(), instruction.getOperand(0), f32));
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || !isRoundingIntrinsic(call->getIntrinsicID()))
    return nullptr;
  SmallVector<Value *> operands;
  for (Value *operand : call->args())
    operands.push_back(widened(b, operand));
  return rounded(b, b.CreateIntrinsic(f32, call->getIntrinsicID(), operands));
}

static bool roundsByInstruction(const TargetMachine &machine) {
  StringRef features = machine.getTargetFeatureString();
  return !machine.getTargetTriple().isX86() || features.contains("+avx512bf16") ||
         features.contains("+avxneconvert");
}

void weir::defineBf16Rounding(Module &module, const TargetMachine &machine) {
  constexpr char name[] = "__truncsfbf2";
  bool isUsed = llvm::any_of(module, [](Function &function) {
    return llvm::any_of(instructions(function), [](Instruction &instruction) {
      return isBf16(instruction.getType()) ||
             llvm::any_of(instruction.operands(), [](Use &use) { return isBf16(use->getType()); });
    });
  });
  if (roundsByInstruction(machine) || !isUsed || module.getFunction(name))
    return;
  LLVMContext &context = module.getContext();
  auto *type = FunctionType::get(Type::getBFloatTy(context), {Type::getFloatTy(context)}, false);
  auto *function = Function::Create(type, GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(Attribute::NoUnwind);
  IRBuilder<> b(BasicBlock::Create(context, "", function));
  b.CreateRet(rounded(b, function->getArg(0)));
}

void weir::expandBf16(Module &module, const TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return;
  const bool isRounded = !roundsByInstruction(machine);
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      Value *value = wideReplacement(instruction);
      if (!value && isRounded)
        value = roundedReplacement(instruction);
      if (!value)
        continue;
      instruction.replaceAllUsesWith(value);
      instruction.eraseFromParent();
    }
}
