//===- OnnxImporter.cpp - from an ONNX file to a module of weir -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read, verify, and import one function an entry: its feeds become arguments,
// its fetches results, and only nodes that fetches need are imported.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/MlirText.h"
#include "compiler/frontend/onnx/Entry.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/ModelVerifier.h"
#include "compiler/frontend/onnx/OnnxFrontend.h"
#include "compiler/frontend/onnx/Sequences.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Training.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

#include <unordered_set>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// What an operation that could not be made says, for who has only the model.
std::string inOwnWords(mlir::Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  (void)takeOperationName(text);
  return isForeignText(text) ? "types or shapes of which weir makes nothing" : withPlainTypes(text);
}

class ModuleImporter {
public:
  ModuleImporter(MLIRContext &context, std::string_view bytes, const std::string &file,
                 const ImportOptions &options, DiagnosticSink &sink)
      : context(context), bytes(bytes), file(file), options(options), sink(sink), externals(file) {}

  OwningOpRef<ModuleOp> run(Model &model);

private:
  void hashConstants(const Model &model, const EntryPlan &plan);
  void entry(Model &model, const EntrySpec &spec, ModuleOp module);
  void report(int code, std::string text) {
    sink.report(diagnose(file, nullptr, {code, std::move(text)}));
  }

  MLIRContext &context;
  std::string_view bytes; ///< of the file
  const std::string &file;
  const ImportOptions &options;
  DiagnosticSink &sink;
  ExternalFiles externals;
  ConstantHashes hashes;
};

/// Hashes the constants of the nodes that an entry needs, where they stay in files; those of nodes
/// within others are left for when they are used, as is to say what is wrong with one.
void ModuleImporter::hashConstants(const Model &model, const EntryPlan &plan) {
  std::unordered_set<std::string_view> used;
  for (const Node *node : plan.needed)
    used.insert(node->inputs.begin(), node->inputs.end());
  std::vector<std::string_view> constants;
  for (const Tensor &tensor : model.graph.initializers) {
    if (!used.count(tensor.name))
      continue;
    std::string_view data = tensor.decode ? std::string_view() : tensor.raw;
    ExternalFiles::Place place;
    if (tensor.isExternal)
      data = externals.find(tensor, place) ? std::string_view() : place.bytes;
    if (data.size() >= blobBytes)
      constants.push_back(data);
  }
  hashes.compute(std::move(constants), options.jobs);
}

void ModuleImporter::entry(Model &model, const EntrySpec &spec, ModuleOp module) {
  if (!spec.signature.empty())
    return report(
        321, "expected --entry=" + spec.name +
                 " with --feed and --fetch, since ONNX files have no signatures, got --entry=" +
                 spec.name + "=" + spec.signature);
  std::optional<EntryPlan> plan = planEntry(model, spec, options, context, file, sink);
  if (!plan)
    return;
  OpBuilder b(&context);
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  for (const PlannedFeed &feed : plan->feeds)
    types.push_back(feed.type);
  Location loc = NameLoc::get(b.getStringAttr(plan->name));
  auto function = func::FuncOp::create(b, loc, plan->name, b.getFunctionType(types, {}));
  function->setAttr("weir.entry", b.getStringAttr(plan->name));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);

  hashConstants(model, *plan);
  GraphImporter importer(model, bytes, file, externals, hashes, sink, *block);
  importer.customOperations = &options.customOperations;
  importer.training = options.training;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    importer.noteReason(inOwnWords(diagnostic));
    return success();
  });
  GraphImporter::Scope scope;
  scope.graph = &model.graph;
  for (auto [i, feed] : llvm::enumerate(plan->feeds)) {
    Value argument = block->getArgument(i);
    TensorBuilder t(b,
                    NameLoc::get(b.getStringAttr(StringRef(feed.value.data(), feed.value.size()))));
    if (feed.part == PlannedFeed::Part::Values) // behind its keys
      scope.names[feed.value] = Imported::sequence({scope.names[feed.value], Imported(argument)});
    else
      scope.names[feed.value] =
          feed.nested ? checkedFeed(t, argument, *feed.nested) : Imported(argument);
    for (NamedAttribute attr : feed.attributes)
      function.setArgAttr(i, attr.getName(), attr.getValue());
  }
  importer.sizes.takeFeeds(function);
  for (const Node *node : plan->needed)
    importer.node(*node, scope, b);

  SmallVector<Value> results;
  SmallVector<Attribute> names;
  SmallVector<size_t> further;
  for (const PlannedFetch &fetch : plan->fetches) {
    Imported value = importer.lookup(fetch.value, scope);
    if (value.kind == Imported::Kind::Sequence || value.kind == Imported::Kind::Optional) {
      TensorBuilder t(b, loc);
      value = Imported(toBoxes(t, value));
    }
    if (value.kind != Imported::Kind::Tensor || !value.tensor)
      continue;
    if (fetch.isFurther)
      further.push_back(results.size());
    results.push_back(value.tensor);
    names.push_back(b.getStringAttr(fetch.name));
  }
  func::ReturnOp::create(b, loc, results);
  function.setType(b.getFunctionType(types, ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, "weir.name", name);
  for (size_t i : further)
    function.setResultAttr(i, furtherAttr, b.getUnitAttr());
}

OwningOpRef<ModuleOp> ModuleImporter::run(Model &model) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(NameLoc::get(StringAttr::get(&context, file)));
  if (options.entries.empty())
    entry(model, EntrySpec(), *module);
  for (const EntrySpec &spec : options.entries)
    entry(model, spec, *module);
  if (options.files)
    externals.addPaths(*options.files);
  if (sink.hasErrors())
    return nullptr;
  // Whatever an operation's verifier finds, its node is named.
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    weir::Diagnostic error = diagnose(file, nullptr, {322, "found " + inOwnWords(diagnostic)});
    error.node = nodeName(diagnostic.getLocation()).str();
    sink.report(std::move(error));
    return success();
  });
  if (failed(verify(*module))) {
    if (!sink.hasErrors())
      report(322, "found a graph that does not verify");
    return nullptr;
  }
  return module;
}

/// Bytes of a file from which on it holds constants that are read once more when they are written.
constexpr size_t largeFile = 1 << 20;

/// The bytes of a model file: of a large one the pages that constants are written from, which stay
/// with the process, so that it comes to have each but once.
std::string_view bytesOf(const MappedFile &mapped) {
  if (mapped.bytes().size() < largeFile)
    return mapped.bytes();
  llvm::Expected<ArrayRef<char>> kept = BlobStore::global().file(mapped.path());
  if (kept)
    return {kept->data(), kept->size()};
  llvm::consumeError(kept.takeError());
  return mapped.bytes();
}

} // namespace

OwningOpRef<ModuleOp> weir::onnx::importModel(MLIRContext &context, const std::string &path,
                                              const ImportOptions &options, DiagnosticSink &sink) {
  // Constants are evaluated while importing, by code in these dialects.
  context.loadDialect<WeirDialect, func::FuncDialect, arith::ArithDialect, complex::ComplexDialect,
                      math::MathDialect, scf::SCFDialect>();
  std::string reason;
  std::unique_ptr<MappedFile> mapped = MappedFile::open(path, reason);
  if (!mapped) {
    sink.report(diagnose(path, nullptr, {300, "found no file to read: " + reason}));
    return nullptr;
  }
  std::string_view bytes = bytesOf(*mapped);
  std::unique_ptr<Model> model = readModel(bytes, path, sink);
  if (!model || !verifyModel(*model, path, sink))
    return nullptr;
  return ModuleImporter(context, bytes, path, options, sink).run(*model);
}
