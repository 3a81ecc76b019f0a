//===- SystemRun.cpp - playing a script of session runs -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session runs a program of its graph (SystemProgram.h). Extending a graph is
// compiling anew, with the variables handed over. A server of a cluster is what
// its sessions share: the values of variables, by name, which each run of one of
// its sessions begins with and leaves there. With --resume a session is saved behind each
// run, and another one goes on.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/Operators.h"
#include "tools/weir-conformance/SystemProgram.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <set>
#include <thread>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

using Variables = std::map<std::string, HostTensor>;

/// A session of the script at one step.
struct LiveSession {
  std::unique_ptr<Session> session;
  SystemProgram *program = nullptr; ///< of `session`
  std::string path;                 ///< the graph that it has now
  bool isStale = false;             ///< its server was reset
};

/// --resume.
bool isResumed = false;

/// What came of a run.
struct RunOutcome {
  RunStatus status;
  NamedTensors got;
  std::optional<Verdict> problem; ///< of the player itself
  bool refused = false;           ///< by the compiler, as was expected
};

class Player {
public:
  Player(SystemScript script, std::string folder)
      : script(std::move(script)), folder(std::move(folder)) {}

  Verdict play() {
    if (auto verdict = refuseWhatIsNotPlayed())
      return *verdict;
    if (auto verdict = preparePrograms())
      return *verdict;
    live.clear();
    for (size_t i = 0; i < script.steps.size(); ++i)
      if (auto verdict = playStep(script.steps[i])) {
        verdict->reason = "step " + std::to_string(i) + ": " + verdict->reason;
        return *verdict;
      }
    return {};
  }

  std::vector<std::string> operators() const {
    auto first = programs.find(folder + "/" + script.graph);
    return first == programs.end() ? std::vector<std::string>()
                                   : operatorsOf(first->second->graph.graph);
  }

private:
  std::optional<Verdict> refuseWhatIsNotPlayed() const {
    std::set<std::string> servers;
    for (const auto &[name, session] : script.sessions)
      if (!session.target.empty())
        servers.insert(session.target);
    if (servers.size() > 1)
      return Verdict::unsupported("has sessions of several servers");
    for (const SystemStep &step : script.steps) {
      if (!step.other.empty())
        return Verdict::unsupported("has a step \"" + step.other + "\"");
      for (const SystemRun &run : step.runs)
        if (step.kind == SystemStep::Kind::Concurrent &&
            ownerOf(run.session) != ownerOf(step.runs[0].session) &&
            !sessionOf(run.session).target.empty())
          return Verdict::unsupported("has several sessions of a server at the same time");
    }
    return std::nullopt;
  }

  SystemSession sessionOf(const std::string &name) const {
    auto found = script.sessions.find(name);
    return found == script.sessions.end() ? SystemSession{script.graph, ""} : found->second;
  }

  /// A server's sessions on one graph share all that it keeps, and are one session
  /// here: that of the first of them.
  std::string ownerOf(const std::string &name) const {
    SystemSession own = sessionOf(name);
    if (!own.target.empty())
      for (const auto &[other, session] : script.sessions)
        if (session.target == own.target && session.graph == own.graph)
          return other;
    return name;
  }

  /// The graph of a session as the script begins.
  std::string firstPath(const std::string &session) const {
    return folder + "/" + sessionOf(session).graph;
  }

  LiveSession &at(const std::string &session) {
    LiveSession &found = live[ownerOf(session)];
    if (found.path.empty())
      found.path = firstPath(session);
    return found;
  }

  /// Extends the graph of a session, on the way through the script.
  std::string extend(const SystemStep &step) {
    LiveSession &session = at(step.session);
    std::string to = session.path + "+" + step.file;
    std::replace(to.begin() + folder.size() + 1, to.end(), '/', '_');
    if (fs::exists(to)) {
      session.path = to;
      return "";
    }
    std::string problem = extendGraph(session.path, folder + "/" + step.file, to);
    session.path = to;
    return problem;
  }

