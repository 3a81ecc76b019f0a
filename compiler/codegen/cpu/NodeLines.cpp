//===- NodeLines.cpp - nodes of the model as lines of a file --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/NodeLines.h"

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;
using namespace weir;

namespace {

/// Lines of names, in the order in which they are asked for.
class Lines {
public:
  explicit Lines(std::vector<std::string> &lines) : lines(lines) {
    for (auto [i, name] : llvm::enumerate(lines))
      known.try_emplace(name, unsigned(i + 1));
  }
  unsigned of(StringRef name) {
    auto [at, isNew] = known.try_emplace(name, unsigned(lines.size() + 1));
    if (isNew)
      lines.push_back(name.str());
    return at->second;
  }

private:
  std::vector<std::string> &lines;
  llvm::StringMap<unsigned> known;
};

/// "a, b and 3 more" of the nodes that a location stands for; what is of none belongs to the
/// step as a whole.
std::string textOf(Location loc) {
  constexpr size_t most = 4;
  llvm::SetVector<StringRef> names;
  collectNodeNames(loc, names);
  if (names.empty())
    return "(the step)";
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", " : "") + names[i].str();
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

} // namespace

void weir::addNodeLines(ModuleOp module, StringRef file, std::vector<std::string> &lines) {
  MLIRContext *context = module.getContext();
  Lines table(lines);
  auto id = [&] { return DistinctAttr::create(UnitAttr::get(context)); };
  // No folder: equal models give equal bytes wherever they are compiled.
  auto source = LLVM::DIFileAttr::get(context, file, ".");
  auto unit = LLVM::DICompileUnitAttr::get(
      id(), llvm::dwarf::DW_LANG_C, source, StringAttr::get(context, "weirc"),
      /*isOptimized=*/true, LLVM::DIEmissionKind::LineTablesOnly);
  auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
  auto fileName = StringAttr::get(context, file);
  llvm::DenseMap<Location, unsigned> known;
  auto lineOf = [&](Location loc) {
    auto [at, isNew] = known.try_emplace(loc, 0);
    if (isNew)
      at->second = table.of(textOf(loc));
    return at->second;
  };
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    // Code of a kernel comes in the order of its loops: its first line is that of its nodes.
    unsigned first = lineOf(function.getLoc());
    function.getBody().walk(
        [&](Operation *op) { op->setLoc(FileLineColLoc::get(fileName, lineOf(op->getLoc()), 1)); });
    auto name = StringAttr::get(context, function.getSymName());
    auto subprogram = LLVM::DISubprogramAttr::get(
        context, id(), unit, source, name, name, source, first, first,
        LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized |
            LLVM::DISubprogramFlags::LocalToUnit,
        type, /*retainedNodes=*/{}, /*annotations=*/{});
    function->setLoc(FusedLoc::get(context, {FileLineColLoc::get(fileName, first, 1)}, subprogram));
  }
}
