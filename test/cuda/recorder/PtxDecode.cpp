//===- PtxDecode.cpp - what an instruction of PTX is ------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What can be told from an instruction's text is told once, and not each time a thread comes to it.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/PtxBlock.h"

using namespace ptx;

namespace {
const std::map<std::string, int> opNames = {{"add", Add},
                                            {"sub", Sub},
                                            {"mul", Mul},
                                            {"mad", Mad},
                                            {"fma", Fma},
                                            {"div", Div},
                                            {"rem", Rem},
                                            {"min", Min},
                                            {"max", Max},
                                            {"abs", Abs},
                                            {"neg", Neg},
                                            {"sqrt", Sqrt},
                                            {"rcp", Rcp},
                                            {"ex2", Ex2},
                                            {"lg2", Lg2},
                                            {"rsqrt", Rsqrt},
                                            {"sin", Sin},
                                            {"cos", Cos},
                                            {"tanh", Tanh},
                                            {"setp", Setp},
                                            {"set", Set},
                                            {"selp", Selp},
                                            {"and", And},
                                            {"or", Or},
                                            {"xor", Xor},
                                            {"not", Not},
                                            {"shl", Shl},
                                            {"shr", Shr},
                                            {"cvt", Cvt},
                                            {"mov", Mov},
                                            {"cvta", Cvta},
                                            {"ld", Ld},
                                            {"ldu", Ld},
                                            {"st", St},
                                            {"prmt", Prmt},
                                            {"popc", Popc},
                                            {"clz", Clz},
                                            {"brev", Brev},
                                            {"bfind", Bfind},
                                            {"bfe", Bfe},
                                            {"copysign", Copysign},
                                            {"testp", Testp},
                                            {"bra", Bra},
                                            {"brx", Brx},
                                            {"ret", Ret},
                                            {"exit", Exit},
                                            {"bar", Bar},
                                            {"barrier", Bar},
                                            {"shfl", Shfl},
                                            {"vote", Vote},
                                            {"atom", Atom},
                                            {"membar", Membar},
                                            {"fence", Fence},
                                            {"shf", Shf},
                                            {"lop3", Lop3},
                                            {"trap", Trap},
                                            {"slct", Slct},
                                            {"mma", Mma},
                                            {"ldmatrix", LdMatrix},
                                            {"mbarrier", Mbarrier},
                                            {"wgmma", Wgmma},
                                            {"setmaxnreg", SetMaxNReg},
                                            {"griddepcontrol", GridDep},
                                            {"call", Call},
                                            {"nanosleep", NanoSleep},
                                            {"cp", CpAsync}};
} // namespace

/// The comparison that the first modifier names: a `u` behind it says that it holds of what is
/// no number, too.
static void decodeRelation(Instruction &i) {
  static const std::map<std::string, Relation> relations = {
      {"eq", Relation::Eq}, {"ne", Relation::Ne}, {"lt", Relation::Lt},   {"lo", Relation::Lt},
      {"le", Relation::Le}, {"ls", Relation::Le}, {"gt", Relation::Gt},   {"hi", Relation::Gt},
      {"ge", Relation::Ge}, {"hs", Relation::Ge}, {"num", Relation::Num}, {"nan", Relation::Nan}};
  std::string name = i.words.empty() ? "" : i.words[0];
  if (isFloat(i.type) && name.size() == 3 && name.back() == 'u') {
    name.pop_back();
    i.orUnordered = true;
  }
  if (auto it = relations.find(name); it != relations.end())
    i.relation = it->second;
}

void ptx::decode(Instruction &i) {
  for (const std::string &word : i.words) {
    i.codes.push_back(Word(std::string_view(word)).code);
    i.seen |= Word(std::string_view(word)).bit();
  }
  auto it = opNames.find(i.name);
  // What is unknown, or takes part in a carry, may never be reached.
  i.op = it != opNames.end() && !i.has("cc") ? it->second : Unknown;
  if (i.op == Bar && i.has("warp"))
    i.op = WarpBar;
  if (i.op == CpAsync && i.has("bulk"))
    i.op = i.has("tensor") ? BulkCopy : Unknown;
  else if (i.op == CpAsync && !i.has("async"))
    i.op = Unknown;
  i.half = i.has("f16x2") ? Type::F16 : i.has("bf16x2") ? Type::BF16 : Type::None;
  if (i.op == Setp)
    decodeRelation(i);
  bool isSum = i.op == Add || i.op == Sub || i.op == Mul || i.op == Mad || i.op == Fma;
  i.isSingle =
      isSum && i.type == Type::F32 && i.half == Type::None && !i.has("rm") && !i.has("sat");
}
