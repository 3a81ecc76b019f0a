//===- SharedBodies.cpp - one body for kernels that differ in numbers -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/SharedBodies.h"
#include "compiler/emit/KernelPasses.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"

#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

using namespace weir;

/// Different integers that a body may read: a loop over a tile holds each in a register. A tile's
/// stride, which its rows are multiples of, is more.
static constexpr size_t mostIntegers = 4;
/// Different reals: what follows a tile reads each from memory, as it does one that is known.
static constexpr size_t mostReals = 8;

/// Instructions from which on kernels with vectors share a body where they differ in reals, as
/// those do whose tiles are a processor's own (AMX). What integers bound is short in them: LLVM
/// writes it out.
static constexpr size_t shortFunction = 100;

/// What bounds a loop is at least this in all kernels: LLVM writes shorter loops out.
static constexpr int64_t longLoop = 16;

namespace {

/// A kernel, and the functions that only it calls.
struct Family {
  explicit Family(llvm::Function &kernel);

  llvm::SmallVector<llvm::Function *> functions; ///< the kernel, then in the order of calls
  std::vector<llvm::Use *> uses;                 ///< all operands of all instructions
  size_t hash = 0;                               ///< equal for equal instructions
  bool isInVectors = false;
  bool mayShare = false; ///< long enough, or run through once, for which a jump is nothing
};

/// Kernels of one body: `numbers` are places among the first one's uses.
struct Group {
  std::vector<Family *> members;
  std::vector<size_t> numbers;
};

/// What can be read from a table of words, or is not to be.
class Number {
public:
  explicit Number(const llvm::Value *value);
  explicit operator bool() const { return scalar; }

