//===- IrDump.cpp - the IR after each pass that changed it ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/IrDump.h"

#include "compiler/emit/OutputFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weir::driver;

std::string weir::driver::printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  flags.elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  module.print(os, flags);
  os << "\n";
  return text;
}

static int64_t countOperations(Operation *op) {
  int64_t count = 0;
  op->walk([&](Operation *) { ++count; });
  return count;
}

static ModuleOp moduleOf(Operation *op) {
  if (auto module = dyn_cast<ModuleOp>(op))
    return module;
  return op->getParentOfType<ModuleOp>();
}

namespace weir::driver {

/// Passes run one at a time (the context has no threads while a log is kept).
class LogInstrumentation : public PassInstrumentation {
public:
  explicit LogInstrumentation(PipelineLog &log) : log(log) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty())
      log.begin(moduleOf(op));
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty())
      log.end(pass->getArgument(), moduleOf(op));
  }

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty())
      log.end((pass->getArgument() + "-failed").str(), moduleOf(op));
  }

private:
  PipelineLog &log;
};

} // namespace weir::driver

std::unique_ptr<PassInstrumentation> PipelineLog::instrumentation() {
  return std::make_unique<LogInstrumentation>(*this);
}

void PipelineLog::begin(ModuleOp module) {
  operationsBefore = module ? countOperations(module) : 0;
  fingerprint.reset();
  if (module && !folder.empty())
    fingerprint.emplace(module);
  started = std::chrono::steady_clock::now();
}

void PipelineLog::record(llvm::StringRef what, int64_t after, bool changed,
                         llvm::function_ref<std::string()> text, llvm::StringRef suffix) {
  Row row;
  row.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  row.stage = stage;
  row.pass = what.str();
  row.before = operationsBefore;
  row.after = after;
  row.changed = changed;
  if (changed && !folder.empty() && what.contains(filter)) {
    llvm::raw_string_ostream(row.file)
        << llvm::format("%03d-", int(table.size() + 1)) << stage << (what == stage ? "" : "-")
        << (what == stage ? "" : what) << suffix;
    std::error_code code = llvm::sys::fs::create_directories(folder);
    if (code)
      failure = "cannot make " + folder + ": " + code.message();
    else if (llvm::Error error = writeFile(folder + "/" + row.file, text()))
      failure = llvm::toString(std::move(error));
  }
  table.push_back(std::move(row));
}

void PipelineLog::end(llvm::StringRef what, ModuleOp module) {
  bool changed = !fingerprint || *fingerprint != OperationFingerPrint(module);
  record(what, countOperations(module), changed, [&] { return printModule(module); }, ".mlir");
}

void PipelineLog::end(llvm::StringRef what, const llvm::Module *module) {
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os, nullptr);
    return text;
  };
  int64_t count = 0;
  if (module)
    for (const llvm::Function &function : *module)
      count += function.getInstructionCount();
  record(what, count, module != nullptr, print, ".ll");
}

void PipelineLog::end(llvm::StringRef what, llvm::StringRef suffix, llvm::StringRef text) {
  record(what, 0, /*changed=*/true, [&] { return text.str(); }, suffix);
}

void PipelineLog::setStage(std::string name) {
  auto now = std::chrono::steady_clock::now();
  if (telling && !stage.empty())
    llvm::errs() << llvm::format(
        "  %-12s %9.1f ms\n", stage.c_str(),
        std::chrono::duration<double, std::milli>(now - stageStarted).count());
  stageStarted = now;
  stage = std::move(name);
}

llvm::Error PipelineLog::finish() {
  setStage("");
  if (folder.empty())
    return llvm::Error::success();
  std::string text = "# pass\tms\toperations before\tafter\tfile (-: "
                     "unchanged or not asked for)\n";
  llvm::raw_string_ostream os(text);
  for (auto [i, row] : llvm::enumerate(table))
    os << llvm::format("%03d ", int(i + 1)) << row.stage << '/' << row.pass
       << llvm::format("\t%.3f\t", row.milliseconds) << row.before << '\t' << row.after << '\t'
       << (row.file.empty() ? "-" : row.file) << "\n";
  if (failure.empty()) {
    if (std::error_code code = llvm::sys::fs::create_directories(folder))
      failure = "cannot make " + folder + ": " + code.message();
    else if (llvm::Error error = writeFile(folder + "/index.txt", text))
      return error;
  }
  if (!failure.empty())
    return llvm::createStringError(failure);
  return llvm::Error::success();
}

std::string PipelineLog::times() const {
  std::vector<const Row *> order;
  double total = 0;
  for (const Row &row : table) {
    order.push_back(&row);
    total += row.milliseconds;
  }
  // Rows of equal time stay in order, which is that of their addresses.
  llvm::sort(order, [](const Row *a, const Row *b) {
    return std::pair(-a->milliseconds, a) < std::pair(-b->milliseconds, b);
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "        ms      %  stage/pass\n";
  for (const Row *row : order)
    os << llvm::format("%10.2f  %5.1f  ", row->milliseconds,
                       total > 0 ? 100 * row->milliseconds / total : 0.0)
       << row->stage << '/' << row->pass << "\n";
  os << llvm::format("%10.2f         all\n", total);
  return text;
}
