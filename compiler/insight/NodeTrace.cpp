//===- NodeTrace.cpp - what became of the nodes of a model ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/NodeTrace.h"
#include "compiler/driver/Compilation.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/NodeName.h"
#include "passes/analysis/Clusters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/analysis/KernelSchedules.h"
#include "passes/plan/StepTimes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace weir;
using namespace weir::insight;

using NameSet = llvm::SetVector<llvm::StringRef>;

static bool isContainer(Operation *op) { return isa<ModuleOp, func::FuncOp>(op); }

static NameSet namesOf(Operation *op) {
  NameSet names;
  collectNodeNames(op->getLoc(), names);
  return names;
}

/// An operation in a line that does not depend on how values are numbered.
static std::string lineOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << '(';
  llvm::interleaveComma(op->getOperands(), os, [&](Value operand) {
    if (Operation *def = operand.getDefiningOp())
      os << (def->hasTrait<OpTrait::ConstantLike>() ? StringRef("constant")
                                                    : nodeName(def->getLoc()));
    else
      os << nodeName(operand.getLoc());
  });
  os << ')';
  if (op->getNumResults()) {
    os << " : ";
    llvm::interleaveComma(op->getResultTypes(), os);
  }
  for (NamedAttribute attr : op->getAttrs()) {
    if (attr.getName() == "weir.device_index" || attr.getName() == "operandSegmentSizes")
      continue;
    std::string value;
    llvm::raw_string_ostream(value) << attr.getValue();
    constexpr size_t longest = 80;
    if (value.size() <= longest)
      os << ' ' << attr.getName().getValue() << '=' << value;
  }
  return text;
}

namespace {

/// Who used a value of a node before a pass.
struct Use {
  std::string user;      ///< node
  std::string operation; ///< of the dialect
  unsigned operand = 0;
};

class Recorder {
public:
  Recorder(llvm::StringSet<> followed, bool everyHistory, NodeTrace &trace)
      : followed(std::move(followed)), everyHistory(everyHistory), trace(trace) {}

  void before(ModuleOp module) {
    if (!wasImported && everyHistory)
      noteForms(-1, module);
    present = snapshot(module);
    if (!wasImported)
      module.walk([&](Operation *op) {
        if (op->hasTrait<OpTrait::ConstantLike>())
          for (llvm::StringRef name : namesOf(op))
            constants.insert(name);
      });
    uses.clear();
    lines = linesOf(module);
    module.walk([&](Operation *op) {
      if (isContainer(op) || !op->getNumResults())
        return;
      for (OpOperand &use : op->getUses()) {
        NameSet users = namesOf(use.getOwner());
        for (llvm::StringRef name : namesOf(op))
          if (!uses.count(name) && !users.contains(name))
            uses[name] = {users.empty() ? "" : users.front().str(),
                          use.getOwner()->getName().getStringRef().str(), use.getOperandNumber()};
      }
    });
  }

  void after(llvm::StringRef pass, ModuleOp module) {
    if (!wasImported)
      for (const auto &entry : present)
        imported.insert(entry.getKey());
    wasImported = true;
    llvm::StringSet<> now = snapshot(module);
    for (const auto &entry : present)
      if (!now.contains(entry.getKey()))
        vanish(entry.getKey(), pass, module);
    for (const auto &entry : now) // some come back: what a later pass made for them
      gone.erase(entry.getKey());
    if (everyHistory && noteForms(int(trace.passes.size()), module))
      trace.passes.push_back(nameOf(pass, module));
    std::vector<std::string> changed = linesOf(module);
    if (changed == lines)
      return;
    PassStep step;
    PassName name = nameOf(pass, module);
    step.stage = std::move(name.stage);
    step.why = std::move(name.why);
    step.pass = std::move(name.pass);
    step.before = lines;
    step.after = std::move(changed);
    trace.steps.push_back(std::move(step));
  }

  struct Gone {
    std::string pass, with;
    bool isConstant = false, isUsed = false;
  };
  /// On the graph that kernels are about to be formed of.
  void findObstacles(ModuleOp module) {
    module.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        Operation *producer = operand.get().getDefiningOp();
        if (!producer || roleOf(producer) != OperationRole::Kernel ||
            roleOf(op) != OperationRole::Kernel)
          continue;
        const char *why = fusionObstacle(operand);
        for (llvm::StringRef from : namesOf(producer))
          for (llvm::StringRef to : namesOf(op))
            if (why && from != to)
              trace.obstacles.try_emplace({from.str(), to.str()}, why);
      }
    });
  }

  /// A node's history by one of its names; empty: none was asked for, or there is nothing.
  std::vector<std::pair<int, int>> historyOf(llvm::StringRef name) const {
    return histories.lookup(name);
  }

  llvm::StringMap<Gone> gone;
  llvm::StringSet<> imported;
  llvm::StringSet<> constants; ///< nodes that import made constants of

