//===- main.cpp - weir-conformance ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds cases, runs each in a forked child through the bytes of the emitted
// object, and counts. docs/tools.md is the manual.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/DeviceFlags.h"
#include "compiler/execute/ForkServer.h"
#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Sanitized.h"
#include "tools/common/Terminal.h"
#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/Discovery.h"
#include "tools/weir-conformance/PlacedRun.h"
#include "tools/weir-conformance/Scores.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sched.h>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weir-conformance";
constexpr size_t shownFailures = 40;
constexpr int64_t defaultMemoryLimit = isSanitized ? 0 : int64_t(4) << 30;

struct Settings {
  std::vector<std::string> paths;
  int optLevel = driver::Options().optLevel;
  std::string filter, tsv, scores, against;
  int64_t jobs = 1, sample = 1;
  double secondsPerCase = 120;
  int64_t memoryLimit = defaultMemoryLimit;
  bool list = false, verbose = false, inProcess = false, resume = false;
};

void complain(const char *code, std::string text, std::vector<std::string> notes = {}) {
  printDiagnostic({code, toolName, "", "", std::move(text), std::move(notes)});
}

/// Processors that this process may use.
int64_t processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(CPU_COUNT(&set), 1);
}

/// N[:SEED]
std::string readPlacement(std::string_view value, bool inProcesses) {
  auto [count, seed] = llvm::StringRef(value.data(), value.size()).split(':');
  RandomPlacement random;
  random.inProcesses = inProcesses;
  if (count.getAsInteger(10, random.devices) || random.devices < 2 || random.devices > 64 ||
      (!seed.empty() && seed.getAsInteger(10, random.seed)))
    return "is not possible; possible: 2 to 64, and a seed";
  setRandomPlacement(random);
  return "";
}

bool parseCommandLine(int argc, char **argv, Settings &settings, int &status) {
  FlagParser parser(toolName, "DIR... [flags]",
                    "Runs every case of the conformance suites under DIR "
                    "through the bytes of the emitted object.");
  parser.usageStatus = 2;
  settings.jobs = processors();
  parser.positionals("DIR", "folders that hold cases, or single cases", 1, 0, settings.paths);
  parser.group("Which cases");
  parser.text("--filter", "REGEX", "only cases whose name matches", settings.filter);
  parser.number("--sample", "N",
                "only one case in N, always the same ones, and with --against "
                "all that failed before",
                settings.sample, 1, 1 << 20);
  parser.flag("--list", "prints the names of the cases and ends", settings.list);
  parser.group("How they run");
  parser.number("--jobs, -j", "N", "cases at once (default: all processors)", settings.jobs, 1,
                1024);
  parser.value("--max-seconds-per-case", "SECONDS",
               "a case that takes longer counts as crashed (default 120)",
               [&settings](std::string_view value) -> std::string {
                 settings.secondsPerCase = std::strtod(std::string(value).c_str(), nullptr);
                 return settings.secondsPerCase > 0 ? "" : "is no time";
               });
  parser.value("--memory-limit", "SIZE", "private memory of a case (default 4G, 0: none)",
               [&settings](std::string_view value) -> std::string {
                 settings.memoryLimit = parseSize(value);
                 return settings.memoryLimit >= 0 ? "" : "is no size; possible: 512M, 2G, 0";
               });
  parser.value("--device", "NAME",
               "where to run: of " + driver::firstDevices() +
                   " the one that gets all that may be there; behind = what to "
                   "make code for",
               [](std::string_view value) -> std::string {
                 auto [device, targets] = llvm::StringRef(value.data(), value.size()).split('=');
                 if (auto kind = driver::deviceFlagOf(device)) {
                   // The host would do the same without a word.
                   setenv(kind->variable.c_str(), "require", /*overwrite=*/0);
                   runOn(kind->type, targets.empty() ? kind->usualTargets : targets.str());
                   return "";
                 }
                 return device.ends_with("CPU:0") || device == "cpu" || device == "CPU"
                            ? ""
                            : "is not there; possible: " + driver::firstDevices();
               });
  parser.value("--placed", "N[:SEED]",
               "compiles every case a second time for N CPU devices, placed at "
               "random: results must have the same bits (not for scripted "
               "sessions, whose runs change state)",
               [](std::string_view value) -> std::string {
                 return readPlacement(value, /*inProcesses=*/false);
               });
  parser.value("--placed-tasks", "N[:SEED]",
               "the same, with each device a process of its own, joined by UCX",
               [](std::string_view value) -> std::string {
                 return readPlacement(value, /*inProcesses=*/true);
               });
  parser.joined("-O", "0..3", "optimisation of all cases (default -O3)",
                intSetter(settings.optLevel, 0, 3));
  parser.flag("--resume",
              "behind each run of a scripted session saves it, and goes on in a new one that "
              "restores it",
              settings.resume);
  parser.flag("--in-process", "no processes of their own: for a debugger, a crash ends it all",
              settings.inProcess);
  parser.group("Results");
  parser.text("--tsv", "FILE",
              "writes a line a case: case, passed|failed|unsupported|crashed "
              "(or doubtful), reason",
              settings.tsv);
  parser.text("--scores", "FILE.md",
              "writes the table of scores, and FILE-rest.tsv with every case "
              "that does not pass",
              settings.scores);
  parser.text("--against", "FILE.md",
              "compares with such a table: what passed must pass. The exit "
              "code then says only whether something got worse",
              settings.against);
  parser.flag("-v, --verbose", "prints every case as it ends", settings.verbose);
  parser.exitCode(0, "no case failed or crashed (--against: none got worse)");
  parser.exitCode(1, "some did");
  parser.exitCode(2, "the command line is wrong, or there are no cases");
  return parser.parse(argc, argv, status);
}

