//===- Scores.cpp - the table of scores, which may only rise --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/Scores.h"

#include "tools/common/Files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

using namespace weir::conformance;
using namespace weir::tools;

namespace {

constexpr std::string_view tableHead =
    "| suite | cases | passed | failed | unsupported | crashed | doubtful | "
    "score |\n|---|---|---|---|---|---|---|---|\n";
constexpr std::string_view sectionMark = "## ";

struct Counts {
  int64_t doubtful = 0;
  std::array<int64_t, 4> outcomes = {};

  void add(const Scored &scored) {
    if (scored.test->doubtful)
      ++doubtful;
    else
      ++outcomes[static_cast<size_t>(scored.verdict.outcome)];
  }
  int64_t judged() const { return outcomes[0] + outcomes[1] + outcomes[2] + outcomes[3]; }
};

std::string percent(int64_t part, int64_t whole) {
  char text[24];
  // Cut, not rounded: 100.0 % is all.
  int64_t tenths = whole == 0 ? 0 : part * 1000 / whole;
  double value = static_cast<double>(tenths) / 10;
  std::snprintf(text, sizeof(text), "%.1f %%", value);
  return text;
}

std::string rowOf(const std::string &suite, const Counts &counts) {
  std::string row = "| " + suite + " | " + std::to_string(counts.judged() + counts.doubtful);
  for (int64_t count : counts.outcomes)
    row += " | " + std::to_string(count);
  return row + " | " + std::to_string(counts.doubtful) + " | " +
         percent(counts.outcomes[0], counts.judged()) + " |\n";
}

/// A reason without what differs from case to case: the node's name, numbers of a
/// comparison; short enough for a table.
std::string kindOfReason(const Verdict &verdict) {
  std::string text = verdict.reason;
  if (verdict.outcome == Outcome::Crashed)
    return "crashed: " + text.substr(0, text.find(':'));
  if (text.find("elements differ") != std::string::npos)
    return "results differ";
  if (text.starts_with("error "))
    text.erase(0, 6);
  size_t node = text.find("node \""), end = text.find("\" (", node);
  if (node != std::string::npos && end != std::string::npos)
    text.erase(node, end + 2 - node);
  for (char &c : text)
    if (c == '|' || c == '\n' || c == '\t')
      c = ' ';
  constexpr size_t most = 140;
  if (text.size() > most)
    text = text.substr(0, text.rfind(' ', most)) + " …";
  return text;
}

/// Reasons by how many cases they hold back, those of most cases first.
std::string reasonsOf(const std::vector<const Scored *> &results) {
  std::map<std::string, int64_t> counts;
  for (const Scored *scored : results)
    if (!scored->test->doubtful && scored->verdict.outcome != Outcome::Passed)
      ++counts[kindOfReason(scored->verdict)];
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto &[reason, count] : counts)
    sorted.emplace_back(-count, reason);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const auto &[count, reason] : sorted)
    text += "| " + std::to_string(-count) + " | " + reason + " |\n";
  return text.empty() ? "" : "| cases | why they do not pass |\n|---|---|\n" + text;
}

/// Operators by how many of the cases that hold them pass, and why cases do not.
std::string sectionOf(const std::vector<const Scored *> &results) {
  struct Tally {
    int64_t passed = 0, all = 0;
  };
  std::map<std::string, Tally> operators;
  for (const Scored *scored : results)
    if (!scored->test->doubtful)
      for (const std::string &name : scored->verdict.operators) {
        Tally &tally = operators[name];
        ++tally.all;
        tally.passed += scored->verdict.outcome == Outcome::Passed;
      }
  std::string whole, table;
  int64_t wholeCount = 0;
  for (const auto &[name, tally] : operators) {
    if (tally.passed == tally.all) {
      whole += (whole.empty() ? "" : ", ") + name;
      ++wholeCount;
    } else {
      table += "| " + name + " | " + std::to_string(tally.all) + " | " +
               std::to_string(tally.passed) + " | " + percent(tally.passed, tally.all) + " |\n";
    }
  }
  if (operators.empty())
    return reasonsOf(results);
  std::string text = std::to_string(wholeCount) + " of " + std::to_string(operators.size()) +
                     " operators pass all cases that hold them" +
                     (whole.empty() ? ".\n" : ": " + whole + ".\n");
  if (!table.empty())
    text += "\n| operator | cases | passed | score |\n|---|---|---|---|\n" + table;
  std::string reasons = reasonsOf(results);
  return reasons.empty() ? text : text + "\n" + reasons;
}

/// One line, without what would break the table.
std::string oneLine(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\t' || c == '\r')
      c = ' ';
  return text;
}

} // namespace

bool KnownScores::lists(const std::string &id, Outcome outcome) const {
  auto found = rest.find(id);
  return found != rest.end() && found->second.starts_with(std::string(outcomeName(outcome)) + "\t");
}

