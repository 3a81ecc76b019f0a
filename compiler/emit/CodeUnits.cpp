//===- CodeUnits.cpp - machine code by parts ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/CodeUnits.h"
#include "compiler/emit/LongBlocks.h"
#include "compiler/emit/SharedBodies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <atomic>
#include <thread>

using namespace weir;

/// What the function of a unit is called until units meet.
static constexpr char unitFunction[] = "kernel";

static std::string hashText(llvm::ArrayRef<char> bytes) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

namespace {

/// Moves one function, and what it needs, into a module of its own.
class Extraction {
public:
  Extraction(llvm::Module &from, llvm::Function &function) : from(from), function(function) {}

  llvm::SmallVector<char, 0> run();

private:
  void collect(const llvm::Value *value);
  void collectFrom(llvm::GlobalValue &global);

  llvm::Module &from;
  llvm::Function &function;
  llvm::SetVector<llvm::GlobalValue *> needed;
};

} // namespace

void Extraction::collect(const llvm::Value *value) {
  if (auto *global = llvm::dyn_cast<llvm::GlobalValue>(value)) {
    needed.insert(const_cast<llvm::GlobalValue *>(global));
    return;
  }
  // Constants are trees over globals; other operands are the function's own.
  if (auto *constant = llvm::dyn_cast<llvm::Constant>(value))
    for (const llvm::Use &operand : constant->operands())
      collect(operand);
}

void Extraction::collectFrom(llvm::GlobalValue &global) {
  if (auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(&global)) {
    if (variable->hasInitializer())
      collect(variable->getInitializer());
    return;
  }
  for (llvm::Instruction &instruction : llvm::instructions(llvm::cast<llvm::Function>(global)))
    for (llvm::Use &operand : instruction.operands())
      collect(operand);
}

llvm::SmallVector<char, 0> Extraction::run() {
  needed.insert(&function);
  for (size_t i = 0; i < needed.size(); ++i)
    collectFrom(*needed[i]);

  llvm::Module unit(unitFunction, from.getContext());
  unit.setDataLayout(from.getDataLayout());
  unit.setTargetTriple(from.getTargetTriple());
  llvm::SmallVector<llvm::Module::ModuleFlagEntry> flags;
  from.getModuleFlagsMetadata(flags);
  // Modules with debug information are not parted (compileInUnits); what reads a unit that says so
  // would verify all of it for that.
  for (const llvm::Module::ModuleFlagEntry &flag : flags)
    if (flag.Key->getString() != "Debug Info Version")
      unit.addModuleFlag(flag.Behavior, flag.Key->getString(), flag.Val);

  // Names say nothing about code, and would make units differ.
  llvm::ValueToValueMapTy map;
  llvm::SmallVector<std::pair<llvm::GlobalValue *, llvm::GlobalValue *>> copies;
  unsigned number = 0;
  for (llvm::GlobalValue *global : needed) {
    std::string name = global == &function ? unitFunction
                       : global->isDeclaration()
                           ? global->getName().str()
                           : (unitFunction + llvm::Twine('.') + llvm::Twine(number++)).str();
    llvm::GlobalValue *copy;
    if (auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(global)) {
      auto *made = new llvm::GlobalVariable(
          unit, variable->getValueType(), variable->isConstant(), variable->getLinkage(), nullptr,
          name, nullptr, variable->getThreadLocalMode(), variable->getAddressSpace());
      made->copyAttributesFrom(variable);
      copy = made;
    } else {
      auto *callee = llvm::cast<llvm::Function>(global);
      auto *made = llvm::Function::Create(callee->getFunctionType(), callee->getLinkage(),
                                          callee->getAddressSpace(), name, &unit);
      made->copyAttributesFrom(callee);
      copy = made;
    }
    map[global] = copy;
    copies.emplace_back(global, copy);
  }
  for (auto [global, copy] : copies) {
    if (auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(global)) {
      if (variable->hasInitializer())
        llvm::cast<llvm::GlobalVariable>(copy)->setInitializer(
            llvm::MapValue(variable->getInitializer(), map));
      continue;
    }
    auto *source = llvm::cast<llvm::Function>(global);
    auto *target = llvm::cast<llvm::Function>(copy);
    if (source->isDeclaration())
      continue;
    for (auto [was, is] : llvm::zip(source->args(), target->args())) {
      is.setName(was.getName());
      map[&was] = &is;
    }
    llvm::SmallVector<llvm::ReturnInst *> returns;
    llvm::CloneFunctionInto(target, source, map, llvm::CloneFunctionChangeType::DifferentModule,
                            returns);
  }
  auto *own = llvm::cast<llvm::Function>(map[&function]);
  own->setLinkage(llvm::GlobalValue::ExternalLinkage);
  own->setVisibility(llvm::GlobalValue::HiddenVisibility);
  own->setDSOLocal(true);

  // What stays behind is a declaration of what the unit defines.
  function.deleteBody();
  function.setComdat(nullptr);
  function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  function.setDSOLocal(true);
  for (llvm::GlobalValue *global : needed)
    if (auto *callee = llvm::dyn_cast<llvm::Function>(global))
      if (callee != &function && callee->hasLocalLinkage() && callee->use_empty())
        callee->eraseFromParent();
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream os(bitcode);
  llvm::WriteBitcodeToFile(unit, os);
  return bitcode;
}