/// Results of children travel as lines: outcome, reason, operators.
std::string encode(const Verdict &verdict) {
  std::string text = std::to_string(static_cast<int>(verdict.outcome)) + "\n";
  for (char c : verdict.reason)
    text += c == '\n' ? ' ' : c;
  for (const std::string &name : verdict.operators)
    text += "\n" + name;
  return text;
}

Verdict decode(const std::string &text) {
  std::vector<std::string_view> lines = splitFields(text, '\n');
  Verdict verdict;
  if (lines.size() < 2)
    return {Outcome::Crashed, "no result", {}};
  verdict.outcome = static_cast<Outcome>(std::atoi(text.c_str()));
  verdict.reason = lines[1];
  verdict.operators.assign(lines.begin() + 2, lines.end());
  return verdict;
}

void removeAll(std::string &text, const std::string &part) {
  for (size_t at; (at = text.find(part)) != std::string::npos;)
    text.erase(at, part.size());
}

struct Totals {
  size_t outcomes[4] = {}, doubtful = 0;
  void add(const Case &test, const Verdict &verdict) {
    if (test.doubtful)
      ++doubtful;
    else
      ++outcomes[static_cast<size_t>(verdict.outcome)];
  }
  std::string text() const {
    std::string line;
    for (int i = 0; i < 4; ++i)
      line += std::to_string(outcomes[i]) + " " +
              std::string(outcomeName(static_cast<Outcome>(i))) + ", ";
    return line + std::to_string(doubtful) + " doubtful";
  }
};

/// A folder for the cases that write files, removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "weir-conformance-XXXXXX").string();
    if (mkdtemp(name.data()))
      path = name;
  }
  ~TemporaryFolder() {
    std::error_code code;
    if (!path.empty())
      fs::remove_all(path, code);
  }
  std::string of(size_t index) const { return path + "/" + std::to_string(index); }
  void remove(size_t index) const {
    std::error_code code;
    fs::remove_all(of(index), code);
  }
  std::string path;
};

bool writeTsv(const std::string &path, const std::vector<Scored> &results) {
  std::string text, error;
  for (const Scored &scored : results) {
    const Verdict &verdict = scored.verdict;
    std::string reason = verdict.reason;
    if (scored.test->doubtful)
      reason = std::string(outcomeName(verdict.outcome)) + (reason.empty() ? "" : ": " + reason);
    for (char &c : reason)
      if (c == '\t')
        c = ' ';
    text += scored.test->id + "\t" +
            std::string(scored.test->doubtful ? "doubtful" : outcomeName(verdict.outcome)) + "\t" +
            reason + "\n";
  }
  if (writeFile(path, text, error))
    return true;
  complain("W0802", path + " cannot be written: " + error);
  return false;
}

/// Finds the cases that are to run.
bool selectCases(const Settings &settings, const KnownScores &known, std::vector<Case> &cases) {
  std::string error;
  for (const std::string &path : settings.paths)
    if (!findCases(path, cases, error)) {
      complain("W0801", error);
      return false;
    }
  if (!settings.filter.empty()) {
    llvm::Regex filter(settings.filter);
    if (!filter.isValid(error)) {
      complain("W0803", "--filter=" + settings.filter + ": " + error);
      return false;
    }
    std::erase_if(cases, [&](const Case &test) { return !filter.match(test.id); });
  }
  if (settings.sample > 1)
    std::erase_if(cases, [&](const Case &test) {
      bool failedBefore =
          known.lists(test.id, Outcome::Failed) || known.lists(test.id, Outcome::Crashed);
      return !failedBefore && !inSample(test.id, static_cast<unsigned>(settings.sample));
    });
  if (cases.empty()) {
    complain("W0801", "found no cases", {"docs/tools.md lists the layouts that are recognised"});
    return false;
  }
  return true;
}

