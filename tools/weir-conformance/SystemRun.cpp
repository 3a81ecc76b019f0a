//===- SystemRun.cpp - playing a script of session runs -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each distinct (feeds, fetches, targets) of a script is an entry of one
// program, so that all share the session's state. weir finds at compile time
// much of what TensorFlow finds when it runs: an entry that is refused for what
// is wrong with it (not for what weir lacks) counts as the error that its steps
// expect, and is left out of the program.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/Operators.h"
#include "tools/weir-conformance/SystemCase.h"
#include "tools/weir-conformance/TensorFlowGraph.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

/// An entry and the steps that run it.
struct ScriptEntry {
  driver::EntrySpec spec;
  std::string key;
  bool onlyErrors = true; ///< every step that runs it expects an error
  bool refused = false;
};

class Player {
public:
  Player(SystemScript script, std::string folder)
      : script(std::move(script)), folder(std::move(folder)) {}

  Verdict play() {
    if (auto verdict = refuseWhatIsNotPlayed())
      return *verdict;
    std::string error;
    bool savedModel = script.graph != "graph.pb";
    if (!savedModel && !graph.open(folder + "/" + script.graph, error)) {
      // A file that TensorFlow refuses to load, too.
      bool all = true;
      for (const SystemStep &step : script.steps)
        all &= step.run.expectsError;
      return all ? Verdict() : Verdict::failed(error);
    }
    for (SystemStep &step : script.steps)
      addEntry(step.run);
    if (auto verdict = compileEntries())
      return *verdict;
    for (size_t i = 0; i < script.steps.size(); ++i)
      if (auto verdict = playStep(script.steps[i].run)) {
        verdict->reason = "step " + std::to_string(i) + ": " + verdict->reason;
        return *verdict;
      }
    return {};
  }

  std::vector<std::string> operators() const {
    return operatorsOf(graph.graph);
  }

private:
  std::optional<Verdict> refuseWhatIsNotPlayed() const {
    if (script.hasGradients)
      return Verdict::unsupported(
          "gradients of a graph are not among the driver's options");
    std::set<std::string> servers;
    for (const auto &[session, target] : script.targets)
      servers.insert(target);
    if (servers.size() > 1)
      return Verdict::unsupported("has sessions of several servers");
    if (script.hasOtherGraphs)
      return Verdict::unsupported("has sessions of different graphs");
    for (const SystemStep &step : script.steps) {
      if (step.kind == SystemStep::Kind::Concurrent)
        return Verdict::unsupported("has runs that wait for each other");
      if (step.kind == SystemStep::Kind::Other)
        return Verdict::unsupported("has a step \"" + step.other + "\"");
    }
    return std::nullopt;
  }

  const HostTensor *array(const std::string &name) {
    return findTensor(script.arrays, name);
  }

  /// What makes an entry: edges, and the ranks of what is fed (via "core" its
  /// sizes, too), since a program's feeds have fixed ranks.
  std::string keyOf(const SystemRun &run) {
    std::string key = run.signature + "\n";
    for (const auto &[edge, name] : run.feeds) {
      const HostTensor *value = array(name);
      key += edge + " ";
      if (value)
        key += script.viaCore ? shapeName(value->dims)
                              : std::to_string(value->dims.size());
      key += "\n";
    }
    key += ">\n";
    for (const std::string &fetch : run.fetches)
      key += fetch + "\n";
    key += "^\n";
    for (const std::string &target : run.targets)
      key += target + "\n";
    return key;
  }

  /// The entry of a run, new or known.
  void addEntry(const SystemRun &run) {
    std::string key = keyOf(run);
    for (ScriptEntry &entry : entries)
      if (entry.key == key) {
        entry.onlyErrors &= run.expectsError;
        mergeShapes(entry, run);
        return;
      }
    ScriptEntry entry;
    entry.key = key;
    entry.onlyErrors = run.expectsError;
    entry.spec.name = "run" + std::to_string(entries.size());
    bool savedModel = script.graph != "graph.pb";
    if (savedModel && isWholeSignature(run)) {
      entry.spec.signature = run.signature;
    } else {
      for (const auto &[edge, name] : run.feeds) {
        const HostTensor *value = array(name);
        if (savedModel || !value)
          entry.spec.feeds.push_back({edge, edge, "", ""});
        else
          entry.spec.feeds.push_back(
              feedOf(graph, edge, edge, *value, script.viaCore));
      }
      std::set<std::string> seen;
      for (const std::string &fetch : run.fetches)
        if (seen.insert(fetch).second)
          entry.spec.fetches.push_back({fetch, fetch});
      for (const std::string &target : run.targets)
        entry.spec.fetches.push_back({"^" + target, "^" + target});
    }
    entries.push_back(std::move(entry));
  }

  /// Another run of an entry may feed another shape: what differs is open. (The
  /// runtime does not enforce a placeholder's shape, its clients do.)
  void mergeShapes(ScriptEntry &entry, const SystemRun &run) {
    for (size_t i = 0; i < entry.spec.feeds.size(); ++i) {
      driver::FeedSpec &feed = entry.spec.feeds[i];
      const HostTensor *value = array(run.feeds[i].second);
      if (!value || script.graph != "graph.pb")
        continue;
      if (feed.shape.empty()) {
        if (graph.describesItself(nodeOf(feed.tensor),
                                  script.viaCore ? &value->dims : nullptr))
          continue;
        feed.dtype = tools::dtypeName(value->dtype);
      }
      if (feed.shape != shapeName(value->dims))
        feed.shape = shapeName(std::vector<int64_t>(value->dims.size(), -1));
    }
  }

