//===- PtxRegisters.cpp - fewer registers for the interpreter ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// PTX has a register for each value. Those that live within one straight piece of code
// share places, as a GPU's do: threads of all blocks that run at the same time fit into
// memory then.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Ptx.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace ptx;

namespace {
struct Use {
  int piece = -1, first = -1, last = -1;
  bool isShared = false; ///< by pieces, or not written first
};

void forEachRegister(const Instruction &i, const std::function<void(int, bool isResult)> &tell) {
  if (i.predicate >= 0)
    tell(i.predicate, false);
  for (size_t n = 0; n < i.operands.size(); ++n) {
    const Operand &o = i.operands[n];
    bool isResult = n == 0 && o.kind != Operand::Address && i.name != "st" && i.name != "bar";
    if (o.reg >= 0)
      tell(o.reg, isResult);
    for (int part : o.parts)
      tell(part, isResult && o.kind == Operand::Vector);
  }
}
} // namespace

void ptx::shareRegisters(Function &f) {
  std::set<int> leaders;
  for (size_t n = 0; n < f.code.size(); ++n) {
    const Instruction &i = f.code[n];
    if (i.target >= 0)
      leaders.insert(i.target);
    leaders.insert(i.targets.begin(), i.targets.end());
    if (i.name == "bra" || i.name == "brx" || i.name == "ret" || i.name == "exit")
      leaders.insert(int(n) + 1);
  }
  std::vector<Use> uses(size_t(f.registers));
  for (int reg : {f.tid, f.ctaid, f.ntid, f.nctaid, f.lane})
    if (reg >= 0)
      uses[size_t(reg)].isShared = true;
  for (auto [reg, value] : f.constants)
    uses[size_t(reg)].isShared = true;
  int piece = 0;
  for (size_t n = 0; n < f.code.size(); ++n) {
    const Instruction &i = f.code[n];
    piece += leaders.count(int(n)) != 0;
    std::set<int> read;
    forEachRegister(i, [&](int reg, bool isResult) {
      if (!isResult)
        read.insert(reg);
    });
    forEachRegister(i, [&](int reg, bool isResult) {
      Use &use = uses[size_t(reg)];
      // Groups of warps keep sums in theirs while other code runs.
      use.isShared |= i.name == "wgmma" || (use.piece >= 0 && use.piece != piece);
      if (use.first < 0) {
        use.first = int(n);
        use.isShared |= !isResult || read.count(reg) || i.predicate >= 0;
      }
      use.piece = piece;
      use.last = int(n);
    });
  }
  // Those of whole functions come first, then places for the others.
  std::vector<int> place(uses.size(), -1);
  int next = 0;
  for (size_t reg = 0; reg < uses.size(); ++reg)
    if (uses[reg].isShared || uses[reg].first < 0)
      place[reg] = next++;
  int common = next, most = next;
  std::vector<int> free;
  std::multimap<int, int> ending; ///< places by last use
  for (size_t n = 0; n < f.code.size(); ++n) {
    if (leaders.count(int(n))) {
      free.clear();
      ending.clear();
      next = common;
    }
    while (!ending.empty() && ending.begin()->first < int(n)) {
      free.push_back(ending.begin()->second);
      ending.erase(ending.begin());
    }
    forEachRegister(f.code[n], [&](int reg, bool) {
      if (place[size_t(reg)] >= 0)
        return;
      int &own = place[size_t(reg)];
      if (free.empty()) {
        own = next++;
      } else {
        own = free.back();
        free.pop_back();
      }
      ending.emplace(uses[size_t(reg)].last, own);
    });
    most = std::max(most, next);
  }
  auto move = [&](int &reg) {
    if (reg >= 0)
      reg = place[size_t(reg)];
  };
  for (Instruction &i : f.code) {
    move(i.predicate);
    for (Operand &o : i.operands) {
      move(o.reg);
      for (int &part : o.parts)
        move(part);
    }
  }
  for (int *reg : {&f.tid, &f.ctaid, &f.ntid, &f.nctaid, &f.lane})
    move(*reg);
  std::map<int, uint64_t> constants;
  for (auto [reg, value] : f.constants)
    constants[place[size_t(reg)]] = value;
  f.constants = constants;
  f.registers = most;
}