/// Runs all cases; `results` is in their order. False: no processes.
bool runAll(const Settings &settings, const std::vector<Case> &cases,
            std::vector<Scored> &results) {
  TemporaryFolder temporary;
  ProgressLine progress;
  Totals totals;
  size_t finished = 0, shown = 0;
  for (const Case &test : cases)
    results.push_back({&test, {Outcome::Crashed, "did not run", {}}});

  auto take = [&](size_t index, Verdict verdict, double seconds) {
    const Case &test = cases[index];
    temporary.remove(index);
    totals.add(test, verdict);
    ++finished;
    bool bad = !test.doubtful &&
               (verdict.outcome == Outcome::Failed || verdict.outcome == Outcome::Crashed);
    if (settings.verbose || (bad && shown++ < shownFailures)) {
      progress.clear();
      std::fprintf(stderr, "%s %s%s%s", test.id.c_str(),
                   std::string(outcomeName(verdict.outcome)).c_str(),
                   verdict.reason.empty() ? "" : ": ", verdict.reason.c_str());
      if (settings.verbose)
        std::fprintf(stderr, " (%.2f s)", seconds);
      std::fprintf(stderr, "\n");
      if (bad && !settings.verbose && shown == shownFailures)
        std::fprintf(stderr, "(more are not shown; --tsv=FILE lists all)\n");
    }
    results[index].verdict = std::move(verdict);
    progress.update("[" + std::to_string(finished) + "/" + std::to_string(cases.size()) + "] " +
                    totals.text() + "  " + test.id);
  };

  auto work = [&](size_t index) {
    Verdict verdict = runCase(cases[index], temporary.of(index));
    // Names that are the same on every machine.
    std::string folder = fs::path(cases[index].path).parent_path().string();
    removeAll(verdict.reason, temporary.of(index) + "/");
    removeAll(verdict.reason, folder + "/");
    return encode(verdict);
  };
  if (settings.inProcess) {
    for (size_t i = 0; i < cases.size(); ++i)
      take(i, decode(work(i)), 0);
    return true;
  }
  ForkOptions options;
  options.jobs = static_cast<unsigned>(settings.jobs);
  options.secondsPerCase = settings.secondsPerCase;
  options.memoryLimit = settings.memoryLimit;
  return runForked(cases.size(), options, work, [&](size_t index, const ForkedResult &result) {
    Verdict verdict{Outcome::Crashed, result.text, {}};
    if (result.kind == ForkedResult::Kind::Done)
      verdict = decode(result.text);
    take(index, std::move(verdict), result.seconds);
  });
}

} // namespace

static int runTool(int argc, char **argv) {
  Settings settings;
  int status = 0;
  if (!parseCommandLine(argc, argv, settings, status))
    return status;
  if (settings.resume)
    resumeSessions();
  optimizeAt(settings.optLevel);
  KnownScores known;
  std::string error;
  if (!settings.against.empty() && !readScores(settings.against, known, error)) {
    complain("W0802", error);
    return 2;
  }
  std::vector<Case> cases;
  if (!selectCases(settings, known, cases))
    return 2;
  if (settings.list) {
    for (const Case &test : cases)
      std::printf("%s%s\n", test.id.c_str(), test.doubtful ? " (doubtful)" : "");
    return 0;
  }
  std::vector<Scored> results;
  if (!runAll(settings, cases, results)) {
    complain("W0804", "no process can be made");
    return 2;
  }
  if (!settings.tsv.empty() && !writeTsv(settings.tsv, results))
    return 2;
  if (!settings.scores.empty() && !writeScores(settings.scores, results, error)) {
    complain("W0802", error);
    return 2;
  }
  Totals totals;
  for (const Scored &scored : results)
    totals.add(*scored.test, scored.verdict);
  bool bad = totals.outcomes[1] + totals.outcomes[3] != 0;
  if (!settings.against.empty()) {
    std::vector<std::string> worse = findRegressions(known, results);
    for (const std::string &line : worse)
      complain("W0805", line);
    bad = !worse.empty();
  }
  std::printf("%s\n", totals.text().c_str());
  return bad ? 1 : 0;
}

int main(int argc, char **argv) { return finishOutput(toolName, runTool(argc, argv)); }