  bool isInteger() const { return scalar && llvm::isa<llvm::ConstantInt>(scalar); }
  int64_t integer() const { return llvm::cast<llvm::ConstantInt>(scalar)->getSExtValue(); }
  /// The bits of an integer with its sign, or of a floating-point number.
  int64_t word() const;
  /// Whether code for it is shorter than for any other: a factor of one, what is added of nothing.
  bool isSpecial() const;

private:
  const llvm::Constant *scalar = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Number::Number(const llvm::Value *value) {
  const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant)
    return;
  if (llvm::isa<llvm::FixedVectorType>(value->getType()))
    constant = constant->getSplatValue();
  if (!constant)
    return;
  if (const auto *integer = llvm::dyn_cast<llvm::ConstantInt>(constant))
    scalar = integer->getBitWidth() <= 64 && integer->getType()->isIntegerTy() ? constant : nullptr;
  else if (llvm::isa<llvm::ConstantFP>(constant) &&
           constant->getType()->getPrimitiveSizeInBits() <= 64)
    scalar = constant;
}

int64_t Number::word() const {
  if (isInteger())
    return integer();
  return int64_t(
      llvm::cast<llvm::ConstantFP>(scalar)->getValueAPF().bitcastToAPInt().getZExtValue());
}

bool Number::isSpecial() const {
  if (isInteger())
    return integer() >= -1 && integer() <= 1;
  const llvm::APFloat &value = llvm::cast<llvm::ConstantFP>(scalar)->getValueAPF();
  return !value.isFinite() || value.isZero() || abs(value).isExactlyValue(1);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether all calls of a function are in `callers`, or in itself.
static bool isCalledOnlyBy(const llvm::Function &function,
                           llvm::ArrayRef<llvm::Function *> callers) {
  return llvm::all_of(function.uses(), [&](const llvm::Use &use) {
    const auto *call = llvm::dyn_cast<llvm::CallInst>(use.getUser());
    return call && call->isCallee(&use) && llvm::is_contained(callers, call->getFunction());
  });
}

Family::Family(llvm::Function &kernel) {
  functions.push_back(&kernel);
  llvm::hash_code code(0);
  size_t instructions = 0;
  bool hasVectors = false, isStraight = true;
  for (size_t i = 0; i < functions.size(); ++i) {
    isInVectors |= isVectorKernel(*functions[i]);
    isStraight &= functions[i]->size() == 1;
    for (llvm::Instruction &instruction : llvm::instructions(*functions[i])) {
      ++instructions;
      hasVectors |= instruction.getType()->isVectorTy();
      code = llvm::hash_combine(code, instruction.getOpcode(), instruction.getType(),
                                instruction.getNumOperands());
      for (llvm::Use &use : instruction.operands())
        uses.push_back(&use);
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
      if (callee && callee->hasLocalLinkage() && !callee->isDeclaration() &&
          !llvm::is_contained(functions, callee) && isCalledOnlyBy(*callee, functions))
        functions.push_back(callee);
    }
  }
  hash = code;
  mayShare = isInVectors || isStraight || (hasVectors && instructions >= shortFunction);
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

namespace {

/// Walks two kernels side by side.
class Comparison {
public:
  Comparison(const Family &a, const Family &b) : a(a), b(b) {}

  /// The places where the kernels have different numbers; none: they differ elsewhere.
  std::optional<std::vector<size_t>> run();

private:
  bool pairValues();
  bool areEqual(const llvm::Instruction &was, const llvm::Instruction &is) const;

  const Family &a, &b;
  llvm::DenseMap<const llvm::Value *, const llvm::Value *> pairs; ///< of a, then of b
};

} // namespace

bool Comparison::pairValues() {
  if (a.hash != b.hash || a.functions.size() != b.functions.size() ||
      a.uses.size() != b.uses.size())
    return false;
  for (auto [was, is] : llvm::zip_equal(a.functions, b.functions)) {
    if (was->getFunctionType() != is->getFunctionType() ||
        was->getAttributes() != is->getAttributes() ||
        was->getCallingConv() != is->getCallingConv() || was->size() != is->size())
      return false;
    pairs[was] = is;
    for (auto [one, other] : llvm::zip_equal(was->args(), is->args()))
      pairs[&one] = &other;
    for (auto [one, other] : llvm::zip_equal(*was, *is)) {
      if (one.size() != other.size())
        return false;
      pairs[&one] = &other;
      for (auto [from, to] : llvm::zip_equal(one, other))
        pairs[&from] = &to;
    }
  }
  return true;
}

/// Whether nodes say the same: of a loop's, the first operand is the node itself.
static bool isSameNode(unsigned kind, const llvm::MDNode *was, const llvm::MDNode *is) {
  if (was == is)
    return true;
  return kind == llvm::LLVMContext::MD_loop && was->getNumOperands() == is->getNumOperands() &&
         std::equal(was->op_begin() + 1, was->op_end(), is->op_begin() + 1);
}

bool Comparison::areEqual(const llvm::Instruction &was, const llvm::Instruction &is) const {
  if (!was.isSameOperationAs(&is) || !was.hasSameSubclassOptionalData(&is))
    return false;
  if (const auto *phi = llvm::dyn_cast<llvm::PHINode>(&was))
    for (auto [one, other] :
         llvm::zip_equal(phi->blocks(), llvm::cast<llvm::PHINode>(&is)->blocks()))
      if (pairs.lookup(one) != other)
        return false;
  llvm::SmallVector<std::pair<unsigned, llvm::MDNode *>> ofWas, ofIs;
  was.getAllMetadataOtherThanDebugLoc(ofWas);
  is.getAllMetadataOtherThanDebugLoc(ofIs);
  return ofWas.size() == ofIs.size() && llvm::all_of(llvm::zip(ofWas, ofIs), [](const auto &both) {
           const auto &[one, other] = both;
           return one.first == other.first && isSameNode(one.first, one.second, other.second);
         });
}

std::optional<std::vector<size_t>> Comparison::run() {
  if (!pairValues())
    return std::nullopt;
  std::vector<size_t> numbers;
  const llvm::Instruction *last = nullptr;
  for (auto [i, was, is] : llvm::enumerate(a.uses, b.uses)) {
    const auto *user = llvm::cast<llvm::Instruction>(was->getUser());
    if (user != last && !areEqual(*user, *llvm::cast<llvm::Instruction>(is->getUser())))
      return std::nullopt;
    last = user;
    auto pair = pairs.find(was->get());
    if (is->get() == (pair == pairs.end() ? was->get() : pair->second))
      continue;
    if (was->get()->getType() != is->get()->getType() || !Number(was->get()) || !Number(is->get()))
      return std::nullopt;
    numbers.push_back(i);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// What may vary
//===----------------------------------------------------------------------===//

/// Whether an instruction is in a loop that is in a loop.
static bool isDeep(llvm::Instruction &instruction) {
  llvm::DominatorTree dominators(*instruction.getFunction());
  return llvm::LoopInfo(dominators).getLoopDepth(instruction.getParent()) > 1;
}

/// Whether code for a number that is known is not better than for one that is read, of the user of
/// `use`.
static bool mayVary(const llvm::Use &use) {
  auto *user = llvm::cast<llvm::Instruction>(use.getUser());
  switch (user->getOpcode()) {
  case llvm::Instruction::Add:
  case llvm::Instruction::Sub:
  case llvm::Instruction::Mul:
  case llvm::Instruction::FAdd:
  case llvm::Instruction::FSub:
  case llvm::Instruction::FMul:
  case llvm::Instruction::PHI:
  case llvm::Instruction::ICmp:
  case llvm::Instruction::FCmp:
  case llvm::Instruction::Select:
    return true;
  case llvm::Instruction::UDiv:
  case llvm::Instruction::URem:
    return !user->getType()->isVectorTy() && use.getOperandNo() == 1 && !isDeep(*user);
  case llvm::Instruction::GetElementPtr:
    return !llvm::cast<llvm::GetElementPtrInst>(user)->getSourceElementType()->isStructTy();
  case llvm::Instruction::Call:
    break;
  default:
    return false;
  }
  const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  switch (intrinsic ? intrinsic->getIntrinsicID() : llvm::Intrinsic::not_intrinsic) {
  case llvm::Intrinsic::smin:
  case llvm::Intrinsic::smax:
  case llvm::Intrinsic::umin:
  case llvm::Intrinsic::umax:
  case llvm::Intrinsic::fma:
  case llvm::Intrinsic::fmuladd:
  case llvm::Intrinsic::minnum:
  case llvm::Intrinsic::maxnum:
  case llvm::Intrinsic::minimum:
  case llvm::Intrinsic::maximum:
    return true;
  default:
    return false;
  }
}

/// Whether the members of a group may read the numbers that they differ in.
static bool isWorthwhile(const Group &group) {
  std::set<std::vector<int64_t>> integers, reals;
  for (size_t place : group.numbers) {
    const llvm::Use &first = *group.members.front()->uses[place];
    bool isBound = llvm::isa<llvm::ICmpInst>(first.getUser());
    std::vector<int64_t> words;
    for (Family *member : group.members) {
      Number number(member->uses[place]->get());
      if (number.isSpecial() || (isBound && number.isInteger() && number.integer() < longLoop))
        return false;
      words.push_back(number.word());
    }
    (Number(first.get()).isInteger() ? integers : reals).insert(std::move(words));
  }
  const size_t allowed = group.members.front()->isInVectors ? mostIntegers : 0;
  if (integers.size() > allowed || reals.size() > mostReals)
    return false;
  return llvm::all_of(group.numbers,
                      [&](size_t place) { return mayVary(*group.members.front()->uses[place]); });
}

/// Takes a kernel into a group that differs from it in numbers alone; false: it is not for it.
static bool join(Group &group, Family &family) {
  std::optional<std::vector<size_t>> numbers = Comparison(*group.members.front(), family).run();
  if (!numbers)
    return false;
  Group wider = group;
  wider.members.push_back(&family);
  wider.numbers.clear();
  std::set_union(group.numbers.begin(), group.numbers.end(), numbers->begin(), numbers->end(),
                 std::back_inserter(wider.numbers));
  // Where nothing new varies, one word more is to be looked at; which is cheap enough.
  if (!isWorthwhile(wider))
    return false;
  group = std::move(wider);
  return true;
}

//===----------------------------------------------------------------------===//
// Making the body
//===----------------------------------------------------------------------===//

namespace {

/// Makes one body of a group's kernels.
class Sharing {
public:
  explicit Sharing(Group &group);

  SharedBody run();

private:
  /// A word of the table: in each kernel a step more or less of what it counts.
  struct Column {
    std::vector<int64_t> steps; ///< by member
    int64_t most = 0;           ///< of integers; 0: bits of any kind
  };
  /// A number of a column: the least of all kernels, and what a step adds.
  struct Line {
    size_t column = 0;
    int64_t least = 0, step = 0;
  };

  Line lineOf(size_t place);
  llvm::Value *read(llvm::IRBuilder<> &b, llvm::Value *table, const Line &line, llvm::Type *type);
  void addArgument();
  void jump(Family &member, size_t number);

  Group &group;
  Family &first;
  llvm::Module &module;
  llvm::MapVector<size_t, Line> lines; ///< by place
  std::vector<Column> columns;
};

} // namespace

Sharing::Sharing(Group &group)
    : group(group), first(*group.members.front()), module(*first.functions.front()->getParent()) {
  for (size_t place : group.numbers)
    lines[place] = lineOf(place);
}

/// Integers that grow together from kernel to kernel, as a depth and all its multiples do, are
/// computed of one word: LLVM sees then what they have to do with each other, and what divides
/// them.
Sharing::Line Sharing::lineOf(size_t place) {
  Line line;
  Column column;
  bool isInteger = Number(first.uses[place]->get()).isInteger();
  for (Family *member : group.members)
    column.steps.push_back(Number(member->uses[place]->get()).word());
  auto [least, most] = std::minmax_element(column.steps.begin(), column.steps.end());
  // Far from what a word ends with.
  constexpr int64_t large = int64_t(1) << 60;
  if (isInteger && *least > -large && *most < large) {
    line.least = *least;
    for (int64_t &word : column.steps) {
      word -= line.least;
      line.step = std::gcd(line.step, word);
    }
    for (int64_t &word : column.steps) {
      word /= line.step;
      column.most = std::max(column.most, word);
    }
  }
  auto known = llvm::find_if(columns, [&](const Column &other) {
    return other.steps == column.steps && other.most == column.most;
  });
  line.column = size_t(known - columns.begin());
  if (known == columns.end())
    columns.push_back(std::move(column));
  return line;
}

llvm::Value *Sharing::read(llvm::IRBuilder<> &b, llvm::Value *table, const Line &line,
                           llvm::Type *type) {
  llvm::LLVMContext &context = module.getContext();
  llvm::LoadInst *load = b.CreateAlignedLoad(
      b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), table, line.column),
      llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
  load->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(context, {}));
  llvm::Value *word = load;
  if (int64_t most = columns[line.column].most) {
    load->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(context).createRange(llvm::APInt(64, 0),
                                                           llvm::APInt(64, uint64_t(most + 1))));
    word = b.CreateNUWMul(word, b.getInt64(uint64_t(line.step)));
    word = b.CreateAdd(word, b.getInt64(uint64_t(line.least)), "", /*HasNUW=*/line.least >= 0,
                       /*HasNSW=*/true);
  }
  llvm::Type *scalar = type->getScalarType();
  word = b.CreateTrunc(word, b.getIntNTy(scalar->getPrimitiveSizeInBits()));
  word = b.CreateBitCast(word, scalar);
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    word = b.CreateVectorSplat(vector->getElementCount(), word);
  return word;
}

/// Gives the first kernel's functions the table as their last argument. Their instructions move,
/// and stay what they are.
void Sharing::addArgument() {
  llvm::SmallVector<llvm::Function *> made;
  for (llvm::Function *was : first.functions) {
    llvm::SmallVector<llvm::Type *> types(was->getFunctionType()->params());
    types.push_back(llvm::PointerType::getUnqual(module.getContext()));
    auto *function = llvm::Function::Create(
        llvm::FunctionType::get(was->getReturnType(), types, /*isVarArg=*/false),
        llvm::GlobalValue::InternalLinkage, was->getAddressSpace(), was->getName() + ".shared",
        &module);
    function->copyAttributesFrom(was);
    function->splice(function->begin(), was);
    for (auto [from, to] : llvm::zip(was->args(), function->args()))
      from.replaceAllUsesWith(&to);
    llvm::Argument *table = function->getArg(function->arg_size() - 1);
    table->addAttr(llvm::Attribute::NoAlias);
    table->addAttr(llvm::Attribute::ReadOnly);
    table->addAttr(
        llvm::Attribute::getWithDereferenceableBytes(module.getContext(), 8 * columns.size()));
    made.push_back(function);
  }
  for (auto [was, is] : llvm::drop_begin(llvm::zip_equal(first.functions, made))) {
    for (llvm::User *user : llvm::make_early_inc_range(was->users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      llvm::Function *caller = call->getFunction();
      llvm::SmallVector<llvm::Value *> arguments(call->args());
      arguments.push_back(caller->getArg(caller->arg_size() - 1));
      llvm::CallInst *wider = llvm::CallInst::Create(is, arguments, "", call->getIterator());
      wider->setAttributes(call->getAttributes());
      wider->setCallingConv(call->getCallingConv());
      wider->setTailCallKind(call->getTailCallKind());
      wider->copyMetadata(*call);
      call->replaceAllUsesWith(wider);
      call->eraseFromParent();
    }
  }
  for (llvm::Function *function : llvm::drop_begin(first.functions))
    function->eraseFromParent();
  first.functions.resize(1);
  first.functions.append(made.begin(), made.end());
}

/// Leaves of a kernel a jump to the body, with the kernel's numbers.
void Sharing::jump(Family &member, size_t number) {
  llvm::Function *kernel = member.functions.front(), *body = first.functions[1];
  if (&member != &first) {
    kernel->dropAllReferences();
    for (llvm::Function *callee : llvm::reverse(llvm::drop_begin(member.functions)))
      callee->dropAllReferences();
    for (llvm::Function *callee : llvm::drop_begin(member.functions))
      callee->eraseFromParent();
  }
  std::vector<uint64_t> words;
  for (const Column &column : columns)
    words.push_back(uint64_t(column.steps[number]));
  llvm::Constant *table = llvm::ConstantDataArray::get(module.getContext(), words);
  auto *variable =
      new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::PrivateLinkage, table, kernel->getName() + ".n");
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", kernel));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : kernel->args())
    arguments.push_back(&argument);
  arguments.push_back(variable);
  llvm::CallInst *call = b.CreateCall(body, arguments);
  call->setTailCall();
  call->setCallingConv(body->getCallingConv());
  b.CreateRet(call);
}

SharedBody Sharing::run() {
  addArgument();
  std::map<std::tuple<llvm::Function *, size_t, int64_t, int64_t, llvm::Type *>, llvm::Value *>
      values;
  for (auto &[place, line] : lines) {
    llvm::Use &use = *first.uses[place];
    llvm::Function *function = llvm::cast<llvm::Instruction>(use.getUser())->getFunction();
    llvm::Type *type = use->getType();
    llvm::Value *&value = values[{function, line.column, line.least, line.step, type}];
    if (!value) {
      llvm::IRBuilder<> b(&*function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      value = read(b, function->getArg(function->arg_size() - 1), line, type);
    }
    use.set(value);
  }
  SharedBody body;
  body.symbol = first.functions[1]->getName().str();
  for (auto [number, member] : llvm::enumerate(group.members)) {
    jump(*member, number);
    body.kernels.push_back(member->functions.front()->getName().str());
  }
  return body;
}

std::vector<SharedBody> weir::shareBodies(llvm::Module &module,
                                          llvm::ArrayRef<std::string> kernels) {
  std::vector<std::unique_ptr<Family>> families;
  std::vector<Group> groups;
  llvm::DenseMap<size_t, llvm::SmallVector<size_t>> byHash;
  for (const std::string &symbol : kernels) {
    llvm::Function *function = module.getFunction(symbol);
    if (!function || function->isDeclaration())
      continue;
    auto family = std::make_unique<Family>(*function);
    if (!family->mayShare)
      continue;
    llvm::SmallVector<size_t> &similar = byHash[family->hash];
    if (llvm::none_of(similar, [&](size_t i) { return join(groups[i], *family); })) {
      similar.push_back(groups.size());
      groups.push_back({{family.get()}, {}});
    }
    families.push_back(std::move(family));
  }
  std::vector<SharedBody> bodies;
  for (Group &group : groups)
    if (!group.numbers.empty())
      bodies.push_back(Sharing(group).run());
  return bodies;
}