private:
  /// The pass with the stage that the module is in.
  static PassName nameOf(llvm::StringRef pass, ModuleOp module) {
    PassName name{"", pass.str(), ""};
    auto stage = module->getAttrOfType<StringAttr>(driver::stageAttribute);
    int index = (stage ? driver::stageIndex(stage.getValue()) : 0) + 1;
    if (index >= int(driver::stages().size()))
      return name;
    name.stage = driver::stages()[index]->name;
    for (const driver::PipelinePass &known : driver::stages()[index]->passes)
      if (pass == known.pass && name.why.empty())
        name.why = known.why;
    return name;
  }

  /// Adds what nodes' operations are to the histories of those that had others. Whether some had.
  bool noteForms(int pass, ModuleOp module) {
    struct Count {
      llvm::StringRef operation;
      int count;
    };
    llvm::StringMap<std::vector<Count>> now;
    module.walk([&](Operation *op) {
      if (!op->getName().getDialectNamespace().starts_with("weir") || isContainer(op) ||
          op->hasTrait<OpTrait::ConstantLike>() || isa<plan::ReturnOp>(op))
        return;
      llvm::StringRef operation = op->getName().getStringRef();
      operation.consume_front("weir.");
      for (llvm::StringRef name : namesOf(op)) {
        std::vector<Count> &list = now[name];
        if (!list.empty() && list.back().operation == operation)
          ++list.back().count;
        else
          list.push_back({operation, 1});
      }
    });
    bool isChanged = false;
    auto note = [&](llvm::StringRef name, const std::string &text) {
      auto [form, isNew] = formNumbers.try_emplace(text, int(trace.forms.size()));
      if (isNew)
        trace.forms.push_back(text);
      std::vector<std::pair<int, int>> &history = histories[name];
      if (history.empty() ? text.empty() : history.back().second == form->second)
        return;
      history.emplace_back(pass, form->second);
      isChanged = true;
    };
    constexpr size_t mostOperations = 8; // more would be no answer
    for (const auto &[name, list] : now) {
      std::string text;
      for (size_t i = 0; i < list.size() && i < mostOperations; ++i)
        text += (i ? ", " : "") + list[i].operation.str() +
                (list[i].count > 1 ? " ×" + std::to_string(list[i].count) : "");
      if (list.size() > mostOperations)
        text += ", …";
      note(name, text);
    }
    for (auto &entry : histories)
      if (!now.count(entry.getKey()))
        note(entry.getKey(), "");
    return isChanged;
  }

  llvm::StringSet<> snapshot(ModuleOp module) {
    llvm::StringSet<> names;
    module.walk([&](Operation *op) {
      if (!isContainer(op) && !op->hasTrait<OpTrait::ConstantLike>())
        for (llvm::StringRef name : namesOf(op))
          names.insert(name);
    });
    return names;
  }

  std::vector<std::string> linesOf(ModuleOp module) {
    std::vector<std::string> found;
    if (!followed.empty())
      module.walk([&](Operation *op) {
        // Sizes and bounds are arithmetic of the step, hundreds of lines that say nothing.
        if (op->getName().getDialectNamespace().starts_with("weir") &&
            !op->hasTrait<OpTrait::ConstantLike>() && !isa<plan::ReturnOp>(op) &&
            llvm::any_of(namesOf(op), [&](auto name) { return followed.contains(name); }))
          found.push_back(lineOf(op));
      });
    return found;
  }

  /// Finds what those who used a node's value read now.
  void vanish(llvm::StringRef name, llvm::StringRef pass, ModuleOp module) {
    Gone record;
    record.pass = pass.str();
    auto use = uses.find(name);
    if (use != uses.end())
      module.walk([&](Operation *op) {
        const Use &was = use->second;
        if (op->getName().getStringRef() != was.operation || op->getNumOperands() <= was.operand ||
            !namesOf(op).contains(was.user))
          return WalkResult::advance();
        Value now = op->getOperand(was.operand);
        record.isUsed = true;
        if (Operation *def = now.getDefiningOp()) {
          record.isConstant = def->hasTrait<OpTrait::ConstantLike>();
          record.with = record.isConstant ? "" : nodeName(def->getLoc()).str();
        } else {
          record.with = nodeName(now.getLoc()).str();
        }
        return WalkResult::interrupt();
      });
    gone[name] = std::move(record);
  }

  llvm::StringSet<> followed;
  bool everyHistory;
  NodeTrace &trace;
  llvm::StringMap<std::vector<std::pair<int, int>>> histories;
  llvm::StringMap<int> formNumbers;
  llvm::StringSet<> present;
  llvm::StringMap<Use> uses;
  std::vector<std::string> lines;
  bool wasImported = false;
};

