//===- ToyFrontend.cpp - a format for tests -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToyFrontend.h"

#include "compiler/frontend/TensorBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <fstream>
#include <sstream>

using namespace mlir;
using namespace weir;

namespace {

/// Reads one file, line by line.
class Importer {
public:
  Importer(MLIRContext &context, const std::string &path, const ImportOptions &options,
           DiagnosticSink &sink)
      : b(&context), path(path), options(options), sink(sink) {
    module = ModuleOp::create(NameLoc::get(b.getStringAttr(path)));
    b.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(b, module->getLoc(), "main", b.getFunctionType({}, {}));
    function->setAttr("weir.entry", b.getStringAttr("main"));
    b.setInsertionPointToStart(function.addEntryBlock());
    left = valuesOf(options.flags, "--toy-plus");
  }

  OwningOpRef<ModuleOp> run();

private:
  void line(const std::string &text);
  void input(const std::string &name, const std::string &shape);
  Value operand(std::istringstream &words, const std::string &node, const std::string &op);
  void error(const std::string &node, const std::string &op, const std::string &message) {
    sink.report({"W0110", path, node, op, message, {}});
  }

  OpBuilder b;
  const std::string &path;
  const ImportOptions &options;
  DiagnosticSink &sink;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::vector<std::string> left;
  std::map<std::string, Value> values;
  SmallVector<Value> results;
  SmallVector<Attribute> names;
};

void Importer::input(const std::string &name, const std::string &shape) {
  std::optional<ShapeSpec> sizes = parseShape(shape);
  options.offer(name);
  if (auto given = options.shapes.find(name); given != options.shapes.end())
    sizes = given->second;
  if (!sizes)
    return error(name, "input", "found no shape; possible: 2x3");
  for (int64_t &size : *sizes)
    size = size < 0 ? ShapedType::kDynamic : size;
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, RankedTensorType::get(*sizes, b.getF32Type()), {},
                                function.getLoc());
  function.setArgAttr(index, "weir.name", b.getStringAttr(name));
  values[name] = function.getArgument(index);
}

Value Importer::operand(std::istringstream &words, const std::string &node, const std::string &op) {
  std::string name;
  words >> name;
  if (Value found = values[name])
    return found;
  error(node, op, "found no value \"" + name + "\"; possible: one of a line before it");
  return {};
}

void Importer::line(const std::string &text) {
  std::istringstream words(text);
  std::string op, name, shape;
  words >> op >> name;
  if (op == "toy" || op.empty())
    return;
  if (op == "input") {
    words >> shape;
    return input(name, shape);
  }
  if (op == "output") {
    std::istringstream one(name);
    if (Value value = operand(one, name, op)) {
      results.push_back(value);
      names.push_back(b.getStringAttr(name));
    }
    return;
  }
  if (op != "add" && op != "mul" && op != "neg")
    return error(name, op, "found an operation that toys do not have; possible: add, mul, neg");
  frontend::TensorBuilder t(b, NameLoc::get(b.getStringAttr(name)));
  Value x = operand(words, name, op), y = op == "neg" ? x : operand(words, name, op);
  bool isLeftOut = op == "add" && llvm::is_contained(left, name);
  values[name] = isLeftOut     ? x
                 : op == "add" ? t.add(x, y)
                 : op == "mul" ? t.mul(x, y)
                               : t.op<NegOp>(x);
}

OwningOpRef<ModuleOp> Importer::run() {
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);)
    line(text);
  if (sink.hasErrors())
    return nullptr;
  func::ReturnOp::create(b, function.getLoc(), results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, "weir.name", name);
  return std::move(module);
}

class ToyFrontend : public Frontend {
public:
  StringRef name() const override { return "toy"; }
  StringRef files() const override { return ".toy"; }
  ArrayRef<StringRef> suffixes() const override {
    static const StringRef names[] = {".toy"};
    return names;
  }
  bool sniffs(StringRef head) const override { return head.starts_with("toy 1\n"); }
  StringRef wayFrom(StringRef suffix) const override {
    return suffix == ".toybox" ? "unpack it" : "";
  }
  std::vector<FrontendFlag> flags() const override {
    return {{"--toy-plus", "NAME[,NAME…]", "additions that are left out", "toy"}};
  }
  std::vector<SupportedOperator> operators() const override {
    return {{"", "add"}, {"", "mul"}, {"", "neg"}};
  }
  OwningOpRef<ModuleOp> import(MLIRContext &context, const std::string &path,
                               const ImportOptions &options, DiagnosticSink &sink) const override {
    context.loadDialect<WeirDialect, func::FuncDialect>();
    return Importer(context, path, options, sink).run();
  }
};

} // namespace

const Frontend &toy::frontend() {
  static const ToyFrontend made;
  return made;
}