std::vector<CodeUnit> weir::splitKernels(llvm::Module &module, llvm::ArrayRef<std::string> kernels,
                                         bool shares) {
  std::vector<CodeUnit> units;
  llvm::StringMap<size_t> known;
  std::vector<std::string> symbols;
  llvm::StringSet<> jumping;
  if (shares)
    for (const SharedBody &body : shareBodies(module, kernels)) {
      symbols.push_back(body.symbol);
      jumping.insert(body.kernels.begin(), body.kernels.end());
    }
  for (const std::string &kernel : kernels)
    if (!jumping.contains(kernel))
      symbols.push_back(kernel);
  for (const std::string &symbol : symbols) {
    llvm::Function *function = module.getFunction(symbol);
    if (!function || function->isDeclaration())
      continue;
    CodeUnit unit;
    unit.bitcode = Extraction(module, *function).run();
    unit.key = hashText(unit.bitcode);
    auto [it, isNew] = known.try_emplace(unit.key, units.size());
    if (isNew)
      units.push_back(std::move(unit));
    units[it->second].symbols.push_back(symbol);
  }
  // Tables that only kernels used.
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(module.globals())) {
    variable.removeDeadConstantUsers();
    if (variable.hasLocalLinkage() && variable.use_empty())
      variable.eraseFromParent();
  }
  return units;
}

CodeUnit weir::wholeUnit(llvm::Module &module) {
  CodeUnit unit;
  llvm::raw_svector_ostream os(unit.bitcode);
  llvm::WriteBitcodeToFile(module, os);
  unit.key = hashText(unit.bitcode);
  return unit;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static void collectMessage(const llvm::DiagnosticInfo *info, void *text) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream os(*static_cast<std::string *>(text));
  llvm::DiagnosticPrinterRawOStream printer(os);
  info->print(printer);
}

namespace {

/// What one thread compiles units with, one after the other.
struct UnitCompiler {
  explicit UnitCompiler(std::unique_ptr<llvm::TargetMachine> made)
      : machine(std::move(made)), writer(*machine) {}

  std::unique_ptr<llvm::TargetMachine> machine;
  ObjectWriter writer;
};

} // namespace

/// Instructions of a step from which on they take longer to compile well than they ever save: those
/// of a graph with hundreds of launches, between which there are a dozen each.
static constexpr unsigned longStep = 500;

/// Has LLVM write the long steps of whose instructions none runs twice as they stand. What launches
/// the rows of a table has a loop, and is compiled well.
static void writeLongStepsQuickly(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration() || function.getInstructionCount() < longStep ||
        !llvm::LoopInfo(llvm::DominatorTree(function)).getTopLevelLoops().empty())
      continue;
    function.addFnAttr(llvm::Attribute::NoInline); // which the other one wants
    function.addFnAttr(llvm::Attribute::OptimizeNone);
  }
}

static llvm::Error compileUnit(CodeUnit &unit, UnitCompiler &compiler, bool isSteps,
                               const UnitOptions &options) {
  std::string problem;
  llvm::LLVMContext context;
  context.setDiagnosticHandlerCallBack(collectMessage, &problem);
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile({{unit.bitcode.data(), unit.bitcode.size()}, unitFunction}, context);
  if (!module)
    return module.takeError();
  // Steps have few loops and much that runs once.
  int optLevel = isSteps ? std::min(options.optLevel, 1) : options.optLevel;
  bool inVectors = optimizeKernels(**module, *compiler.machine, optLevel, options.sanitizeAddress);
  if (isSteps) {
    writeLongStepsQuickly(**module);
    divideLongBlocks(**module);
  }
  llvm::Error error = compiler.writer.write(**module, unit.object, inVectors);
  if (!error && !problem.empty())
    return llvm::createStringError(problem);
  return error;
}

llvm::Error weir::compileUnits(llvm::MutableArrayRef<CodeUnit> units, const UnitOptions &options) {
  std::vector<size_t> missing;
  for (auto [i, unit] : llvm::enumerate(units)) {
    std::string text = unit.key + ' ' + options.flags;
    unit.key = hashText(text);
    if (!options.cache || !options.cache->find(unit.key, unit.object))
      missing.push_back(i);
  }
  // The longest first: the last ones to end are then short.
  llvm::sort(missing, [&](size_t a, size_t b) {
    return std::pair(units[b].bitcode.size(), a) < std::pair(units[a].bitcode.size(), b);
  });

  const size_t others = options.beside ? 1 : 0;
  std::atomic<size_t> next{0};
  std::vector<std::string> problems(units.size());
  auto work = [&] {
    std::optional<UnitCompiler> compiler;
    for (size_t i; (i = next++) < others + missing.size();) {
      if (i < others) {
        options.beside();
        continue;
      }
      size_t number = missing[i - others];
      CodeUnit &unit = units[number];
      if (!compiler)
        compiler.emplace(options.machine());
      bool isSteps = unit.symbols.empty() && units.size() > 1;
      if (llvm::Error error = compileUnit(unit, *compiler, isSteps, options))
        problems[number] = llvm::toString(std::move(error));
      else if (options.cache)
        options.cache->store(unit.key, unit.object);
    }
  };
  std::vector<std::thread> threads;
  size_t wanted = std::min<size_t>(std::max(options.jobs, 1), others + missing.size());
  for (size_t i = 1; i < wanted; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  if (options.cache && !missing.empty())
    options.cache->prune();
  for (std::string &problem : problems)
    if (!problem.empty())
      return llvm::createStringError(problem);
  return llvm::Error::success();
}