  /// Whether a run feeds all inputs of its signature, and fetches only outputs.
  bool isWholeSignature(const SystemRun &run) {
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

  driver::Options optionsFor(const std::vector<driver::EntrySpec> &specs) {
    driver::Options options;
    options.input = folder + "/" + script.graph;
    options.name = "model";
    options.entries = specs;
    options.deviceNames = script.devices;
    options.softPlacement = script.softPlacement;
    return options;
  }

  std::optional<Verdict> compileEntries() {
    std::vector<driver::EntrySpec> specs;
    for (const ScriptEntry &entry : entries)
      specs.push_back(entry.spec);
    auto verdict = compileCase(optionsFor(specs), compiled);
    if (!verdict)
      return std::nullopt;
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

  std::optional<Verdict> playStep(const SystemRun &run) {
    std::string key = keyOf(run);
    ScriptEntry *entry = nullptr;
    for (ScriptEntry &candidate : entries)
      if (candidate.key == key)
        entry = &candidate;
    if (entry->refused)
      return std::nullopt;
    auto server = script.targets.find(run.session);
    bool isServed = server != script.targets.end();
    auto &session = sessions[isServed ? server->second : run.session];
    // What a server keeps outlives its clients.
    if (run.restart && !isServed)
      session.reset();
    if (!session) {
      weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
      RunStatus status;
      session = Session::create(*compiled.model, options, status);
      if (!session)
        return Verdict::failed("session: " + status.text());
    }
    int index = session->findEntry(entry->spec.name);
    if (index < 0)
      return Verdict::failed("the program has no entry \"" + entry->spec.name +
                             "\"");
    const auto &names = script.signatures[run.signature];
    bool bySignature = !entry->spec.signature.empty();
    auto programName = [&](const std::string &edge) {
      auto found = names.find(edge);
      return bySignature && found != names.end() ? found->second : edge;
    };
    NamedTensors given, got;
    for (const auto &[edge, name] : run.feeds)
      if (const HostTensor *value = array(name))
        given.emplace_back(programName(edge), *value);
    std::vector<HostTensor> feeds;
    if (auto verdict = collectFeeds(session->entries()[index], given, feeds))
      return run.expectsError ? std::nullopt : verdict;
    weir_run_options options = WEIR_RUN_OPTIONS_INIT;
    options.timeout_ns = run.timeoutMs * 1000000;
    RunStatus status = session->run(index, feeds, got, &options);
    if (run.expectsError) {
      if (status.ok())
        return Verdict::failed("succeeds; expected " + run.code);
      if (run.code != "CLIENT" && weir_code_name(status.code) != run.code)
        return Verdict::failed("found " + status.text() + "; expected " +
                               run.code);
      return std::nullopt;
    }
    if (!status.ok())
      return runFailed(status);
    for (size_t i = 0; i < run.expected.size() && i < run.fetches.size(); ++i)
      if (auto verdict = compareFetch(run, i, programName(run.fetches[i]), got))
        return verdict;
    return std::nullopt;
  }

  std::optional<Verdict> compareFetch(const SystemRun &run, size_t i,
                                      const std::string &name,
                                      NamedTensors &got) {
    HostTensor *result = findTensor(got, name);
    const HostTensor *want = array(run.expected[i]);
    if (!result || !want)
      return Verdict::failed("the program has no fetch \"" + name + "\"");
    auto found = run.compare.find(i);
    std::string how = found == run.compare.end() ? "" : found->second;
    if (how == "any") {
      if (result->dtype == want->dtype && result->dims == want->dims)
        return std::nullopt;
      return Verdict::failed("\"" + name + "\": found " + result->typeName() +
                             ", expected " + want->typeName());
    }
    Tolerance tolerance;
    tolerance.ofMax = 0;
    if (how != "exact") {
      tolerance.relative = script.rtol;
      tolerance.absolute = script.atol;
    }
    auto difference =
        how == "sorted"
            ? compareTensors(sortRows(*result), sortRows(*want), tolerance)
            : compareTensors(*result, *want, tolerance);
    if (difference)
      return Verdict::failed("\"" + name + "\": " + *difference);
    return std::nullopt;
  }

  SystemScript script;
  std::string folder;
  TensorFlowGraph graph;
  std::vector<ScriptEntry> entries;
  CompiledCase compiled;
  std::map<std::string, std::unique_ptr<Session>> sessions;
};

} // namespace

Verdict weir::conformance::runSystem(const Case &test,
                                     const std::string &temporary) {
  SystemScript script;
  std::string problem = readScript(test.path, script);
  if (!problem.empty())
    return Verdict::failed(problem);
  // File names in graphs are relative to a writable copy of the case.
  std::error_code code;
  fs::copy(test.path, temporary, fs::copy_options::recursive, code);
  if (!code)
    fs::current_path(temporary, code);
  if (code)
    return Verdict::failed(temporary + ": " + code.message());
  for (const fs::directory_entry &entry :
       fs::recursive_directory_iterator(temporary, code))
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add,
                    code);
  Player player(std::move(script), ".");
  Verdict verdict = player.play();
  if (verdict.operators.empty())
    verdict.operators = player.operators();
  fs::current_path("/", code);
  return verdict;
}