class Instrumentation : public PassInstrumentation {
public:
  explicit Instrumentation(Recorder &recorder) : recorder(recorder) {}
  void runBeforePass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (module && pass->getArgument() == "weir-kernelize")
      recorder.findObstacles(module);
    if (module && !pass->getArgument().empty())
      recorder.before(module);
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (auto module = dyn_cast<ModuleOp>(op); module && !pass->getArgument().empty())
      recorder.after(pass->getArgument(), module);
  }

private:
  Recorder &recorder;
};

void collectKernels(ModuleOp module, bool withIr, NodeTrace &trace) {
  llvm::StringMap<int64_t> launches;
  llvm::StringMap<llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>>>
      own;
  module.walk([&](plan::RunOp run) {
    ++launches[run.getKernel()];
    own[run.getKernel()].insert(llvm::join(namesOf(run), ";"));
  });
  module.walk([&](plan::KernelOp kernel) {
    KernelPlace place;
    place.name = kernel.getSymName().str();
    llvm::raw_string_ostream(place.schedule) << kernel.getSchedule();
    if (const KernelSchedules *schedules = hostSchedules())
      place.howComputed = schedules->describe(kernel).str();
    if (withIr) {
      llvm::raw_string_ostream text(place.ir);
      constexpr int64_t longest = 16; // of a constant, in elements
      kernel->print(text, OpPrintingFlags().elideLargeElementsAttrs(longest).useLocalScope());
    }
    place.launches = launches.lookup(place.name);
    place.launchNodes = own[place.name].takeVector();
    llvm::SmallVector<llvm::StringRef> nodes;
    kernel.getNodes().split(nodes, ';', -1, false);
    for (llvm::StringRef name : nodes)
      place.nodes.push_back(name.str());
    trace.kernels.push_back(std::move(place));
  });
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function->hasAttr("weir_plan.accelerated"))
      continue;
    auto device = function->getAttrOfType<IntegerAttr>("weir.device_index");
    plan::StepTimes times(function);
    function.walk([&](plan::RunOp run) {
      trace.launches.push_back({device ? device.getInt() : 0, times.of(run).first});
    });
  }
}

} // namespace

const char *insight::fateName(Fate fate) {
  static const char *const names[] = {"kernel", "step", "folded", "merged",   "dropped",
                                      "alias",  "call", "feed",   "constant", "unused"};
  return names[int(fate)];
}

static std::string quoted(const std::string &text) { return "\"" + text + "\""; }

std::string NodeFate::text() const {
  std::string last = pass.empty() ? "" : pass;
  switch (fate) {
  case Fate::Kernel: {
    std::string list;
    for (const std::string &kernel : kernels)
      list += (list.empty() ? "" : ", ") + kernel;
    return "computed by " + std::string(kernels.size() == 1 ? "kernel " : "kernels ") + list;
  }
  case Fate::Step:
    return "done by the step between kernels";
  case Fate::Folded:
    return last + " computed it: it is a constant";
  case Fate::Merged:
    return last + " lets what read it read " + quoted(with) + " instead";
  case Fate::Dropped:
    return last + " took it away with what it gave: nothing reads it any more";
  case Fate::Alias:
    return with.empty() ? "needs no operation: import knows its value"
                        : "needs no operation: its value is that of " + quoted(with);
  case Fate::Call:
    return "calls a function, whose nodes do what it does";
  case Fate::Feed:
    return "a feed: the caller provides its value";
  case Fate::Constant:
    return "a constant of the file";
  case Fate::Unused:
    return "left out: nothing that is fetched needs it";
  }
  return "";
}

/// What an operation's node that the program has, or had, is.
static void decide(const Recorder &recorder, const llvm::StringMap<std::vector<size_t>> &kernelsOf,
                   const NodeTrace &trace, const std::string &name, NodeFate &fate) {
  auto kernels = kernelsOf.find(name);
  if (kernels != kernelsOf.end()) {
    fate.fate = Fate::Kernel;
    for (size_t at : kernels->second)
      fate.kernels.push_back(trace.kernels[at].name);
    return;
  }
  if (recorder.constants.contains(name) && !recorder.imported.contains(name)) {
    fate.fate = Fate::Folded;
    fate.pass = "import";
    return;
  }
  auto gone = recorder.gone.find(name);
  if (gone == recorder.gone.end()) {
    fate.fate = Fate::Step;
    return;
  }
  fate.pass = gone->second.pass;
  fate.with = gone->second.with;
  fate.fate = gone->second.isConstant ? Fate::Folded
              : gone->second.isUsed   ? Fate::Merged
                                      : Fate::Dropped;
}

