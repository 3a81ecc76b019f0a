//===- SystemProgram.cpp - what a script's sessions run -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/SystemProgram.h"

#include "compiler/frontend/WireReader.h"
#include "tools/common/Files.h"

#include <set>

using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

bool SystemProgram::open(std::string &error) { return !isGraph || graph.open(path, error); }

bool SystemProgram::onlyErrors() const {
  for (const ScriptEntry &entry : entries)
    if (!entry.onlyErrors)
      return false;
  return true;
}

/// What makes an entry: edges, and the ranks of what is fed (via "core" its
/// sizes, too), since a program's feeds have fixed ranks.
std::string SystemProgram::keyOf(const SystemRun &run) {
  std::string key = run.signature + "\n";
  for (const auto &[edge, name] : run.feeds) {
    const HostTensor *value = array(name);
    key += edge + " ";
    if (value)
      key += script.viaCore ? shapeName(value->dims) : std::to_string(value->dims.size());
    key += "\n";
  }
  key += ">\n";
  for (size_t i = 0; i < run.fetches.size(); ++i) {
    std::optional<ShapeSpec> rank = rankOf(run, i);
    key += run.fetches[i] + " " + (rank ? shapeName(*rank) : "") + "\n";
  }
  key += "^\n";
  for (const std::string &target : run.targets)
    key += target + "\n";
  return key;
}

void SystemProgram::addEntry(const SystemRun &run) {
  std::string key = keyOf(run);
  for (ScriptEntry &entry : entries)
    if (entry.key == key) {
      entry.onlyErrors &= run.expectsError;
      entry.unknownOperation &= run.atLoad && run.code == "NOT_FOUND";
      mergeShapes(entry, run);
      return;
    }
  ScriptEntry entry;
  entry.key = key;
  entry.onlyErrors = run.expectsError;
  entry.unknownOperation = run.atLoad && run.code == "NOT_FOUND";
  entry.spec.name = "run" + std::to_string(entries.size());
  bool savedModel = !isGraph;
  if (savedModel && isWholeSignature(run)) {
    entry.spec.signature = run.signature;
  } else {
    for (const auto &[edge, name] : run.feeds) {
      const HostTensor *value = array(name);
      if (savedModel || !value)
        entry.spec.feeds.push_back({edge, edge});
      else
        entry.spec.feeds.push_back(feedOf(graph, edge, edge, *value, script.viaCore));
    }
    std::set<std::string> seen;
    for (size_t i = 0; i < run.fetches.size(); ++i)
      if (seen.insert(run.fetches[i]).second)
        entry.spec.fetches.push_back({run.fetches[i], run.fetches[i], rankOf(run, i)});
    for (const std::string &target : run.targets)
      entry.spec.fetches.push_back({"^" + target, "^" + target});
  }
  entries.push_back(std::move(entry));
}

/// The rank of a fetch of what a checkpoint has, which no graph says, as that of a feed is
/// said: a program's have fixed ones. None for others.
std::optional<ShapeSpec> SystemProgram::rankOf(const SystemRun &run, size_t fetch) {
  const tf::NodeDef *node = graph.find(nodeOf(run.fetches[fetch]));
  while (node && node->op == "Identity" && !node->inputs.empty())
    node = graph.find(nodeOf(node->inputs[0]));
  const HostTensor *want = fetch < run.expected.size() ? array(run.expected[fetch]) : nullptr;
  if (node && want && node->op.starts_with("Restore"))
    return ShapeSpec(want->dims.size(), -1);
  return std::nullopt;
}

/// Another run of an entry may feed another shape: what differs is open. (The
/// runtime does not enforce a placeholder's shape, its clients do.)
void SystemProgram::mergeShapes(ScriptEntry &entry, const SystemRun &run) {
  for (size_t i = 0; i < entry.spec.feeds.size(); ++i) {
    FeedSpec &feed = entry.spec.feeds[i];
    const HostTensor *value = array(run.feeds[i].second);
    if (!value || !isGraph)
      continue;
    if (!feed.shape) {
      if (graph.describesItself(nodeOf(feed.value), script.viaCore ? &value->dims : nullptr))
        continue;
      feed.dtype = tools::dtypeName(value->dtype);
    }
    if (feed.shape != value->dims)
      feed.shape = ShapeSpec(value->dims.size(), -1);
  }
}

/// Whether a run feeds all inputs of its signature, and fetches only outputs.
bool SystemProgram::isWholeSignature(const SystemRun &run) {
  auto found = script.signatures.find(run.signature);
  if (run.signature.empty() || found == script.signatures.end())
    return false;
  for (const auto &[edge, name] : run.feeds)
    if (!found->second.count(edge))
      return false;
  for (const std::string &fetch : run.fetches)
    if (!found->second.count(fetch))
      return false;
  return run.targets.empty();
}