std::string weir::conformance::restFileOf(const std::string &table) {
  std::string stem = table;
  if (stem.ends_with(".md"))
    stem.resize(stem.size() - 3);
  return stem + "-rest.tsv";
}

bool weir::conformance::readScores(const std::string &table, KnownScores &known,
                                   std::string &error) {
  std::string text, rest;
  if (!readFile(table, text, error)) {
    error = table + ": " + error;
    return false;
  }
  if (!readFile(restFileOf(table), rest, error)) {
    error = restFileOf(table) + ": " + error;
    return false;
  }
  std::string section;
  bool inTable = false;
  for (std::string_view line : splitLines(text)) {
    if (line.starts_with(sectionMark)) {
      section = line.substr(sectionMark.size());
      inTable = false;
    } else if (!section.empty()) {
      std::string &body = known.sections[section];
      if (!body.empty() || !line.empty())
        body += std::string(line) + "\n";
    } else if (line.starts_with("|---")) {
      inTable = true;
    } else if (inTable && line.starts_with("| ")) {
      std::vector<std::string_view> fields = splitFields(line, '|');
      std::string suite(fields[1].substr(1, fields[1].size() - 2));
      known.rows[suite] = std::string(line) + "\n";
    }
  }
  for (std::string_view line : splitLines(rest)) {
    size_t tab = line.find('\t');
    if (tab != std::string_view::npos && !line.starts_with("case\t"))
      known.rest[std::string(line.substr(0, tab))] = line.substr(tab + 1);
  }
  return true;
}

bool weir::conformance::writeScores(const std::string &table, const std::vector<Scored> &results,
                                    std::string &error) {
  KnownScores known;
  std::string ignored;
  readScores(table, known, ignored); // the first time there are none
  std::map<std::string, Counts> counts;
  std::map<std::string, std::vector<const Scored *>> bySuite;
  for (const Scored &scored : results) {
    counts[scored.test->suite].add(scored);
    bySuite[scored.test->suite].push_back(&scored);
  }
  // Suites of this run are told anew.
  std::map<std::string, std::string> rest;
  for (const auto &[id, text] : known.rest) {
    bool replaced = false;
    for (const auto &[suite, all] : counts)
      replaced |= id == suite || id.starts_with(suite + "/");
    if (!replaced)
      rest[id] = text;
  }
  for (const Scored &scored : results)
    if (!scored.test->doubtful && scored.verdict.outcome != Outcome::Passed)
      rest[scored.test->id] =
          std::string(outcomeName(scored.verdict.outcome)) + "\t" + oneLine(scored.verdict.reason);
  for (const auto &[suite, all] : counts)
    known.rows[suite] = rowOf(suite, all);
  for (const auto &[suite, all] : bySuite)
    known.sections[suite] = sectionOf(all);

  std::string restName = restFileOf(table);
  std::string text = "# Conformance\n\nMade by `weir-conformance --scores`; the score of a "
                     "suite is passed over all but doubtful cases. Every case that\ndoes not "
                     "pass is listed with its reason in [" +
                     restName.substr(restName.rfind('/') + 1) + "](" +
                     restName.substr(restName.rfind('/') + 1) +
                     "). `tools.md` says how results are compared.\n\n";
  text += tableHead;
  for (const auto &[suite, row] : known.rows)
    text += row;
  for (const auto &[suite, body] : known.sections) {
    if (body.empty())
      continue;
    text += "\n" + std::string(sectionMark) + suite + "\n\n" + body;
    while (text.ends_with("\n\n"))
      text.pop_back();
  }
  std::string list = "case\toutcome\treason\n";
  for (const auto &[id, what] : rest)
    list += id + "\t" + what + "\n";
  if (!writeFile(table, text, error)) {
    error = table + ": " + error;
    return false;
  }
  if (!writeFile(restName, list, error)) {
    error = restName + ": " + error;
    return false;
  }
  return true;
}

std::vector<std::string> weir::conformance::findRegressions(const KnownScores &known,
                                                            const std::vector<Scored> &results) {
  std::vector<std::string> lines;
  for (const Scored &scored : results) {
    const Case &test = *scored.test;
    Outcome now = scored.verdict.outcome;
    if (test.doubtful || now == Outcome::Passed || !known.knows(test.suite))
      continue;
    bool listed = known.rest.count(test.id) != 0;
    bool refused = known.lists(test.id, Outcome::Unsupported);
    if (listed && (!refused || now == Outcome::Unsupported))
      continue;
    lines.push_back(test.id + ": " + (listed ? "was refused" : "passed") + ", now " +
                    std::string(outcomeName(now)) + ": " + oneLine(scored.verdict.reason));
  }
  return lines;
}

bool weir::conformance::inSample(const std::string &id, unsigned n) {
  uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (unsigned char c : id)
    hash = (hash ^ c) * 0x100000001b3u;
  return (hash >> 20) % n == 0;
}