/// What a compilation computes of the main graph: all that the model offers, or what the
/// entries of `options` name.
static std::set<size_t> neededNodes(const driver::Options &options, const ModelGraph &graph) {
  std::vector<std::string> fetched;
  for (const EntrySpec &entry : options.entries)
    for (const FetchSpec &fetch : entry.fetches)
      fetched.push_back(fetch.value);
  if (fetched.empty() && graph.signatures.empty())
    fetched = graph.outputs;
  if (fetched.empty())
    for (const auto &[signature, outputs] : graph.signatureOutputs)
      fetched.insert(fetched.end(), outputs.begin(), outputs.end());
  return graph.cone(fetched);
}

bool insight::traceNodes(const driver::Options &asked, const ModelGraph &graph,
                         const TraceRequest &request, DiagnosticSink &sink, NodeTrace &trace) {
  const std::string &node = request.node;
  driver::Options options = asked;
  options.stopAfter = "plan-memory";
  // Passes are alike for several processors; one is enough to follow them.
  options.cpu = options.cpu.substr(0, options.cpu.find(','));
  driver::Compilation compilation(options, sink);
  std::set<size_t> needed = neededNodes(options, graph);
  std::map<std::string, std::vector<std::string>> prefixes = graph.callPrefixes(needed);
  llvm::StringSet<> followed;
  if (!node.empty())
    followed.insert(node);
  for (size_t i = graph.mainNodes; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].name == node)
      for (const std::string &prefix : prefixes[graph.nodes[i].inside])
        followed.insert(prefix + node);
  Recorder recorder(std::move(followed), request.everyHistory, trace);
  compilation.follow([&] { return std::make_unique<Instrumentation>(recorder); });
  if (!compilation.run(driver::OutputForm::Mlir))
    return false;
  collectKernels(compilation.ir(), request.everyHistory, trace);
  llvm::StringMap<std::vector<size_t>> kernelsOf;
  for (size_t i = 0; i < trace.kernels.size(); ++i)
    for (const std::string &name : trace.kernels[i].nodes)
      kernelsOf[name].push_back(i);
  std::set<std::string> feeds(graph.inputs.begin(), graph.inputs.end());
  auto isKnown = [&](const std::string &name) {
    return recorder.imported.contains(name) || recorder.constants.contains(name) ||
           kernelsOf.count(name);
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode &from = graph.nodes[i];
    NodeFate fate;
    fate.node = from.name;
    fate.operation = from.op;
    fate.inside = from.inside;
    bool isMain = i < graph.mainNodes, isUsed = isMain && needed.count(i);
    if (!isMain)
      for (const std::string &prefix : prefixes[from.inside]) {
        isUsed = true;
        fate.copies.push_back(prefix + from.name);
      }
    // Nodes of subgraphs keep their names.
    int64_t holder = isMain ? -1 : graph.find(from.inside);
    isUsed |= holder >= 0 && needed.count(size_t(holder));
    if (!isMain && isKnown(from.name))
      fate.copies.push_back(from.name);
    std::vector<std::string> names = isMain ? std::vector{from.name} : fate.copies;
    NodeFate best;
    bool isFound = false;
    for (const std::string &name : names) {
      if (!isKnown(name))
        continue;
      NodeFate one = fate;
      decide(recorder, kernelsOf, trace, name, one);
      // Of several calls the one that leaves most tells what became of the node.
      if (!isFound || one.fate < best.fate)
        std::swap(best, one);
      if (isFound && one.fate == Fate::Kernel)
        best.kernels.insert(best.kernels.end(), one.kernels.begin(), one.kernels.end());
      isFound = true;
    }
    if (isFound) {
      fate = std::move(best);
    } else if (isMain && feeds.count(from.name)) {
      fate.fate = Fate::Feed;
    } else if (!isUsed) {
      fate.fate = Fate::Unused;
    } else if (from.isConstant) {
      fate.fate = Fate::Constant;
    } else if (!from.calls.empty()) {
      fate.fate = Fate::Call;
    } else {
      fate.fate = Fate::Alias;
      fate.with = from.inputs.empty() ? "" : from.inputs[0];
    }
    // Of a function's node the first call that is there tells.
    for (size_t k = 0; k < names.size() && fate.history.empty(); ++k)
      fate.history = recorder.historyOf(names[k]);
    trace.fates.push_back(std::move(fate));
  }
  return true;
}