driver::Options SystemProgram::optionsFor(const std::vector<EntrySpec> &specs) {
  driver::Options options;
  options.freeze = "none"; // what a program only reads another of the session may change
  options.input = path;
  options.name = "model";
  options.entries = specs;
  options.frontendFlags["--tags"] = script.tags;
  if (script.viaCore)
    options.frontendFlags["--fed-fetches"] = {"refuse"};
  options.deviceNames = script.devices;
  options.hardPlacement = !script.softPlacement;
  return options;
}

std::optional<Verdict> SystemProgram::compile() {
  std::vector<EntrySpec> specs;
  for (const ScriptEntry &entry : entries)
    specs.push_back(entry.spec);
  auto verdict = compileCase(optionsFor(specs), compiled);
  if (!verdict)
    return std::nullopt;
  // An operation that TensorFlow does not know either is refused for good.
  bool allUnknown = !entries.empty();
  for (const ScriptEntry &entry : entries)
    allUnknown &= entry.unknownOperation;
  if (allUnknown && verdict->reason.find("W0250") != std::string::npos &&
      verdict->reason.find("none of TensorFlow's") != std::string::npos) {
    for (ScriptEntry &entry : entries)
      entry.refused = true;
    return std::nullopt;
  }
  // Which entries are to blame?
  bool errorsExpected = false;
  for (const ScriptEntry &entry : entries)
    errorsExpected |= entry.onlyErrors;
  if (!errorsExpected || verdict->outcome == Outcome::Unsupported)
    return verdict;
  specs.clear();
  for (ScriptEntry &entry : entries) {
    if (entry.onlyErrors) {
      CompiledCase alone;
      auto refusal = compileCase(optionsFor({entry.spec}), alone);
      entry.refused = refusal && refusal->outcome == Outcome::Failed;
      if (refusal && refusal->outcome == Outcome::Unsupported)
        return refusal;
    }
    if (!entry.refused)
      specs.push_back(entry.spec);
  }
  if (specs.empty())
    return std::nullopt;
  return compileCase(optionsFor(specs), compiled);
}

ScriptEntry *SystemProgram::entryOf(const SystemRun &run) {
  std::string key = keyOf(run);
  for (ScriptEntry &entry : entries)
    if (entry.key == key)
      return &entry;
  return nullptr;
}

std::string SystemProgram::nameOf(const SystemRun &run, const std::string &edge) {
  ScriptEntry *entry = entryOf(run);
  auto names = script.signatures.find(run.signature);
  if (!entry || entry->spec.signature.empty() || names == script.signatures.end())
    return edge;
  auto found = names->second.find(edge);
  return found == names->second.end() ? edge : found->second;
}

std::string SystemProgram::containerOf(std::string_view variable) const {
  for (const tf::NodeDef &node : graph.graph.nodes) {
    auto text = [&](std::string_view name) {
      const tf::AttrValue *value = tf::findAttr(node.attrs, name);
      return value ? value->s : std::string_view();
    };
    bool isVariable = node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
    std::string_view shared = text("shared_name");
    if (isVariable && (shared.empty() ? node.name : shared) == variable)
      return std::string(text("container"));
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Extending a graph
//===----------------------------------------------------------------------===//

namespace {

/// The bytes field `number` of a message, the first of them.
std::string_view fieldOf(std::string_view message, uint32_t number) {
  frontend::WireReader reader(message);
  while (reader.next())
    if (reader.field() == number && reader.type() == frontend::WireType::Bytes)
      return reader.bytes();
  return {};
}

void appendField(std::string &out, uint32_t number, std::string_view bytes) {
  auto varint = [&](uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  };
  varint(number << 3 | 2);
  varint(bytes.size());
  out.append(bytes);
}

/// Names of nodes, and behind a slash those of functions (a node's has none at
/// its end).
void eachPart(std::string_view graph,
              llvm::function_ref<void(std::string, uint32_t, std::string_view)> each) {
  frontend::WireReader reader(graph);
  while (reader.next()) {
    if (reader.field() == 1) {
      std::string_view node = reader.bytes();
      each(std::string(fieldOf(node, 1)), 1, node);
    } else if (reader.field() == 2) {
      frontend::WireReader library(reader.bytes());
      while (library.next()) {
        if (library.field() != 1)
          continue;
        std::string_view function = library.bytes();
        each(std::string(fieldOf(fieldOf(function, 1), 1)) + "/", 2, function);
      }
    }
  }
}

} // namespace

std::string weir::conformance::extendGraph(const std::string &base, const std::string &more,
                                           const std::string &to) {
  std::string old, fresh, error;
  if (!readFile(base, old, error))
    return base + ": " + error;
  if (!readFile(more, fresh, error))
    return more + ": " + error;
  std::set<std::string> known;
  eachPart(old,
           [&](std::string name, uint32_t, std::string_view) { known.insert(std::move(name)); });
  // Two messages one after the other are one that has the fields of both.
  std::string merged = old;
  eachPart(fresh, [&](std::string name, uint32_t field, std::string_view part) {
    if (known.count(name))
      return;
    if (field == 1)
      return appendField(merged, 1, part);
    std::string library;
    appendField(library, 1, part);
    appendField(merged, 2, library);
  });
  return writeFile(to, merged, error) ? "" : to + ": " + error;
}