  /// Every graph of the script becomes a program with the entries of its runs.
  std::optional<Verdict> preparePrograms() {
    std::vector<SystemProgram *> order;
    for (const SystemStep &step : script.steps) {
      if (step.kind == SystemStep::Kind::Extend)
        if (std::string problem = extend(step); !problem.empty())
          return Verdict::failed(problem);
      for (const SystemRun &run : step.runs) {
        auto &program = programs[at(run.session).path];
        if (!program) {
          program = std::make_unique<SystemProgram>(script, at(run.session).path);
          order.push_back(program.get());
          std::string error;
          if (!program->open(error)) {
            // A file that TensorFlow refuses to load, too.
            if (script.expectsOnlyErrors())
              return Verdict();
            return Verdict::failed(error);
          }
        }
        program->addEntry(run);
      }
    }
    for (SystemProgram *program : order)
      if (auto verdict = program->compile())
        return verdict;
    return std::nullopt;
  }

  std::optional<Verdict> playStep(SystemStep &step) {
    switch (step.kind) {
    case SystemStep::Kind::Extend: {
      std::string problem = extend(step);
      return problem.empty() ? std::nullopt : std::optional(Verdict::failed(problem));
    }
    case SystemStep::Kind::Reset:
      reset(step);
      return std::nullopt;
    case SystemStep::Kind::Concurrent:
      return playConcurrent(step);
    case SystemStep::Kind::Run:
      break;
    }
    const SystemRun &run = step.runs[0];
    if (auto verdict = openSession(run))
      return verdict;
    RunOutcome outcome = start(run);
    saveVariables(run);
    auto verdict = judge(run, outcome);
    if (verdict || !isResumed)
      return verdict;
    if (run.fetches.empty() && outcome.status.ok())
      begun[ownerOf(run.session)].push_back(&run);
    return resume(run);
  }

  /// Saves the session of a run, and has a new one go on: what was run without fetches, which
  /// begins iterators, runs there, too, and then all that was saved is restored.
  std::optional<Verdict> resume(const SystemRun &run) {
    LiveSession &session = at(run.session);
    if (!session.session || !sessionOf(run.session).target.empty())
      return std::nullopt;
    weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
    options.partial = 1;
    std::string prefix = (fs::current_path() / "resumed" / "session").string();
    std::promise<RunStatus> saved;
    auto done = [](void *self, const weir_status *status) {
      static_cast<std::promise<RunStatus> *>(self)->set_value({status->code, status->message});
    };
    RunStatus status = session.session->saveAsync(prefix, options, done, &saved);
    if (status.ok())
      status = saved.get_future().get();
    if (!status.ok())
      return Verdict::failed("save: " + status.text());
    session.session.reset();
    if (auto verdict = openSession(run))
      return verdict;
    for (const SystemRun *before : begun[ownerOf(run.session)])
      if (at(before->session).program == session.program)
        start(*before);
    status = session.session->restore(prefix, &options);
    if (!status.ok())
      return Verdict::failed("restore: " + status.text());
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Sessions
  //===--------------------------------------------------------------------===//

  /// Makes the session of a run as it is to be at its begin.
  std::optional<Verdict> openSession(const SystemRun &run) {
    LiveSession &session = at(run.session);
    SystemProgram *program = programs[session.path].get();
    std::string target = sessionOf(run.session).target;
    bool isServed = !target.empty(), isShared = session.isStale;
    for (const auto &[name, other] : script.sessions)
      isShared |= isServed && ownerOf(name) != ownerOf(run.session) && other.target == target;
    // What a server keeps outlives its clients.
    if (run.restart && !isServed)
      session.session.reset();
    if (session.session && session.program == program && !isShared)
      return std::nullopt;
    session.isStale = false;
    // Another program of the same session: it keeps its variables.
    Variables kept;
    if (session.session && !isServed)
      kept = variablesOf(session);
    session.session.reset();
    session.program = program;
    if (!program->compiled.model)
      return std::nullopt; // nothing of it was compiled
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    RunStatus status;
    session.session = Session::create(*program->compiled.model, options, status);
    if (!session.session)
      return Verdict::failed("session: " + status.text());
    Variables &from = isServed ? servers[sessionOf(run.session).target] : kept;
    for (const std::string &name : session.session->variables())
      if (auto found = from.find(name); found != from.end()) {
        status = session.session->setVariable(name, found->second);
        if (!status.ok())
          return Verdict::failed("variable \"" + name + "\": " + status.text());
      }
    return std::nullopt;
  }

  /// The variables that have a value.
  static Variables variablesOf(LiveSession &live) {
    Variables all;
    for (const std::string &name : live.session->variables()) {
      HostTensor value;
      if (live.session->getVariable(name, value).ok())
        all[name] = std::move(value);
    }
    return all;
  }

  void saveVariables(const SystemRun &run) {
    std::string target = sessionOf(run.session).target;
    LiveSession &session = at(run.session);
    if (!target.empty() && session.session)
      for (auto &[name, value] : variablesOf(session))
        servers[target][name] = value;
  }

  /// Empties containers of a server; no names mean the default one.
  void reset(const SystemStep &step) {
    Variables &server = servers[step.target];
    auto isReset = [&](const std::string &name) {
      std::string container;
      for (auto &[path, program] : programs)
        if (std::string found = program->containerOf(name); !found.empty())
          container = found;
      return step.containers.empty() ? container.empty()
                                     : std::find(step.containers.begin(), step.containers.end(),
                                                 container) != step.containers.end();
    };
    for (auto &[name, session] : live)
      session.isStale |= sessionOf(name).target == step.target;
    std::erase_if(server, [&](const auto &entry) { return isReset(entry.first); });
  }

  //===--------------------------------------------------------------------===//
  // Runs
  //===--------------------------------------------------------------------===//

  RunOutcome start(const SystemRun &run) {
    RunOutcome outcome;
    LiveSession &session = at(run.session);
    ScriptEntry *entry = session.program->entryOf(run);
    if (entry->refused) {
      outcome.refused = true;
      return outcome;
    }
    int index = session.session ? session.session->findEntry(entry->spec.name) : -1;
    if (index < 0) {
      outcome.problem = Verdict::failed("the program has no entry \"" + entry->spec.name + "\"");
      return outcome;
    }
    NamedTensors given;
    for (const auto &[edge, name] : run.feeds)
      if (const HostTensor *value = findTensor(script.arrays, name))
        given.emplace_back(session.program->nameOf(run, edge), *value);
    std::vector<HostTensor> feeds;
    outcome.problem = collectFeeds(session.session->entries()[index], given, feeds);
    if (outcome.problem)
      return outcome;
    weir_run_options options = WEIR_RUN_OPTIONS_INIT;
    options.timeout_ns = run.timeoutMs * 1000000;
    outcome.status = session.session->run(index, feeds, outcome.got, &options);
    return outcome;
  }

  std::optional<Verdict> judge(const SystemRun &run, RunOutcome &outcome) {
    if (outcome.refused)
      return std::nullopt;
    if (outcome.problem)
      return run.expectsError ? std::nullopt : outcome.problem;
    const RunStatus &status = outcome.status;
    if (run.expectsError) {
      if (status.ok())
        return Verdict::failed("succeeds; expected " + run.code);
      if (run.code != "CLIENT" && weir_code_name(status.code) != run.code)
        return Verdict::failed("found " + status.text() + "; expected " + run.code);
      return std::nullopt;
    }
    if (!status.ok())
      return runFailed(status);
    SystemProgram &program = *at(run.session).program;
    for (size_t i = 0; i < run.expected.size() && i < run.fetches.size(); ++i)
      if (auto verdict = compareFetch(run, i, program.nameOf(run, run.fetches[i]), outcome.got))
        return verdict;
    return std::nullopt;
  }

  /// Starts runs in order, each when those before have ended or wait.
  std::optional<Verdict> playConcurrent(const SystemStep &step) {
    static constexpr auto kPatience = std::chrono::milliseconds(150);
    for (const SystemRun &run : step.runs)
      if (auto verdict = openSession(run))
        return verdict;
    std::vector<RunOutcome> outcomes(step.runs.size());
    std::vector<std::thread> threads;
    std::atomic<size_t> ended = 0;
    for (size_t i = 0; i < step.runs.size(); ++i) {
      threads.emplace_back([&, i] {
        outcomes[i] = start(step.runs[i]);
        ++ended;
      });
      auto until = std::chrono::steady_clock::now() + kPatience;
      while (ended <= i && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::thread &thread : threads)
      thread.join();
    if (!step.runs.empty())
      saveVariables(step.runs[0]);
    std::vector<bool> isTaken(step.runs.size());
    for (size_t i = 0; i < step.runs.size(); ++i) {
      // In any order: an outcome of any run that nobody else expected.
      std::optional<Verdict> first;
      bool isFound = false;
      for (size_t k = 0; k < step.runs.size() && !isFound; ++k) {
        size_t candidate = step.anyOrder ? k : i;
        if (isTaken[candidate])
          continue;
        auto verdict = judge(step.runs[i], outcomes[candidate]);
        if (!verdict)
          isTaken[candidate] = isFound = true;
        else if (!first)
          first = verdict;
        if (!step.anyOrder)
          break;
      }
      if (!isFound)
        return first;
    }
    return std::nullopt;
  }

  std::optional<Verdict> compareFetch(const SystemRun &run, size_t i, const std::string &name,
                                      NamedTensors &got) {
    HostTensor *result = findTensor(got, name);
    if (result && run.expected[i].empty()) {
      for (int64_t k = 0; k < result->count(); ++k)
        if (elementAsDouble(*result, k) != 0)
          return Verdict::failed("\"" + name +
                                 "\": found a gradient, expected "
                                 "none");
      return std::nullopt;
    }
    const HostTensor *want = findTensor(script.arrays, run.expected[i]);
    if (!result || !want)
      return Verdict::failed("the program has no fetch \"" + name + "\"");
    auto found = run.compare.find(i);
    std::string how = found == run.compare.end() ? "" : found->second;
    if (how == "any") {
      if (result->dtype == want->dtype && result->dims == want->dims)
        return std::nullopt;
      return Verdict::failed("\"" + name + "\": found " + result->typeName() + ", expected " +
                             want->typeName());
    }
    Tolerance tolerance;
    tolerance.ofMax = 0;
    if (how != "exact") {
      auto [relative, absolute] =
          i < run.tolerances.size() ? run.tolerances[i] : std::pair(script.rtol, script.atol);
      tolerance.relative = relative;
      tolerance.absolute = absolute;
    }
    auto difference = how == "sorted"
                          ? compareTensors(sortRows(*result), sortRows(*want), tolerance)
                          : compareTensors(*result, *want, tolerance);
    if (difference)
      return Verdict::failed("\"" + name + "\": " + *difference);
    return std::nullopt;
  }

  SystemScript script;
  std::string folder;
  std::map<std::string, std::unique_ptr<SystemProgram>> programs; ///< by path
  std::map<std::string, LiveSession> live;
  std::map<std::string, Variables> servers;                    ///< by target
  std::map<std::string, std::vector<const SystemRun *>> begun; ///< runs without fetches, by session
};

} // namespace

void weir::conformance::resumeSessions() { isResumed = true; }

Verdict weir::conformance::runSystem(const Case &test, const std::string &temporary) {
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
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(temporary, code))
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add, code);
  Player player(std::move(script), ".");
  Verdict verdict = player.play();
  if (verdict.operators.empty())
    verdict.operators = player.operators();
  fs::current_path("/", code);
  return verdict;
}
